// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ext4: operations as pairs of tracepoints, timed with what their task did meanwhile; extent status
 * look-ups, counted. Ends come before begins, and the scheduler's hooks between: user space
 * attaches in the order of the programs here and detaches backwards, so that no begin goes without
 * what follows it.
 *
 * Pointers are checked even where they cannot be NULL: of a module's tracepoints the verifier does
 * not know.
 */
#include "common.bpf.h"
#include "abi_ext4.h"
#include "compat.bpf.h"
#include "ext4_task.bpf.h"
#define TASKS_FROM_CURRENT
#include "filter.bpf.h"
#include "ledger.bpf.h"
#include "flight.bpf.h"
#include "follow.bpf.h"
#include "keyed.bpf.h"
#include "ext4_split.bpf.h"
#include "ext4_keyed.bpf.h"
#include "ext4_slow.bpf.h"
#include "ext4_op.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* ---- the split: where the scheduler source does not keep ledgers ---- */

const volatile bool switch_has_state = true;

static __always_inline bool left_runnable(u64 *ctx, struct task_struct *prev)
{
	if (ctx[0] & 1) /* preempted, whatever its state */
		return true;
	if (switch_has_state)
		return (u32)((volatile u64 *)ctx)[3] == 0;
	return compat_task_state(prev) == 0;
}

SEC("tp_btf/sched_switch")
int ws_ext4_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct ledger *l = ledger_get(next, false);
	struct abi_counts *counts = bank_get(epoch);
	struct cpu_op *c = cpu_op_get();

	if (!c || !counts)
		return 0;
	if (c->task == (u64)prev)
		ledger_out(counts, prev, left_runnable(ctx, prev));
	c->task = 0;
	if (!l || !l->left_ns)
		return 0;
	ledger_in(counts, next, l);
	c->task = (u64)next;
	return 0;
}

/* Only where the kernel keeps no record of when a task was queued. */
SEC("tp_btf/sched_wakeup")
int ws_ext4_wakeup(u64 *ctx)
{
	struct ledger *l = ledger_get((void *)ctx[0], false);

	if (l && l->left_ns && !l->queued_at)
		l->queued_at = bpf_ktime_get_ns();
	return 0;
}

#include "ext4_dio.bpf.h"
#include "ext4_es.bpf.h"

/* ---- fsync: also fdatasync, msync, and the tail of an O_SYNC write ---- */

SEC("tp_btf/ext4_sync_file_exit")
int ws_fsync_end(u64 *ctx)
{
	op_end(OP_FSYNC, ABI_EXT4_FSYNC, (void *)ctx[0], 0);
	return 0;
}

SEC("tp_btf/ext4_sync_file_enter")
int ws_fsync_begin(u64 *ctx)
{
	struct file *file = (void *)ctx[0];

	if (file)
		op_begin(OP_FSYNC, file->f_inode);
	return 0;
}

/* ---- write segments: the copy of one folio's worth ---- */

/* Nothing copied: the user's page was not there. It is faulted in, and a new segment begins. */
static __always_inline int write_end(struct inode *inode, u32 copied)
{
	struct op_context c;
	struct ended end;

	if (!inode)
		return 0;
	if (copied) {
		op_end(OP_WRITE, ABI_EXT4_WRITE, inode, copied);
		return 0;
	}
	if (!op_enter(&c, inode_dev(inode)) || !op_stamp(&c) || !op_take(&c, OP_WRITE, &end))
		return 0;
	event_add(&c, end.dev, ABI_EXT4_WRITE_RETRY, &end.file);
	return 0;
}

SEC("tp_btf/ext4_da_write_end")
int ws_da_write_end(u64 *ctx)
{
	return write_end((void *)ctx[0], ctx[3]);
}

SEC("tp_btf/ext4_write_end")
int ws_write_end(u64 *ctx)
{
	return write_end((void *)ctx[0], ctx[3]);
}

SEC("tp_btf/ext4_journalled_write_end")
int ws_journalled_write_end(u64 *ctx)
{
	return write_end((void *)ctx[0], ctx[3]);
}

SEC("tp_btf/ext4_da_write_begin")
int ws_da_write_begin(u64 *ctx)
{
	op_begin(OP_WRITE, (void *)ctx[0]);
	return 0;
}

SEC("tp_btf/ext4_write_begin")
int ws_write_begin(u64 *ctx)
{
	op_begin(OP_WRITE, (void *)ctx[0]);
	return 0;
}

/* ---- mapping blocks: the extent tree or, in old files, indirect blocks ---- */

static __always_inline int map_begin(struct inode *inode)
{
	struct op_context c;
	u32 dev;

	if (!inode)
		return 0;
	dev = inode_dev(inode);
	if (!op_enter(&c, dev) || !op_stamp(&c))
		return 0;
	if (c.st->active & 1U << OP_MAP && c.st->op[OP_MAP].file.ino != inode->i_ino) {
		op_replaced(&c, OP_MAP_INNER);
		op_fill(&c, OP_MAP_INNER, inode, dev);
		return 0;
	}
	op_replaced(&c, OP_MAP);
	c.st->active &= ~(1U << OP_MAP_INNER);
	op_fill(&c, OP_MAP, inode, dev);
	return 0;
}

static __always_inline int map_end(struct inode *inode)
{
	struct stamp *st = stamp_get(current_task(), false);

	if (st && st->active & 1U << OP_MAP_INNER)
		op_end(OP_MAP_INNER, ABI_EXT4_MAP, inode, 0);
	else
		op_end(OP_MAP, ABI_EXT4_MAP, inode, 0);
	return 0;
}

SEC("tp_btf/ext4_ext_map_blocks_exit")
int ws_ext_map_end(u64 *ctx)
{
	return map_end((void *)ctx[0]);
}

SEC("tp_btf/ext4_ind_map_blocks_exit")
int ws_ind_map_end(u64 *ctx)
{
	return map_end((void *)ctx[0]);
}

SEC("tp_btf/ext4_ext_map_blocks_enter")
int ws_ext_map_begin(u64 *ctx)
{
	return map_begin((void *)ctx[0]);
}

SEC("tp_btf/ext4_ind_map_blocks_enter")
int ws_ind_map_begin(u64 *ctx)
{
	return map_begin((void *)ctx[0]);
}

/* ---- whole functions ---- */

SEC("tp_btf/ext4_writepages_result")
int ws_writepages_end(u64 *ctx)
{
	op_end(OP_WRITEPAGES, ABI_EXT4_WRITEPAGES, (void *)ctx[0], 0);
	return 0;
}

SEC("tp_btf/ext4_writepages")
int ws_writepages_begin(u64 *ctx)
{
	op_begin(OP_WRITEPAGES, (void *)ctx[0]);
	return 0;
}

SEC("tp_btf/ext4_truncate_exit")
int ws_truncate_end(u64 *ctx)
{
	op_end(OP_TRUNCATE, ABI_EXT4_TRUNCATE, (void *)ctx[0], 0);
	return 0;
}

SEC("tp_btf/ext4_truncate_enter")
int ws_truncate_begin(u64 *ctx)
{
	op_begin(OP_TRUNCATE, (void *)ctx[0]);
	return 0;
}

SEC("tp_btf/ext4_unlink_exit")
int ws_unlink_end(u64 *ctx)
{
	struct dentry *dentry = (void *)ctx[0];

	if (dentry)
		op_end(OP_UNLINK, ABI_EXT4_UNLINK, dentry->d_inode, 0);
	return 0;
}

SEC("tp_btf/ext4_unlink_enter")
int ws_unlink_begin(u64 *ctx)
{
	struct dentry *dentry = (void *)ctx[1];

	if (dentry)
		op_begin(OP_UNLINK, dentry->d_inode);
	return 0;
}

SEC("tp_btf/ext4_fallocate_exit")
int ws_fallocate_end(u64 *ctx)
{
	op_end(OP_FALLOCATE, ABI_EXT4_FALLOCATE, (void *)ctx[0], 0);
	return 0;
}

SEC("tp_btf/ext4_fallocate_enter")
int ws_fallocate_begin(u64 *ctx)
{
	struct inode *inode = (void *)ctx[0];

	if (inode)
		op_begin_on(OP_FALLOCATE, inode, inode_dev(inode), ctx[2]);
	return 0;
}

/* ---- events without an end ---- */

static __always_inline int event(struct inode *inode, u32 kind)
{
	struct file_id file;
	struct op_context c;
	u32 dev;

	if (!inode)
		return 0;
	dev = inode_dev(inode);
	if (!op_enter(&c, dev) || !op_stamp(&c))
		return 0;
	file_fill(&file, inode);
	event_add(&c, dev, kind, &file);
	return 0;
}

SEC("tp_btf/ext4_punch_hole")
int ws_punch_hole(u64 *ctx)
{
	return event((void *)ctx[0], ABI_EXT4_PUNCH_HOLE);
}

SEC("tp_btf/ext4_zero_range")
int ws_zero_range(u64 *ctx)
{
	return event((void *)ctx[0], ABI_EXT4_ZERO_RANGE);
}

SEC("tp_btf/ext4_collapse_range")
int ws_collapse_range(u64 *ctx)
{
	return event((void *)ctx[0], ABI_EXT4_COLLAPSE_RANGE);
}

SEC("tp_btf/ext4_insert_range")
int ws_insert_range(u64 *ctx)
{
	return event((void *)ctx[0], ABI_EXT4_INSERT_RANGE);
}

/* ---- journal handles ---- */

SEC("tp_btf/jbd2_handle_stats")
int ws_handle_stats(u64 *ctx)
{
	op_forget(OP_START_WAIT); /* nested in a handle that began before we did */
	op_end_of(OP_HANDLE, ABI_EXT4_HANDLE_HELD, ctx[0], 0);
	return 0;
}

/* Its tracepoint names the device alone; ext4 asked for it just before, for a file system. */
static __always_inline void handle_begin(u32 dev)
{
	struct op_context c;
	struct op *asked;

	if (!op_enter(&c, dev) || !op_stamp(&c))
		return;
	op_replaced(&c, OP_HANDLE);
	c.st->active &= ~(1U << OP_HANDLE);
	asked = &c.st->op[OP_START_WAIT];
	if (asked->dev != dev) { /* before we looked, or not ext4 */
		c.counts->missed++;
		return;
	}
	op_fill(&c, OP_HANDLE, NULL, dev);
	c.st->op[OP_HANDLE].file.fs = asked->file.fs;
}

SEC("tp_btf/jbd2_handle_start")
int ws_handle_start(u64 *ctx)
{
	op_end_of(OP_START_WAIT, ABI_EXT4_START_WAIT, ctx[0], 0);
	handle_begin(ctx[0]);
	return 0;
}

/*
 * In a task that has a handle, nested: it gets the same one at once, and no jbd2_handle_start
 * tells. Without a journal there is nothing to wait for. One that fails is not replaced but
 * forgotten.
 */
static __always_inline int start_wait(struct super_block *sb, struct inode *inode)
{
	struct ext4_sb_info *sbi;
	struct op_context c;
	u32 dev;

	if (!sb)
		return 0;
	dev = sb->s_dev;
	sbi = sb->s_fs_info;
	if (!op_enter(&c, dev) || !op_stamp(&c) || c.st->active & 1U << OP_HANDLE)
		return 0;
	if (!BPF_CORE_READ(sbi, s_journal))
		return 0;
	op_fill(&c, OP_START_WAIT, inode, dev);
	c.st->op[OP_START_WAIT].file.fs = super_fs(sb);
	return 0;
}

SEC("tp_btf/ext4_journal_start_reserved")
int ws_start_reserved(u64 *ctx)
{
	return start_wait((void *)ctx[0], NULL);
}

/* 6.12 has two in place of the one that 6.1 has: by super block, and by inode. */
SEC("tp_btf/ext4_journal_start_sb")
int ws_start_sb(u64 *ctx)
{
	return start_wait((void *)ctx[0], NULL);
}

SEC("tp_btf/ext4_journal_start_inode")
int ws_start_inode(u64 *ctx)
{
	struct inode *inode = (void *)ctx[0];

	return inode ? start_wait(inode->i_sb, inode) : 0;
}

SEC("tp_btf/ext4_journal_start")
int ws_start(u64 *ctx)
{
	return start_wait((void *)ctx[0], NULL);
}

/* ---- commits, by the journal's thread ---- */

static __always_inline u32 journal_dev(struct journal_s *journal)
{
	struct block_device *bdev = journal ? journal->j_fs_dev : NULL;

	return bdev ? bdev->bd_dev : 0;
}

/* Its user is ext4's super block, or something else of another file system. */
static __always_inline void journal_begin(u32 slot, struct journal_s *journal)
{
	u32 dev = journal_dev(journal);
	struct super_block *sb = journal ? journal->j_private : NULL;
	u64 half[2] = {};

	if (BPF_CORE_READ(sb, s_dev) == dev)
		bpf_core_read(half, sizeof(half), &sb->s_uuid);
	op_begin_journal(slot, dev, fs_fold(half[0], half[1]));
}

SEC("tp_btf/jbd2_end_commit")
int ws_commit_end(u64 *ctx)
{
	u32 dev = journal_dev((void *)ctx[0]);

	op_end_of(OP_PHASE, ABI_EXT4_COMMIT_LOGGING, dev, 0);
	op_end_of(OP_COMMIT, ABI_EXT4_COMMIT, dev, 0);
	return 0;
}

static __always_inline int next_phase(struct journal_s *journal, u32 ended)
{
	u32 dev = journal_dev(journal);

	op_end_of(OP_PHASE, ended, dev, 0);
	journal_begin(OP_PHASE, journal);
	return 0;
}

SEC("tp_btf/jbd2_commit_logging")
int ws_commit_logging(u64 *ctx)
{
	return next_phase((void *)ctx[0], ABI_EXT4_COMMIT_FLUSHING);
}

SEC("tp_btf/jbd2_commit_flushing")
int ws_commit_flushing(u64 *ctx)
{
	return next_phase((void *)ctx[0], ABI_EXT4_COMMIT_LOCKING);
}

SEC("tp_btf/jbd2_commit_locking")
int ws_commit_locking(u64 *ctx)
{
	journal_begin(OP_PHASE, (void *)ctx[0]);
	return 0;
}

SEC("tp_btf/jbd2_start_commit")
int ws_commit_begin(u64 *ctx)
{
	journal_begin(OP_COMMIT, (void *)ctx[0]);
	return 0;
}

#include "ext4_file.bpf.h"

/* ---- at a report: what is in flight? ---- */

static __always_inline void note_in_flight(struct abi_in_flight *out, struct task_struct *p,
					   const struct stamp *st)
{
	u32 i;

	for (i = 0; i < OP_SLOTS; i++) {
		if (st->active & 1U << i)
			flight_add(out, p, st->op[i].start_ns);
	}
}

SEC("iter/task")
int ws_in_flight(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct abi_in_flight *out = flight_get();
	struct stamp *st;

	if (!p || !out)
		return 0;
	st = stamp_get(p, false);
	if (st && st->active && filter_early(p) && filter_late(st, p))
		note_in_flight(out, p, st);
	return 0;
}
