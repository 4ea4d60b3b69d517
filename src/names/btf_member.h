/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a type and an offset to the member there. */
#ifndef WS_NAMES_BTF_MEMBER_H
#define WS_NAMES_BTF_MEMBER_H

#include "names/btf_view.h"
#include "names/names.h"

enum member_kind {
	MEMBER_NONE, /* no single member: padding, or an undecided union; path is what is sure */
	MEMBER_PLAIN,
	MEMBER_ATOMIC,
	MEMBER_LOCK,
};

struct member_at {
	enum member_kind kind;
	char path[NAME_LEN]; /* "s_es_stats.es_stats_cache_hits.lock", "bufs[3].page" */
	uint32_t rest;	     /* of the offset, in what path names */
	const char *lock;    /* type of a lock or an atomic: "mutex", "spinlock_t"; else NULL */
};

/*
 * The member of `type` at byte `offset`. Walks through members without a name and into arrays;
 * stops at locks and atomics, whose insides nobody wants to read; of the members of a union takes
 * one only when all agree or exactly one is a lock or an atomic there. 0, or -ENOENT: the offset is
 * outside, or the type is no struct.
 */
int btf_member_at(const struct btf_view *v, uint32_t type, uint32_t offset, struct member_at *out);

/*
 * All members that overlap [from, to), by offset, at most cap. Which are `hot` is told by their
 * types alone: locks, atomics and reference counts, the sum of a percpu_counter, and a list head
 * that stands next to a lock in its struct, which is what the lock guards.
 */
size_t btf_members_in(const struct btf_view *v, uint32_t type, uint32_t from, uint32_t to,
		      struct name_member *out, size_t cap);

#endif
