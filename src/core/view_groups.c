// SPDX-License-Identifier: GPL-2.0-or-later
/* CPUs and groups (--by) of headlines. */
#include <string.h>

#include "core/view_inside.h"

bool view_is_cpu(const struct series *s)
{
	return s->nlabels == 1 && !strcmp(s->labels[0].key, "cpu");
}

bool view_is_group(const struct series *s)
{
	enum metric_role role = s->desc->role;

	return s->nlabels && (role == METRIC_HEADLINE || role == METRIC_LEG || role == METRIC_SIDE);
}

/* The series of one row: equal labels, each metric once. A pid that was used again is two rows. */
static size_t group_length(const struct series *s, const struct series *end)
{
	const struct series *at, *before;

	for (at = s + 1; at < end && view_is_group(at) && series_same_labels(s, at); at++)
		for (before = s; before < at; before++)
			if (before->desc == at->desc)
				return (size_t)(at - s);
	return (size_t)(at - s);
}

/* Of another headline it says nothing about this one's groups. */
static bool is_of(const struct metric_desc *desc, const struct metric_desc *head)
{
	return !desc->part_of || !strcmp(desc->part_of, head->name);
}

/* A group's head without samples is none; a CPU's is: that it idles is an answer. */
static void fill_group(struct view_row *row, const struct metric_desc *head, bool cpus, bool rank)
{
	const struct series *s;

	for (s = row->first; s < row->first + row->n; s++) {
		bool empty = view_series_empty(s);

		if (!strcmp(s->desc->name, head->name) && (cpus || !empty))
			row->head = s;
		if (!rank || empty || !is_of(s->desc, head))
			continue;
		if (s->desc->ranks)
			row->wait = s;
		if (s->desc->ranks_as)
			row->besides = s;
	}
	row->s = row->wait ?: row->besides ?: row->head;
}

uint64_t view_waited_ns(const struct view_row *row)
{
	return (row->wait ? row->wait->hist->sum_ns : 0) +
	       (row->besides ? row->besides->hist->sum_ns : 0);
}

/* By what was waited, if any row of the table says that. */
static uint64_t group_weight(const struct view_row *row, const struct view_table *t,
			     enum sort_key sort)
{
	bool ranked = t->ranked || t->besides;

	if (ranked && (sort == SORT_DEFAULT || sort == SORT_SUM))
		return view_waited_ns(row);
	if (ranked)
		return row->wait ? view_series_weight(row->wait, sort) : 0;
	return row->head ? view_series_weight(row->head, sort == SORT_DEFAULT ? SORT_P99 : sort)
			 : 0;
}

int view_add_groups(const struct look *l, struct view_table *t, const struct metric_desc *head,
		    bool cpus, bool rank, bool all)
{
	const struct series *s = l->f->series, *end = l->f->nseries ? s + l->f->nseries : s;
	int ret = 0;

	*t = (struct view_table){.from = l->v->nrows};
	t->cpus = cpus;
	while (s < end && !ret) {
		struct view_row row = {.first = s, .n = 1};
		bool group = view_is_group(s);

		if (group)
			row.n = group_length(s, end);
		s += row.n;
		if (!group || view_is_cpu(row.first) != cpus)
			continue;
		fill_group(&row, head, cpus, rank);
		if (row.wait)
			t->ranked = row.wait->desc;
		if (row.besides)
			t->besides = row.besides->desc;
		if (row.s || all)
			ret = view_push(l->v, t, &row);
	}
	for (size_t i = 0; i < t->n; i++) {
		struct view_row *row = &l->v->rows[t->from + i];

		row->weight = group_weight(row, t, l->cfg->sort);
	}
	return ret;
}

int view_groups(struct view *v, const struct frame *f, const struct config *cfg,
		struct view_table *out)
{
	const struct look l = {v, f, cfg};
	const struct metric_desc *head = NULL;
	size_t i;
	int ret;

	v->nsections = v->nrows = v->nvalues = v->njoins = 0;
	*out = (struct view_table){0};
	for (i = 0; i < f->nseries; i++) {
		if (f->series[i].desc->role == METRIC_HEADLINE)
			head = f->series[i].desc;
		if (head && f->series[i].desc->ranks)
			break;
	}
	if (i == f->nseries)
		return 0;
	ret = view_add_groups(&l, out, head, false, true, true);
	view_sort(v, out);
	return ret;
}
