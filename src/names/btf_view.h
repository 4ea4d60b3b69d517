/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BTF read in place. libbpf copies it and indexes it, 6 MB of heap for a kernel's; here it stays
 * where it is (since 6.16 the kernel's own pages, mapped), and only the offsets of the types are
 * kept, 0.5 MB.
 */
#ifndef WS_NAMES_BTF_VIEW_H
#define WS_NAMES_BTF_VIEW_H

#include <bpf/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/names.h"

#define BTF_ASKED 64 /* a power of two */

/* An answer of btf_view_find: few names are asked for, at each report, and each takes a look at all
 * types. */
struct btf_asked {
	char name[40]; /* longer ones are not remembered */
	uint32_t kind, id;
};

struct btf_view {
	const struct btf_view *base; /* a module's: the kernel's */
	const uint8_t *types;
	const char *strs;
	uint32_t strs_len;
	uint32_t first_id, first_str;
	uint32_t n, *offsets; /* of type first_id + i in types */
	void *owned;	      /* the bytes: mapped if map_len, else from malloc */
	size_t map_len;
	struct btf_asked asked[BTF_ASKED];
};

/* `data` stays the caller's. 0, -EINVAL (not BTF of a version and byte order we know), -ENOMEM. */
int btf_view_init(struct btf_view *v, const void *data, size_t len, const struct btf_view *base);
/* From a file of raw BTF, or an ELF file with it. 0 or negative errno, without words. */
int btf_view_open(struct btf_view *v, const char *path, const struct btf_view *base);
void btf_view_close(struct btf_view *v);

/* NULL for void and for what does not exist. */
const struct btf_type *btf_view_type(const struct btf_view *v, uint32_t id);
const char *btf_view_str(const struct btf_view *v, uint32_t offset); /* "" if there is none */
const char *btf_view_name(const struct btf_view *v, const struct btf_type *t);
/* 0: no such type */
uint32_t btf_view_find(struct btf_view *v, const char *name, uint32_t kind);
/* Past typedefs, const, volatile and tags; 0 for void and for endless chains. */
uint32_t btf_view_strip(const struct btf_view *v, uint32_t id);
/* In bytes, of what can be a member; -EINVAL of what cannot. */
int64_t btf_view_size(const struct btf_view *v, uint32_t id);

/* Byte offset of "a.b.c" in a struct, through members without a name and into an array's first
 * element; -ENOENT. `type`: of the member, may be NULL. */
int64_t btf_view_offset(const struct btf_view *v, uint32_t id, const char *path, uint32_t *type);

/* ---- from a type and an offset to the member there (btf_member.c) ---- */

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
