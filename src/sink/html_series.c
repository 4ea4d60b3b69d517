// SPDX-License-Identifier: GPL-2.0-or-later
/* Sections of a page, in the order of the view: figures and tables of series. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/html.h"
#include "sink/printer.h"

#define KEY_LEN 1024

static const char *unit_of(const struct html_page *p)
{
	return unit_name(p->cfg->unit);
}

/* ---- names ---- */

/* "comm=cat pid=42": without labels, the metric's own. */
static void put_labels(struct out *out, const struct series *s)
{
	if (!s->nlabels)
		html_text(out, s->desc->name);
	for (uint32_t i = 0; i < s->nlabels; i++) {
		out_text(out, i ? " " : "");
		html_text(out, s->labels[i].key);
		out_text(out, "=");
		html_text(out, s->labels[i].value);
	}
}

static void name_of(char *out, size_t len, const struct series *s)
{
	if (!series_key_text(out, len, s))
		(void)snprintf(out, len, "%s", s->desc->name); /* cut at worst */
}

/* ---- figures ---- */

static struct html_row *find_row(const struct html_page *p, const struct series *s)
{
	struct html_row *r = html_data_row(p->data, s);

	/* Once there were too many, one may have gone and come again. */
	return r && (!p->data->full || r->cells.count == s->hist->count) ? r : NULL;
}

static void heat_caption(struct html_page *p, const struct html_map *m)
{
	const struct compare_run *run = &p->data->run;

	out_printf(p->out,
		   "<figcaption>How long waits were, over the time of the run. A column is %" PRIu32
		   " interval%s",
		   run->span, run->span > 1 ? "s, joined exactly" : "");
	if (m->zero)
		out_printf(p->out, "; %s waits of 0 ns are not in it", word_count(m->zero).s);
	out_text(p->out, ".</figcaption>");
}

static void put_heat(struct html_page *p, const struct html_map *m, const struct html_scale *scale,
		     const char *name)
{
	out_text(p->out, "<figure tabindex=0>");
	html_heat(p->out, m, scale, name);
	html_legend(p->out, scale);
	heat_caption(p, m);
	out_text(p->out, "</figure>\n");
}

int html_figure(struct html_page *p, const struct series *s)
{
	struct html_row *row = find_row(p, s);
	const struct compare_run *run = &p->data->run;
	struct compare_row *cells = row ? &row->cells : NULL;
	struct html_scale scale = {0};
	struct html_map map = {0};
	char name[KEY_LEN];
	int ret = 0;

	if (!s->hist->count)
		return 0;
	if (p->out->len > HTML_BYTES) {
		p->left_out++;
		return 0;
	}
	name_of(name, sizeof(name), s);
	if (row)
		ret = html_map_make(&map, &run, &cells, 1);
	html_scale_map(&scale, &map);
	html_scale_hist(&scale, s->hist);
	html_scale_done(&scale);
	out_text(p->out, "<div class=fig>");
	if (row && !ret)
		put_heat(p, &map, &scale, name);
	else
		out_printf(p->out,
			   "<p class=dim>No heat map: of more than %d series, those with the "
			   "fewest waits were not kept over time.</p>",
			   HTML_SERIES);
	out_text(p->out, "<figure tabindex=0>");
	html_curve(p->out, &s->hist, 1, name, NULL, &scale);
	out_text(p->out, "<figcaption>Percentiles: each nine has as much room as the one before. "
			 "Shaded: fewer than 10 waits lie beyond.</figcaption></figure></div>\n");
	html_map_free(&map);
	return ret;
}

/* ---- tables ---- */

void html_series_heads(struct html_page *p, bool split)
{
	char field[32], title[32];

	html_head(p->out, "count", "count", NULL);
	html_head(p->out, "sum", "sum", unit_of(p));
	html_head(p->out, "min", "min", unit_of(p));
	for (size_t i = 0; i < p->cfg->nquantiles; i++) {
		(void)snprintf(field, sizeof(field), "p.%s", p->cfg->quantiles[i].text); /* fits */
		(void)snprintf(title, sizeof(title), "p%s", p->cfg->quantiles[i].text);	 /* fits */
		html_head(p->out, field, title, unit_of(p));
	}
	html_head(p->out, "max", "max", unit_of(p));
	if (!split)
		return;
	html_head(p->out, "blocked_ns", "blocked", unit_of(p));
	html_head(p->out, "run_queue_ns", "run queue", unit_of(p));
	html_head(p->out, "cpu_ns", "CPU", unit_of(p));
}

static void empty_cells(struct html_page *p)
{
	for (size_t i = 0; i < p->cfg->nquantiles + 4; i++)
		out_text(p->out, "<td></td>");
}

void html_hist_cells(struct html_page *p, const struct hist *h)
{
	struct out *out = p->out;
	char shown[80];

	html_number(out, h->count, word_count(h->count).s);
	html_time(out, h->sum_ns, p->cfg->unit);
	if (!h->count) {
		for (size_t i = 0; i < p->cfg->nquantiles + 2; i++)
			out_text(out, "<td></td>");
		return;
	}
	html_time(out, h->min_ns, p->cfg->unit);
	for (size_t i = 0; i < p->cfg->nquantiles; i++) {
		struct quantile_value v = hist_quantile(h, &p->cfg->quantiles[i]);

		(void)snprintf(shown, sizeof(shown), "%s%s", word_time(v.ns, p->cfg->unit).s,
			       v.few ? "*" : ""); /* fits */
		html_number(out, v.ns, shown);
	}
	html_time(out, h->max_ns, p->cfg->unit);
}

static void split_cells(struct html_page *p, const struct series *s)
{
	if (!s->split) {
		out_text(p->out, "<td></td><td></td><td></td>");
		return;
	}
	html_time(p->out, s->split->blocked_ns, p->cfg->unit);
	html_time(p->out, s->split->run_queue_ns, p->cfg->unit);
	html_time(p->out, s->hist->sum_ns - s->split->blocked_ns - s->split->run_queue_ns,
		  p->cfg->unit);
}

/* Its number among the metrics in JSON. */
static void begin_row(struct html_page *p, const struct series *s)
{
	out_printf(p->out, "<tr data-i=%td><th scope=row>", s - p->f->series);
	put_labels(p->out, s);
	out_text(p->out, "</th>");
}

/* How many rows of a table are shown. */
size_t html_shown(const struct view_table *t)
{
	return t->limit && t->n - t->others > t->limit ? t->limit : t->n - t->others;
}

void html_rest(struct html_page *p, const struct view_table *t)
{
	size_t left = t->n - t->others - html_shown(t);

	if (left)
		out_printf(p->out, "<p class=dim>%s more (-n 0 has all of them).</p>\n",
			   word_count(left).s);
}

static const struct series *ranking(const struct view_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].wait)
			return rows[i].wait;
	return NULL;
}

static void series_table(struct html_page *p, const struct view_table *t, const char *caption)
{
	size_t n = html_shown(t);
	const struct view_row *rows = view_first((struct view *)p->view, t, n);
	const struct series *rank = ranking(rows, n);
	bool split = false, never_woken = false;

	for (size_t i = 0; i < n; i++)
		split |= rows[i].s && rows[i].s->split;
	html_table(p->out, "metrics", caption);
	html_text_head(p->out, "labels", "labels");
	if (rank)
		html_head(p->out, "run_delay", rank->desc->title, unit_of(p));
	html_series_heads(p, split);
	html_table_body(p->out);
	for (size_t i = 0; i < n; i++) {
		const struct view_row *r = &rows[i];

		begin_row(p, r->s);
		if (rank && r->wait)
			out_printf(p->out, "<td data-i=%td data-v=%" PRIu64 ">%s</td>",
				   r->wait - p->f->series, r->wait->hist->sum_ns,
				   word_time(r->wait->hist->sum_ns, p->cfg->unit).s);
		else if (rank)
			out_text(p->out, "<td></td>");
		if (r->s == r->wait) { /* a group that was never woken: that sum is all it has */
			empty_cells(p);
			never_woken = true;
		} else {
			html_hist_cells(p, r->s->hist);
		}
		if (split)
			split_cells(p, r->s);
		out_text(p->out, "</tr>\n");
	}
	html_table_end(p->out);
	if (never_woken)
		out_printf(p->out,
			   "<p class=dim>A row without percentiles was never woken in the run: "
			   "its pictures are of %s.</p>\n",
			   rank->desc->title);
	html_rest(p, t);
}

/* Each row's figure, one of them to be seen at a time. */
static int panels(struct html_page *p, const struct view_table *t)
{
	size_t n = html_shown(t), left = p->left_out;
	const struct view_row *rows = view_first((struct view *)p->view, t, n);
	int ret = 0;

	out_text(p->out, "<div class=panels>\n");
	for (size_t i = 0; i < n && !ret; i++) {
		const struct series *s = rows[i].s;

		if (!s->hist->count)
			continue;
		if (p->out->len > HTML_BYTES) {
			p->left_out++;
			continue;
		}
		out_printf(p->out, "<details%s><summary>", i ? "" : " open");
		put_labels(p->out, s);
		out_text(p->out, "</summary>");
		ret = html_figure(p, s);
		out_text(p->out, "</details>\n");
	}
	out_text(p->out, "</div>\n");
	if (p->left_out > left)
		out_printf(p->out,
			   "<p class=dim>%zu more are without pictures, for the page would be too "
			   "large.</p>\n",
			   p->left_out - left);
	return ret;
}

/* ---- sections ---- */

static int parts(struct html_page *p, const struct view_table *t)
{
	const struct view_row *rows = view_first((struct view *)p->view, t, t->n);
	int ret = 0;

	for (size_t i = 0; i < t->n && !ret; i++) {
		const struct series *s = rows[i].s;

		if (!s->hist || !s->hist->count)
			continue;
		out_text(p->out, "<details><summary>");
		html_text(p->out, s->desc->title);
		if (s->desc->help) {
			out_text(p->out, ": ");
			html_text(p->out, s->desc->help);
		}
		out_text(p->out, "</summary>");
		ret = html_figure(p, s);
		out_text(p->out, "</details>\n");
	}
	return ret;
}

/* What a section is called; NULL: it is not one of these. */
static const char *title_of(const struct view_section *sec)
{
	if (sec->kind == VIEW_CONTENDED || sec->kind == VIEW_LINES || sec->kind == VIEW_CULPRITS)
		return NULL;
	if (sec->kind == VIEW_HEADLINE && !sec->desc)
		return sec->sides.n ? "Other waits" : NULL;
	return sec->kind != VIEW_ROWS || sec->rows.n || sec->groups.n ? sec->desc->title : NULL;
}

static void section_head(struct html_page *p, const struct view_section *sec,
			 const struct metric_desc *desc)
{
	out_printf(p->out, "<h2 id=s%td>", sec - p->view->sections);
	html_text(p->out, title_of(sec));
	out_text(p->out, "</h2>\n");
	if (desc && desc->help)
		out_printf(p->out, "<p>%s.</p>\n", desc->help); /* the registry's own */
}

static int headline(struct html_page *p, const struct view_section *sec)
{
	const char *by = view_by(p->cfg->by);
	char caption[64];
	int ret = 0;

	section_head(p, sec, sec->desc);
	if (sec->head)
		ret = html_figure(p, sec->head);
	if (!ret)
		ret = parts(p, &sec->legs);
	if (!ret)
		ret = parts(p, &sec->sides);
	if (ret || !sec->rows.n)
		return ret;
	(void)snprintf(caption, sizeof(caption), "%s: by %s",
		       sec->desc ? sec->desc->title : "Waits", by ? by : "CPU"); /* fits */
	html_element(p->out, "h3", caption);
	series_table(p, &sec->rows, caption);
	return panels(p, &sec->rows);
}

static int rows(struct html_page *p, const struct view_section *sec)
{
	char caption[64];
	int ret = 0;

	section_head(p, sec, NULL);
	if (sec->rows.n) {
		series_table(p, &sec->rows, sec->desc->title);
		ret = panels(p, &sec->rows);
	}
	if (ret || !sec->groups.n)
		return ret;
	(void)snprintf(caption, sizeof(caption), "%s: by %s", sec->desc->title,
		       view_by(p->cfg->by)); /* fits */
	html_element(p->out, "h3", caption);
	series_table(p, &sec->groups, caption);
	return panels(p, &sec->groups);
}

/* "ext4_es_lookups hit": the metric, and which value of its pivot the column is of. */
static void count_head(struct out *out, const struct view_column *c)
{
	out_printf(out, "<th scope=col data-f=\"%s ", c->desc->name);
	html_text(out, c->value ? c->value : "");
	out_text(out, "\">");
	html_text(out, c->value ? c->value : c->desc->title);
	out_text(out, "</th>");
}

static bool is_pivot(const struct view_section *sec, const char *key)
{
	for (size_t i = 0; i < sec->ncolumns; i++)
		if (sec->columns[i].desc->pivot && !strcmp(sec->columns[i].desc->pivot, key))
			return true;
	return false;
}

static void counts_table(struct html_page *p, const struct view_section *sec,
			 const struct view_table *t, const char *caption)
{
	size_t n = html_shown(t);
	const struct view_row *r = view_first((struct view *)p->view, t, n);

	html_table(p->out, "counters", caption);
	html_text_head(p->out, "labels", "labels");
	for (size_t k = 0; k < sec->ncolumns; k++)
		count_head(p->out, &sec->columns[k]);
	html_table_body(p->out);
	for (size_t i = 0; i < n; i++) {
		struct series s = *r[i].s;

		s.nlabels = 0;
		for (uint32_t k = 0; k < r[i].s->nlabels; k++)
			if (!is_pivot(sec, r[i].s->labels[k].key))
				s.labels[s.nlabels++] = r[i].s->labels[k];
		out_printf(p->out, "<tr data-i=%td><th scope=row>", r[i].s - p->f->series);
		put_labels(p->out, &s);
		out_text(p->out, "</th>");
		for (size_t k = 0; k < sec->ncolumns; k++) {
			uint64_t v = p->view->values[r[i].values + k];

			html_number(p->out, v, word_count(v).s);
		}
		out_text(p->out, "</tr>\n");
	}
	html_table_end(p->out);
	html_rest(p, t);
}

static void counts(struct html_page *p, const struct view_section *sec)
{
	char caption[64];

	section_head(p, sec, sec->desc);
	if (sec->rows.n)
		counts_table(p, sec, &sec->rows, sec->desc->title);
	if (!sec->groups.n)
		return;
	(void)snprintf(caption, sizeof(caption), "%s: by %s", sec->desc->title,
		       view_by(p->cfg->by)); /* cut at worst */
	html_element(p->out, "h3", caption);
	counts_table(p, sec, &sec->groups, caption);
}

void html_section_links(struct html_page *p)
{
	for (size_t i = 0; i < p->view->nsections; i++) {
		const char *title = title_of(&p->view->sections[i]);

		if (!title)
			continue;
		out_printf(p->out, "<a href=\"#s%zu\">", i);
		html_text(p->out, title);
		out_text(p->out, "</a>\n");
	}
}

int html_sections(struct html_page *p)
{
	int ret = 0;

	for (size_t i = 0; i < p->view->nsections && !ret; i++) {
		const struct view_section *sec = &p->view->sections[i];

		if (!title_of(sec))
			continue;
		switch (sec->kind) {
		case VIEW_HEADLINE:
			ret = headline(p, sec);
			break;
		case VIEW_ROWS:
			ret = rows(p, sec);
			break;
		case VIEW_COUNTS:
			counts(p, sec);
			break;
		case VIEW_CONTENDED:
		case VIEW_LINES:
		case VIEW_CULPRITS:
			break;
		}
	}
	return ret;
}
