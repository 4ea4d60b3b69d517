// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of a headline metric: its CPUs, or with --by its groups; which, how many, in what order.
 */
#include <stdlib.h>
#include <string.h>

#include "sink/table.h"

static bool row_is_cpu(const struct series *s)
{
	return s->nlabels == 1 && !strcmp(s->labels[0].key, "cpu");
}

/* Groups that had no samples are left out; CPUs are not: an idle CPU is an answer. */
static int rows_collect(struct table_page *page, const struct series *whole, bool cpus)
{
	enum sort_key sort = page->cfg->sort ? page->cfg->sort : SORT_P99;
	const struct frame *f = page->f;
	const struct series *s;
	struct table_row row;
	size_t i;
	int ret;

	page->rows->n = 0;
	for (i = 0; i < f->nseries; i++) {
		s = &f->series[i];
		if (!s->nlabels || row_is_cpu(s) != cpus ||
		    strcmp(s->desc->name, whole->desc->name))
			continue;
		if (!cpus && table_series_empty(s))
			continue;
		row = (struct table_row){.s = s, .weight = table_series_weight(s, sort)};
		ret = table_rows_push(page->rows, &row);
		if (ret)
			return ret;
	}
	return 0;
}

static void rows_grid(struct table_page *page, struct grid *g)
{
	const struct config *cfg = page->cfg;
	const struct series *first = page->rows->v[0].s;
	size_t i;

	g->cell = table_series_cell;
	table_label_columns(g, page);
	grid_add(g, GRID_COUNT, first->desc->counter ? "count" : "samples");
	if (first->desc->counter)
		return;
	for (i = 0; i < cfg->nquantiles; i++)
		grid_add_quantile(g, &cfg->quantiles[i]);
	grid_add(g, GRID_MAX, "max");
	if (cfg->sort == SORT_SUM || page->paper.columns >= WIDE_COLUMNS)
		grid_add_total(g, cfg);
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
	/* All CPUs stay in their order; a choice of them is of the worst. */
	if (cfg->by != BY_NONE || !cpus || shown < r->n)
		qsort(r->v, r->n, sizeof(r->v[0]), table_compare_series);
	rows_grid(page, &g);
	table_gap(page);
	grid_print(&g, page, r->v, shown);
	if (shown < r->n)
		table_rest(page, r->n - shown,
			   !cpus	       ? ""
			   : r->n - shown == 1 ? " CPU"
					       : " CPUs",
			   shown == page->max_rows);
	return 0;
}
