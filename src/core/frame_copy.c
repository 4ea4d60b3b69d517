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
	return like && !strcmp(text, like) ? like : arena_text(&o->kept, text);
}

static int copy_labels(struct frame_own *o, struct series *to, const struct series *previous)
{
	for (uint32_t i = 0; i < to->nlabels; i++) {
		struct label *l = &to->labels[i];
		const struct label *like =
			previous && i < previous->nlabels ? &previous->labels[i] : NULL;

		l->key = copy_text(o, l->key, like ? like->key : NULL);
		l->value = copy_text(o, l->value, like ? like->value : NULL);
		if (!l->key || !l->value)
			return -ENOMEM;
	}
	return 0;
}

/* `packed` is used again for each that is not packed. NULL: no memory. */
static const struct hist *copy_hist(struct frame_own *o, const struct hist *h, struct hist *packed)
{
	struct hist *to;

	if (!h->packed) {
		hist_reset(packed);
		packed->schema = h->schema;
		if (hist_merge(packed, h))
			return NULL;
		h = packed;
	}
	to = arena_take(&o->kept, sizeof(*to) + h->len);
	if (!to)
		return NULL;
	*to = *h;
	to->cap = 0; /* it is no memory of its own */
	to->bytes = h->len ? memcpy(to + 1, h->bytes, h->len) : NULL;
	return to;
}

static int copy_series(struct frame_own *o, struct series *to, const struct series *previous,
		       struct hist *packed)
{
	struct split *split;

	to->desc = metric_keep(to->desc, &o->kept);
	if (!to->desc || copy_labels(o, to, previous))
		return -ENOMEM;
	if (to->split) {
		split = arena_take(&o->kept, sizeof(*split));
		if (!split)
			return -ENOMEM;
		*split = *to->split;
		to->split = split;
	}
	if (to->hist)
		to->hist = copy_hist(o, to->hist, packed);
	return to->hist || to->desc->counter ? 0 : -ENOMEM;
}

int own_copy_series(struct frame_own *o, const struct frame *f)
{
	struct series *v = arena_take(&o->kept, (f->nseries + 1) * sizeof(*v));
	struct hist packed;
	int ret = v ? 0 : -ENOMEM;

	hist_init_packed(&packed, BUCKET_SCHEMA_MAX);
	for (size_t i = 0; i < f->nseries && !ret; i++) {
		v[i] = f->series[i];
		ret = copy_series(o, &v[i], i ? &v[i - 1] : NULL, &packed);
	}
	hist_free(&packed);
	o->copied = v;
	o->ncopied = f->nseries;
	return ret;
}

/* Of two that are one, as only a damaged record has them, the first is found. */
static int make_keys(struct frame_own *o)
{
	struct own_entry *e;
	int ret = 0;

	for (; o->nkeyed < o->ncopied && !ret; o->nkeyed++) {
		ret = own_series_key(o, &o->copied[o->nkeyed]) ?: own_key_entry(o, true, &e);
		if (!ret && !e->at)
			e->at = (uint32_t)o->nkeyed + 1;
	}
	return ret;
}

const struct series *own_copy_find(struct frame_own *o, const struct series *s)
{
	struct own_entry *e = NULL;

	if (make_keys(o) || own_series_key(o, s) || own_key_entry(o, false, &e) || !e)
		return NULL;
	return &o->copied[e->at - 1];
}
