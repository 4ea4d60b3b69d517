/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extent status look-ups: a million a second are not rare, so a look-up costs one load of the
 * device, one compare and one increment in a table that only this CPU and this program write.
 */
#ifndef WS_EXT4_ES_BPF_H
#define WS_EXT4_ES_BPF_H

const volatile bool es_by;    /* --by: counted per group, too */
const volatile bool es_time;  /* --es-time */
const volatile __u32 es_mask; /* places for devices, less one */

/* A CPU's table, mapped into user space as the banks are. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct abi_ext4_es)); /* times the places, at load */
} es_counts SEC(".maps");

#define ES_SHIFT 59 /* fs/ext4/extents_status.h: the status is above the block number */

/*
 * By status bits: W 1, U 2, D 4, H 8. A delayed extent may be unwritten, too, on older
 * kernels: its blocks are there.
 */
const volatile __u8 es_kinds[16] = {
	[1] = ABI_ES_WRITTEN,	 [2] = ABI_ES_UNWRITTEN,  [3] = ABI_ES_WRITTEN,
	[4] = ABI_ES_DELAYED,	 [5] = ABI_ES_WRITTEN,	  [6] = ABI_ES_UNWRITTEN,
	[7] = ABI_ES_WRITTEN,	 [8] = ABI_ES_HOLE,	  [9] = ABI_ES_WRITTEN,
	[10] = ABI_ES_UNWRITTEN, [11] = ABI_ES_WRITTEN,	  [12] = ABI_ES_DELAYED,
	[13] = ABI_ES_WRITTEN,	 [14] = ABI_ES_UNWRITTEN, [15] = ABI_ES_WRITTEN,
};

static __always_inline u32 es_home(u32 dev)
{
	return dev * 0x9e3779b1U >> 24;
}

_Static_assert(ABI_EXT4_DEVS_MAX == 256, "es_home gives 8 bits");

static __always_inline struct abi_ext4_es *es_slot_at(struct abi_ext4_es *t, u32 i)
{
	return &t[i & es_mask];
}

/* The device is not where it belongs: another one is, or it is new. NULL: no place is left. */
static __noinline struct abi_ext4_es *es_slot_search(struct abi_ext4_es *t, u32 dev)
{
	u32 i, home = es_home(dev);
	struct abi_ext4_es *s;

	for (i = 0; i < ABI_EXT4_DEVS_MAX && i <= es_mask; i++) {
		s = es_slot_at(t, home + i);
		if (!s->dev)
			s->dev = dev;
		if (s->dev == dev)
			return s;
	}
	return NULL;
}

static __always_inline u32 es_result(const struct extent_status *es, bool found)
{
	if (!found) /* then nobody has filled *es in */
		return ABI_ES_MISS;
	return es_kinds[es->es_pblk >> ES_SHIFT & 15];
}

static __always_inline void es_count(u32 dev, u64 result)
{
	u32 cpu = bpf_get_smp_processor_id();
	u64 lim = ABI_ES_RESULTS;
	struct abi_ext4_es *t = bpf_map_lookup_elem(&es_counts, &cpu);
	struct abi_counts *counts;
	struct abi_ext4_es *s;

	if (!t)
		return;
	s = es_slot_at(t, es_home(dev));
	if (s->dev != dev)
		s = es_slot_search(t, dev);
	if (!s) {
		counts = bank_get(epoch);
		if (counts)
			counts->keys_full++;
		return;
	}
	CLAMP_INDEX(result, lim);
	s->n[result]++;
}

/* ---- what only some ask for: groups, times, filters by cgroup, comm or CPU ---- */

static __always_inline void es_account(struct inode *inode, u32 dev, u32 result)
{
	struct abi_key key = {};
	struct op_context c;
	struct file_id file;
	struct ended end;

	if (!op_enter(&c, dev) || !op_stamp(&c))
		return;
	if (es_time && op_take(&c, OP_ES, &end)) {
		end.kind = ABI_EXT4_ES_LOOKUP;
		op_account(&c, &end);
	}
	if (!filter_late(c.st, c.task))
		return;
	es_count(dev, result);
	if (!es_by)
		return;
	file_fill(&file, inode);
	op_key(&key, c.task, dev, ABI_EXT4_ES, &file);
	count_add(c.counts, c.task, &key, result, c.ep);
}

struct looked_up {
	struct inode *inode;
	u32 dev, result;
};

/* false: nobody counts. */
static __always_inline bool es_read(u64 *ctx, struct looked_up *l)
{
	struct extent_status *es = (void *)ctx[1];

	l->inode = (void *)ctx[0];
	if (!epoch || !l->inode || !es)
		return false;
	l->dev = inode_dev(l->inode);
	l->result = es_result(es, ctx[2]);
	return true;
}

SEC("tp_btf/ext4_es_lookup_extent_exit")
int ws_es_end(u64 *ctx)
{
	struct looked_up l;

	if (!es_read(ctx, &l))
		return 0;
	if (es_by || es_time || filter.asks_late)
		es_account(l.inode, l.dev, l.result);
	else if (dev_ok(l.dev) && filter_early(current_task()))
		es_count(l.dev, l.result);
	return 0;
}

/*
 * Where nothing of all this is asked, nor any id: who looks up matters only while our own task is on
 * a CPU. To ask is a call, a quarter of an empty program's cost; to read that task, by a cast, is none.
 */
const volatile __u64 self_task; /* its address */

SEC("tp_btf/ext4_es_lookup_extent_exit")
int ws_es_end_plain(u64 *ctx)
{
	struct task_struct *self =
		bpf_rdonly_cast((void *)self_task, bpf_core_type_id_kernel(struct task_struct));
	struct looked_up l;

	if (es_read(ctx, &l) && dev_ok(l.dev) && !(self->on_cpu && filter_is_self(current_task())))
		es_count(l.dev, l.result);
	return 0;
}

SEC("tp_btf/ext4_es_lookup_extent_enter")
int ws_es_begin(u64 *ctx)
{
	op_begin(OP_ES, (void *)ctx[0]);
	return 0;
}

#endif
