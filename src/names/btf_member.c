// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/btf_view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 24
#define STEPS_MAX 20000 /* of a walk; types that hold themselves would take for ever */

/*
 * Types to stop at. A `word` is one for all of its first bytes; the others hold further locks
 * behind their beginning (the wait_lock of a mutex), which have names of their own.
 */
static const struct stop {
	const char *name;
	enum member_kind kind;
	bool word;
} stops[] = {
	{"spinlock", MEMBER_LOCK, true},
	{"spinlock_t", MEMBER_LOCK, true},
	{"raw_spinlock", MEMBER_LOCK, true},
	{"raw_spinlock_t", MEMBER_LOCK, true},
	{"arch_spinlock_t", MEMBER_LOCK, true},
	{"qspinlock", MEMBER_LOCK, true},
	{"local_lock_t", MEMBER_LOCK, true},
	{"optimistic_spin_queue", MEMBER_LOCK, true},
	{"seqcount", MEMBER_LOCK, true},
	{"seqcount_t", MEMBER_LOCK, true},
	{"rwlock_t", MEMBER_LOCK, false},
	{"seqlock_t", MEMBER_LOCK, false},
	{"mutex", MEMBER_LOCK, false},
	{"ww_mutex", MEMBER_LOCK, false},
	{"rw_semaphore", MEMBER_LOCK, false},
	{"percpu_rw_semaphore", MEMBER_LOCK, false},
	{"semaphore", MEMBER_LOCK, false},
	{"rt_mutex_base", MEMBER_LOCK, false},
	{"rt_mutex", MEMBER_LOCK, false},
	{"rwbase_rt", MEMBER_LOCK, false},
	{"atomic_t", MEMBER_ATOMIC, true},
	{"atomic64_t", MEMBER_ATOMIC, true},
	{"atomic_long_t", MEMBER_ATOMIC, true},
	{"refcount_t", MEMBER_ATOMIC, true},
	{"refcount_struct", MEMBER_ATOMIC, true},
	{"file_ref_t", MEMBER_ATOMIC, true},
	{"kref", MEMBER_ATOMIC, true},
};

static const struct stop *stop_named(const char *name)
{
	if (*name)
		for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
			if (!strcmp(stops[i].name, name))
				return &stops[i];
	return NULL;
}

/* By the name of the type, or of a typedef on the way to it. */
static const struct stop *stop_of(const struct btf_view *v, uint32_t id)
{
	const struct btf_type *t = btf_view_type(v, id);
	const struct stop *s = NULL;
	int left = DEPTH_MAX;

	while (t && !s && left--) {
		s = stop_named(btf_view_name(v, t));
		if (!btf_is_mod(t) && !btf_is_typedef(t))
			break;
		t = btf_view_type(v, t->type);
	}
	return s;
}

#define WORD_BYTES 8

static const struct stop *stop_at(const struct btf_view *v, uint32_t id, uint32_t offset)
{
	const struct stop *s = stop_of(v, id);

	if (!s || (offset >= (s->word ? WORD_BYTES : 1) && btf_view_size(v, id) > WORD_BYTES))
		return NULL;
	return s->word || !offset ? s : NULL;
}

/* First and last byte + 1 of a member; false if it has none (an array without a length). */
static bool extent(const struct btf_view *v, const struct btf_type *t, uint32_t i, uint32_t *from,
		   uint32_t *to)
{
	uint32_t bit = btf_member_bit_offset(t, i), bits = btf_member_bitfield_size(t, i);
	int64_t size = btf_view_size(v, btf_members(t)[i].type);

	if (size <= 0 || size > INT32_MAX)
		return false;
	*from = bit / 8;
	*to = bits ? (bit + bits + 7) / 8 : *from + (uint32_t)size;
	return true;
}

static void path_add(char *path, const char *name)
{
	size_t at = strlen(path);

	(void)snprintf(path + at, NAME_LEN - at, "%s%s", at ? "." : "", name);
}

static void path_index(char *path, uint32_t index)
{
	size_t at = strlen(path);

	(void)snprintf(path + at, NAME_LEN - at, "[%u]", index);
}

struct walker {
	const struct btf_view *v;
	int left;
};

static void walk(struct walker *w, uint32_t id, struct member_at *m, int depth);

static void walk_member(struct walker *w, const struct btf_type *t, uint32_t i, struct member_at *m,
			int depth)
{
	const struct btf_member *member = &btf_members(t)[i];
	const char *name = btf_view_str(w->v, member->name_off);
	size_t named = strlen(m->path);
	uint32_t rest = m->rest;

	m->rest -= btf_member_bit_offset(t, i) / 8;
	if (*name) {
		path_add(m->path, name);
		m->kind = MEMBER_PLAIN;
	}
	walk(w, member->type, m, depth + 1);
	if (m->kind == MEMBER_NONE && strlen(m->path) == named)
		m->rest = rest; /* the path still names what it did */
}

/*
 * Which of several members that share a byte? `m` becomes the one whose lock or atomic lies there,
 * or what all say; else it stays.
 */
static void walk_shared(struct walker *w, const struct btf_type *t, struct member_at *m, int depth)
{
	struct member_at one, first = {0}, sync = {0};
	uint32_t i, from, to, covered = 0, syncs = 0, agreed = 0;

	for (i = 0; i < btf_vlen(t); i++) {
		if (!extent(w->v, t, i, &from, &to) || m->rest < from || m->rest >= to)
			continue;
		one = *m;
		walk_member(w, t, i, &one, depth);
		if (!covered++)
			first = one;
		agreed += first.rest == one.rest && first.kind == one.kind &&
			  !strcmp(first.path, one.path);
		if (one.kind >= MEMBER_ATOMIC) {
			syncs++;
			sync = one;
		}
	}
	if (syncs == 1)
		*m = sync;
	else if (covered && agreed == covered)
		*m = first;
	else
		m->kind = MEMBER_NONE;
}

static void walk_composite(struct walker *w, const struct btf_type *t, struct member_at *m,
			   int depth)
{
	uint32_t i, from, to, covered = 0, which = 0;

	for (i = 0; i < btf_vlen(t); i++) {
		if (!extent(w->v, t, i, &from, &to) || m->rest < from || m->rest >= to)
			continue;
		covered++;
		which = i;
	}
	if (covered == 1)
		walk_member(w, t, which, m, depth);
	else if (covered && btf_is_union(t))
		walk_shared(w, t, m, depth);
	else
		m->kind = MEMBER_NONE; /* padding; bit fields in one byte */
}

/* m->path names something of type `id`, m->rest is the offset in it. */
static void walk(struct walker *w, uint32_t id, struct member_at *m, int depth)
{
	const struct stop *stop = depth ? stop_at(w->v, id, m->rest) : NULL;
	const struct btf_type *t = btf_view_type(w->v, btf_view_strip(w->v, id));
	int64_t size;

	if (stop) {
		m->kind = stop->kind;
		m->lock = stop->name;
		m->rest = 0;
		return;
	}
	if (!t || depth > DEPTH_MAX || w->left-- <= 0) {
		m->kind = MEMBER_NONE;
	} else if (btf_is_composite(t)) {
		walk_composite(w, t, m, depth);
	} else if (btf_is_array(t)) {
		size = btf_view_size(w->v, btf_array(t)->type);
		if (size <= 0) {
			m->kind = MEMBER_NONE;
			return;
		}
		path_index(m->path, m->rest / (uint32_t)size);
		m->rest %= (uint32_t)size;
		walk(w, btf_array(t)->type, m, depth + 1);
	}
}

int btf_member_at(const struct btf_view *v, uint32_t type, uint32_t offset, struct member_at *out)
{
	const struct btf_type *t = btf_view_type(v, btf_view_strip(v, type));
	struct walker w = {v, STEPS_MAX};

	memset(out, 0, sizeof(*out));
	if (!t || !btf_is_composite(t) || offset >= t->size)
		return -ENOENT;
	out->rest = offset;
	walk(&w, type, out, 0);
	return 0;
}

/* ---- all members of a line ---- */

struct lister {
	const struct btf_view *v;
	uint32_t from, to;
	struct name_member *out;
	size_t n, cap;
	int left;
};

static void list_type(struct lister *l, uint32_t id, uint32_t at, const char *path, bool hot,
		      int depth);

static bool is_struct_named(const struct btf_view *v, uint32_t id, const char *name)
{
	const struct btf_type *t = btf_view_type(v, btf_view_strip(v, id));

	return t && btf_is_struct(t) && !strcmp(btf_view_name(v, t), name);
}

/* A list head right before or behind a lock: what it guards, most likely. */
static bool beside_lock(const struct btf_view *v, const struct btf_type *t, uint32_t i)
{
	const struct btf_member *m = btf_members(t);
	const struct stop *s = NULL;

	if (!is_struct_named(v, m[i].type, "list_head"))
		return false;
	if (i)
		s = stop_of(v, m[i - 1].type);
	if ((!s || s->kind != MEMBER_LOCK) && i + 1 < btf_vlen(t))
		s = stop_of(v, m[i + 1].type);
	return s && s->kind == MEMBER_LOCK;
}

static void list_members(struct lister *l, const struct btf_type *t, uint32_t at, const char *path,
			 int depth)
{
	bool counter = !strcmp(btf_view_name(l->v, t), "percpu_counter");
	const struct btf_member *m = btf_members(t);
	uint32_t from, to;

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const char *name = btf_view_str(l->v, m[i].name_off);
		char inner[NAME_LEN];
		bool hot;

		if (!extent(l->v, t, i, &from, &to) || at + from >= l->to || at + to <= l->from)
			continue;
		(void)snprintf(inner, sizeof(inner), "%s", path);
		if (*name)
			path_add(inner, name);
		hot = beside_lock(l->v, t, i) || (counter && !strcmp(name, "count"));
		list_type(l, m[i].type, at + from, inner, hot, depth + 1);
	}
}

static void list_one(struct lister *l, const char *path, uint32_t at, uint32_t size, bool hot)
{
	struct name_member *m = &l->out[l->n];

	if (l->n == l->cap)
		return;
	memset(m, 0, sizeof(*m));
	(void)snprintf(m->name, sizeof(m->name), "%s", path);
	m->offset = at;
	m->size = size;
	m->hot = hot;
	l->n++;
}

static void list_array(struct lister *l, const struct btf_type *t, uint32_t at, const char *path,
		       int depth)
{
	int64_t size = btf_view_size(l->v, btf_array(t)->type);
	uint32_t i, first, step = (uint32_t)size;
	char inner[NAME_LEN];

	if (size <= 0)
		return;
	first = l->from > at ? (l->from - at) / step : 0;
	for (i = first; i < btf_array(t)->nelems && l->n < l->cap; i++) {
		if ((uint64_t)at + (uint64_t)i * step >= l->to)
			break;
		(void)snprintf(inner, sizeof(inner), "%s", path);
		path_index(inner, i);
		list_type(l, btf_array(t)->type, at + i * step, inner, false, depth + 1);
	}
}

/* Numbers and pointers in a row need one entry, not one each. */
static bool plain_array(const struct btf_view *v, const struct btf_type *t)
{
	uint32_t id = btf_view_strip(v, btf_array(t)->type);
	const struct btf_type *elem = btf_view_type(v, id);

	return !elem || (!btf_is_composite(elem) && !btf_is_array(elem));
}

static void list_type(struct lister *l, uint32_t id, uint32_t at, const char *path, bool hot,
		      int depth)
{
	const struct btf_type *t = btf_view_type(l->v, btf_view_strip(l->v, id));
	const struct stop *stop = depth ? stop_of(l->v, id) : NULL;
	int64_t size = btf_view_size(l->v, id);

	if (!t || size <= 0 || size > INT32_MAX || depth > DEPTH_MAX || l->left-- <= 0)
		return;
	if (!stop && !is_struct_named(l->v, id, "list_head")) {
		if (btf_is_composite(t)) {
			list_members(l, t, at, path, depth);
			return;
		}
		if (btf_is_array(t) && !plain_array(l->v, t)) {
			list_array(l, t, at, path, depth);
			return;
		}
	}
	list_one(l, path, at, (uint32_t)size, hot || stop);
}

size_t btf_members_in(const struct btf_view *v, uint32_t type, uint32_t from, uint32_t to,
		      struct name_member *out, size_t cap)
{
	struct lister l = {
		.v = v, .from = from, .to = to, .out = out, .cap = cap, .left = STEPS_MAX};

	list_type(&l, type, 0, "", false, 0);
	return l.n;
}
