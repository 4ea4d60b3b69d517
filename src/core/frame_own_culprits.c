// SPDX-License-Identifier: GPL-2.0-or-later
/* Who made tasks wait: a row for each pair of who waited and what for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/frame_own_inside.h"

static int key_text(struct frame_own *o, const char *text)
{
	return own_key(o, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* A process or thread is its number, whatever it is called now; so is one that waited. */
static int culprit_key(struct frame_own *o, const struct culprit *c)
{
	const uint32_t ids[] = {c->pid, c->tid};
	int ret;

	o->key_len = 0;
	ret = own_key(o, "w", 1) ?: key_text(o, c->kind);
	if (!ret)
		ret = own_key(o, ids, sizeof(ids));
	if (!ret && !c->pid)
		ret = key_text(o, c->comm) ?: key_text(o, c->cgroup);
	if (!ret && c->nvictim)
		ret = key_text(o, c->victim[0].key) ?: key_text(o, c->victim[0].value);
	return ret;
}

/* Its own of that key; NULL: there is none, and `add` was not asked for. */
static int culprit_find(struct frame_own *o, const struct culprit *c, bool add,
			struct culprit **out)
{
	struct own_entry *e = NULL;
	struct culprit *v;
	int ret = culprit_key(o, c) ?: own_key_entry(o, add, &e);

	*out = NULL;
	if (ret || !e)
		return ret;
	if (!e->at) {
		v = array_room(o->culprits, &o->culprits_cap, o->nculprits, 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		o->culprits = v;
		v[o->nculprits] = (struct culprit){0};
		e->at = (uint32_t)++o->nculprits;
	}
	*out = &o->culprits[e->at - 1];
	return 0;
}

const struct culprit *frame_own_find_culprit(struct frame_own *o, const struct culprit *c)
{
	struct culprit *own;

	return culprit_find(o, c, false, &own) ? NULL : own;
}

int own_culprit_add(struct frame_own *o, const struct culprit *c)
{
	struct culprit *to;
	int ret = culprit_find(o, c, true, &to);

	for (uint32_t i = 0; i < c->nvictim && !ret; i++)
		ret = own_text(o, &to->victim[i].key, c->victim[i].key)
			      ?: own_text(o, &to->victim[i].value, c->victim[i].value);
	if (!ret)
		ret = own_text(o, &to->kind, c->kind) ?: own_text(o, &to->comm, c->comm);
	if (!ret)
		ret = own_text(o, &to->cgroup, c->cgroup);
	if (ret)
		return ret;
	to->nvictim = c->nvictim;
	to->pid = c->pid;
	to->tid = c->tid;
	to->count += c->count;
	to->wait_ns += c->wait_ns;
	for (size_t i = 0; i < CULPRIT_LENGTHS; i++)
		to->length_ns[i] += c->length_ns[i];
	return 0;
}
