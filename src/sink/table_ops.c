// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A metric whose series are rows, sorted by their sums; with --by a second grid of the groups.
 *
 *	ext4 operations (usec)     198,117 samples  39,623/s  8.8 s
 *	OP             MOUNT    samples   50th   90th    99th   99.9th    max  blk% runq% cpu%
 *	fsync          /data    166,091   25.6   69.6     139   1,638  92,004  57.2  15.0 27.8
 *	journal-start  /data     17,632   43.0   63.5     311   4,456  47,471  50.0  30.3 19.7
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define NUMBER_WIDTH 7 /* many columns: less air than a headline's grid has */

/* A metric and those that join it are one table. */
static const char *ops_table(const struct metric_desc *desc)
{
	return desc->joins ? desc->joins : desc->name;
}

bool table_ops_together(const struct metric_desc *a, const struct metric_desc *b)
{
	return a == b || (a->role == METRIC_ROWS && b->role == METRIC_ROWS &&
			  !strcmp(ops_table(a), ops_table(b)));
}

static int ops_collect(struct table_page *page, const struct metric_desc *desc,
		       enum table_part part)
{
	enum sort_key sort = page->cfg->sort ? page->cfg->sort : SORT_SUM;
	const struct frame *f = page->f;
	struct table_row row;
	size_t i;
	int ret = 0;

	page->rows->n = 0;
	for (i = 0; i < f->nseries && !ret; i++) {
		const struct series *s = &f->series[i];

		if (!table_ops_together(s->desc, desc) || table_series_empty(s) ||
		    !table_in_part(page, s, part))
			continue;
		row = (struct table_row){.s = s, .weight = table_series_weight(s, sort)};
		ret = table_rows_push(page->rows, &row);
	}
	return ret;
}

static void ops_title(struct table_page *page, const struct metric_desc *desc)
{
	char samples[48], rate[32], sum[32], text[160] = "no samples";
	uint64_t count = 0, sum_ns = 0;
	size_t i;

	for (i = 0; i < page->rows->n; i++) {
		count += page->rows->v[i].s->hist->count;
		sum_ns += page->rows->v[i].s->hist->sum_ns;
	}
	if (count)
		(void)snprintf(text, sizeof(text), "%s  %s/s  %s",
			       table_samples(samples, sizeof(samples), count),
			       format_rate(rate, sizeof(rate), count, page->f->dur_ns),
			       format_duration(sum, sizeof(sum), sum_ns)); /* fits: numbers */
	table_title(page, desc->title, true, text);
}

static void ops_split(struct table_page *page, struct grid *g)
{
	static const char *const heads[] = {"blk%", "runq%", "cpu%"};
	struct grid_column *c;
	uint32_t i;
	size_t k;

	for (k = 0; k < page->rows->n && !page->rows->v[k].s->split; k++)
		;
	if (k == page->rows->n)
		return;
	for (i = 0; i < 3; i++) {
		c = grid_add(g, GRID_SHARE, heads[i]);
		if (!c)
			return;
		c->index = i;
		if (i == 2) /* what is left of a hundred */
			c->yield = YIELD_LATE;
	}
}

static void ops_grid(struct table_page *page, struct grid *g)
{
	const struct config *cfg = page->cfg;
	struct grid_column *c;
	size_t i;

	g->cell = table_series_cell;
	table_label_columns(g, page);
	grid_add(g, GRID_COUNT, "samples");
	for (i = 0; i < cfg->nquantiles; i++) {
		c = grid_add_quantile(g, &cfg->quantiles[i]);
		if (c)
			c->least = NUMBER_WIDTH;
	}
	c = grid_add(g, GRID_MAX, "max");
	if (c)
		c->least = NUMBER_WIDTH;
	ops_split(page, g);
	if (cfg->sort == SORT_SUM || page->paper.columns >= WIDE_COLUMNS)
		grid_add_total(g, cfg);
}

static void ops_rows(struct table_page *page)
{
	struct table_rows *r = page->rows;
	struct grid g = {0};
	size_t shown;

	if (!r->n)
		return;
	shown = table_shown(page, r->n, page->cfg->list_rows);
	qsort(r->v, r->n, sizeof(r->v[0]), table_compare_series);
	ops_grid(page, &g);
	grid_print(&g, page, r->v, shown);
	table_rest(page, r->n - shown, "");
}

int table_ops_print(struct table_page *page, const struct metric_desc *desc)
{
	int ret = ops_collect(page, desc, PART_GROUPS);
	bool groups = page->rows->n != 0;

	if (!ret)
		ret = ops_collect(page, desc, PART_WHOLE);
	if (ret)
		return ret;
	table_gap(page);
	ops_title(page, desc);
	if (groups && page->density == DENSITY_LEAST)
		table_drop(page, page->rows->n);
	else
		ops_rows(page);
	if (groups)
		ret = ops_collect(page, desc, PART_GROUPS);
	if (groups && !ret) {
		table_gap(page);
		ops_rows(page);
	}
	return ret;
}
