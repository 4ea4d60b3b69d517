/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "source/source.h"

#define FIRST_CAP 64

/* The array with room for one more, or NULL (and it is as it was). */
static void *room(void *v, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? 2 * *cap : FIRST_CAP;

	if (n < *cap)
		return v;
	v = reallocarray(v, more, size);
	if (v)
		*cap = more;
	return v;
}

int series_push(struct series_list *l, const struct series *s)
{
	struct series *v = room(l->v, l->n, &l->cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	l->v = v;
	l->v[l->n++] = *s;
	return 0;
}

int contended_push(struct contended_list *l, const struct contended *c)
{
	struct contended *v = room(l->v, l->n, &l->cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	l->v = v;
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
