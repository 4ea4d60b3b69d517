/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "source/source.h"

#define FIRST_CAP 64

int series_push(struct series_list *l, const struct series *s)
{
	size_t cap = l->cap ? 2 * l->cap : FIRST_CAP;
	struct series *v;

	if (l->n == l->cap) {
		v = realloc(l->v, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = *s;
	return 0;
}

int contended_push(struct contended_list *l, const struct contended *c)
{
	size_t cap = l->cap ? 2 * l->cap : FIRST_CAP;
	struct contended *v;

	if (l->n == l->cap) {
		v = realloc(l->v, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = *c;
	return 0;
}

int rows_append(struct report_rows *to, const struct report_rows *from)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < from->series.n; i++)
		ret = series_push(&to->series, &from->series.v[i]);
	for (i = 0; !ret && i < from->contended.n; i++)
		ret = contended_push(&to->contended, &from->contended.v[i]);
	return ret;
}

void rows_forget(struct report_rows *r)
{
	r->series.n = r->contended.n = 0;
}

void rows_free(struct report_rows *r)
{
	free(r->series.v);
	free(r->contended.v);
}
