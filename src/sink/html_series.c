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

/* ---- figures ---- */

static void put_heat(struct html_page *p, const struct html_map *m, const struct html_scale *scale,
		     const char *name)
{
	uint32_t span = p->data->run.span;

	out_text(p->out, "<figure tabindex=0>");
	html_heat(p->out, m, scale, name);
	html_legend(p->out, scale);
	out_printf(p->out,
		   "<figcaption>How long waits were, over the time of the run. A column is %" PRIu32
		   " interval%s",
		   span, span > 1 ? "s, joined exactly" : "");
	if (m->zero)
		out_printf(p->out, "; %s waits of 0 ns are not in it", word_count(m->zero).s);
	out_text(p->out, ".</figcaption></figure>\n");
}

static int figure(struct html_page *p, const struct series *s)
{
	struct html_row *row = html_data_row(p->data, s);
	const struct compare_run *run = &p->data->run;
	struct compare_row *cells;
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
	if (!series_key_text(name, sizeof(name), s))
		(void)snprintf(name, sizeof(name), "%s", s->desc->name); /* cut at worst */
	/* Once there were too many, one may have gone and come again. */
	if (row && p->data->full && row->cells.count != s->hist->count)
		row = NULL;
	if (row) {
		cells = &row->cells;
		ret = html_map_make(&map, &run, &cells, 1);
	}
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

void html_hist_cells(struct html_page *p, const struct hist *h)
{
	struct out *out = p->out;
	char shown[80];

	html_number(out, h->count, word_count(h->count).s);
	html_time(out, h->sum_ns, p->cfg->unit);
	if (!h->count) {
		html_empty(out, p->cfg->nquantiles + 2);
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
		html_empty(p->out, 3);
		return;
	}
	html_time(p->out, s->split->blocked_ns, p->cfg->unit);
	html_time(p->out, s->split->run_queue_ns, p->cfg->unit);
	html_time(p->out, s->hist->sum_ns - s->split->blocked_ns - s->split->run_queue_ns,
		  p->cfg->unit);
}

/* With its number among the metrics in JSON; `names` has the labels that say which row it is. */
static void begin_row(struct html_page *p, const struct series *s, const struct series *names)
{
	out_printf(p->out, "<tr data-i=%td><th scope=row>", s - p->f->series);
	put_labels(p->out, names);
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

/* Of groups, before the columns of the metric that ranks them. */
static void rank_heads(struct html_page *p, const struct view_table *t)
{
	html_head(p->out, "time_share", "of the time", "%");
	if (t->besides)
		html_head(p->out, "sum", t->besides->ranks_as, unit_of(p));
}

/* A cell of another metric than the row's has that one's number. */
static void other_cell(struct html_page *p, const struct series *s, uint64_t v, const char *shown)
{
	out_printf(p->out, "<td data-i=%td data-v=%" PRIu64 ">%s</td>", s - p->f->series, v, shown);
}

static void rank_cells(struct html_page *p, const struct view_table *t, const struct view_row *r)
{
	const struct series *s = r->besides;
	uint64_t ns = view_waited_ns(r);
	char share[32];

	html_number(p->out, ns, format_time_share(share, sizeof(share), ns, p->f->dur_ns));
	if (s)
		other_cell(p, s, s->hist->sum_ns, word_time(s->hist->sum_ns, p->cfg->unit).s);
	else if (t->besides)
		html_empty(p->out, 1);
}

/* ... and after them: the headline's, by its short name. */
static void brief_heads(struct html_page *p, const struct metric_desc *head)
{
	char field[32], title[48];

	(void)snprintf(title, sizeof(title), "%ss", head->brief); /* all fit */
	html_head(p->out, "count", title, NULL);
	for (size_t i = 0; i < p->cfg->nquantiles; i++) {
		(void)snprintf(field, sizeof(field), "p.%s", p->cfg->quantiles[i].text);
		(void)snprintf(title, sizeof(title), "%s p%s", head->brief,
			       p->cfg->quantiles[i].text);
		html_head(p->out, field, title, unit_of(p));
	}
}

static void brief_cells(struct html_page *p, const struct series *s)
{
	char shown[80];

	if (!s || !s->hist->count) {
		html_empty(p->out, 1 + p->cfg->nquantiles);
		return;
	}
	other_cell(p, s, s->hist->count, word_count(s->hist->count).s);
	for (size_t i = 0; i < p->cfg->nquantiles; i++) {
		struct quantile_value v = hist_quantile(s->hist, &p->cfg->quantiles[i]);

		(void)snprintf(shown, sizeof(shown), "%s%s", word_time(v.ns, p->cfg->unit).s,
			       v.few ? "*" : ""); /* fits */
		other_cell(p, s, v.ns, shown);
	}
}

static void series_table(struct html_page *p, const struct view_table *t,
			 const struct metric_desc *head, const char *caption)
{
	size_t n = html_shown(t);
	const struct view_row *rows = view_first((struct view *)p->view, t, n);
	bool split = false, ranked = t->ranked || t->besides;

	for (size_t i = 0; i < n; i++)
		split |= rows[i].s && rows[i].s->split;
	html_table(p->out, "metrics", caption);
	html_text_head(p->out, "labels", "labels");
	if (ranked)
		rank_heads(p, t);
	html_series_heads(p, split);
	if (ranked && head->brief)
		brief_heads(p, head);
	html_table_body(p->out);
	for (size_t i = 0; i < n; i++) {
		const struct view_row *r = &rows[i];

		begin_row(p, r->s, r->s);
		if (ranked)
			rank_cells(p, t, r);
		if (ranked && !r->wait)
			html_empty(p->out, p->cfg->nquantiles + 4);
		else
			html_hist_cells(p, r->s->hist);
		if (split)
			split_cells(p, r->s);
		if (ranked && head->brief)
			brief_cells(p, r->head);
		out_text(p->out, "</tr>\n");
	}
	html_table_end(p->out);
	if (t->ranked)
		out_printf(p->out,
			   "<p class=dim>Count, sum, percentiles and pictures are of %s.</p>\n",
			   t->ranked->title);
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
		if (s->nlabels)
			html_summary(p, &s->labels[0], "");
		ret = figure(p, s);
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
		ret = figure(p, s);
		out_text(p->out, "</details>\n");
	}
	return ret;
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
		begin_row(p, r[i].s, &s);
		for (size_t k = 0; k < sec->ncolumns; k++) {
			uint64_t v = p->view->values[r[i].values + k];

			html_number(p->out, v, word_count(v).s);
		}
		out_text(p->out, "</tr>\n");
	}
	html_table_end(p->out);
	html_rest(p, t);
}

/* Sections of which a page has one each; the others go by their numbers. */
static const struct {
	const char *id, *title;
} single[] = {
	[VIEW_CONTENDED] = {"contended", "Contended addresses"},
	[VIEW_LINES] = {"lines", "Cache lines"},
	[VIEW_CULPRITS] = {"culprits", "Who made tasks wait for a CPU"},
};

/* NULL: there is nothing to be shown. */
static const char *title_of(const struct view_section *sec)
{
	if (single[sec->kind].title)
		return single[sec->kind].title;
	if (sec->kind == VIEW_HEADLINE && !sec->desc)
		return sec->sides.n ? "Other waits" : NULL;
	return sec->kind != VIEW_ROWS || sec->rows.n || sec->groups.n ? sec->desc->title : NULL;
}

/* Its title, as a heading or as a link: `before` and `after` are what stands around its id. */
static void put_title(struct html_page *p, const struct view_section *sec, const char *before,
		      const char *after)
{
	out_text(p->out, before);
	if (single[sec->kind].id)
		out_text(p->out, single[sec->kind].id);
	else
		out_printf(p->out, "s%td", sec - p->view->sections);
	out_text(p->out, after);
	html_text(p->out, title_of(sec));
}

/* One of a section's tables, by what; NULL: rows are what the section is of. */
static int section_table(struct html_page *p, const struct view_section *sec,
			 const struct view_table *t, const char *by)
{
	const char *title = sec->desc ? sec->desc->title : "Waits";
	char caption[64];

	if (!t->n)
		return 0;
	if (by) {
		(void)snprintf(caption, sizeof(caption), "%s: by %s", title, by); /* cut at worst */
		html_element(p->out, "h3", caption);
		title = caption;
	}
	if (sec->kind == VIEW_COUNTS) {
		counts_table(p, sec, t, title);
		return 0;
	}
	series_table(p, t, sec->desc, title);
	return panels(p, t);
}

static int series_section(struct html_page *p, const struct view_section *sec)
{
	const char *by = view_by(p->cfg->by);
	const char *rows_by = sec->kind != VIEW_HEADLINE ? NULL : by ? by : "CPU";
	int ret;

	if (sec->kind != VIEW_ROWS && sec->desc && sec->desc->help)
		out_printf(p->out, "<p>%s.</p>\n", sec->desc->help); /* the registry's own */
	ret = sec->head ? figure(p, sec->head) : 0;
	if (!ret)
		ret = parts(p, &sec->legs);
	if (!ret)
		ret = parts(p, &sec->sides);
	if (!ret)
		ret = section_table(p, sec, &sec->rows, rows_by);
	return ret ? ret : section_table(p, sec, &sec->groups, by);
}

void html_section_links(struct html_page *p)
{
	for (size_t i = 0; i < p->view->nsections; i++) {
		if (!title_of(&p->view->sections[i]))
			continue;
		put_title(p, &p->view->sections[i], "<a href=\"#", "\">");
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
		put_title(p, sec, "<h2 id=", ">");
		out_text(p->out, "</h2>\n");
		if (sec->kind == VIEW_CULPRITS)
			html_culprits(p, sec, single[sec->kind].title);
		else if (single[sec->kind].id)
			html_contended(p, sec, single[sec->kind].title);
		else
			ret = series_section(p, sec);
	}
	return ret;
}
