// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pictures, as SVG that needs no script: a heat map (time to the right, how long waits were
 * upwards, both pictures of a figure to the same scale) and a curve of percentiles, whose axis
 * gives each nine as much room as the one before. A colour is one path, of runs of cells: an hour
 * of 20,000 waits a second is some 30 KB.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/text.h"
#include "sink/html.h"
#include "sink/printer.h"

#define COLORS 9
#define LEFT 52.0
#define RIGHT 26.0 /* half of the last label */
#define TOP 8.0
#define HEIGHT 260.0
#define BOTTOM 30.0
#define HEAT_WIDTH 700.0
#define CURVE_WIDTH 440.0
#define ROW_SCHEMA 2
#define ROWS_AN_OCTAVE 4
#define ROWS_LEAST 12
#define NS_PER_S 1e9
#define FEW_BEYOND 10

/*
 * ---- what heat maps are drawn from ----
 *
 * Cells of time as the comparison of runs keeps them, whose buckets join in rows of a quarter of an
 * octave, exactly.
 */

/* The row of a slot. */
static int32_t row_of(uint32_t schema, uint32_t slot)
{
	return hist_bucket_at(slot, schema, ROW_SCHEMA);
}

/* Rows from the lowest to the highest that there is something in. */
static void measure(struct html_map *m, struct compare_row *const *rows, size_t n)
{
	int32_t low = INT32_MAX, high = INT32_MIN;

	for (size_t i = 0; i < n; i++) {
		struct compare_cursor c = {0};

		while (rows[i] && compare_unpack(&c, rows[i]))
			while (compare_unpack_slot(&c)) {
				int32_t row = row_of(rows[i]->schema, c.slot);

				low = row < low ? row : low;
				high = row > high ? row : high;
			}
	}
	m->low = low <= high ? low : 0;
	m->nrows = low <= high ? (uint32_t)(high - low + 1) : 0;
}

static void fill(struct html_map *m, uint32_t column, const struct compare_row *w)
{
	struct compare_cursor c = {0};
	uint64_t n;

	while (compare_unpack(&c, w)) {
		double s = (double)m->dur_ns[column + c.cell] / NS_PER_S;

		m->zero += c.zero;
		while ((n = compare_unpack_slot(&c))) {
			uint32_t row = (uint32_t)(row_of(w->schema, c.slot) - m->low);

			m->rate[row * m->ncolumns + column + c.cell] +=
				(float)((double)n / (s > 0 ? s : 1));
		}
	}
}

int html_map_make(struct html_map *m, const struct compare_run *const *runs,
		  struct compare_row *const *rows, size_t n)
{
	uint32_t column = 0;

	*m = (struct html_map){0};
	for (size_t i = 0; i < n; i++) {
		m->ncolumns += runs[i]->ncells;
		if (rows[i] && compare_row_settle(rows[i], runs[i], rows[i]->schema))
			return -ENOMEM;
	}
	measure(m, rows, n);
	m->dur_ns = calloc(m->ncolumns + 1, sizeof(*m->dur_ns));
	m->rate = calloc((size_t)m->ncolumns * m->nrows + 1, sizeof(*m->rate));
	if (!m->dur_ns || !m->rate)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < runs[i]->ncells; k++)
			m->dur_ns[column + k] = runs[i]->dur_ns[k];
		if (rows[i])
			fill(m, column, rows[i]);
		column += runs[i]->ncells;
	}
	return 0;
}

void html_map_free(struct html_map *m)
{
	free(m->dur_ns);
	free(m->rate);
	*m = (struct html_map){0};
}

static void scale_rows(struct html_scale *s, int32_t low, int32_t high)
{
	if (!s->high && !s->low) {
		s->low = low;
		s->high = high;
	}
	s->low = low < s->low ? low : s->low;
	s->high = high > s->high ? high : s->high;
}

void html_scale_map(struct html_scale *s, const struct html_map *m)
{
	double dur_s = 0;

	for (uint32_t i = 0; i < m->ncolumns; i++)
		dur_s += (double)m->dur_ns[i] / NS_PER_S;
	s->dur_s = fmax(s->dur_s, dur_s);
	if (!m->nrows)
		return;
	scale_rows(s, m->low, m->low + (int32_t)m->nrows - 1);
	for (size_t i = 0; i < (size_t)m->ncolumns * m->nrows; i++) {
		if (m->rate[i] <= 0)
			continue;
		s->least = s->least > 0 ? fmin(s->least, m->rate[i]) : m->rate[i];
		s->most = fmax(s->most, m->rate[i]);
	}
}

void html_scale_hist(struct html_scale *s, const struct hist *h)
{
	struct hist_walk w = {0};

	s->most_count = h->count > s->most_count ? h->count : s->most_count;
	while (hist_next(h, &w))
		scale_rows(s, row_of(h->schema, w.slot), row_of(h->schema, w.slot));
}

void html_scale_done(struct html_scale *s)
{
	while (s->high - s->low + 1 < ROWS_LEAST) {
		s->low--;
		s->high++;
	}
	if (s->most <= s->least) /* one colour: the darkest */
		s->least = s->most / 2;
}

/* ---- the axis of times ---- */

static double y_of(const struct html_scale *s, double ns)
{
	double rows = s->high - s->low + 1;
	double row = log2(ns / NS_PER_S) * ROWS_AN_OCTAVE - (s->low - 1);

	return TOP + HEIGHT * (1 - fmin(fmax(row / rows, 0), 1));
}

static double edge_ns(int32_t row)
{
	return exp2((double)row / ROWS_AN_OCTAVE) * NS_PER_S;
}

/* "5 us" of a round number */
static const char *round_time(double ns, char out[24])
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {0, "ns"}};
	size_t i = 0;

	while (ns < units[i].ns * 0.999)
		i++;
	(void)snprintf(out, 24, "%.0f %s", ns / (units[i].ns > 0 ? units[i].ns : 1),
		       units[i].name); /* fits */
	return out;
}

static void y_tick(struct out *out, const struct html_scale *s, double ns, double width)
{
	char text[24];
	double y = y_of(s, ns);

	out_printf(out,
		   "<path class=g d=\"M%.0f %.1fh%.0f\"/><text x=%.0f y=%.1f "
		   "text-anchor=end>%s</text>",
		   LEFT, y, width, LEFT - 5, y + 4, round_time(ns, text));
}

/* Decades; 1, 2 and 5 where there are but a few of them. */
static void y_axis(struct out *out, const struct html_scale *s, double width)
{
	static const double steps[] = {1, 2, 5};
	double low = edge_ns(s->low - 1), high = edge_ns(s->high);
	size_t n = log10(high / low) < 2.5 ? 3 : 1;

	for (double decade = pow(10, floor(log10(low))); decade <= high; decade *= 10)
		for (size_t i = 0; i < n; i++)
			if (decade * steps[i] >= low && decade * steps[i] <= high &&
			    decade * steps[i] >= 1)
				y_tick(out, s, decade * steps[i], width);
}

static void begin(struct out *out, double width, const char *name, const char *what)
{
	out_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=img aria-label=\"%s ",
		   LEFT + width + RIGHT, TOP + HEIGHT + BOTTOM, what);
	html_text(out, name);
}

/* ---- colours ---- */

static int color_of(const struct html_scale *s, double rate)
{
	double share = log(rate / s->least) / log(s->most / s->least);
	int color = 1 + (int)(share * COLORS);

	return color < 1 ? 1 : color > COLORS ? COLORS : color;
}

/* A rate with as many digits as it takes to be read. */
static void put_rate(struct out *out, double rate)
{
	int digits = rate >= 10 ? 0 : rate >= 1 ? 1 : 1 - (int)floor(log10(rate));

	out_printf(out, "%.*f", digits, rate);
}

void html_legend(struct out *out, const struct html_scale *s)
{
	if (s->most <= 0)
		return;
	out_text(out, "<ul class=legend aria-label=\"Colours: waits a second in a cell, at least\">"
		      "<li>waits a second, at least:</li>");
	for (int i = 0; i < COLORS; i++) {
		out_printf(out, "<li><i class=c%d></i>", i + 1);
		put_rate(out, s->least * pow(s->most / s->least, (double)i / COLORS));
		out_text(out, "</li>");
	}
	out_text(out, "</ul>\n");
}

/* ---- the heat map ---- */

/* Where in time a column begins, in seconds. */
static void x_axis_time(struct out *out, const struct html_map *m)
{
	static const double steps[] = {0.01, 0.02, 0.05,  0.1,	 0.2,	0.5,	1,	2,   5,
				       10,   15,   30,	  60,	 120,	300,	600,	900, 1800,
				       3600, 7200, 14400, 43200, 86400, 604800, 2592000};
	size_t step = 0;
	double total = 0, at = 0, next = 0;

	for (uint32_t i = 0; i < m->ncolumns; i++)
		total += (double)m->dur_ns[i] / NS_PER_S;
	while (step + 1 < sizeof(steps) / sizeof(steps[0]) && total / steps[step] > 8)
		step++;
	for (uint32_t i = 0; i < m->ncolumns; i++) {
		double dur = (double)m->dur_ns[i] / NS_PER_S;

		/* Round numbers lie within columns; a gap is passed over. */
		for (; dur > 0 && next < at + dur && next <= total; next += steps[step]) {
			double x = LEFT + HEAT_WIDTH * (i + fmax(next - at, 0) / dur) / m->ncolumns;

			out_printf(out,
				   "<path class=g d=\"M%.1f %.0fv4\"/><text x=%.1f y=%.0f "
				   "text-anchor=middle>",
				   x, TOP + HEIGHT, x, TOP + HEIGHT + 16);
			if (steps[step] < 1)
				out_printf(out, "%.2f s</text>", next);
			else if (total < 180)
				out_printf(out, "%.0f s</text>", next);
			else
				out_printf(out, "%.0f:%02.0f</text>", floor(next / 60),
					   fmod(next, 60));
		}
		at += dur;
	}
}

/* Runs of one colour in all rows, in units of cells. */
static void put_color(struct out *out, const struct html_map *m, const struct html_scale *s,
		      int color)
{
	bool any = false;

	for (uint32_t row = 0; row < m->nrows; row++) {
		const float *rate = m->rate + (size_t)row * m->ncolumns;
		int32_t y = s->high - (m->low + (int32_t)row);
		uint32_t x = 0, end;

		for (; x < m->ncolumns; x = end) {
			for (end = x;
			     end < m->ncolumns && rate[end] > 0 && color_of(s, rate[end]) == color;
			     end++)
				;
			if (end == x) {
				end++;
				continue;
			}
			if (!any)
				out_printf(out, "<path class=c%d d=\"", color);
			any = true;
			out_printf(out, "M%u %dh%uv1h-%uz", x, y, end - x, end - x);
		}
	}
	if (any)
		out_text(out, "\"/>\n");
}

void html_heat(struct out *out, const struct html_map *m, const struct html_scale *s,
	       const char *name)
{
	char low[24], high[24];

	begin(out, HEAT_WIDTH, name, "Heat map of");
	format_duration(low, sizeof(low),
			(uint64_t)llround(fmax(edge_ns(m->nrows ? m->low - 1 : s->low - 1), 0)));
	format_duration(
		high, sizeof(high),
		(uint64_t)llround(edge_ns(m->nrows ? m->low + (int32_t)m->nrows - 1 : s->high)));
	out_printf(out, ": from %s to %s, %u columns of time\">\n", low, high, m->ncolumns);
	out_printf(out, "<rect class=f x=%.0f y=%.0f width=%.0f height=%.0f />", LEFT, TOP,
		   HEAT_WIDTH, HEIGHT);
	y_axis(out, s, HEAT_WIDTH);
	if (m->ncolumns)
		out_printf(out, "<g class=m transform=\"translate(%.0f %.0f) scale(%.5f %.5f)\">\n",
			   LEFT, TOP, HEAT_WIDTH / m->ncolumns, HEIGHT / (s->high - s->low + 1));
	for (int color = 1; m->ncolumns && color <= COLORS; color++)
		put_color(out, m, s, color);
	if (m->ncolumns)
		out_text(out, "</g>");
	x_axis_time(out, m);
	out_text(out, "</svg>\n");
}

/* ---- the curve ---- */

/* `nines` at the right end. */
static double x_of(double nines, double beyond)
{
	double at = beyond > 0 ? -log10(beyond) : nines;

	return LEFT + CURVE_WIDTH * fmin(at / nines, 1);
}

static void x_axis_nines(struct out *out, double nines)
{
	static const char *const names[] = {"0",       "90 %",	   "99 %",	"99.9 %",
					    "99.99 %", "99.999 %", "99.9999 %", "99.99999 %"};
	double half = x_of(nines, 0.5);

	for (int i = 0; i <= (int)nines; i++) {
		double x = LEFT + CURVE_WIDTH * i / nines;

		out_printf(out,
			   "<path class=g d=\"M%.1f %.0fv%.0f\"/><text x=%.1f y=%.0f "
			   "text-anchor=middle>%s</text>",
			   x, TOP, HEIGHT + 4, x, TOP + HEIGHT + 16, names[i]);
	}
	out_printf(out,
		   "<path class=g d=\"M%.1f %.0fv%.0f\"/><text x=%.1f y=%.0f "
		   "text-anchor=middle>50 %%</text>",
		   half, TOP, HEIGHT + 4, half, TOP + HEIGHT + 16);
}

/* From a share of all waits to the next, a step of the value of their bucket. */
static void put_steps(struct out *out, const struct hist *h, double nines,
		      const struct html_scale *s, const char *class)
{
	struct hist_walk w = {0};
	uint64_t seen = h->zero;
	const char *sign = "M";

	if (!h->count)
		return;
	out_printf(out, "<path class=%s d=\"", class);
	for (; hist_next(h, &w); sign = "V") {
		double y = y_of(s, (double)hist_slot_value(h, w.slot));

		if (*sign == 'M')
			out_printf(out, "M%.1f %.1f",
				   x_of(nines, 1 - (double)seen / (double)h->count), y);
		else
			out_printf(out, "V%.1f", y);
		seen += w.n;
		out_printf(out, "H%.1f", x_of(nines, (double)(h->count - seen) / (double)h->count));
	}
	out_text(out, "\"/>\n");
}

static void put_key(struct out *out, const char *const *names, size_t n)
{
	for (size_t i = 0; n > 1 && i < n; i++) {
		out_printf(out, "<path class=%s d=\"M%.0f %.0fh24\"/><text x=%.0f y=%.0f>",
			   i ? "q2" : "q", LEFT + 10, TOP + 14 + 16 * (double)i, LEFT + 40,
			   TOP + 18 + 16 * (double)i);
		html_text(out, names[i]);
		out_text(out, "</text>");
	}
}

void html_curve(struct out *out, const struct hist *const *h, size_t n, const char *name,
		const char *const *names, const struct html_scale *s)
{
	double most = s->most_count ? ceil(log10((double)s->most_count)) : 2;
	double nines = fmin(fmax(most, 2), 7);
	double few = x_of(nines, fmin((double)FEW_BEYOND / fmax((double)h[0]->count, 1), 1));

	begin(out, CURVE_WIDTH, name, "Percentiles of");
	out_printf(out, ": %s waits\">\n", word_count(h[0]->count).s);
	if (n == 1)
		out_printf(out,
			   "<rect class=f x=%.1f y=%.0f width=%.1f height=%.0f><title>fewer than "
			   "%d waits beyond</title></rect>",
			   few, TOP, LEFT + CURVE_WIDTH - few, HEIGHT, FEW_BEYOND);
	y_axis(out, s, CURVE_WIDTH);
	x_axis_nines(out, nines);
	for (size_t i = 0; i < n; i++)
		put_steps(out, h[i], nines, s, i ? "q2" : "q");
	put_key(out, names, n);
	out_text(out, "</svg>\n");
}
