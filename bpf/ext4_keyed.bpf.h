/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries per device, kind, CPU and group (--by): operations with a histogram (keyed.bpf.h),
 * counted events without.
 */
#ifndef WS_EXT4_KEYED_BPF_H
#define WS_EXT4_KEYED_BPF_H

/* Counted events: no histograms. */
struct ext4_count_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct abi_key);
	__type(value, struct abi_khead);
};

struct ext4_count_map counted_even SEC(".maps"), counted_odd SEC(".maps");

/* Of a zeroed key. */
static __always_inline void op_key(struct abi_key *key, struct task_struct *p, u32 dev, u32 kind,
				   const struct file_id *file)
{
	group_key(key, p);
	if (keyed.by == ABI_BY_FILE) {
		key->id = file->ino;
		key->born = file->generation;
	}
	key->obj = ABI_EXT4_OBJ(dev, file->fs);
	key->kind = kind;
	key->cpu = bpf_get_smp_processor_id(); /* a thread's, too: it may end on another */
}

/* One more operation of this key. */
static __always_inline struct abi_khead *
op_put(struct abi_counts *counts, const struct abi_key *key, const struct ended *end, u64 ep)
{
	struct abi_khead *e = keyed_get(counts, key, ep);

	if (!e)
		return NULL;
	khist_add(e, 0, end->total_ns, ep);
	counts->over += bucket_above(end->total_ns, BUCKET_VALUE_END - 1);
	if (end->split) {
		e->sums[ABI_EXT4_SUM_BLOCKED_NS] += end->blocked_ns;
		e->sums[ABI_EXT4_SUM_RUN_QUEUE_NS] += end->run_queue_ns;
	}
	e->sums[ABI_EXT4_SUM_BYTES] += end->bytes;
	return e;
}

static __always_inline void op_add(struct abi_counts *counts, struct task_struct *p,
				   const struct ended *end, u64 ep)
{
	struct abi_key key = {};
	struct abi_khead *e;

	op_key(&key, p, end->dev, end->kind, &end->file);
	e = op_put(counts, &key, end, ep);
	if (e)
		group_name(e, p);
}

static __always_inline struct abi_khead *counted_in(void *map, const struct abi_key *key)
{
	struct abi_khead zero = {}, *e = bpf_map_lookup_elem(map, key);

	if (e)
		return e;
	bpf_map_update_elem(map, key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* One more of a counted event: sums[which] of its entry. */
static __always_inline void count_add(struct abi_counts *counts, struct task_struct *p,
				      const struct abi_key *key, u64 which, u64 ep)
{
	u64 lim = ABI_SUMS;
	struct abi_khead *e;

	e = ep & 1 ? counted_in(&counted_odd, key) : counted_in(&counted_even, key);
	if (!e) {
		counts->keys_full++;
		return;
	}
	CLAMP_INDEX(which, lim);
	e->sums[which]++;
	group_name(e, p);
}

#endif
