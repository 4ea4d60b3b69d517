// SPDX-License-Identifier: GPL-2.0-or-later
/* Pictures of cells: latencies over time, percentiles with the tail stretched, a row's trend. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"
#include "sink/tui.h"

#define EIGHTHS TUI_EIGHTHS
#define LABEL 8	     /* columns left of a picture */
#define NINES_MOST 7 /* 99.99999 */
#define HEAT_ROWS 64
#define HEAT_COLUMNS 512
#define POINTS \
	128u /* reports, a power of two: no window has more columns for it than SPARKS_MOST */
#define SPARKS_MOST 120
#define ROWS 1024u /* a power of two: ten times those that one sees */
#define NOTHING (-1.0f)

/* A series' index in the report, if it is of that one. */
static size_t index_in(const struct frame *f, const struct series *s)
{
	bool of = f && s >= f->series && s < f->series + f->nseries;

	return of ? (size_t)(s - f->series) : SIZE_MAX;
}

const struct hist *tui_hist_at(const struct tui *t, const struct view_row *r, uint64_t number)
{
	const struct frame *f = tui_keep_get(&t->keep, number);
	struct view_row there;

	if (!f || f->type == FRAME_FINAL ||
	    !tui_keep_row(&t->keep, number, r, index_in(tui_frame(t), r->s), &there))
		return NULL;
	return tui_hist(&there);
}

uint64_t tui_last_shown(const struct tui *t)
{
	const struct frame *f = tui_keep_get(&t->keep, t->number);

	return f && f->type == FRAME_FINAL && t->number ? t->number - 1 : t->number;
}

static double log_ns(uint64_t ns)
{
	return log2((double)(ns ? ns : 1));
}

/* The shortest that was not 0, which has no place on such a scale: it is drawn beside it. */
static double low_of(const struct hist *h)
{
	struct hist_walk w = {0};

	if (!h->min_ns && hist_next(h, &w))
		return log_ns(hist_slot_value(h, w.slot));
	return log_ns(h->min_ns);
}

/* ---- percentiles: as many columns for 90 to 99 as for 99 to 99.9 ---- */

static void axis_label(struct tui *t, size_t line, size_t x, double log2_ns)
{
	char text[64];

	format_time(text, sizeof(text), (uint64_t)exp2(log2_ns), t->cfg->unit);
	tui_text_right(&t->canvas, line, x, LABEL - 1, TUI_DIM, text);
}

static void axis(struct tui *t, size_t line, size_t x, size_t height, double low, double high)
{
	for (size_t i = 0; i < height; i++)
		tui_put(&t->canvas, line + i, x + LABEL - 1, 0x2502, TUI_DIM);
	axis_label(t, line, x, high);
	axis_label(t, line + height / 2, x, (high + low) / 2);
	axis_label(t, line + height - 1, x, low);
}

static unsigned int nines_of(uint64_t count)
{
	unsigned int n = 2;

	for (uint64_t most = 1000; most <= count && n < NINES_MOST; most *= 10)
		n++;
	return n;
}

void tui_draw_curve(struct tui *t, size_t line, size_t x, size_t height, size_t width,
		    const struct hist *h)
{
	static const char *const names[NINES_MOST + 1] = {"0",	   "90",     "99",	"99.9",
							  "99.99", "99.999", "6 nines", "7 nines"};
	unsigned int nines = nines_of(h->count);
	double low = low_of(h), high = log_ns(h->max_ns);
	size_t columns = width - LABEL, rows = height - 1;

	axis(t, line, x, rows, low, high);
	for (size_t i = 0; i < columns; i++) {
		double u = (double)i * nines / (double)(columns > 1 ? columns - 1 : 1);
		struct quantile q = {.ppb = (uint64_t)((1 - pow(10, -u)) * 1e9)};
		double v = log_ns(hist_quantile(h, &q).ns);
		double part = high > low ? fmax(v - low, 0) / (high - low) : 0;
		unsigned int eighths =
			1 + (unsigned int)(part * ((double)(rows * EIGHTHS) - 1) + 0.5);

		for (size_t k = 0; k < rows && k * EIGHTHS < eighths; k++)
			tui_bar(&t->canvas, line + rows - 1 - k, x + LABEL + i,
				eighths - (unsigned int)k * EIGHTHS, TUI_GRAPH);
	}
	for (unsigned int k = 0; k <= nines; k++) {
		size_t at = x + LABEL + k * (columns - 1) / nines, len = strlen(names[k]);

		if (k)
			at -= at + len > x + width ? at + len - (x + width) : len / 2;
		(void)tui_text(&t->canvas, line + height - 1, at, len, TUI_DIM, names[k]);
	}
}

/* ---- latencies over time ---- */

/* From the shortest to the longest of all of them. */
static bool heat_range(const struct hist *const *h, size_t n, double *low, double *high)
{
	bool some = false;

	for (size_t i = 0; i < n; i++) {
		if (!h[i] || !h[i]->count)
			continue;
		*low = some ? fmin(*low, low_of(h[i])) : low_of(h[i]);
		*high = some ? fmax(*high, log_ns(h[i]->max_ns)) : log_ns(h[i]->max_ns);
		some = true;
	}
	return some;
}

/* What all columns have in common. */
struct heat {
	double low, high;
	size_t rows;
	uint64_t most; /* waits in a cell */
};

static void heat_count(const struct hist *h, const struct heat *heat, uint64_t *out)
{
	double octaves = heat->high - heat->low;
	struct hist_walk w = {0};

	while (hist_next(h, &w)) {
		double v = log_ns(hist_slot_value(h, w.slot)) - heat->low;
		double part = octaves > 0 ? fmin(fmax(v / octaves, 0), 1) : 0;

		out[(size_t)(part * (double)(heat->rows - 1) + 0.5)] += w.n;
	}
	out[0] += h->zero;
}

static void heat_most(const struct hist *h, struct heat *heat)
{
	uint64_t n[HEAT_ROWS] = {0};

	if (h)
		heat_count(h, heat, n);
	for (size_t k = 0; k < heat->rows; k++)
		if (n[k] > heat->most)
			heat->most = n[k];
}

static void heat_column(struct tui *t, const struct hist *h, const struct heat *heat, size_t bottom,
			size_t x)
{
	double scale = fmax(log2((double)heat->most), 1);
	uint64_t n[HEAT_ROWS] = {0};

	if (h)
		heat_count(h, heat, n);
	for (size_t k = 0; k < heat->rows; k++)
		if (n[k])
			tui_shade(&t->canvas, bottom - k, x,
				  1 + (unsigned int)(log2((double)n[k]) / scale * 3 + 0.5));
}

void tui_draw_heat(struct tui *t, size_t line, size_t x, size_t height, size_t width)
{
	size_t columns = width - LABEL, rows = height - 1;
	const struct hist *h[HEAT_COLUMNS];
	uint64_t last = tui_last_shown(t), kept;
	struct heat heat = {.most = 1};
	char text[64];

	if (columns > HEAT_COLUMNS)
		columns = HEAT_COLUMNS;
	if (rows > HEAT_ROWS)
		rows = HEAT_ROWS;
	for (size_t i = 0; i < columns; i++)
		h[i] = last >= i ? tui_hist_at(t, &t->chosen, last - i) : NULL;
	if (!heat_range(h, columns, &heat.low, &heat.high))
		return;
	heat.rows = rows;
	axis(t, line, x, rows, heat.low, heat.high);
	for (size_t i = 0; i < columns; i++)
		heat_most(h[i], &heat);
	for (size_t i = 0; i < columns; i++)
		heat_column(t, h[i], &heat, line + rows - 1, x + LABEL + columns - 1 - i);
	/* As many as there are by now, or are kept. */
	kept = last + 1 - t->keep.gone;
	kept = kept < columns ? kept : columns;
	(void)snprintf(text, sizeof(text), "the last %" PRIu64 " interval%s", kept,
		       kept == 1 ? "" : "s"); /* fits */
	(void)tui_text(&t->canvas, line + height - 1, x + LABEL, columns, TUI_DIM, text);
}

/*
 * ---- a row's p99 over time ----
 *
 * What it was in a report that is kept does not change, and to find a row in each of sixty reports
 * takes longer than to draw it: those of the rows drawn last are remembered.
 */

static const struct quantile p99 = {PPB_P99, "99"};

/* Of reports [from, to), at most POINTS of them. */
struct spark {
	uint64_t id, from, to;
	float v[POINTS]; /* log2 of ns */
};

struct tui_sparks {
	struct spark v[ROWS];
};

/* The row as it is found in other reports: a group's is the series that is shown of it. */
static uint64_t id_of(const struct tui_row *r)
{
	struct view_row shown = r->r;

	if (!shown.s || r->kind != TUI_ROW_GROUP)
		return r->id;
	shown.first = NULL;
	return tui_row_id(&shown, 0);
}

/* Its place, whoever had it before. Without memory it is worked out anew each time. */
static struct spark *spark_of(struct tui *t, uint64_t id, struct spark *own)
{
	struct spark *s = own;

	if (!t->sparks)
		t->sparks = calloc(1, sizeof(*t->sparks));
	if (t->sparks)
		s = &t->sparks->v[(id >> 32 ^ id) % ROWS];
	if (s == own || s->id != id)
		s->from = s->to = 0;
	s->id = id;
	return s;
}

static float value_in(const struct tui *t, const struct tui_row *r, uint64_t number)
{
	const struct hist *h = tui_hist_at(t, &r->r, number);
	uint64_t ns;

	if (!h || !h->count)
		return NOTHING;
	ns = hist_quantile(h, &p99).ns;
	return log2f((float)(ns ? ns : 1));
}

/* Makes it hold [from, to), no more than POINTS. */
static void fill_spark(const struct tui *t, const struct tui_row *r, struct spark *s, uint64_t from,
		       uint64_t to)
{
	if (s->from == s->to || to < s->from || from > s->to)
		s->from = s->to = from;
	while (s->to < to) {
		s->v[s->to % POINTS] = value_in(t, r, s->to);
		s->to++;
		if (s->to - s->from > POINTS)
			s->from++;
	}
	while (s->from > from) {
		s->from--;
		s->v[s->from % POINTS] = value_in(t, r, s->from);
		if (s->to - s->from > POINTS)
			s->to--;
	}
}

/* In each of the last intervals; the scale is its own, from its lowest to its highest. */
void tui_draw_spark(struct tui *t, size_t line, size_t x, size_t width, const struct tui_row *r,
		    enum tui_style style)
{
	uint64_t n = width < SPARKS_MOST ? width : SPARKS_MOST, to = tui_last_shown(t) + 1, from;
	float low = INFINITY, high = -INFINITY, v;
	struct spark own, *s = spark_of(t, id_of(r), &own);

	from = to > n ? to - n : 0;
	if (from < t->keep.gone)
		from = t->keep.gone;
	fill_spark(t, r, s, from, to);
	for (uint64_t i = from; i < to; i++) {
		v = s->v[i % POINTS];
		low = v >= 0 ? fminf(low, v) : low;
		high = v >= 0 ? fmaxf(high, v) : high;
	}
	for (uint64_t i = from; i < to; i++) {
		/* Less than an octave is no climb: it stays near the middle. */
		float part = 0.5f + (s->v[i % POINTS] - (low + high) / 2) / fmaxf(high - low, 2);

		if (s->v[i % POINTS] >= 0)
			tui_bar(&t->canvas, line, x + width - (size_t)(to - i),
				1 + (unsigned int)(part * (TUI_EIGHTHS - 1) + 0.5f), style);
	}
}
