/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations begin and end; they are counted where they end. */
#ifndef WS_EXT4_OP_BPF_H
#define WS_EXT4_OP_BPF_H

const volatile bool want_files; /* inode generations: --by file, --slower */

/* ---- --dev ---- */

const volatile bool filter_devs;
const volatile __u32 filter_one_dev; /* the only device, or 0: look it up */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} target_devs SEC(".maps");

static __always_inline bool dev_ok(u32 dev)
{
	if (!filter_devs)
		return true;
	if (filter_one_dev)
		return dev == filter_one_dev;
	return bpf_map_lookup_elem(&target_devs, &dev) != NULL;
}

static __always_inline u32 inode_dev(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;

	return sb ? sb->s_dev : 0;
}

/* Of the UUID's halves: ABI_EXT4_OBJ. */
static __always_inline u32 fs_fold(u64 low, u64 high)
{
	u64 both = low ^ high;

	return (u32)both ^ (u32)(both >> 32);
}

/* Through a pointer that the verifier knows. */
static __always_inline u32 super_fs(struct super_block *sb)
{
	volatile u64 *half;

	if (!sb)
		return 0;
	half = (void *)&sb->s_uuid;
	return fs_fold(half[0], half[1]);
}

/* Journal handles and commits have no file. */
static __always_inline void file_fill(struct file_id *file, struct inode *inode)
{
	file->ino = inode ? inode->i_ino : 0;
	file->generation = 0;
	file->fs = inode ? super_fs(inode->i_sb) : 0;
	if (want_files && inode)
		file->generation = inode->i_generation;
}

/* ---- what a begin and an end stand on ---- */

struct op_context {
	struct abi_counts *counts;
	struct task_struct *task;
	struct stamp *st;
	u64 ep;
};

/* false: nobody counts, or nobody asked for this task or device. */
static __always_inline bool op_enter(struct op_context *c, u32 dev)
{
	c->ep = epoch;
	if (!c->ep || !dev_ok(dev))
		return false;
	c->task = current_task();
	if (!filter_early(c->task))
		return false;
	c->counts = bank_get(c->ep);
	return c->counts != NULL;
}

static __always_inline bool op_stamp(struct op_context *c)
{
	c->st = stamp_get(c->task, true);
	if (!c->st)
		c->counts->store_full++;
	return c->st != NULL;
}

/* ---- begin ---- */

/* A slot of the running task, filled; the clock is read last. */
static __always_inline void op_fill(struct op_context *c, u32 slot, struct inode *inode, u32 dev)
{
	struct stamp *st = c->st;
	struct op *op = &st->op[slot];

	split_read(c->counts, c->task, st);
	op->dev = dev;
	op->bytes = 0;
	file_fill(&op->file, inode);
	op->blocked_ns = st->blocked_ns;
	op->run_queue_ns = st->run_queue_ns;
	st->seen |= 1U << slot;
	st->active |= 1U << slot;
	split_watch(c->task, true);
	op->start_ns = bpf_ktime_get_ns();
}

/* Its end was lost, or it failed where no end is reported. */
static __always_inline void op_replaced(struct op_context *c, u32 slot)
{
	if (c->st->active & 1U << slot)
		c->counts->unpaired++;
}

static __always_inline void op_begin_on(u32 slot, struct inode *inode, u32 dev, u64 bytes)
{
	struct op_context c;

	if (!op_enter(&c, dev) || !op_stamp(&c))
		return;
	op_replaced(&c, slot);
	op_fill(&c, slot, inode, dev);
	c.st->op[slot].bytes = bytes;
}

/* Of a journal: no inode tells the file system. */
static __always_inline void op_begin_journal(u32 slot, u32 dev, u32 fs)
{
	struct op_context c;

	if (!op_enter(&c, dev) || !op_stamp(&c))
		return;
	op_replaced(&c, slot);
	op_fill(&c, slot, NULL, dev);
	c.st->op[slot].file.fs = fs;
}

static __always_inline void op_begin(u32 slot, struct inode *inode)
{
	if (inode)
		op_begin_on(slot, inode, inode_dev(inode), 0);
}

/* ---- end ---- */

/*
 * The operation in a slot of the running task ends. false: there was none. The first of its sort by
 * a task that we had not seen at it may have begun before we did (`missed`); later it is a loss.
 */
static __always_inline bool op_take(struct op_context *c, u32 slot, struct ended *end)
{
	u64 now = bpf_ktime_get_ns();
	struct stamp *st = c->st;
	struct op *op = &st->op[slot];
	u32 bit = 1U << slot;

	if (!(st->active & bit)) {
		if (st->seen & bit)
			c->counts->unpaired++;
		else
			c->counts->missed++;
		st->seen |= bit;
		return false;
	}
	split_read(c->counts, c->task, st);
	st->active &= ~bit;
	if (!st->active)
		split_watch(c->task, false);
	end->start_ns = op->start_ns;
	end->end_ns = now;
	end->total_ns = elapsed(c->counts, now, op->start_ns);
	end->blocked_ns = st->blocked_ns - op->blocked_ns;
	end->run_queue_ns = st->run_queue_ns - op->run_queue_ns;
	end->file = op->file;
	end->bytes = op->bytes;
	end->dev = op->dev;
	end->split = 1;
	return true;
}

/* Clocks of two CPUs may differ: whatever they say, no part is larger than the whole. */
static __always_inline void op_bound(struct abi_counts *counts, struct ended *end)
{
	if (end->blocked_ns > end->total_ns) {
		end->blocked_ns = end->total_ns;
		counts->clamped++;
	}
	if (end->run_queue_ns > end->total_ns - end->blocked_ns) {
		end->run_queue_ns = end->total_ns - end->blocked_ns;
		counts->clamped++;
	}
}

static __always_inline void op_account(struct op_context *c, struct ended *end)
{
	op_bound(c->counts, end);
	if (!filter_late(c->st, c->task))
		return;
	op_add(c->counts, c->task, end, c->ep);
	ext4_slow(c->counts, c->task, end);
}

static __always_inline void op_end_of(u32 slot, u32 kind, u32 dev, u64 bytes)
{
	struct op_context c;
	struct ended end;

	if (!op_enter(&c, dev) || !op_stamp(&c))
		return;
	if (!op_take(&c, slot, &end))
		return;
	end.kind = kind;
	if (bytes)
		end.bytes = bytes;
	op_account(&c, &end);
}

static __always_inline void op_end(u32 slot, u32 kind, struct inode *inode, u64 bytes)
{
	if (inode)
		op_end_of(slot, kind, inode_dev(inode), bytes);
}

/* An event without an end. */
static __always_inline void event_add(struct op_context *c, u32 dev, u32 kind,
				      const struct file_id *file)
{
	struct abi_key key = {};

	if (!filter_late(c->st, c->task))
		return;
	op_key(&key, c->task, dev, kind, file);
	count_add(c->counts, c->task, &key, ABI_EXT4_SUM_EVENTS, c->ep);
}

/* An operation that will have no end, or none that counts. */
static __always_inline void op_forget(u32 slot)
{
	struct task_struct *p = current_task();
	struct stamp *st = stamp_get(p, false);

	if (!st)
		return;
	st->active &= ~(1U << slot);
	if (!st->active)
		split_watch(p, false);
}

#endif
