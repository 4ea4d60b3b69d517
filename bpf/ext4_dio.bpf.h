/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Direct I/O, from iomap's tracepoints (not yet in 6.1), which other file systems share. Its task
 * waits for it (then it is an operation like others) or goes on, and it ends wherever its last
 * block does.
 */
#ifndef WS_EXT4_DIO_BPF_H
#define WS_EXT4_DIO_BPF_H

#define EXT4_SUPER_MAGIC 0xef53
#define IOCB_NOWAIT 8 /* RWF_NOWAIT of linux/fs.h */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u64); /* struct kiocb */
	__type(value, struct abi_ext4_dio);
} dios SEC(".maps");

static __always_inline struct inode *dio_inode(struct kiocb *iocb)
{
	struct file *file = iocb->ki_filp;
	struct inode *inode = file ? file->f_inode : NULL;
	struct super_block *sb = inode ? inode->i_sb : NULL;

	return sb && sb->s_magic == EXT4_SUPER_MAGIC ? inode : NULL;
}

static __always_inline void dio_begin_waited(struct op_context *c, struct kiocb *iocb,
					     struct inode *inode, bool write)
{
	struct op *op = &c->st->op[OP_DIO];

	if (op->kiocb != (u64)iocb) /* tried again: it was refused without blocking */
		op_replaced(c, OP_DIO);
	op_fill(c, OP_DIO, inode, inode_dev(inode));
	op->kiocb = (u64)iocb;
	op->kind = write ? ABI_EXT4_DIO_WRITE : ABI_EXT4_DIO_READ;
}

/* Whose it is: told when it ends, where `current` is somebody else. */
static __always_inline void dio_owner(struct abi_ext4_dio *d, struct task_struct *p)
{
	struct slow_task t;

	slow_task_of(&t, p);
	d->cgroup_id = t.cgroup_id;
	d->pid = t.pid;
	d->tid = t.tid;
	__builtin_memcpy(d->comm, t.comm, sizeof(d->comm));
}

static __always_inline void dio_slow(struct abi_counts *counts, const struct abi_ext4_dio *d,
				     const struct ended *end)
{
	struct slow_task t = {.cgroup_id = d->cgroup_id, .pid = d->pid, .tid = d->tid};

	if (!ext4_is_slow(end))
		return;
	__builtin_memcpy(t.comm, d->comm, sizeof(t.comm));
	ext4_slow_of(counts, &t, end);
}

/* A kiocb begins while it is in flight: the one before had an end that no tracepoint reported, or none. */
static __noinline u32 dio_replace(struct abi_counts *counts, u64 key, const struct abi_ext4_dio *d)
{
	const struct abi_ext4_dio *before = bpf_map_lookup_elem(&dios, &key);

	if (before && !before->nowait)
		counts->unpaired++;
	if (bpf_map_update_elem(&dios, &key, d, BPF_ANY))
		counts->store_full++;
	return 0;
}

static __always_inline void dio_begin_async(struct op_context *c, struct kiocb *iocb,
					    struct inode *inode, u32 kind)
{
	u64 key = (u64)iocb;
	struct abi_ext4_dio d = {};
	struct file_id file;

	if (!filter_late(c->st, c->task))
		return;
	d.dev = inode_dev(inode);
	file_fill(&file, inode);
	op_key(&d.key, c->task, d.dev, kind, &file);
	d.ino = file.ino;
	d.generation = file.generation;
	d.fs = file.fs;
	dio_owner(&d, c->task);
	d.nowait = iocb->ki_flags & IOCB_NOWAIT;
	d.start_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&dios, &key, &d, BPF_NOEXIST))
		dio_replace(c->counts, key, &d);
}

static __always_inline void dio_end_waited(struct kiocb *iocb, struct inode *inode, s64 done)
{
	struct op_context c;
	struct ended end;
	u64 kiocb;

	if (!op_enter(&c, inode_dev(inode)) || !op_stamp(&c))
		return;
	kiocb = c.st->op[OP_DIO].kiocb;
	if (!op_take(&c, OP_DIO, &end))
		return;
	if (kiocb != (u64)iocb) {
		c.counts->unpaired++;
		return;
	}
	end.kind = c.st->op[OP_DIO].kind;
	end.bytes = done > 0 ? done : 0;
	op_account(&c, &end);
}

/* In an interrupt, a worker, or still in the task that began it: `current` means nothing. */
static __always_inline void dio_end_async(struct kiocb *iocb, s64 done)
{
	u64 key = (u64)iocb, ep = epoch;
	struct abi_counts *counts;
	struct ended end = {};
	struct abi_ext4_dio *d;

	d = bpf_map_lookup_elem(&dios, &key);
	if (!d)
		return;
	counts = bank_get(ep);
	if (ep && counts) {
		end.start_ns = d->start_ns;
		end.end_ns = bpf_ktime_get_ns();
		end.total_ns = elapsed(counts, end.end_ns, end.start_ns);
		end.file.ino = d->ino;
		end.file.generation = d->generation;
		end.file.fs = d->fs;
		end.bytes = done > 0 ? done : 0;
		end.kind = d->key.kind;
		end.dev = d->dev;
		d->key.cpu = bpf_get_smp_processor_id();
		op_put(counts, &d->key, &end, ep);
		dio_slow(counts, d, &end);
	}
	bpf_map_delete_elem(&dios, &key);
}

SEC("tp_btf/iomap_dio_complete")
int ws_dio_end(u64 *ctx)
{
	struct kiocb *iocb = (void *)ctx[0];
	s64 done = ctx[2];
	struct inode *inode;

	if (!iocb)
		return 0;
	inode = dio_inode(iocb);
	if (!inode)
		return 0;
	if (iocb->ki_complete)
		dio_end_async(iocb, done);
	else
		dio_end_waited(iocb, inode, done);
	return 0;
}

SEC("tp_btf/iomap_dio_rw_begin")
int ws_dio_begin(u64 *ctx)
{
	struct kiocb *iocb = (void *)ctx[0];
	struct iov_iter *iter = (void *)ctx[1];
	struct op_context c;
	struct inode *inode;

	if (!iocb || !iter)
		return 0;
	inode = dio_inode(iocb);
	if (!inode || !op_enter(&c, inode_dev(inode)) || !op_stamp(&c))
		return 0;
	if (!iocb->ki_complete)
		dio_begin_waited(&c, iocb, inode, iter->data_source);
	else
		dio_begin_async(&c, iocb, inode,
				iter->data_source ? ABI_EXT4_AIO_WRITE : ABI_EXT4_AIO_READ);
	return 0;
}

#endif
