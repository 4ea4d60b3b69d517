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
