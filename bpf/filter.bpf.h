/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Per-task stamps and the filters. A filter asks about the task the event is about, never
 * `current`.
 *
 * Early filters cannot change while a task waits (its ids, our own threads): tasks that fail them
 * are not stamped. Late ones can (cgroup, comm, CPU): everybody is stamped, and asked at the
 * switch-in.
 */
#ifndef WS_FILTER_BPF_H
#define WS_FILTER_BPF_H

#define STAMP_SEEN 1U	   /* we saw it queued or running: from now on a missing stamp is a loss */
#define STAMP_FOLLOWED 2U  /* descends from a target */
#define STAMP_CGROUP_OK 4U /* verdict for cgroup_id */
#define STAMP_RUNS 8U	   /* `runs` holds */

#ifndef WS_OWN_STAMP
/* 64 bytes: with the storage's own header no two tasks share a line. */
struct stamp {
	u64 t0;
	u64 t1;
	u64 cgroup_id; /* for which STAMP_CGROUP_OK holds */
	u32 flags;
	u32 runs; /* times it came to a CPU, by the kernel's count, as far as we saw */
	u32 last_cpu;
	u8 kind; /* ABI_WAIT_* of the wait that t1 began; 0 after a switch-out that blocked */
	u8 waker;
	u16 pad;
	u32 waker_pid;
	u32 waker_tid;
	char waker_comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct stamp) == 64, "stamp size");
#endif

/* Task storage where the kernel has it (4cf1bc1f1045, 5.11), else a hash by task address. */
const volatile bool use_task_storage = true;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stamp);
} stamps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, struct stamp);
} stamps_hash SEC(".maps");

static __always_inline struct stamp *stamp_get(struct task_struct *p, bool create)
{
	struct stamp zero = {}, *st;
	u64 key = (u64)p;

	if (use_task_storage)
		return bpf_task_storage_get(&stamps, p, NULL,
					    create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	st = bpf_map_lookup_elem(&stamps_hash, &key);
	if (st || !create)
		return st;
	bpf_map_update_elem(&stamps_hash, &key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&stamps_hash, &key);
}

static __always_inline void stamp_delete(struct task_struct *p)
{
	u64 key = (u64)p;

	if (!use_task_storage)
		bpf_map_delete_elem(&stamps_hash, &key);
}

/* ---- early: ids ---- */

const volatile __u32 filter_ids = ABI_IDS_NONE;
const volatile __u32 filter_one_id; /* the only id, or 0: look it up */
const volatile bool follow;	    /* children of targets are targets */
const volatile __u32 command_tgid;  /* COMMAND: becomes a target by its exec */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* user space alone adds to it */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} target_ids SEC(".maps");

static __always_inline bool filter_early(struct task_struct *p)
{
	struct stamp *st;
	u32 id;

	if ((u32)p->tgid == self_tgid)
		return false;
	if (filter_ids == ABI_IDS_NONE)
		return true;
	id = filter_ids == ABI_IDS_PID ? p->tgid : p->pid;
	if (filter_one_id) {
		if (id == filter_one_id)
			return true;
	} else if (bpf_map_lookup_elem(&target_ids, &id)) {
		return true;
	}
	if (!follow && !command_tgid)
		return false;
	st = stamp_get(p, false);
	return st && (st->flags & STAMP_FOLLOWED);
}

/* ---- late: cgroup, comm, CPU ---- */

#define CGROUP_DEPTH_MAX 256

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u32);
} target_cgroups SEC(".maps");

const volatile bool filter_cgroups;
const volatile bool filter_comm;
const volatile struct abi_glob comm_glob;
const volatile bool filter_cpus;
const volatile __u64 cpu_mask[ABI_CPUS_MAX / 64];

static __always_inline u64 task_cgroup_id(struct task_struct *p)
{
	struct css_set *set = p->cgroups;
	struct cgroup *cgrp;
	struct kernfs_node *kn;

	if (!set)
		return 0;
	cgrp = set->dfl_cgrp;
	if (!cgrp)
		return 0;
	kn = cgrp->kn;
	return kn ? kn->id : 0;
}

/*
 * Is it, or an ancestor, wanted? By id at every level: inside a cgroup namespace user space cannot
 * know how deep its own root lies. Global, as comm_matches is, so that the verifier takes the loop
 * once and not on every path to it; such a function takes numbers only: the cgroup's address.
 */
__noinline u32 cgroup_wanted(u64 addr)
{
	struct cgroup *cgrp = (void *)addr;
	u32 i, level = BPF_CORE_READ(cgrp, level);
	u64 id;

	for (i = 0; i < CGROUP_DEPTH_MAX && i <= level; i++) {
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
	struct css_set *set = p->cgroups;

	if (st->cgroup_id != id) {
		st->cgroup_id = id;
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
	u64 state = 1, star = comm_glob.star, word = low;
	u32 i, c;

	for (i = 0; i < ABI_COMM_LEN; i++) {
		if (i == 8)
			word = high;
		state |= (state & star) << 1;
		c = word & 0xff;
		if (!c)
			break;
		state = (state & comm_glob.match[c]) << 1 | (state & star);
		word >>= 8;
	}
	state |= (state & star) << 1;
	return !!(state & comm_glob.accept);
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
	       (cpu_mask[(cpu / 64) & (ABI_CPUS_MAX / 64 - 1)] >> (cpu & 63) & 1);
}

static __always_inline bool filter_late(struct stamp *st, struct task_struct *p)
{
	if (filter_cpus && !cpu_ok())
		return false;
	if (filter_cgroups && !cgroup_ok(st, p))
		return false;
	return !filter_comm || comm_ok(p);
}

#endif
