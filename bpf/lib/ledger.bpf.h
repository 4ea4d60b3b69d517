/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ledgers: what became of the time that a task was off its CPU in the middle of an operation. They
 * are kept by the one program at sched_switch; who wants the split of a period subtracts two
 * readings.
 *
 *	switched out blocked -> queued		blocked
 *	queued, or switched out runnable	runnable, or throttled (out of CPU quota)
 *	-> switched in
 *
 * What is left of a period it ran. Both ends of the time off are moments of one clock, and the part
 * of it that was queued is what the kernel's own record says, so the parts follow each other and
 * add up.
 *
 * An operation is of the task that runs: its CPU has the task's name while one is in flight, so a
 * switch costs one comparison where none is.
 */
#ifndef WS_LEDGER_BPF_H
#define WS_LEDGER_BPF_H

#include "filter.bpf.h"

/* Does this object's program at sched_switch keep them, or does it read them? */
const volatile bool keeps_ledgers = true;

#define LEFT_BLOCKED 1
#define LEFT_RUNNABLE 2
#define LEFT_THROTTLED 3

struct ledger {
	u64 blocked_ns;
	u64 runnable_ns;
	u64 throttled_ns;
	u64 left_ns;   /* switched out then; 0: it runs, or did not leave in an operation */
	u64 delay_ns;  /* the kernel's sum of its waits then */
	u64 queued_at; /* woken then: where the kernel keeps no record */
	u32 left_as;
	u32 pad;
};

_Static_assert(sizeof(struct ledger) == 56, "ledger: with the storage's own header a cache line");

#ifndef WS_RAW_TP
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ledger);
} ledgers SEC(".maps");
#define LEDGER_STORED(p, flags) bpf_task_storage_get(&ledgers, p, NULL, flags)
#else
#define LEDGER_STORED(p, flags) ((struct ledger *)NULL)
#endif

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct ledger);
} ledgers_hash SEC(".maps");

/* The task that runs here with an operation in flight; a CPU's own line. */
struct cpu_op {
	u64 task;
	u64 pad[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_op);
} cpu_ops SEC(".maps");

static __always_inline struct cpu_op *cpu_op_get(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpu_ops, &cpu);
}

static __always_inline struct ledger *ledger_get(struct task_struct *p, bool create)
{
	const struct ledger zero = {};
	struct ledger *l;
	u64 key = (u64)p;

	if (TASK_STORAGE)
		return LEDGER_STORED(p, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	l = bpf_map_lookup_elem(&ledgers_hash, &key);
	if (l || !create)
		return l;
	bpf_map_update_elem(&ledgers_hash, &key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&ledgers_hash, &key);
}

static __always_inline void ledger_delete(struct task_struct *p)
{
	u64 key = (u64)p;

	if (!TASK_STORAGE)
		bpf_map_delete_elem(&ledgers_hash, &key);
}

static __always_inline void ledger_freed(struct task_struct *p)
{
	if (keeps_ledgers)
		ledger_delete(p);
}

#define TASK_FREED(p) ledger_freed(p)

/* A task leaves its CPU in the middle of an operation. */
static __always_inline bool ledger_out(struct abi_counts *counts, struct task_struct *p,
				       bool runnable)
{
	struct ledger *l = ledger_get(p, true);

	if (!l) {
		counts->store_full++;
		return false;
	}
	l->left_as = LEFT_BLOCKED;
	if (runnable)
		l->left_as = compat_throttled(p) ? LEFT_THROTTLED : LEFT_RUNNABLE;
	l->delay_ns = compat_run_delay(p);
	l->queued_at = 0;
	l->left_ns = bpf_ktime_get_ns();
	return true;
}

/* How long it was queued of the time that it was away, up to `now`. */
static __always_inline u64 ledger_queued(struct task_struct *p, const struct ledger *l, u64 now)
{
	u64 last_queued = compat_last_queued(p);

	if (last_queued)
		return compat_run_delay(p) + compat_since(p, last_queued) - l->delay_ns;
	if (l->left_as != LEFT_BLOCKED) /* no record, or on its way to sleep: it is not in it */
		return now - l->left_ns;
	return l->queued_at ? now - l->queued_at : 0;
}

static __always_inline void ledger_add(struct ledger *l, u64 queued, u64 away)
{
	if (queued > away) /* a clock of another CPU */
		queued = away;
	if (l->left_as == LEFT_THROTTLED)
		l->throttled_ns += queued;
	else
		l->runnable_ns += queued;
	if (l->left_as == LEFT_BLOCKED)
		l->blocked_ns += away - queued;
	l->left_ns = 0;
}

/* It comes to a CPU again. */
static __always_inline void ledger_in(struct abi_counts *counts, struct task_struct *p,
				      struct ledger *l)
{
	u64 now = bpf_ktime_get_ns();

	ledger_add(l, ledger_queued(p, l, now), elapsed(counts, now, l->left_ns));
}

#endif
