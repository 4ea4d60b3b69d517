// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/tui.h"

/* What frame_own_copy and its view take for each, measured with mallinfo2; a bound need not be exact. */
#define SERIES_BYTES 320
#define CONTENDED_BYTES 2400
#define PART_BYTES 96 /* a site, a thread, a member, a holder */
#define CULPRIT_BYTES \
	(3 * sizeof(struct culprit) + PART_BYTES) /* in an array half full, and in the view */
#define FRAME_BYTES 36864

static size_t hist_bytes(const struct hist *h)
{
	return h ? sizeof(*h) + 2U * h->len : 0;
}

static size_t frame_bytes(const struct frame *f)
{
	size_t all = FRAME_BYTES;

	for (size_t i = 0; i < f->nseries; i++)
		all += SERIES_BYTES + hist_bytes(f->series[i].hist);
	all += f->nculprits * CULPRIT_BYTES;
	for (size_t i = 0; i < f->ncontended; i++) {
		const struct contended *c = &f->contended[i];
		size_t parts = c->nsites + c->nmembers + c->nholders;

		if (c->accesses)
			parts += 2 * (c->accesses->nthreads + c->accesses->nuses);
		all += CONTENDED_BYTES + hist_bytes(c->wait) + parts * PART_BYTES;
	}
	return all;
}

static void drop_oldest(struct tui_keep *k)
{
	struct tui_kept *one = &k->v[k->first];

	frame_own_free(one->own);
	k->bytes -= one->bytes;
	k->first++;
	k->n--;
	k->gone++;
}

/* Room behind the last: those that are there move down when half of the array has gone. */
static int make_room(struct tui_keep *k)
{
	size_t cap = k->cap ? 2 * k->cap : 64;
	struct tui_kept *v;

	if (k->first + k->n < k->cap)
		return 0;
	if (k->first > k->n) {
		memmove(k->v, k->v + k->first, k->n * sizeof(*k->v));
		k->first = 0;
		return 0;
	}
	v = realloc(k->v, cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	k->v = v;
	k->cap = cap;
	return 0;
}

int tui_keep_add(struct tui_keep *k, const struct frame *f)
{
	struct tui_kept one = {.own = frame_own_copy(f), .bytes = frame_bytes(f)};

	if (!one.own || make_room(k))
		goto no_memory;
	one.f = frame_own_view(one.own);
	if (!one.f)
		goto no_memory;
	k->v[k->first + k->n++] = one;
	k->bytes += one.bytes;
	while (k->n > 1 && (k->n > k->most || k->bytes > k->most_bytes))
		drop_oldest(k);
	return 0;

no_memory:
	frame_own_free(one.own);
	return -ENOMEM;
}

const struct frame *tui_keep_get(const struct tui_keep *k, uint64_t number)
{
	if (number < k->gone || number - k->gone >= k->n)
		return NULL;
	return k->v[k->first + (size_t)(number - k->gone)].f;
}

uint64_t tui_keep_end(const struct tui_keep *k)
{
	return k->gone + k->n;
}

void tui_keep_free(struct tui_keep *k)
{
	for (size_t i = 0; i < k->n; i++)
		frame_own_free(k->v[k->first + i].own);
	free(k->v);
	*k = (struct tui_keep){.most = k->most, .most_bytes = k->most_bytes};
}

bool tui_keep_row(const struct tui_keep *k, uint64_t number, const struct view_row *like,
		  size_t near, struct view_row *out)
{
	struct frame_own *own;

	*out = (struct view_row){0};
	if (!tui_keep_get(k, number))
		return false;
	own = k->v[k->first + (size_t)(number - k->gone)].own;
	if (like->c)
		out->c = frame_own_find_row(own, like->c);
	else if (like->k)
		out->k = frame_own_find_culprit(own, like->k);
	else if (like->s)
		out->s = frame_own_find_series(own, like->s, near);
	return out->c || out->k || out->s;
}
