/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keyed entries, for every source: one per struct abi_key, which has the CPU in it so that no entry
 * has two writers. A map per bank: reading one bank does not walk the other. How many histograms an
 * entry has, and at which schema, user space says at load (map_setup.h).
 */
#ifndef WS_KEYED_BPF_H
#define WS_KEYED_BPF_H

#include "bucket_check.bpf.h"
#include "group.bpf.h"

const volatile struct abi_keyed keyed;

struct keyed_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct abi_key));
	__uint(value_size, sizeof(struct abi_khead));
};

struct keyed_map keyed_even SEC(".maps"), keyed_odd SEC(".maps");

/* What a new entry starts as: too large for the stack, and as large as the entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct abi_khead));
} keyed_zero SEC(".maps");

static __always_inline struct abi_khead *keyed_find(const struct abi_key *key, u64 ep)
{
	return ep & 1 ? bpf_map_lookup_elem(&keyed_odd, key)
		      : bpf_map_lookup_elem(&keyed_even, key);
}

static __always_inline struct abi_khead *keyed_in(void *map, const struct abi_key *key)
{
	struct abi_khead *e = bpf_map_lookup_elem(map, key), *zero;
	u32 first = 0;

	if (e)
		return e;
	zero = bpf_map_lookup_elem(&keyed_zero, &first);
	if (!zero)
		return NULL;
	bpf_map_update_elem(map, key, zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/*
 * For what finds no entry of its own, so that sums stay true: made at load for every CPU and for
 * kinds below keyed.others, as long as the key's kind is one of them; else NULL.
 */
static __always_inline struct abi_khead *keyed_other(u32 kind, u64 ep)
{
	struct abi_key key = {.obj = ABI_OBJ_OTHER, .kind = kind};

	key.cpu = bpf_get_smp_processor_id();
	return keyed_find(&key, ep);
}

/* The entry of a key, made if need be. Where there is no room, which is counted: that of the
 * others, or NULL. */
static __always_inline struct abi_khead *keyed_get(struct abi_counts *bank,
						   const struct abi_key *key, u64 ep)
{
	struct abi_khead *e;

	e = ep & 1 ? keyed_in(&keyed_odd, key) : keyed_in(&keyed_even, key);
	if (e)
		return e;
	bank->keys_full++;
	return keyed.others ? keyed_other(key->kind, ep) : NULL;
}

/* Samples of 0 ns have a slot of their own. Global for the reason of hist_slot. */
__noinline u32 khist_slot(u64 v)
{
	return v ? bucket_slot(&keyed.buckets.table, keyed.buckets.schema, v)
		 : keyed.buckets.nslots;
}

/* Run by user space alone. */
SEC("raw_tp")
int ws_check_khist(u64 *ctx)
{
	return check_slots(khist_slot);
}

/* The head of histogram `m` of an entry. */
static __always_inline struct abi_khist *khist(struct abi_khead *e, u32 m)
{
	return (struct abi_khist *)(e + 1) + m;
}

/* All ones if x is negative, else 0; no branch is made of it. */
static __always_inline u64 if_negative(u64 x)
{
	asm("" : "+r"(x));
	x = (s64)x >> 63;
	asm("" : "+r"(x));
	return x;
}

/*
 * `n` samples of `sum` together into histogram `m` of an entry: as hist_add_n does it, but without
 * a branch, since each would double the paths through all that follows. One of them takes the place
 * of the oldest of the last ones. `placed` comes when all else is there.
 */
static __always_inline void khist_add_n(struct abi_khead *e, u32 m, u64 sum, u32 n, u64 ep)
{
	u64 lim = keyed.slots;
	u64 first, slot, min, max, v = n == 1 ? sum : sum / n; /* all below 2^63 */
	u32 *slots_of = (void *)e + keyed.slots_at + m * lim * sizeof(u32);
	struct abi_khist *h = khist(e, m);
	u64 placed = h->placed;
	u16 *last = &h->last[placed % ABI_KHIST_LAST];

	first = if_negative(0 - (h->epoch ^ ep));
	min = h->min_ns | first >> 1;
	max = h->max_ns & ~first;
	h->sum_ns += sum;
	h->epoch = ep;
	h->min_ns = min + ((v - min) & if_negative(v - min));
	h->max_ns = v + ((max - v) & ~if_negative(max - v));
	slot = *last;
	*last = khist_slot(v);
	CLAMP_INDEX(slot, lim);
	slots_of[slot]++;
	if (!__builtin_constant_p(n)) {
		slot = *last;
		CLAMP_INDEX(slot, lim);
		slots_of[slot] += n - 1;
	}
	barrier();
	h->placed = placed + 1 + ((u64)(n - 1) << 32);
}

static __always_inline void khist_add(struct abi_khead *e, u32 m, u64 v, u64 ep)
{
	khist_add_n(e, m, v, 1, ep);
}

/*
 * The group of a task (--by) into a zeroed key, and the CPU. A thread runs on one CPU at a time:
 * its entries leave the CPU out, unless the source puts it back.
 */
static __always_inline void group_key(struct abi_key *key, struct task_struct *p)
{
	group_id(keyed.by, key, p);
	if (keyed.by != ABI_BY_TID)
		key->cpu = bpf_get_smp_processor_id();
}

/* Processes and threads have a name that may change: as last seen. */
static __always_inline void group_name(struct abi_khead *e, struct task_struct *p)
{
	if (keyed.by != ABI_BY_PID && keyed.by != ABI_BY_TID)
		return;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), group_named(keyed.by, p)->comm);
	e->pid = (u32)TASK_READ(p, tgid);
	e->named_ns = bpf_ktime_get_ns();
}

#endif
