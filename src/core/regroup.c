// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/regroup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/view.h"

static bool is_group(const struct series *s)
{
	return view_is_group(s) && !view_is_cpu(s);
}

/* The headline that it belongs to: a source's groups are not those of another. */
static const char *headline(const struct series *s)
{
	return s->desc->part_of ? s->desc->part_of : s->desc->name;
}

/* Groups' series before all others, those of one group side by side; 0: both of one group, or of
 * none. */
static int group_order(const struct series *a, const struct series *b)
{
	int order = is_group(b) - is_group(a);

	if (order || !is_group(a))
		return order;
	order = strcmp(headline(a), headline(b));
	return order ? order : strcmp(a->labels[0].value, b->labels[0].value);
}

/* In the order in which they came, but for that. */
static int compare_groups(const void *a, const void *b, void *series)
{
	const struct series *v = series;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	int order = group_order(&v[i], &v[k]);

	return order ? order : i < k ? -1 : i > k;
}

struct placed {
	const struct series *v;
	const size_t *first; /* where the group of each series begins */
};

/* At the place of its group's first series, in the order of the metrics. */
static int compare_places(const void *a, const void *b, void *ctx)
{
	const struct placed *p = ctx;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;

	if (p->first[i] != p->first[k])
		return p->first[i] < p->first[k] ? -1 : 1;
	if (p->v[i].desc != p->v[k].desc)
		return p->v[i].desc < p->v[k].desc ? -1 : 1;
	return i < k ? -1 : i > k;
}

/*
 * A metric that only a later one of the joined groups had came last: the series of a group stand
 * together again (frame.h).
 */
static void put_in_order(struct regroup *r, const struct series *v, size_t n)
{
	size_t *order = r->order, *first = r->order + n;

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_groups, (void *)v);
	for (size_t i = 0; i < n; i++) {
		bool same =
			i && is_group(&v[order[i]]) && !group_order(&v[order[i - 1]], &v[order[i]]);

		first[order[i]] = same ? first[order[i - 1]] : order[i];
	}
	qsort_r(order, n, sizeof(*order), compare_places, &(struct placed){v, first});
	for (size_t i = 0; i < n; i++)
		r->v[i] = v[order[i]];
}

int regroup(struct regroup *r, struct frame *f)
{
	const struct frame *joined;
	struct series *v;
	size_t *order, n;

	if (!r->own)
		r->own = frame_own_new();
	if (!r->own)
		return -ENOMEM;
	frame_own_reset(r->own);
	if (frame_own_add(r->own, f, FRAME_THEN))
		return -ENOMEM;
	joined = frame_own_view(r->own);
	if (!joined)
		return -ENOMEM;
	n = joined->nseries;
	v = array_room(r->v, &r->cap, 0, n + 1, sizeof(*v));
	r->v = v ? v : r->v;
	order = array_room(r->order, &r->order_cap, 0, 2 * n + 1, sizeof(*order));
	r->order = order ? order : r->order;
	if (!v || !order)
		return -ENOMEM;
	if (n)
		put_in_order(r, joined->series, n);
	f->series = r->v;
	f->nseries = n;
	f->contended = joined->contended;
	f->ncontended = joined->ncontended;
	f->culprits = joined->culprits;
	f->nculprits = joined->nculprits;
	f->times = joined->times;
	f->ntimes = joined->ntimes;
	return 0;
}

void regroup_free(struct regroup *r)
{
	frame_own_free(r->own);
	free(r->v);
	free(r->order);
	*r = (struct regroup){0};
}
