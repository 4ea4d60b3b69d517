// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counters with a label for a pivot: a row for all others, a column for each of its values, and
 * beside them the columns of metrics that join. Shares have as many decimals as it takes to show
 * that a value occurred at all.
 *
 *	Extent status lookups      8,942,435  1,111,429/s
 *	MOUNT     total/s     hit%    miss%  miss/s  written%  unwritten%  delayed%  hole%
 *	/data   1,111,429  99.9991   0.0009      10       0.1           0         0   99.9
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define COUNTS_MAX 24 /* values of all pivots; the rest of a grid is for labels */
#define COUNTS_SUM UINT32_MAX

struct counts {
	const struct metric_desc *desc;
	size_t n;
	struct {
		const struct metric_desc *desc;
		const char *value; /* of the pivot; NULL: has none */
	} col[COUNTS_MAX];
};

static bool counts_belongs(const struct counts *t, const struct metric_desc *desc)
{
	return desc == t->desc ||
	       (desc->role == METRIC_COUNTS && desc->joins && !strcmp(desc->joins, t->desc->name));
}

static const char *pivot_value(const struct series *s)
{
	return s->desc->pivot ? series_label(s, s->desc->pivot) : NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static size_t counts_column(const struct counts *t, const struct series *s)
{
	const char *value = pivot_value(s);
	size_t i;

	for (i = 0; i < t->n; i++)
		if (t->col[i].desc == s->desc && same_text(t->col[i].value, value))
			break;
	return i;
}

/* Columns in order of appearance, those of the metric itself first. */
static void counts_find_columns(struct counts *t, const struct frame *f)
{
	size_t i;
	int pass;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < f->nseries; i++) {
			const struct series *s = &f->series[i];

			if ((s->desc == t->desc) == pass || !counts_belongs(t, s->desc) ||
			    counts_column(t, s) < t->n || t->n == COUNTS_MAX)
				continue;
			t->col[t->n].desc = s->desc;
			t->col[t->n++].value = pivot_value(s);
		}
	}
}

/* ---- rows ---- */

/* By labels, without the pivots: equal ones are one row. */
static int counts_compare(const void *a, const void *b)
{
	const struct series *x = ((const struct table_row *)a)->s;
	const struct series *y = ((const struct table_row *)b)->s;
	uint32_t i = 0, k = 0;
	int ret = 0;

	for (; !ret; i++, k++) {
		while (i < x->nlabels && same_text(x->labels[i].key, x->desc->pivot))
			i++;
		while (k < y->nlabels && same_text(y->labels[k].key, y->desc->pivot))
			k++;
		if (i >= x->nlabels || k >= y->nlabels)
			return (i < x->nlabels) - (k < y->nlabels);
		ret = strcmp(x->labels[i].key, y->labels[k].key);
		if (!ret)
			ret = strcmp(x->labels[i].value, y->labels[k].value);
	}
	return ret;
}

static int counts_reserve(struct table_rows *r, size_t n)
{
	uint64_t *v;

	if (n > r->values_cap) {
		v = reallocarray(r->values, n, sizeof(*v));
		if (!v)
			return -ENOMEM;
		r->values = v;
		r->values_cap = n;
	}
	if (n)
		memset(r->values, 0, n * sizeof(r->values[0]));
	return 0;
}

static uint64_t counts_sum(const struct counts *t, const uint64_t *values,
			   const struct metric_desc *desc)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < t->n; i++)
		if (t->col[i].desc == desc)
			sum += values[i];
	return sum;
}

/* One row for each run of series that differ only in their pivots. */
static void counts_fold(const struct counts *t, struct table_page *page)
{
	struct table_rows *r = page->rows;
	size_t i, n = 0, col;

	for (i = 0; i < r->n; i++) {
		if (!n || counts_compare(&r->v[n - 1], &r->v[i])) {
			r->v[n] = r->v[i];
			r->v[n].values = n * t->n;
			n++;
		}
		col = counts_column(t, r->v[i].s);
		if (col < t->n)
			r->values[r->v[n - 1].values + col] += r->v[i].s->value;
	}
	r->n = n;
	for (i = 0; i < n; i++)
		if (page->cfg->sort != SORT_NAME)
			r->v[i].weight = counts_sum(t, r->values + r->v[i].values, t->desc);
}

static int counts_collect(const struct counts *t, struct table_page *page, enum table_part part)
{
	const struct frame *f = page->f;
	struct table_row row;
	size_t i;
	int ret = 0;

	page->rows->n = 0;
	for (i = 0; i < f->nseries && !ret; i++) {
		row = (struct table_row){.s = &f->series[i]};
		if (row.s->value && counts_belongs(t, row.s->desc) &&
		    table_in_part(page, row.s, part))
			ret = table_rows_push(page->rows, &row);
	}
	if (!ret)
		ret = counts_reserve(page->rows, page->rows->n * t->n);
	if (ret || !page->rows->n)
		return ret;
	qsort(page->rows->v, page->rows->n, sizeof(page->rows->v[0]), counts_compare);
	counts_fold(t, page);
	return 0;
}

/* ---- the grid ---- */

static const char *counts_cell(const struct grid_column *c, struct table_page *page,
			       const struct table_row *row, char *out, size_t len)
{
	const uint64_t *values = page->rows->values + row->values;
	const struct counts *t = page->counts;
	uint64_t v;

	if (c->kind == GRID_LABEL)
		return table_series_cell(c, page, row, out, len);
	v = c->index == COUNTS_SUM ? counts_sum(t, values, t->desc) : values[c->index];
	if (c->kind == GRID_COUNT)
		return format_count(out, len, v);
	if (c->kind == GRID_RATE)
		return format_rate(out, len, v, page->f->dur_ns);
	return format_share(out, len, v, counts_sum(t, values, t->col[c->index].desc), SHARE_EXACT);
}

/* Has any row something of a metric? A grid of groups may have nothing of one that joins. */
static bool counts_any(const struct counts *t, const struct table_page *page,
		       const struct metric_desc *desc)
{
	const struct table_rows *r = page->rows;
	size_t i;

	for (i = 0; i < r->n; i++)
		if (counts_sum(t, r->values + r->v[i].values, desc))
			return true;
	return false;
}

static void counts_add(struct grid *g, enum grid_kind kind, uint32_t index, enum grid_yield yield,
		       const char *name, const char *unit)
{
	char clean[24], head[32];
	struct grid_column *c;

	(void)snprintf(head, sizeof(head), "%s%s", text_clean(clean, sizeof(clean), name, SIZE_MAX),
		       unit); /* fits */
	c = grid_add(g, kind, head);
	if (!c)
		return;
	c->index = index;
	c->yield = yield;
}

/*
 * The share of the metric's first value says what those of the others are; how often they occur
 * says it better. So these shares go first where it is narrow.
 */
static void counts_columns(const struct counts *t, const struct table_page *page, struct grid *g)
{
	bool first = true;
	uint32_t i;

	counts_add(g, GRID_RATE, COUNTS_SUM, YIELD_NEVER, "total", "/s");
	if (!t->desc->pivot)
		counts_add(g, GRID_COUNT, COUNTS_SUM, YIELD_NEVER, "count", "");
	for (i = 0; i < t->n; i++, first = false)
		if (t->col[i].desc == t->desc && t->col[i].value)
			counts_add(g, GRID_SHARE, i, first ? YIELD_NEVER : YIELD_FIRST,
				   t->col[i].value, "%");
	for (i = 1; i < t->n; i++)
		if (t->col[i].desc == t->desc && t->col[i].value)
			counts_add(g, GRID_RATE, i, YIELD_NEVER, t->col[i].value, "/s");
	for (i = 0; i < t->n; i++)
		if (t->col[i].desc != t->desc && t->col[i].value &&
		    counts_any(t, page, t->col[i].desc))
			counts_add(g, GRID_SHARE, i, YIELD_LATE, t->col[i].value, "%");
}

static int counts_compare_rows(const void *a, const void *b)
{
	const struct table_row *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return counts_compare(a, b);
}

static void counts_rows(const struct counts *t, struct table_page *page)
{
	struct table_rows *r = page->rows;
	struct grid g = {.cell = counts_cell};
	size_t shown;

	if (!r->n)
		return;
	shown = table_shown(page, r->n, page->cfg->list_rows);
	qsort(r->v, r->n, sizeof(r->v[0]), counts_compare_rows);
	table_label_columns(&g, page);
	counts_columns(t, page, &g);
	grid_print(&g, page, r->v, shown);
	table_rest(page, r->n - shown, "");
}

static void counts_title(const struct counts *t, struct table_page *page)
{
	char count[32], rate[32], text[80] = "none";
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < page->rows->n; i++)
		sum += counts_sum(t, page->rows->values + page->rows->v[i].values, t->desc);
	if (sum)
		(void)snprintf(text, sizeof(text), "%s  %s/s",
			       format_count(count, sizeof(count), sum),
			       format_rate(rate, sizeof(rate), sum, page->f->dur_ns)); /* fits */
	table_title(page, t->desc->title, false, text);
}

int table_counts_print(struct table_page *page, const struct metric_desc *desc)
{
	struct counts t = {.desc = desc};
	bool groups;
	int ret;

	counts_find_columns(&t, page->f);
	page->counts = &t;
	ret = counts_collect(&t, page, PART_GROUPS);
	groups = page->rows->n != 0;
	if (!ret)
		ret = counts_collect(&t, page, PART_WHOLE);
	if (ret)
		goto out;
	table_gap(page);
	counts_title(&t, page);
	if (groups && page->density == DENSITY_LEAST)
		table_drop(page, page->rows->n);
	else
		counts_rows(&t, page);
	if (groups)
		ret = counts_collect(&t, page, PART_GROUPS);
	if (groups && !ret) {
		table_gap(page);
		counts_rows(&t, page);
	}
out:
	page->counts = NULL;
	return ret;
}
