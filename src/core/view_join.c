// SPDX-License-Identifier: GPL-2.0-or-later
/* Which rows of the contended table are about the same memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/view_inside.h"

#define LINE_SIZE 64

static int push_join(struct view *v, const struct contended *row, const struct contended *with)
{
	void *array = array_room(v->joins, &v->joins_cap, v->njoins, 1, sizeof(*v->joins));

	if (!array)
		return -ENOMEM;
	v->joins = array;
	v->joins[v->njoins++] = (struct view_join){row, with};
	return 0;
}

/* By whose memory it is, and where. */
static int compare_places(const struct contended *x, const struct contended *y)
{
	uint64_t a = x->addr / LINE_SIZE, b = y->addr / LINE_SIZE;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (a > b) - (a < b);
}

static int compare_join_places(const void *a, const void *b)
{
	const struct view_join *x = a, *y = b;

	return compare_places(x->row, y->row);
}

static int compare_joins(const void *a, const void *b)
{
	const struct view_join *x = a, *y = b;
	int ret;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->with->addr != y->with->addr)
		return x->with->addr < y->with->addr ? -1 : 1;
	ret = strcmp(x->with->kind, y->with->kind);
	return ret ? ret : (x->with > y->with) - (x->with < y->with);
}

/* The first of n sorted joins that is not before the place of `c`. */
static size_t join_find(const struct view_join *v, size_t n, const struct contended *c)
{
	size_t from = 0;

	while (from < n) {
		size_t at = from + (n - from) / 2;

		if (compare_places(v[at].row, c) < 0)
			from = at + 1;
		else
			n = at;
	}
	return from;
}

int view_join(struct view *v, const struct frame *f)
{
	const struct contended *c;
	size_t lines, i, k;
	int ret = 0;

	/* First the lines alone, sorted, to be looked up. */
	v->njoins = 0;
	for (k = 0; k < f->ncontended && !ret; k++) {
		c = &f->contended[k];
		if (c->accesses && !c->other)
			ret = push_join(v, c, NULL);
	}
	lines = v->njoins;
	if (!lines || ret)
		return ret;
	qsort(v->joins, lines, sizeof(v->joins[0]), compare_join_places);
	for (k = 0; k < f->ncontended && !ret; k++) {
		c = &f->contended[k];
		if (!c->wait || c->other || !c->count)
			continue;
		i = join_find(v->joins, lines, c);
		for (; i < lines && !compare_places(v->joins[i].row, c) && !ret; i++) {
			ret = push_join(v, v->joins[i].row, c);
			if (!ret)
				ret = push_join(v, c, v->joins[i].row);
		}
	}
	v->njoins -= lines;
	if (!v->njoins)
		return ret;
	memmove(v->joins, v->joins + lines, v->njoins * sizeof(v->joins[0]));
	qsort(v->joins, v->njoins, sizeof(v->joins[0]), compare_joins);
	return ret;
}

const struct view_join *view_joined(const struct view *v, const struct contended *row, size_t *n)
{
	size_t from = 0, to = v->njoins, at;

	while (from < to) {
		at = from + (to - from) / 2;
		if (v->joins[at].row < row)
			from = at + 1;
		else
			to = at;
	}
	for (to = from; to < v->njoins && v->joins[to].row == row; to++)
		;
	*n = to - from;
	return *n ? v->joins + from : NULL;
}
