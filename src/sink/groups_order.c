// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/groups_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/table.h"

bool group_is_cpu(const struct series *s)
{
	return s->nlabels == 1 && !strcmp(s->labels[0].key, "cpu");
}

bool group_series(const struct series *s)
{
	enum metric_role role = s->desc->role;

	return s->nlabels && (role == METRIC_HEADLINE || role == METRIC_LEG || role == METRIC_SIDE);
}

static bool same_labels(const struct series *a, const struct series *b)
{
	uint32_t i;

	if (a->nlabels != b->nlabels)
		return false;
	for (i = 0; i < a->nlabels; i++)
		if (strcmp(a->labels[i].key, b->labels[i].key) ||
		    strcmp(a->labels[i].value, b->labels[i].value))
			return false;
	return true;
}

/* The series of one row: equal labels, each metric once. A pid that was used again is two rows. */
static size_t row_length(const struct series *s, const struct series *end)
{
	const struct series *at, *before;

	for (at = s + 1; at < end && group_series(at) && same_labels(s, at); at++)
		for (before = s; before < at; before++)
			if (before->desc == at->desc)
				return (size_t)(at - s);
	return (size_t)(at - s);
}

static uint64_t row_weight(const struct group_row *row, enum sort_key sort, bool ranked)
{
	if (ranked && (sort == SORT_DEFAULT || sort == SORT_SUM))
		return row->wait ? row->wait->hist->sum_ns : 0;
	if (!row->head)
		return 0;
	return table_series_weight(row->head, sort == SORT_DEFAULT ? SORT_P99 : sort);
}

static int push(struct group_rows *r, const struct group_row *row)
{
	size_t cap = r->cap ? 2 * r->cap : 64;
	struct group_row *v;

	if (r->n == r->cap) {
		v = reallocarray(r->v, cap, sizeof(*v));
		if (!v)
			return -ENOMEM;
		r->v = v;
		r->cap = cap;
	}
	r->v[r->n++] = *row;
	return 0;
}

/* Of another headline it says nothing about this one's groups. */
static bool ranks(const struct metric_desc *desc, const struct metric_desc *head)
{
	return desc->ranks && (!desc->part_of || !strcmp(desc->part_of, head->name));
}

/* A group's head without samples is none; a CPU's is: that it idles is an answer. */
static void fill_row(struct group_row *row, const struct metric_desc *head, bool cpus, bool rank)
{
	const struct series *s;

	for (s = row->first; s < row->first + row->n; s++) {
		bool empty = table_series_empty(s);

		if (!strcmp(s->desc->name, head->name) && (cpus || !empty))
			row->head = s;
		if (rank && !empty && ranks(s->desc, head))
			row->wait = s;
	}
}

int group_rows_collect(struct group_rows *r, const struct frame *f, const struct metric_desc *head,
		       enum sort_key sort, bool cpus, bool rank)
{
	const struct series *end = f->series + f->nseries;
	bool ranked = false;
	size_t i;
	int ret = 0;

	r->n = 0;
	for (i = 0; i < f->nseries && !ret;) {
		struct group_row row = {.first = &f->series[i], .n = 1};

		if (group_series(row.first))
			row.n = row_length(row.first, end);
		i += row.n;
		if (!group_series(row.first) || group_is_cpu(row.first) != cpus)
			continue;
		fill_row(&row, head, cpus, rank);
		ranked |= row.wait != NULL;
		ret = push(r, &row);
	}
	for (i = 0; i < r->n; i++)
		r->v[i].weight = row_weight(&r->v[i], sort, ranked);
	return ret;
}

/* Ties: rows without a headline last, then by name. */
static int compare(const void *a, const void *b)
{
	const struct group_row *x = a, *y = b;
	bool ex = !x->head || table_series_empty(x->head);
	bool ey = !y->head || table_series_empty(y->head);
	uint32_t i;
	int ret = 0;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (ex != ey)
		return ex ? 1 : -1;
	for (i = 0; !ret && i < x->first->nlabels && i < y->first->nlabels; i++)
		ret = table_compare_names(x->first->labels[i].value, y->first->labels[i].value);
	return ret ? ret : x->first < y->first ? -1 : x->first > y->first;
}

void group_rows_sort(struct group_rows *r)
{
	if (r->n)
		qsort(r->v, r->n, sizeof(r->v[0]), compare);
}

void group_rows_free(struct group_rows *r)
{
	free(r->v);
	*r = (struct group_rows){0};
}
