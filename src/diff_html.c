// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison as a page: what differs, worst first, and of each metric both runs' heat maps, in
 * the same colours and to the same scale, and both curves in one picture. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "diff.h"
#include "sink/html.h"

static const char *const names[] = {[DIFF_BASE] = "base", [DIFF_NEW] = "new"};

/* ---- what was compared ---- */

static void put_side(struct out *out, const struct diff *d, int side)
{
	const struct diff_side *s = &d->sides[side];
	char time[32];

	out_printf(out, "<h2>%s</h2>\n<ul>", side == DIFF_BASE ? "Base" : "New");
	if (s->command)
		html_element(out, "li", s->command);
	for (size_t i = 0; i < s->nfiles; i++) {
		out_text(out, "<li><code>");
		html_text(out, s->files[i].path);
		out_printf(out, "</code>: %" PRIu64 " interval%s, %s</li>\n", s->files[i].intervals,
			   s->files[i].intervals == 1 ? "" : "s",
			   format_duration(time, sizeof(time), s->files[i].dur_ns));
	}
	out_text(out, "</ul>\n<details><summary>its first run: command line and machine"
		      "</summary><dl>\n");
	html_facts(out, &s->files[0].head.meta);
	out_text(out, "</dl></details>\n");
}

/* The table's own words. */
static int put_caveats(struct out *out, const struct diff *d)
{
	size_t len = 0;
	char *text = NULL, *line, *save;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	diff_print_caveats(d, f);
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		html_element(out, "p", line);
	free(text);
	return 0;
}

/* ---- the rows ---- */

/* As exact as in JSON. */
static void put_number(struct out *out, bool known, double v, const char *shown)
{
	if (known)
		out_printf(out, "<td data-v=%.17g>%s</td>", v, shown);
	else
		out_text(out, "<td></td>");
}

static void put_ratio(struct out *out, double v)
{
	char text[DIFF_INTERVAL_BYTES];

	put_number(out, v > 0, v, diff_ratio_text(v, text));
}

/* Of an interval: shown as in the table, where no bound beyond these is given. */
static void put_bound(struct out *out, bool known, double v)
{
	char text[DIFF_INTERVAL_BYTES];

	if (v < DIFF_BOUND_LEAST)
		(void)snprintf(text, sizeof(text), "&lt;%.2f", DIFF_BOUND_LEAST);
	else if (v > DIFF_BOUND_MOST)
		(void)snprintf(text, sizeof(text), "&gt;%.0f", DIFF_BOUND_MOST);
	else
		(void)snprintf(text, sizeof(text), "%.3f", v); /* these fit */
	put_number(out, known, v, text);
}

static void put_line(struct out *out, const struct diff *d, const struct diff_line *l)
{
	const struct compare_stat *s = &l->row->result.stats[l->stat];
	char name[24], value[24];
	size_t i = 0;

	while (d->rows[i] != l->row)
		i++;
	out_printf(out, "<tr data-i=%zu><th scope=row>", i);
	html_text(out, l->row->key);
	out_printf(out, "</th><td class=t>%s%s%s</td><td class=t>%s</td>",
		   s->verdict == COMPARE_SLOWER ? "<strong class=bad>" : "",
		   compare_verdict_text(s->verdict),
		   s->verdict == COMPARE_SLOWER ? "</strong>" : "",
		   diff_stat_name(d, l->stat, name));
	put_number(out, true, s->base, diff_value_text(d, l->stat, s->base, value));
	put_number(out, true, s->new, diff_value_text(d, l->stat, s->new, value));
	put_ratio(out, s->ratio);
	put_bound(out, s->hi > 0, s->lo);
	put_bound(out, s->hi > 0, s->hi);
	(void)snprintf(value, sizeof(value), "%.3f", s->p); /* fits */
	put_number(out, s->hi > 0, s->p, value);
	out_printf(out, "<td data-v=%" PRIu64 ">%" PRIu64 "</td></tr>\n", s->beyond, s->beyond);
}

#define TEXTS 3 /* columns, the first ones; the others are numbers */

static int put_table(struct out *out, const struct diff *d)
{
	static const char *const heads[][2] = {
		{"metric", "metric"}, {"verdict", "verdict"}, {"stat", "stat"},
		{"base", "base"},     {"new", "new"},	      {"ratio", "ratio"},
		{"ci.0", "at least"}, {"ci.1", "at most"},    {"p", "p"},
		{"beyond", "beyond"},
	};
	size_t n, shown;
	struct diff_line *lines = diff_lines(d, &n);

	if (!lines)
		return -ENOMEM;
	shown = d->most && d->most < n ? d->most : n;
	html_table(out, "rows", "What was compared, worst first");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (i < TEXTS)
			html_text_head(out, heads[i][0], heads[i][1]);
		else
			html_head(out, heads[i][0], heads[i][1], NULL);
	html_table_body(out);
	for (size_t i = 0; i < shown; i++)
		put_line(out, d, &lines[i]);
	html_table_end(out);
	if (shown < n)
		out_printf(out, "<p class=dim>%zu more (-n 0 shows all).</p>\n", n - shown);
	out_text(
		out,
		"<p class=dim>Ratio: new by base, at least and at most with 95 % confidence. p: how "
		"probable such a ratio is where nothing differs. Beyond: samples beyond the "
		"percentile, on the side with fewer of them.</p>\n");
	free(lines);
	return 0;
}

static void put_repeats(struct out *out, const struct diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->nrows; i++) {
		if (!d->rows[i]->repeats)
			continue;
		if (!n++)
			out_text(out, "<h3>All of their metric, not repeated</h3>\n<ul>");
		html_element(out, "li", d->rows[i]->key);
	}
	out_text(out, n ? "</ul>\n" : "");
}

static void put_lonely(struct out *out, const struct diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->nrows; i++) {
		const struct diff_row *r = d->rows[i];

		if (r->in[DIFF_BASE] && r->in[DIFF_NEW])
			continue;
		if (!n++)
			out_text(out, "<h3>In one of them only</h3>\n<ul>");
		out_printf(out, "<li>Only in %s: ", names[r->in[DIFF_BASE] ? DIFF_BASE : DIFF_NEW]);
		html_text(out, r->key);
		out_text(out, "</li>\n");
	}
	out_text(out, n ? "</ul>\n" : "");
}

/* ---- pictures ---- */

static int add_cells(struct hist *h, const struct compare_row *w)
{
	struct compare_cursor c = {0};
	struct hist one;
	uint64_t n;
	int ret = 0;

	hist_init(&one, w->schema);
	while (!ret && compare_unpack(&c, w)) {
		one.zero += c.zero;
		one.count += c.zero;
		one.sum_ns += c.sum_ns;
		while (!ret && (n = compare_unpack_slot(&c)))
			ret = hist_add_slot(&one, c.slot, n);
	}
	one.min_ns = w->min_ns;
	one.max_ns = w->max_ns;
	if (!ret)
		ret = hist_merge(h, &one);
	hist_free(&one);
	return ret;
}

/* Both sides of a row. */
struct pair {
	struct html_map maps[DIFF_SIDES];
	struct hist hists[DIFF_SIDES];
	struct html_scale scale;
};

static int pair_make(struct pair *p, const struct diff *d, const struct diff_row *r)
{
	int ret = 0;

	for (int side = 0; side < DIFF_SIDES && !ret; side++) {
		const struct diff_side *s = &d->sides[side];

		hist_init(&p->hists[side], BUCKET_SCHEMA_MAX);
		ret = html_map_make(&p->maps[side], s->runs, r->given[side], s->nfiles);
		for (size_t i = 0; i < s->nfiles && !ret; i++)
			if (r->given[side][i])
				ret = add_cells(&p->hists[side], r->given[side][i]);
		html_scale_map(&p->scale, &p->maps[side]);
		html_scale_hist(&p->scale, &p->hists[side]);
	}
	html_scale_done(&p->scale);
	return ret;
}

static void put_pair(struct out *out, const struct pair *p, const struct diff_row *r)
{
	const struct hist *hists[] = {&p->hists[DIFF_BASE], &p->hists[DIFF_NEW]};

	out_text(out, "<div class=\"fig two\">");
	for (int side = 0; side < DIFF_SIDES; side++) {
		out_text(out, "<figure tabindex=0>");
		html_heat(out, &p->maps[side], &p->scale, r->key);
		out_printf(out, "<figcaption>%s, over time%s</figcaption></figure>\n",
			   side == DIFF_BASE ? "Base" : "New",
			   p->maps[side].zero ? "; waits of 0 ns are not in it" : "");
	}
	out_text(out, "</div>\n");
	html_legend(out, &p->scale);
	out_text(out, "<div class=\"fig two\"><figure tabindex=0>");
	html_curve(out, hists, DIFF_SIDES, r->key, names, &p->scale);
	out_text(out, "<figcaption>Percentiles: each nine has as much room as the one before."
		      "</figcaption></figure></div>\n");
}

static int put_row(struct out *out, const struct diff *d, const struct diff_row *r, bool open)
{
	struct pair p = {0};
	int ret = pair_make(&p, d, r);

	if (!ret) {
		out_printf(out, "<details%s><summary>", open ? " open" : "");
		html_text(out, r->key);
		out_text(out, "</summary>");
		put_pair(out, &p, r);
		out_text(out, "</details>\n");
	}
	for (int side = 0; side < DIFF_SIDES; side++) {
		html_map_free(&p.maps[side]);
		hist_free(&p.hists[side]);
	}
	return ret;
}

static int put_pictures(struct out *out, const struct diff *d)
{
	size_t left = 0, n = 0;
	int ret = 0;

	out_text(out, "<h2>Both, over time</h2>\n<p>Two pictures of a metric have the same scale "
		      "and the same colours.</p>\n<div class=panels>\n");
	for (size_t i = 0; i < d->nrows && !ret; i++) {
		const struct diff_row *r = d->rows[i];

		if (!r->in[DIFF_BASE] || !r->in[DIFF_NEW] || r->repeats)
			continue;
		if (out->len > HTML_BYTES)
			left++;
		else
			ret = put_row(out, d, r, !n++);
	}
	out_text(out, "</div>\n");
	if (left)
		out_printf(out,
			   "<p class=dim>%zu more are without pictures, for the page would be "
			   "too large.</p>\n",
			   left);
	return ret;
}

int diff_print_html(const struct diff *d, FILE *f)
{
	struct out out;
	size_t len;
	int ret;

	out_open_memory(&out);
	html_begin(&out, "waitscope diff");
	out_text(&out, "<header><h1>Two runs compared</h1>\n");
	put_side(&out, d, DIFF_BASE);
	put_side(&out, d, DIFF_NEW);
	out_text(&out, "</header>\n<main><h2>What differs</h2>\n");
	ret = put_caveats(&out, d);
	if (!ret)
		ret = put_table(&out, d);
	put_repeats(&out, d);
	put_lonely(&out, d);
	if (!ret)
		ret = put_pictures(&out, d);
	out_text(&out, "</main>\n");
	html_end(&out);
	if (!ret)
		ret = out_flush(&out, NULL);
	if (!ret) {
		const char *page = out_whole(&out, &len);

		(void)fwrite(page, 1, len, f); /* the caller looks at the stream */
	}
	(void)out_close(&out, NULL); /* memory */
	return ret;
}
