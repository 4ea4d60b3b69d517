// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 32

void *array_room(void *v, size_t *cap, size_t n, size_t more, size_t size)
{
	size_t grown = *cap ? *cap : LEAST;

	if (n + more <= *cap)
		return v;
	while (grown < n + more)
		grown *= 2;
	v = reallocarray(v, grown, size);
	if (v)
		*cap = grown;
	return v;
}

size_t array_upto(const void *v, size_t n, size_t size, uint64_t key)
{
	size_t from = 0, to = n;
	uint64_t at;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		memcpy(&at, (const char *)v + mid * size, sizeof(at)); /* it may be packed */
		if (at <= key)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

int u32_list_push(struct u32_list *l, uint32_t v)
{
	uint32_t *grown = reallocarray(l->v, l->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	l->v = grown;
	l->v[l->n++] = v;
	return 0;
}

int str_list_push(struct str_list *l, char *text)
{
	char **v = text ? reallocarray(l->v, l->n + 1, sizeof(*v)) : NULL;

	if (!v) {
		free(text);
		return -ENOMEM;
	}
	l->v = v;
	v[l->n++] = text;
	return 0;
}

void str_list_free(struct str_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct str_list){0};
}
