// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists that rows of a frame's own point to: sites, threads, holders ... */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fields.h"
#include "core/frame_own_inside.h"

int own_texts(struct frame_own *o, const struct field_table *t, void *item)
{
	int ret = 0;

	for (size_t i = 0; t && i < t->n && !ret; i++) {
		const char **text = (const char **)((char *)item + t->v[i].offset);

		if (t->v[i].type == FIELD_TEXT)
			ret = own_text(o, text, *text);
	}
	return ret;
}

static int list_absorb(struct frame_own *o, const struct own_kind *k, void *to, void *later)
{
	int ret = k->absorb ? k->absorb(o, to, later) : 0;

	if (k->fields)
		fields_add(k->fields, to, later);
	return ret;
}

/* Both in the order of `compare`; *n items at `out`. */
static int list_merge(struct frame_own *o, const struct own_kind *k, char *out, size_t *n, char *a,
		      char *a_end, char *b, char *b_end)
{
	char *last = NULL;
	int ret = 0;

	*n = 0;
	while (!ret && (a < a_end || b < b_end)) {
		bool old = b == b_end || (a < a_end && k->compare(a, b) <= 0);
		char *next = old ? a : b;

		if (last && !k->compare(last, next)) {
			ret = list_absorb(o, k, last, next);
		} else {
			last = out + (*n)++ * k->size;
			memcpy(last, next, k->size);
		}
		a += old ? k->size : 0;
		b += old ? 0 : k->size;
	}
	return ret;
}

static int list_copy(struct frame_own *o, const struct own_kind *k, char *to, const char *from,
		     size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++, to += k->size) {
		memcpy(to, from + i * k->from_size, k->from_size);
		ret = own_texts(o, k->fields, to);
		if (!ret && k->take)
			ret = k->take(o, to);
	}
	return ret;
}

int own_list_add(struct frame_own *o, const struct own_kind *k, struct own_list *l,
		 const void *from, size_t n)
{
	char *more, *all;
	int ret;

	if (!n)
		return 0;
	more = calloc(n, k->size);
	ret = more ? list_copy(o, k, more, from, n) : -ENOMEM;
	if (ret || !l->n) {
		free(l->v);
		*l = (struct own_list){more, ret ? 0 : n};
		return ret;
	}
	all = reallocarray(NULL, l->n + n, k->size);
	if (all) {
		qsort(l->v, l->n, k->size, k->compare);
		qsort(more, n, k->size, k->compare);
		ret = list_merge(o, k, all, &l->n, l->v, (char *)l->v + l->n * k->size, more,
				 more + n * k->size);
		if (k->order)
			qsort(all, l->n, k->size, k->order);
	}
	free(more);
	free(l->v);
	l->v = all;
	if (!all)
		l->n = 0;
	return all ? ret : -ENOMEM;
}
