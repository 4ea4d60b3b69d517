// SPDX-License-Identifier: GPL-2.0-or-later
/* In what order the rows of a table stand. */
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/view_inside.h"

bool view_series_empty(const struct series *s)
{
	return s->desc->counter ? !s->value : !s->hist->count;
}

uint64_t view_hist_weight(const struct hist *h, enum sort_key sort)
{
	static const struct quantile p50 = {.ppb = 500000000}, p99 = {.ppb = 990000000};

	switch (sort) {
	case SORT_P99:
		return hist_quantile(h, &p99).ns;
	case SORT_P50:
		return hist_quantile(h, &p50).ns;
	case SORT_COUNT:
		return h->count;
	case SORT_SUM:
		return h->sum_ns;
	case SORT_MAX:
		return h->count ? h->max_ns : 0;
	case SORT_DEFAULT:
	case SORT_NAME:
		break;
	}
	return 0;
}

uint64_t view_series_weight(const struct series *s, enum sort_key sort)
{
	if (s->desc->counter)
		return sort == SORT_NAME ? 0 : s->value;
	return view_hist_weight(s->hist, sort);
}

/* Numbers first, 9 before 10; then "a" before "b". */
static int compare_names(const char *a, const char *b)
{
	bool x = text_is_number(a), y = text_is_number(b);
	size_t la = strlen(a), lb = strlen(b);

	if (x != y)
		return x ? -1 : 1;
	if (x && la != lb)
		return la < lb ? -1 : 1;
	return strcmp(a, b);
}

static bool is_pivot(const struct series *s, uint32_t label)
{
	return s->desc->pivot && !strcmp(s->labels[label].key, s->desc->pivot);
}

/* By labels, without the pivots: what has the same is one row. */
int view_compare_labels(const struct series *x, const struct series *y)
{
	uint32_t i = 0, k = 0;
	int ret = 0;

	for (; !ret; i++, k++) {
		while (i < x->nlabels && is_pivot(x, i))
			i++;
		while (k < y->nlabels && is_pivot(y, k))
			k++;
		if (i >= x->nlabels || k >= y->nlabels)
			return (i < x->nlabels) - (k < y->nlabels);
		ret = compare_names(x->labels[i].value, y->labels[k].value);
		if (!ret)
			ret = strcmp(x->labels[i].key, y->labels[k].key);
	}
	return ret;
}

static int compare_addresses(const struct contended *x, const struct contended *y)
{
	int ret = x->accesses ? 0 : compare_names(x->name ? x->name : "", y->name ? y->name : "");

	return ret ? ret : (x->addr > y->addr) - (x->addr < y->addr);
}

/* Of the same weight: by name, then as the report has them. */
static int compare_culprits(const struct culprit *x, const struct culprit *y)
{
	int ret = compare_names(x->comm ? x->comm : x->kind, y->comm ? y->comm : y->kind);

	return ret ? ret : (x > y) - (x < y);
}

/* Of equal weight, a group without a sample of the headline comes after those that have some. */
static int compare_rows(const void *a, const void *b)
{
	const struct view_row *x = a, *y = b;
	bool ex, ey;
	int ret;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->c)
		return compare_addresses(x->c, y->c);
	if (x->k)
		return compare_culprits(x->k, y->k);
	ex = !x->head || view_series_empty(x->head);
	ey = !y->head || view_series_empty(y->head);
	if (ex != ey)
		return ex ? 1 : -1;
	ret = view_compare_labels(x->first, y->first);
	return ret ? ret : (x->first > y->first) - (x->first < y->first);
}

void view_sort(struct view *v, const struct view_table *t)
{
	if (t->n)
		qsort(v->rows + t->from, t->n, sizeof(v->rows[0]), compare_rows);
}

struct view_row *view_first(struct view *v, const struct view_table *t, size_t n)
{
	/* A choice of CPUs is of the worst. */
	if (t->in_place && n < t->n)
		view_sort(v, t);
	return t->n ? v->rows + t->from : NULL;
}
