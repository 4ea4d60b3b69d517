/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --by: one entry per group, and per CPU unless the group is a thread, so that no entry has two
 * writers. A map per bank: reading one bank does not walk the other.
 */
#ifndef WS_KEYED_BPF_H
#define WS_KEYED_BPF_H

/* One finished wait, as it goes from the switch-in to everything that wants it. */
struct wait {
	u64 t0;
	u64 t1;
	u64 t2;
	u64 to_queue_ns;
	u64 queued_ns;
	u64 wait_ns;
	u32 kind;
	u32 pad;
};

const volatile __u32 by = ABI_BY_NONE;
const volatile struct bucket_table key_buckets;

struct keyed_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct abi_key);
	__type(value, struct abi_kentry);
};

struct keyed_map keyed_even SEC(".maps"), keyed_odd SEC(".maps");

/* What a new entry starts as; too large for the stack. */
const volatile struct abi_kentry keyed_zero;

static __always_inline struct abi_kentry *keyed_in(void *map, const struct abi_key *key)
{
	struct abi_kentry *e = bpf_map_lookup_elem(map, key);

	if (e)
		return e;
	bpf_map_update_elem(map, key, (const void *)&keyed_zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* Global for the reason of hist_slot. */
__noinline u32 khist_slot(u64 v)
{
	return bucket_slot((const struct bucket_table *)&key_buckets, ABI_KEY_SCHEMA, v);
}

/* a if mask is all ones, b if it is 0. */
static __always_inline u64 pick(u64 mask, u64 a, u64 b)
{
	return b ^ ((a ^ b) & mask);
}

/* What hist_add does, without a branch: each would double the paths through all that follows. */
static __always_inline void khist_add(struct abi_kentry *e, u32 m, u64 v, u64 ep)
{
	struct abi_khist *k = &e->hist[m];
	u64 first = 0 - bucket_nonzero(k->h.epoch ^ ep), slot, lim = ABI_KEY_SLOTS;
	u64 min = k->h.min_ns | first, max = k->h.max_ns & ~first;

	k->h.sum_ns += v;
	k->h.epoch = ep;
	k->h.min_ns = pick(0 - bucket_above(min, v), v, min);
	k->h.max_ns = pick(0 - bucket_above(v, max), v, max);
	k->h.zero += 1 - bucket_nonzero(v);
	k->h.over += bucket_above(v, BUCKET_VALUE_END - 1);
	slot = khist_slot(v);
	CLAMP_INDEX(slot, lim);
	k->slots[slot] += bucket_nonzero(v);
}

/* Up to the NUL: older kernels leave what was there before behind it (strlcpy in __set_task_comm).
 */
static __always_inline void copy_comm(char *to, const char *from)
{
	u32 i;

	for (i = 0; i < ABI_COMM_LEN; i++) {
		if (!from[i])
			break;
		to[i] = from[i];
	}
}

static __always_inline void keyed_key(struct abi_key *key, struct task_struct *p)
{
	key->cpu = by == ABI_BY_TID ? 0 : bpf_get_smp_processor_id();
	if (by == ABI_BY_PID) {
		key->id = (u32)p->tgid;
		key->born = p->group_leader ? p->group_leader->start_time : 0;
	} else if (by == ABI_BY_TID) {
		key->id = (u32)p->pid;
		key->born = p->start_time;
	} else if (by == ABI_BY_CGROUP) {
		key->id = task_cgroup_id(p);
	} else {
		copy_comm(key->comm, p->comm);
	}
}

static __always_inline void keyed_add(struct abi_counts *bank, struct task_struct *p,
				      const struct wait *w, u64 ep)
{
	struct abi_key key = {};
	struct abi_kentry *e;
	struct task_struct *named = p;

	keyed_key(&key, p);
	e = ep & 1 ? keyed_in(&keyed_odd, &key) : keyed_in(&keyed_even, &key);
	if (!e) {
		bank->keys_full++;
		return;
	}
	if (by == ABI_BY_PID || by == ABI_BY_TID) {
		if (by == ABI_BY_PID && p->group_leader)
			named = p->group_leader;
		bpf_probe_read_kernel(e->head.comm, sizeof(e->head.comm), named->comm);
		e->head.pid = (u32)p->tgid;
	}
	if (w->kind == ABI_WAIT_PREEMPT || w->kind == ABI_WAIT_THROTTLE) {
		khist_add(e, w->kind == ABI_WAIT_PREEMPT ? ABI_PREEMPT_WAIT : ABI_THROTTLE_WAIT,
			  w->queued_ns, ep);
		return;
	}
	khist_add(e, ABI_QUEUE_TO_RUN, w->queued_ns, ep);
	if (!w->t0)
		return;
	khist_add(e, ABI_WAKEUP_LATENCY, w->wait_ns, ep);
	khist_add(e, ABI_WAKE_TO_QUEUE, w->to_queue_ns, ep);
}

#endif
