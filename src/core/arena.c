// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

#define BLOCK_BYTES 16384
#define ALIGN _Alignof(max_align_t)

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	max_align_t bytes[];
};

/* The next block with room: those of an earlier report first. */
static struct arena_block *block_with(struct arena *a, size_t bytes)
{
	struct arena_block *b = a->at, *fresh;
	size_t size;

	while (b && b->size - b->used < bytes && b->next) {
		b = b->next;
		b->used = 0;
	}
	if (!b || b->size - b->used < bytes) {
		size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
		fresh = malloc(sizeof(*fresh) + size);
		if (!fresh)
			return NULL;
		*fresh = (struct arena_block){.size = size};
		if (b)
			b->next = fresh;
		else
			a->first = fresh;
		b = fresh;
	}
	a->at = b;
	return b;
}

void *arena_take(struct arena *a, size_t bytes)
{
	size_t n = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	struct arena_block *b;
	void *p;

	if (n < bytes)
		return NULL;
	b = block_with(a, n);
	if (!b)
		return NULL;
	p = (char *)b->bytes + b->used;
	b->used += n;
	memset(p, 0, bytes);
	return p;
}

char *arena_text(struct arena *a, const char *text)
{
	size_t n = text ? strlen(text) + 1 : 0;
	char *p = text ? arena_take(a, n) : NULL;

	if (p)
		memcpy(p, text, n);
	return p;
}

void arena_reset(struct arena *a)
{
	a->at = a->first;
	if (a->first)
		a->first->used = 0;
}

void arena_free(struct arena *a)
{
	struct arena_block *b, *next;

	for (b = a->first; b; b = next) {
		next = b->next;
		free(b);
	}
	*a = (struct arena){0};
}
