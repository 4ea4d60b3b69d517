/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of a task with operations in flight goes: its switches and wakeups.
 *
 *	switched out blocked -> woken (queued)		blocked
 *	woken, or switched out runnable -> switched in	run queue
 *
 * Some hosts hide tasks from tracing, and with them the switch-in that follows one. Then the
 * kernel's own account of the task's waits (sched_info) says how long it was queued.
 */
#ifndef WS_EXT4_SPLIT_BPF_H
#define WS_EXT4_SPLIT_BPF_H

static __always_inline u64 split_delay(struct task_struct *p)
{
	return bpf_core_field_exists(p->sched_info) ? BPF_CORE_READ(p, sched_info.run_delay) : 0;
}

/*
 * The task runs, though we did not see it come to a CPU: what is known of its time off it is what
 * it was queued for.
 */
static __noinline void split_came_unseen(struct abi_counts *counts, struct task_struct *p,
					 struct stamp *st, u64 now)
{
	u64 away = elapsed(counts, now, st->since_ns);
	u64 queued = split_delay(p) - st->delay_ns;

	if (queued > away) /* the two clocks disagree */
		queued = away;
	if (bpf_core_field_exists(p->sched_info) && st->off_cpu == OFF_CPU_QUEUED)
		counts->inferred++;
	else
		counts->unpaired++;
	st->run_queue_ns += queued;
	st->off_cpu = OFF_CPU_NOT;
}

static __always_inline void split_out(struct abi_counts *counts, struct task_struct *p,
				      struct stamp *st, bool runnable, u64 now)
{
	if (st->off_cpu)
		split_came_unseen(counts, p, st, now);
	st->delay_ns = split_delay(p);
	st->since_ns = now;
	st->off_cpu = runnable ? OFF_CPU_QUEUED : OFF_CPU_BLOCKED;
}

static __always_inline void split_woken(struct abi_counts *counts, struct stamp *st, u64 now)
{
	if (st->off_cpu != OFF_CPU_BLOCKED)
		return;
	st->blocked_ns += elapsed(counts, now, st->since_ns);
	st->since_ns = now;
	st->off_cpu = OFF_CPU_QUEUED;
}

static __always_inline void split_in(struct abi_counts *counts, struct task_struct *p,
				     struct stamp *st, u64 now)
{
	u64 away, queued;

	if (!st->off_cpu)
		return;
	away = elapsed(counts, now, st->since_ns);
	if (st->off_cpu == OFF_CPU_QUEUED) {
		st->run_queue_ns += away;
	} else { /* its wakeup was not reported */
		queued = compat_queued_for(p);
		counts->inferred += queued != 0;
		counts->unpaired += queued == 0;
		if (queued > away)
			queued = away;
		st->run_queue_ns += queued;
		st->blocked_ns += away - queued;
	}
	st->off_cpu = OFF_CPU_NOT;
}

#endif
