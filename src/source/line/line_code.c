// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows of code, as BPF copied them, and what can have run before a pointer in them. Decoded
 * windows are remembered: a loop has many pointers, and all in a slot come with the same bytes.
 */
#include <errno.h>
#include <stdlib.h>

#include "source/line/line_code.h"

#define WINDOWS_MAX 64 /* of 32 kB */

struct window {
	struct cache_item item;
	uint64_t slot;
	uint64_t image; /* and number of the process */
	struct insn_code *code;
};

static int compare_window(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return (x->image > y->image) - (x->image < y->image);
}

static void drop_window(void *item)
{
	struct window *w = item;

	insn_code_close(w->code);
	free(w);
}

void line_codes_init(struct cache *windows)
{
	cache_init(windows, WINDOWS_MAX, compare_window, drop_window);
}

/* The pieces that were read around the pointer, without a gap. */
static void readable(const struct abi_window *r, size_t at, size_t *first, size_t *end)
{
	size_t k = at / ABI_WINDOW_PIECE, n;

	for (n = k; n < ABI_WINDOW_PIECES && r->pieces >> n & 1; n++)
		;
	*end = n * ABI_WINDOW_PIECE;
	if (*end < at)
		*end = at;
	if (at % ABI_WINDOW_PIECE && n == k)
		k++; /* its own is not there: nor is what lies before it in it */
	for (n = k; n && r->pieces >> (n - 1) & 1; n--)
		;
	*first = n * ABI_WINDOW_PIECE;
}

/* NULL: no memory. */
static struct window *window_get(struct cache *windows, const struct abi_ip_key *key)
{
	struct window like = {
		.slot = key->ip / ABI_WINDOW_SLOT,
		.image = (uint64_t)key->image << 32 | key->tgid,
	};

	cache_trim(windows);
	return cache_get(windows, &like, sizeof(like));
}

/* Programs that make code make it anew. */
static int window_decode(struct window *w, const uint8_t *code, size_t bytes)
{
	if (w->code && insn_code_is(w->code, code, bytes))
		return 0;
	insn_code_close(w->code);
	return insn_code_open(&w->code, code, bytes);
}

enum insn_found line_code_recipe(struct cache *windows, const struct abi_window *r,
				 struct insn_answer *out)
{
	size_t at = r->key.ip - abi_window_base(r->key.ip), first, end;
	struct window *w;

	out->n = 0;
	readable(r, at, &first, &end);
	if (first >= at)
		return INSN_UNDECODED; /* the page of its code is not there */
	w = window_get(windows, &r->key);
	if (!w || window_decode(w, r->code + first, end - first))
		return INSN_UNDECODED;
	return insn_code_recipe(w->code, at - first, out);
}
