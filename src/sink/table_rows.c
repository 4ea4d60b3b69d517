// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows of a headline metric: its CPUs, or with --by its groups; which, how many, in what order.
 * Groups tell who waits most: the sum of the metric that ranks them, and its share of the time.
 *
 *	PID   COMM     samples    50th    99th  99.9th      max  run-delay  time%
 *	4711  hog            -       -       -       -        -      2.7 s   67.4
 *	4690  sh           812     4.2    31.0    90.1      127    14.1 ms    0.4
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define NUMBER_WIDTH 7 /* many columns: less air than CPUs have */

/* Of the time of one task that waits all the time; more where several wait. */
static const char *share_cell(const struct hist *h, uint64_t dur_ns, char *out, size_t len)
{
	double percent = dur_ns ? 100.0 * (double)h->sum_ns / (double)dur_ns : 0;

	if (!h->sum_ns)
		return "0";
	if (percent >= 999.95)
		return format_count(out, len, (uint64_t)(percent + 0.5));
	if (percent >= 0.095)
		(void)snprintf(out, len, "%.1f", percent); /* fits, as the next */
	else
		(void)snprintf(out, len, "%.2f", percent > 0.01 ? percent : 0.01);
	return out;
}

/* A row without a headline has waited, but never for a wakeup. */
static const char *rows_cell(const struct grid_column *c, struct table_page *page,
			     const struct table_row *row, char *out, size_t len)
{
	const struct series *wait = row->wait;

	if (c->kind == GRID_SHARE)
		return wait ? share_cell(wait->hist, page->f->dur_ns, out, len) : "-";
	if (c->kind == GRID_TOTAL && c->index)
		return wait ? format_duration(out, len, wait->hist->sum_ns) : "-";
	if (c->kind == GRID_LABEL || row->s != wait)
		return table_series_cell(c, page, row, out, len);
	return c->kind == GRID_QUANTILE ? "- " : c->kind == GRID_COUNT ? "0" : "-";
}

/* The rows as the groups stand now. */
static int rows_take(struct table_page *page)
{
	const struct group_rows *g = page->groups;
	size_t i;
	int ret = 0;

	page->rows->n = 0;
	for (i = 0; i < g->n && !ret; i++) {
		const struct series *head = g->v[i].head, *wait = g->v[i].wait;
		struct table_row row = {.s = head ? head : wait, .wait = wait};

		if (row.s) /* else nothing that has a place here */
			ret = table_rows_push(page->rows, &row);
	}
	return ret;
}

static int rows_collect(struct table_page *page, const struct series *whole, bool cpus)
{
	const struct config *cfg = page->cfg;
	int ret = group_rows_collect(page->groups, page->f, whole->desc, cfg->sort, cpus,
				     cfg->by != BY_NONE);

	return ret ? ret : rows_take(page);
}

/* All CPUs stay in their order; a choice of them is of the worst. */
static int rows_sort(struct table_page *page)
{
	group_rows_sort(page->groups);
	return rows_take(page);
}

static const struct series *rows_ranked(const struct table_rows *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->v[i].wait)
			return r->v[i].wait;
	return NULL;
}

static void rows_narrow(struct grid_column *c, bool narrow)
{
	if (c && narrow)
		c->least = NUMBER_WIDTH;
}

static void rows_grid(struct table_page *page, struct grid *g, const struct metric_desc *head)
{
	const struct series *ranked = rows_ranked(page->rows);
	const struct config *cfg = page->cfg;
	struct grid_column *c;
	size_t i;

	g->cell = rows_cell;
	table_label_columns(g, page);
	rows_narrow(grid_add(g, GRID_COUNT, head->counter ? "count" : "samples"), ranked);
	if (head->counter)
		return;
	for (i = 0; i < cfg->nquantiles; i++)
		rows_narrow(grid_add_quantile(g, &cfg->quantiles[i]), ranked);
	rows_narrow(grid_add(g, GRID_MAX, "max"), ranked);
	if (!ranked) {
		if (cfg->sort == SORT_SUM || page->paper.columns >= WIDE_COLUMNS)
			grid_add_total(g, cfg);
		return;
	}
	c = grid_add(g, GRID_TOTAL, ranked->desc->title);
	if (c)
		c->index = 1;
	(void)grid_add(g, GRID_SHARE, "time%"); /* NULL: the grid is full */
}

int table_rows_print(struct table_page *page, const struct series *whole)
{
	const struct config *cfg = page->cfg;
	bool cpus = cfg->by == BY_NONE || cfg->by == BY_CPU;
	struct table_rows *r = page->rows;
	struct grid g = {0};
	size_t shown;
	int ret;

	ret = rows_collect(page, whole, cpus);
	if (!ret && !r->n && cfg->by == BY_NONE) {
		cpus = false; /* a metric that exists only in groups */
		ret = rows_collect(page, whole, cpus);
	}
	if (ret || !r->n)
		return ret;
	shown = table_shown(page, r->n, cfg->rows);
	if (cfg->by != BY_NONE || !cpus || shown < r->n)
		ret = rows_sort(page);
	if (ret)
		return ret;
	rows_grid(page, &g, whole->desc);
	table_gap(page);
	grid_print(&g, page, r->v, shown);
	table_rest(page, r->n - shown, !cpus ? "" : r->n - shown == 1 ? " CPU" : " CPUs");
	return 0;
}
