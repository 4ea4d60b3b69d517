/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of an operation went: two readings of its task's ledger. The ledger is kept by the
 * scheduler source's program at sched_switch if that runs, else by one of our own.
 */
#ifndef WS_EXT4_SPLIT_BPF_H
#define WS_EXT4_SPLIT_BPF_H

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

#endif
