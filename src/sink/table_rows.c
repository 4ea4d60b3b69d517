// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of a headline metric: its CPUs, or with --by its groups; which, how many, in what order.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define WIDE_COLUMNS 100 /* from here on there is room for the total too */

static bool row_is_cpu(const struct series *s)
{
	return s->nlabels == 1 && !strcmp(s->labels[0].key, "cpu");
}

static bool row_empty(const struct series *s)
{
	return s->desc->counter ? !s->value : !s->hist->count;
}

static uint64_t row_weight(const struct series *s, enum sort_key sort)
{
	static const struct quantile p50 = {.ppb = PPB_P50}, p99 = {.ppb = PPB_P99};

	if (s->desc->counter)
		return sort == SORT_NAME ? 0 : s->value;
	switch (sort) {
	case SORT_P99:
		return hist_quantile(s->hist, &p99).ns;
	case SORT_P50:
		return hist_quantile(s->hist, &p50).ns;
	case SORT_COUNT:
		return s->hist->count;
	case SORT_SUM:
		return s->hist->sum_ns;
	case SORT_MAX:
		return s->hist->count ? s->hist->max_ns : 0;
	case SORT_NAME:
		break;
	}
	return 0;
}

static int rows_push(struct table_rows *r, struct table_row row)
{
	size_t cap = r->cap ? 2 * r->cap : 64;
	struct table_row *v;

	if (r->n == r->cap) {
		v = reallocarray(r->v, cap, sizeof(*v));
		if (!v)
			return -ENOMEM;
		r->v = v;
		r->cap = cap;
	}
	r->v[r->n++] = row;
	return 0;
}

/* Groups that had no samples are left out; CPUs are not: an idle CPU is an answer. */
static int rows_collect(struct table_page *page, const struct series *whole, bool cpus)
{
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
		if (!cpus && row_empty(s))
			continue;
		row = (struct table_row){s, row_weight(s, page->cfg->sort)};
		ret = rows_push(page->rows, row);
		if (ret)
			return ret;
	}
	return 0;
}

static bool is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

/* 9 before 10, "a" before "b". */
static int compare_names(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	if (is_number(a) && is_number(b) && la != lb)
		return la < lb ? -1 : 1;
	return strcmp(a, b);
}

static int compare_rows(const void *a, const void *b)
{
	const struct table_row *x = a, *y = b;
	bool ex = row_empty(x->s), ey = row_empty(y->s);

	if (ex != ey)
		return ex ? 1 : -1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return compare_names(x->s->labels[0].value, y->s->labels[0].value);
}

/* A label's column is a number's only if all its values are. */
static bool label_is_number(const struct table_rows *r, uint32_t label)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (label >= r->v[i].s->nlabels || !is_number(r->v[i].s->labels[label].value))
			return false;
	}
	return true;
}

static void rows_grid(struct table_page *page, struct grid *g)
{
	const struct config *cfg = page->cfg;
	const struct series *first = page->rows->v[0].s;
	uint32_t i;

	for (i = 0; i < first->nlabels; i++)
		grid_add_label(g, i, first->labels[i].key, label_is_number(page->rows, i));
	grid_add(g, GRID_COUNT, first->desc->counter ? "count" : "samples");
	if (first->desc->counter)
		return;
	for (i = 0; i < cfg->nquantiles; i++)
		grid_add_quantile(g, &cfg->quantiles[i]);
	grid_add(g, GRID_MAX, "max");
	if (cfg->sort == SORT_SUM || page->paper.columns >= WIDE_COLUMNS)
		grid_add(g, GRID_TOTAL, "total");
}

/* "… 292 more CPUs (-n 0 shows all)" */
static void rows_rest(struct table_page *page, size_t rest, bool cpus, bool by_window)
{
	char count[32];
	struct line l;

	line_start(&l);
	line_add(&l, "… %s more%s (%s)", format_count(count, sizeof(count), rest),
		 cpus ? rest == 1 ? " CPU" : " CPUs" : "",
		 by_window ? "the window is full" : "-n 0 shows all");
	paper_line(&page->paper, STYLE_DIM, &l);
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
	shown = r->n;
	if (cfg->rows && shown > cfg->rows)
		shown = cfg->rows;
	if (shown > page->most_rows)
		page->most_rows = (uint32_t)shown;
	page->nsections++;
	if (shown > page->max_rows)
		shown = page->max_rows;
	/* All CPUs stay in their order; a choice of them is of the worst. */
	if (cfg->by != BY_NONE || !cpus || shown < r->n)
		qsort(r->v, r->n, sizeof(r->v[0]), compare_rows);
	rows_grid(page, &g);
	paper_text(&page->paper, STYLE_PLAIN, "");
	grid_print(&g, page, r->v, shown);
	if (shown < r->n)
		rows_rest(page, r->n - shown, cpus, shown == page->max_rows);
	return 0;
}
