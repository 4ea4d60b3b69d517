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
#include "lib/common.bpf.h"
#include "abi_ext4.h"
#include "abi_ext4_slow.h"
#include "compat.bpf.h"

/* ---- a task's operations ---- */

/*
 * Operations in flight, kept with the task that runs them: they nest (fsync > writepages > map), so
 * each has its own slot. The task's ledger (ledger.bpf.h) is kept while anything is in flight; an
 * operation remembers what it said when it began, and the difference is its split. All of these are
 * stretches between a switch-out and the next switch-in, which follow each other: blocked + run
 * queue <= total.
 */

/* Slots. Several kinds share one if they never nest. */
#define OP_FSYNC 0
#define OP_WRITE 1
#define OP_MAP 2
#define OP_MAP_INNER 3 /* the quota file's blocks, while another file's are mapped */
#define OP_WRITEPAGES 4
#define OP_TRUNCATE 5
#define OP_UNLINK 6
#define OP_FALLOCATE 7
#define OP_DIO 8
#define OP_START_WAIT 9
#define OP_HANDLE 10
#define OP_COMMIT 11
#define OP_PHASE 12
#define OP_ES 13
#define OP_FILE_READ 14
#define OP_FILE_WRITE 15
#define OP_FILE_OPEN 16
#define OP_SLOTS 17

struct file_id {
	u64 ino;
	u32 generation; /* only if somebody asks for files */
	u32 fs;		/* the file system: ABI_EXT4_OBJ */
};

struct op {
	u64 start_ns;
	u64 blocked_ns; /* what the ledger said when it began */
	u64 run_queue_ns;
	struct file_id file;
	u64 kiocb; /* direct I/O */
	u64 bytes;
	u32 dev;
	u32 kind; /* ABI_EXT4_*, where the slot does not say */
};

_Static_assert(sizeof(struct op) == 64, "op: a cache line");

#define STAMP_OF_SOURCE
struct stamp {
	u64 cgroup_id; /* filter.bpf.h */
	u32 flags;
	u32 active; /* bit per slot: in flight */
	u32 seen;   /* bit per slot: has begun, or ended, before */
	u32 left;   /* times it had left a CPU when the ledger was read */
	u64 blocked_ns;
	u64 run_queue_ns;
	u64 pad[3];
	struct op op[OP_SLOTS];
};

_Static_assert(sizeof(struct stamp) == 64 + 64 * OP_SLOTS, "stamp size");

/* An operation that has ended, as it goes to everything that wants it. */
struct ended {
	u64 start_ns;
	u64 end_ns;
	u64 total_ns;
	u64 blocked_ns;
	u64 run_queue_ns;
	struct file_id file;
	u64 bytes;
	u32 kind; /* ABI_EXT4_* */
	u32 dev;
	u64 split; /* 0: blocked_ns and run_queue_ns are not known */
};

#define TASKS_FROM_CURRENT
#include "lib/filter.bpf.h"
#include "lib/ledger.bpf.h"
#include "lib/flight.bpf.h"
#include "lib/follow.bpf.h"
#include "lib/keyed.bpf.h"
#include "lib/slow_ring.bpf.h"

/* ---- the split of an operation ---- */

/*
 * Where the time of an operation went: two readings of its task's ledger. The ledger is kept by the
 * scheduler source's program at sched_switch if that runs, else by one of our own.
 */

/* From here on a switch of the running task is of interest, or it is not. */
static __always_inline void split_watch(struct task_struct *p, bool on)
{
	struct cpu_op *c = cpu_op_get();

	if (c)
		c->task = on ? (u64)p : 0;
}

/*
 * The task runs, though we did not see it come to a CPU (some hosts hide tasks from tracing, and
 * with them the switch-in that follows one): what is known of its time off it is what it was queued
 * for.
 */
static __noinline void split_came_unseen(struct abi_counts *counts, struct task_struct *p,
					 struct ledger *l)
{
	u64 away = elapsed(counts, bpf_ktime_get_ns(), l->left_ns), queued = 0;

	if (compat_has_record())
		queued = compat_task_delay(p) - l->delay_ns;
	if (queued > away) /* the two clocks disagree */
		queued = away;
	if (compat_has_record() && l->left_as != LEFT_BLOCKED)
		counts->inferred++;
	else
		counts->unpaired++;
	ledger_add(l, queued, queued);
}

/* The sums of the running task, read anew if it has left its CPU since. */
static __always_inline void split_read(struct abi_counts *counts, struct task_struct *p,
				       struct stamp *st)
{
	u32 left = (u32)(TASK_READ(p, nvcsw) + TASK_READ(p, nivcsw));
	struct ledger *l;

	if (left == st->left)
		return;
	st->left = left;
	l = ledger_get(p, false);
	if (!l)
		return;
	if (!st->active)
		l->left_ns = 0; /* whatever it was, nobody counted it */
	else if (l->left_ns)
		split_came_unseen(counts, p, l);
	st->blocked_ns = l->blocked_ns;
	st->run_queue_ns = l->runnable_ns + l->throttled_ns;
}

/* ---- groups ---- */

/*
 * Entries per device, kind, CPU and group (--by): operations with a histogram (keyed.bpf.h),
 * counted events without.
 */

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

/* ---- --slower ---- */

/* --slower: one record per operation above the limit, the inner ones of nested before the outer. */

/* Whose operation it is: of direct I/O that ends elsewhere, remembered where it began. */
struct slow_task {
	u64 cgroup_id;
	u32 pid;
	u32 tid;
	char comm[ABI_COMM_LEN];
};

static __always_inline void slow_task_of(struct slow_task *t, struct task_struct *p)
{
	t->cgroup_id = task_cgroup_id(p);
	t->pid = TASK_READ(p, tgid);
	t->tid = TASK_READ(p, pid);
	bpf_core_read(t->comm, sizeof(t->comm), &p->comm);
}

static __always_inline void ext4_slow_of(struct abi_counts *counts, const struct slow_task *t,
					 const struct ended *end)
{
	struct abi_ext4_slow *s = bpf_ringbuf_reserve(&slow_events, sizeof(*s), 0);

	if (!s) {
		counts->slow_lost++;
		return;
	}
	s->end_ns = end->end_ns;
	s->total_ns = end->total_ns;
	s->blocked_ns = end->split ? end->blocked_ns : 0;
	s->run_queue_ns = end->split ? end->run_queue_ns : 0;
	s->ino = end->file.ino;
	s->bytes = end->bytes;
	s->cgroup_id = t->cgroup_id;
	s->pid = t->pid;
	s->tid = t->tid;
	s->cpu = bpf_get_smp_processor_id();
	s->dev = end->dev;
	s->generation = end->file.generation;
	s->kind = end->kind;
	s->split = end->split;
	s->fs = end->file.fs;
	__builtin_memcpy(s->comm, t->comm, sizeof(s->comm));
	bpf_ringbuf_submit(s, slow_wakeup());
}

static __always_inline bool ext4_is_slow(const struct ended *end)
{
	return slower && end->total_ns >= slower_ns;
}

/* `p` runs it. */
static __always_inline void ext4_slow(struct abi_counts *counts, struct task_struct *p,
				      const struct ended *end)
{
	struct slow_task t;

	if (!ext4_is_slow(end))
		return;
	slow_task_of(&t, p);
	ext4_slow_of(counts, &t, end);
}

/* ---- an operation ---- */

/* Operations begin and end; they are counted where they end. */

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

char LICENSE[] SEC("license") = "GPL";

/* ---- the split: where the scheduler source does not keep ledgers ---- */

static __always_inline bool left_runnable(u64 *ctx, struct task_struct *prev)
{
	if (ctx[0] & 1) /* preempted, whatever its state */
		return true;
	return compat_switch_state(ctx, prev) == 0;
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

/* ---- direct I/O ---- */

/*
 * Direct I/O, from iomap's tracepoints (not yet in 6.1), which other file systems share. Its task
 * waits for it (then it is an operation like others) or goes on, and it ends wherever its last
 * block does.
 */

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

/* A kiocb begins while it is in flight: the one before had an end that no tracepoint reported, or
 * none. */
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

/* ---- the extent status tree ---- */

/*
 * Extent status look-ups: a million a second are not rare, so a look-up costs one load of the
 * device, one compare and one increment in a table that only this CPU and this program write.
 */

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
 * Where nothing of all this is asked, nor any id: who looks up matters only while our own task is
 * on a CPU. To ask is a call, a quarter of an empty program's cost; to read that task, by a cast,
 * is none.
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

/* ---- read, write and fault ---- */

/*
 * Reads, writes and opens as whole calls: ext4's file functions, by fentry and fexit, loaded only
 * where a trial of them succeeds. What the page cache answers is in here too.
 */

#define EIOCBQUEUED 529

static __always_inline struct inode *iocb_inode(struct kiocb *iocb)
{
	struct file *file = iocb ? iocb->ki_filp : NULL;

	return file ? file->f_inode : NULL;
}

/* One that goes on without its task is counted where it ends, as aio-read or aio-write. */
static __always_inline int file_io_end(u32 slot, u32 kind, struct kiocb *iocb, s64 done)
{
	if (done == -EIOCBQUEUED)
		op_forget(slot);
	else
		op_end(slot, kind, iocb_inode(iocb), done > 0 ? done : 0);
	return 0;
}

SEC("fexit/ext4_file_read_iter")
int ws_file_read_end(u64 *ctx)
{
	return file_io_end(OP_FILE_READ, ABI_EXT4_FILE_READ, (void *)ctx[0], ctx[2]);
}

SEC("fentry/ext4_file_read_iter")
int ws_file_read_begin(u64 *ctx)
{
	op_begin(OP_FILE_READ, iocb_inode((void *)ctx[0]));
	return 0;
}

SEC("fexit/ext4_file_write_iter")
int ws_file_write_end(u64 *ctx)
{
	return file_io_end(OP_FILE_WRITE, ABI_EXT4_FILE_WRITE, (void *)ctx[0], ctx[2]);
}

SEC("fentry/ext4_file_write_iter")
int ws_file_write_begin(u64 *ctx)
{
	op_begin(OP_FILE_WRITE, iocb_inode((void *)ctx[0]));
	return 0;
}

SEC("fexit/ext4_file_open")
int ws_file_open_end(u64 *ctx)
{
	op_end(OP_FILE_OPEN, ABI_EXT4_FILE_OPEN, (void *)ctx[0], 0);
	return 0;
}

SEC("fentry/ext4_file_open")
int ws_file_open_begin(u64 *ctx)
{
	op_begin(OP_FILE_OPEN, (void *)ctx[0]);
	return 0;
}

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
