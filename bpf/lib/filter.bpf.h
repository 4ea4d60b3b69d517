/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Per-task stamps and the filters. A filter asks about the task the event is about, never about a
 * bystander: of a wakeup that is the woken task, of a lock or a system call it is `current`.
 *
 * Early filters cannot change while a task waits (its ids, our own threads): tasks that fail them
 * are not stamped. Late ones can (cgroup, comm, CPU): everybody is stamped, and asked at the end.
 * Programs that can do with less where nothing is asked see it by filter.asks_late and asks_task,
 * which user space sets with any filter; no other file names a single one (`make lint`).
 *
 * A source that keeps more of a task defines STAMP_OF_SOURCE and a `struct stamp` of its own, which
 * has `cgroup_id` and `flags` of the one below, before it includes this file. A source whose tasks
 * are always the current one defines TASKS_FROM_CURRENT and gets their pointers from
 * current_task(): those may be read by loads where the kernel hands out typed pointers.
 */
#ifndef WS_FILTER_BPF_H
#define WS_FILTER_BPF_H

#include "compat.bpf.h"

#define STAMP_FOLLOWED 1U  /* descends from a target */
#define STAMP_CGROUP_OK 2U /* verdict for cgroup_id */
#define STAMP_OWN 256U	   /* a source's own flags are STAMP_OWN << n */

#ifndef STAMP_OF_SOURCE
struct stamp {
	u64 cgroup_id; /* for which STAMP_CGROUP_OK holds */
	u32 flags;     /* STAMP_* */
	u32 pad;
};
#endif

const volatile struct abi_filter filter = {.task_storage = 1};

/*
 * May a task be read through its pointer? Those that BTF tracepoints hand over may; current's too
 * where bpf_get_current_task_btf is, which came with task storage (3ca1032ab7ab, 5.11). Else by
 * copying.
 */
#ifdef TASKS_FROM_CURRENT
#define TASKS_TYPED filter.task_storage
#else
#define TASKS_TYPED TRACED_TYPED
#endif

#define TASK_READ(p, field) READ_AS(TASKS_TYPED, p, field)

#ifdef TASKS_FROM_CURRENT
static __always_inline struct task_struct *current_task(void)
{
	if (filter.task_storage)
		return bpf_get_current_task_btf();
	return (void *)bpf_get_current_task();
}
#endif

/*
 * Task storage where the kernel has it (4cf1bc1f1045, 5.11) and hands over pointers, which it asks
 * for; else a hash by task address.
 */
#ifdef WS_RAW_TP
#define TASK_STORAGE false
#define STAMP_STORED(p, flags) ((struct stamp *)NULL)
#else
#define TASK_STORAGE filter.task_storage
#define STAMP_STORED(p, flags) bpf_task_storage_get(&stamps, p, NULL, flags)

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stamp);
} stamps SEC(".maps");
#endif

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, struct stamp);
} stamps_hash SEC(".maps");

/* A source may keep some of them where they are sooner found (sched.bpf.c). */
#ifndef STAMP_SLOT
#define STAMP_SLOT(p) ((struct stamp *)NULL)
#define STAMP_SLOT_FREE(p) ((void)p)
#endif

/* What a new one starts as: a source's may be too large for the stack. Zero for good: not volatile.
 */
const __u64 stamp_zero[sizeof(struct stamp) / 8];

static __always_inline struct stamp *stamp_stored(struct task_struct *p, bool create)
{
	u64 key = (u64)p;
	struct stamp *st;

	if (TASK_STORAGE)
		return STAMP_STORED(p, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	st = bpf_map_lookup_elem(&stamps_hash, &key);
	if (st || !create)
		return st;
	bpf_map_update_elem(&stamps_hash, &key, &stamp_zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&stamps_hash, &key);
}

static __always_inline struct stamp *stamp_get(struct task_struct *p, bool create)
{
	struct stamp *st = STAMP_SLOT(p);

	return st ? st : stamp_stored(p, create);
}

static __always_inline void stamp_delete(struct task_struct *p)
{
	u64 key = (u64)p;

	if (!TASK_STORAGE)
		bpf_map_delete_elem(&stamps_hash, &key);
}

#define TASK_COMM(to, p) COMM_READ(to, p, TASKS_TYPED)

/* ---- early: ids ---- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* user space alone adds to it */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} target_ids SEC(".maps");

static __always_inline bool filter_is_self(struct task_struct *p)
{
	return (u32)TASK_READ(p, tgid) == filter.self_tgid;
}

static __always_inline bool filter_early(struct task_struct *p)
{
	u32 tgid = TASK_READ(p, tgid), id;
	struct stamp *st;

	if (tgid == filter.self_tgid)
		return false;
	if (OPTION(filter.ids, ABI_IDS_NONE) == ABI_IDS_NONE)
		return true;
	id = filter.ids == ABI_IDS_PID ? tgid : (u32)TASK_READ(p, pid);
	if (filter.one_id) {
		if (id == filter.one_id)
			return true;
	} else if (bpf_map_lookup_elem(&target_ids, &id)) {
		return true;
	}
	if (!filter.follow && !filter.command_tgid)
		return false;
	st = stamp_get(p, false);
	return st && (st->flags & STAMP_FOLLOWED);
}

/* ---- late: cgroup, comm, CPU ---- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u32);
} target_cgroups SEC(".maps");

static __always_inline u64 task_cgroup_id(struct task_struct *p)
{
	struct css_set *set;
	struct cgroup *cgrp;
	struct kernfs_node *kn;

	if (!TASKS_TYPED)
		return BPF_CORE_READ(p, cgroups, dfl_cgrp, kn, id);
	set = p->cgroups;
	if (!set)
		return 0;
	cgrp = set->dfl_cgrp;
	if (!cgrp)
		return 0;
	kn = cgrp->kn;
	return kn ? kn->id : 0;
}

/*
 * Does --cgroup name this cgroup or an ancestor of it? Compares the ancestors' ids, down to the
 * deepest level of a named cgroup: each level costs the verifier 100 instructions. A global
 * function, as comm_matches is, so that the verifier checks the loop once instead of at every call;
 * a global function takes only numbers, so `addr` is the cgroup's address.
 */
__noinline u32 cgroup_wanted(u64 addr)
{
	struct cgroup *cgrp = (void *)addr;
	u32 i, level = BPF_CORE_READ(cgrp, level);
	u64 id;

	for (i = 0; i < ABI_CGROUP_LEVELS && i < filter.cgroup_levels && i <= level; i++) {
		id = compat_cgroup_ancestor_id(cgrp, i);
		if (bpf_map_lookup_elem(&target_cgroups, &id))
			return true;
	}
	return false;
}

/* A cgroup's ancestors never change, nor is its id used again: the verdict stays with the id. */
static __always_inline bool cgroup_ok(struct stamp *st, struct task_struct *p)
{
	u64 id = task_cgroup_id(p), addr = 0;
	struct css_set *set;

	if (st->cgroup_id != id) {
		st->cgroup_id = id;
		set = TASK_READ(p, cgroups);
		if (set && !bpf_core_read(&addr, sizeof(addr), &set->dfl_cgrp) &&
		    cgroup_wanted(addr))
			st->flags |= STAMP_CGROUP_OK;
		else
			st->flags &= ~STAMP_CGROUP_OK;
	}
	return st->flags & STAMP_CGROUP_OK;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "comm_matches takes the first byte as lowest");

/* The name as two words. */
__noinline u32 comm_matches(u64 low, u64 high)
{
	u64 state = 1, star = filter.glob.star, word = low;
	u32 i, c;

	for (i = 0; i < ABI_COMM_LEN; i++) {
		if (i == 8)
			word = high;
		state |= (state & star) << 1;
		c = word & 0xff;
		if (!c)
			break;
		state = (state & filter.glob.match[c]) << 1 | (state & star);
		word >>= 8;
	}
	state |= (state & star) << 1;
	return !!(state & filter.glob.accept);
}

static __always_inline bool comm_ok(const struct task_struct *p)
{
	u64 words[ABI_COMM_LEN / 8] = {};

	bpf_core_read(words, sizeof(words), &p->comm);
	return comm_matches(words[0], words[1]);
}

static __always_inline bool cpu_ok(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return cpu < ABI_CPUS_MAX &&
	       (filter.cpu_mask[(cpu / 64) & (ABI_CPUS_MAX / 64 - 1)] >> (cpu & 63) & 1);
}

_Static_assert(ABI_FILTERS == 3, "each is asked here");

#define FILTER_ASKED(which) OPTION(filter.asked[which], false)

/* Only then filter_late() uses its stamp. */
static __always_inline bool filter_reads_stamp(void)
{
	return FILTER_ASKED(ABI_FILTER_CGROUP);
}

static __always_inline bool filter_late(struct stamp *st, struct task_struct *p)
{
	if (FILTER_ASKED(ABI_FILTER_CPU) && !cpu_ok())
		return false;
	if (FILTER_ASKED(ABI_FILTER_CGROUP) && !cgroup_ok(st, p))
		return false;
	return !FILTER_ASKED(ABI_FILTER_COMM) || comm_ok(p);
}

/* For what an interrupt does: it is no task's, whichever it came upon. */
static __always_inline bool filter_interrupt(void)
{
	return !filter.asks_task && (!FILTER_ASKED(ABI_FILTER_CPU) || cpu_ok());
}

#endif
