// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Grids of series: CPUs and groups of a headline, with --by those that wait most first, with the
 * percentiles of the metric that ranks them, its sum, time waited besides where there is some, and
 * both as a share of the time; where there is room the headline's percentiles, too;
 *
 *	PID   COMM     samples    50th    99th  99.9th      max  run-delay  throttled  time%
 *	4711  hog          681   3,992   7,984   8,010    8,122      2.7 s          -   67.4
 *	4713  web           12     9.1    12.0    12.0     12.0    80.2 us     2.1 s    52.5
 *	4690  sh           812     4.2    31.0    90.1      127    14.1 ms          -    0.4
 *
 * metrics whose series are rows, sorted by their sums;
 *
 *	OP             MOUNT    samples   50th   90th    99th   99.9th    max  blk% runq% cpu%
 *	fsync          /data    166,091   25.6   69.6     139   1,638  92,004  57.2  15.0 27.8
 *	journal-start  /data     17,632   43.0   63.5     311   4,456  47,471  50.0  30.3 19.7
 *
 * and counters, a column for each value of a label, with as many decimals as it takes to show that
 * a value occurred at all.
 *
 *	MOUNT     total/s     hit%    miss%  miss/s  written%  unwritten%  delayed%  hole%
 *	/data   1,111,429  99.9991   0.0009      10       0.1           0         0   99.9
 */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define KEYS_MAX 16
#define NUMBER_WIDTH 7 /* many columns: less air than CPUs have */
#define COUNTS_SUM UINT32_MAX

/* ---- cells ---- */

/* Blocked, run queue, CPU: what the sum was spent on. */
static const char *split_cell(const struct series *s, uint32_t index, char *out, size_t len)
{
	const struct split *split = s->split;
	uint64_t sum = s->hist->sum_ns;

	if (!split)
		return "-";
	return format_share(out, len,
			    index == 0	 ? split->blocked_ns
			    : index == 1 ? split->run_queue_ns
					 : sum - split->blocked_ns - split->run_queue_ns,
			    sum, 1);
}

const char *table_hist_cell(const struct grid_column *col, struct table_page *page,
			    const struct hist *h, char *out, size_t len)
{
	if (!h || !h->count)
		return col->kind == GRID_QUANTILE ? "- " : "-";
	if (col->kind == GRID_QUANTILE)
		return table_word(out, len, table_quantile(page, h, &col->q));
	if (col->kind == GRID_MAX)
		return format_time(out, len, h->max_ns, page->cfg->unit);
	return format_duration(out, len, h->sum_ns);
}

/* A mount point is clearer than the device; where there is none the device stands in its place. */
static const char *label_cell(const struct series *s, const char *key, char *out, size_t len)
{
	const char *value = series_label(s, key);

	if (!value && !strcmp(key, "mount"))
		value = series_label(s, "dev");
	return value ? text_clean(out, len, value, SIZE_MAX) : "";
}

static const char *series_cell(const struct grid_column *c, struct table_page *page,
			       const struct view_row *row, char *out, size_t len)
{
	const struct series *s = row->s;

	if (c->kind == GRID_TITLE)
		return s->desc->title;
	if (c->kind == GRID_LABEL)
		return label_cell(s, c->key, out, len);
	if (c->kind == GRID_COUNT)
		return format_count(out, len, s->desc->counter ? s->value : s->hist->count);
	if (s->desc->counter)
		return "";
	if (c->kind == GRID_SHARE && s->hist->count)
		return split_cell(s, c->index, out, len);
	return table_hist_cell(c, page, s->hist, out, len);
}

/* Of which metric a column of groups is; GROUP_HEAD without one that ranks them. */
enum group_column { GROUP_HEAD, GROUP_WAIT, GROUP_BESIDES };

static const char *group_cell(const struct grid_column *c, struct table_page *page,
			      const struct view_row *row, char *out, size_t len)
{
	const struct series *const of[] = {
		[GROUP_HEAD] = row->head,
		[GROUP_WAIT] = row->wait,
		[GROUP_BESIDES] = row->besides,
	};
	const struct series *s;

	if (c->kind == GRID_LABEL)
		return label_cell(row->first, c->key, out, len);
	if (c->kind == GRID_SHARE)
		return format_time_share(out, len, view_waited_ns(row), page->f->dur_ns);
	s = of[c->index];
	if (c->kind == GRID_COUNT)
		return format_count(out, len,
				    !s		       ? 0
				    : s->desc->counter ? s->value
						       : s->hist->count);
	return table_hist_cell(c, page, s ? s->hist : NULL, out, len);
}

static const char *counts_cell(const struct grid_column *c, struct table_page *page,
			       const struct view_row *row, char *out, size_t len)
{
	const struct view_section *sec = page->section;
	uint64_t v;

	if (c->kind == GRID_LABEL)
		return series_cell(c, page, row, out, len);
	v = c->index == COUNTS_SUM ? view_sum(page->view, sec, row, sec->desc)
				   : page->view->values[row->values + c->index];
	if (c->kind == GRID_COUNT)
		return format_count(out, len, v);
	if (c->kind == GRID_RATE)
		return format_rate(out, len, v, page->f->dur_ns);
	return format_share(out, len, v,
			    view_sum(page->view, sec, row, sec->columns[c->index].desc),
			    SHARE_EXACT);
}

/* ---- labels ---- */

/* A label's column is a number's only if all its values are. */
static bool label_is_number(const struct view_row *rows, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = series_label(rows[i].s, key);

		if (!value || !text_is_number(value))
			return false;
	}
	return true;
}

static size_t find_key(const char *const *keys, size_t n, const char *key)
{
	size_t i;

	for (i = 0; i < n && strcmp(keys[i], key); i++)
		;
	return i;
}

/* Columns for all labels of the rows, but for pivots; the key of --by first. */
static void label_columns(struct grid *g, const struct table_page *page,
			  const struct view_row *rows, size_t n)
{
	const char *by = view_by(page->cfg->by), *keys[KEYS_MAX];
	size_t nkeys = 0, k;

	for (size_t i = 0; i < n; i++) {
		const struct series *s = rows[i].s;

		for (k = 0; k < s->nlabels && nkeys < KEYS_MAX; k++) {
			const char *key = s->labels[k].key;

			if ((!s->desc->pivot || strcmp(key, s->desc->pivot)) &&
			    find_key(keys, nkeys, key) == nkeys)
				keys[nkeys++] = key;
		}
	}
	k = by ? find_key(keys, nkeys, by) : nkeys;
	if (k < nkeys) {
		memmove(keys + 1, keys, k * sizeof(*keys));
		keys[0] = by;
	}
	for (k = 0; k < nkeys; k++)
		if (strcmp(keys[k], "dev") || find_key(keys, nkeys, "mount") == nkeys)
			grid_add_label(g, keys[k], label_is_number(rows, n, keys[k]));
}

/* ---- columns ---- */

/* "wakeup-50th  wakeup-99th  wakeups": the headline's, where there is room for them. */
static void head_columns(struct grid *g, const struct config *cfg, const struct metric_desc *head)
{
	char text[32];

	for (size_t i = 0; i < cfg->nquantiles; i++) {
		(void)snprintf(text, sizeof(text), "%s-%sth ", head->brief,
			       cfg->quantiles[i].text); /* heads may be cut */
		grid_add(g, GRID_QUANTILE, text, NUMBER_WIDTH, YIELD_FIRST)->q = cfg->quantiles[i];
	}
	(void)snprintf(text, sizeof(text), "%ss", head->brief);
	grid_add(g, GRID_COUNT, text, NUMBER_WIDTH, YIELD_FIRST);
}

static void group_columns(struct grid *g, const struct table_page *page,
			  const struct view_row *rows, size_t n)
{
	const struct metric_desc *head = page->section->desc;
	const struct view_table *t = &page->section->rows;
	const struct config *cfg = page->cfg;
	bool ranked = t->ranked || t->besides;
	size_t least = ranked ? NUMBER_WIDTH : 0;

	grid_add(g, GRID_COUNT, head->counter ? "count" : "samples", least, YIELD_NEVER);
	if (head->counter)
		return;
	grid_add_quantiles(g, cfg->quantiles, cfg->nquantiles, least);
	grid_add(g, GRID_MAX, "max", least, YIELD_NEVER);
	if (!ranked && (cfg->sort == SORT_SUM || page->printer.columns >= WIDE_COLUMNS))
		grid_add_total(g, cfg);
	if (!ranked)
		return;
	if (t->ranked)
		grid_add(g, GRID_TOTAL, t->ranked->title, 0, YIELD_NEVER);
	for (size_t i = 0; i < g->n; i++)
		g->col[i].index = GROUP_WAIT;
	if (t->besides)
		grid_add(g, GRID_TOTAL, t->besides->ranks_as, 0, YIELD_NEVER)->index =
			GROUP_BESIDES;
	grid_add(g, GRID_SHARE, "time%", 0, YIELD_NEVER);
	if (head->brief)
		head_columns(g, cfg, head);
}

static void op_columns(struct grid *g, const struct table_page *page, const struct view_row *rows,
		       size_t n)
{
	static const char *const heads[] = {"blk%", "runq%", "cpu%"};
	const struct config *cfg = page->cfg;
	bool split = false;

	for (size_t i = 0; i < n; i++)
		split |= rows[i].s->split != NULL;
	grid_add(g, GRID_COUNT, "samples", 0, YIELD_NEVER);
	grid_add_quantiles(g, cfg->quantiles, cfg->nquantiles, NUMBER_WIDTH);
	grid_add(g, GRID_MAX, "max", NUMBER_WIDTH, YIELD_NEVER);
	for (uint32_t i = 0; split && i < 3; i++) /* the last is what is left of a hundred */
		grid_add(g, GRID_SHARE, heads[i], 0, i == 2 ? YIELD_LATE : YIELD_NEVER)->index = i;
	if (cfg->sort == SORT_SUM || page->printer.columns >= WIDE_COLUMNS)
		grid_add_total(g, cfg);
}

/* Has any row something of a metric? A grid of groups may have nothing of one that joins. */
static bool counts_any(const struct table_page *page, const struct view_row *rows, size_t n,
		       const struct metric_desc *desc)
{
	for (size_t i = 0; i < n; i++)
		if (view_sum(page->view, page->section, &rows[i], desc))
			return true;
	return false;
}

static void counts_add(struct grid *g, enum grid_kind kind, uint32_t index, enum field_yield yield,
		       const char *name, const char *unit)
{
	char clean[24], head[32];

	(void)snprintf(head, sizeof(head), "%s%s", text_clean(clean, sizeof(clean), name, SIZE_MAX),
		       unit); /* fits */
	grid_add(g, kind, head, 0, yield)->index = index;
}

/*
 * The share of the metric's first value says what those of the others are; how often they occur
 * says it better. So these shares go first where it is narrow.
 */
static void counts_columns(struct grid *g, const struct table_page *page,
			   const struct view_row *rows, size_t n)
{
	const struct view_section *sec = page->section;
	const struct view_column *c = sec->columns;
	uint32_t i;

	counts_add(g, GRID_RATE, COUNTS_SUM, YIELD_NEVER, "total", "/s");
	if (!sec->desc->pivot)
		counts_add(g, GRID_COUNT, COUNTS_SUM, YIELD_NEVER, "count", "");
	for (i = 0; i < sec->ncolumns; i++)
		if (c[i].desc == sec->desc && c[i].value)
			counts_add(g, GRID_SHARE, i, i ? YIELD_FIRST : YIELD_NEVER, c[i].value,
				   "%");
	for (i = 1; i < sec->ncolumns; i++)
		if (c[i].desc == sec->desc && c[i].value)
			counts_add(g, GRID_RATE, i, YIELD_NEVER, c[i].value, "/s");
	for (i = 0; i < sec->ncolumns; i++)
		if (c[i].desc != sec->desc && c[i].value && counts_any(page, rows, n, c[i].desc))
			counts_add(g, GRID_SHARE, i, YIELD_LATE, c[i].value, "%");
}

/* ---- grids ---- */

/* A small window has those of the headline's own that have samples; of others another section
 * tells. */
static enum table_density side_until(const struct table_page *page, const struct series *s)
{
	const struct metric_desc *head = page->section->desc;

	if (head && (!s->hist || !s->hist->count || !s->desc->part_of ||
		     strcmp(s->desc->part_of, head->name)))
		return DENSITY_BARE;
	return DENSITIES;
}

void table_sides(struct table_page *page)
{
	enum table_density until = DENSITY_BARE;
	static const struct quantile q[] = {{PPB_P50, "50"}, {PPB_P99, "99"}};
	const struct view_table *t = &page->section->sides;
	const struct view_row *rows = view_first(page->view, t, t->n);
	struct grid g = {.cell = series_cell, .indent = 4};

	if (!t->n)
		return;
	grid_add(&g, GRID_TITLE, "", 0, YIELD_NEVER);
	grid_add(&g, GRID_COUNT, "samples", 0, YIELD_NEVER);
	grid_add_quantiles(&g, q, 2, 0);
	grid_add(&g, GRID_MAX, "max", 0, YIELD_NEVER);
	grid_add_total(&g, page->cfg);
	grid_measure(&g, page, rows, t->n);
	for (size_t i = 0; i < t->n && until != DENSITIES; i++)
		until = side_until(page, rows[i].s);
	(void)table_only(page, DENSITY_ALL, until); /* grids know themselves what is not there */
	grid_begin(&g, page);
	for (size_t i = 0; i < t->n; i++)
		if (table_only(page, DENSITY_ALL, side_until(page, rows[i].s)))
			grid_row(&g, page, &rows[i]);
	table_always(page);
}

void table_rows(struct table_page *page, const struct view_table *t)
{
	static const struct {
		const char *(*cell)(const struct grid_column *c, struct table_page *page,
				    const struct view_row *row, char *out, size_t len);
		void (*columns)(struct grid *g, const struct table_page *page,
				const struct view_row *rows, size_t n);
	} kinds[] = {
		[VIEW_HEADLINE] = {group_cell, group_columns},
		[VIEW_ROWS] = {series_cell, op_columns},
		[VIEW_COUNTS] = {counts_cell, counts_columns},
	};
	struct grid g = {.cell = kinds[page->section->kind].cell};
	const struct view_row *rows;
	size_t shown;

	if (!t->n)
		return;
	shown = table_shown(page, t);
	rows = view_first(page->view, t, shown);
	label_columns(&g, page, rows, t->n);
	kinds[page->section->kind].columns(&g, page, rows, t->n);
	grid_rows(&g, page, rows, shown, t->cpus ? " CPU" : "");
}
