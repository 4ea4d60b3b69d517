// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A frame as it was: what frame_own_add() makes of the first one, but that its series have no keys
 * until one of them is looked for, and no memory of their own each: less than half of both time and
 * memory.
 */
#include <errno.h>
#include <string.h>

#include "core/frame_own_inside.h"

/* Groups follow each other with the same labels: `like` is a copy already, or NULL. */
static const char *copy_text(struct frame_own *o, const char *text, const char *like)
{
	const char *own = like && !strcmp(text, like) ? like : arena_text(&o->kept, text);

	if (!own)
		own_fail(o, -ENOMEM);
	return own;
}

static void *copy_bytes(struct frame_own *o, const void *from, size_t bytes, size_t room)
{
	void *to = arena_take(&o->kept, room);

	if (!to)
		own_fail(o, -ENOMEM);
	return to && bytes ? memcpy(to, from, bytes) : to;
}

/* `packed` is used again for each that is not packed. NULL: no memory. */
static const struct hist *copy_hist(struct frame_own *o, const struct hist *h, struct hist *packed)
{
	struct hist *to;

	if (!h->packed) {
		hist_reset(packed);
		packed->schema = h->schema;
		own_fail(o, hist_merge(packed, h));
		h = packed;
	}
	to = copy_bytes(o, h, sizeof(*h), sizeof(*h) + h->len);
	if (!to)
		return NULL;
	to->cap = 0; /* it is no memory of its own */
	to->bytes = h->len ? memcpy(to + 1, h->bytes, h->len) : NULL;
	return to;
}

void own_copy_series(struct frame_own *o, const struct frame *f)
{
	struct series *v =
		copy_bytes(o, f->series, f->nseries * sizeof(*v), (f->nseries + 1) * sizeof(*v));
	struct hist packed;

	hist_init_packed(&packed, BUCKET_SCHEMA_MAX);
	for (size_t i = 0; i < f->nseries && !o->error; i++) {
		struct series *to = &v[i];

		to->desc = metric_keep(to->desc, &o->kept);
		if (!to->desc)
			own_fail(o, -ENOMEM);
		for (uint32_t k = 0; k < to->nlabels; k++) {
			const struct label *like =
				i && k < v[i - 1].nlabels ? &v[i - 1].labels[k] : NULL;
			struct label *l = &to->labels[k];

			l->key = copy_text(o, l->key, like ? like->key : NULL);
			l->value = copy_text(o, l->value, like ? like->value : NULL);
		}
		if (to->split)
			to->split =
				copy_bytes(o, to->split, sizeof(*to->split), sizeof(*to->split));
		if (to->hist)
			to->hist = copy_hist(o, to->hist, &packed);
	}
	hist_free(&packed);
	o->copied = true;
	o->series = (struct own_array){.v = v, .n = f->nseries};
}

/* Of two that are one, as only a damaged record has them, the first is found. */
const struct series *own_copy_find(struct frame_own *o, const struct series *s)
{
	const struct series *v = o->series.v;
	struct own_entry *e;

	for (; o->nkeyed < o->series.n; o->nkeyed++) {
		own_series_key(o, &v[o->nkeyed]);
		e = own_key_entry(o, true);
		if (!e)
			return NULL;
		if (!e->at)
			e->at = (uint32_t)o->nkeyed + 1;
	}
	own_series_key(o, s);
	e = own_key_entry(o, false);
	return e ? &v[e->at - 1] : NULL;
}
