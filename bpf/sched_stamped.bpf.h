/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels without a record of waits (CONFIG_SCHED_INFO), and those without BTF, where what is read
 * of a task is copied: the moment at which it is queued is stamped.
 *
 *	T1 sched_wakeup[_new]	queued, or sched_switch: switched out while runnable
 *
 * A wakeup that finds the task on a CPU was no wait, and T1 is where that can be told: a task that
 * truly slept is off its CPU before it is queued.
 */
#ifndef WS_SCHED_STAMPED_BPF_H
#define WS_SCHED_STAMPED_BPF_H

TRACEPOINT(sched_wakeup)
int ws_wakeup(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct stamp *st = stamp_woken(p);

	if (!st)
		return 0;
	if (compat_on_cpu(p)) { /* it never left: no wait, no T0 */
		st->t0 = 0;
		return 0;
	}
	if (st->t1)
		return 0;
	st->t1 = bpf_ktime_get_ns();
	if (st->t0)
		st->kind = ABI_WAIT_WAKEUP;
	else
		st->kind = st->flags & STAMP_SEEN ? ABI_WAIT_WOKEN_UNSEEN : ABI_WAIT_WOKEN_EARLY;
	st->flags |= STAMP_SEEN;
	return 0;
}

TRACEPOINT(sched_wakeup_new)
int ws_wakeup_new(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct stamp *st = stamp_woken(p);

	if (!st)
		return 0;
	st->t0 = 0;
	st->t1 = bpf_ktime_get_ns();
	st->kind = ABI_WAIT_NEW;
	st->runs = 0;
	st->flags |= STAMP_SEEN | STAMP_RUNS;
	st->last_cpu = ~0U;
	return 0;
}

static __always_inline struct wait take(struct stamp *st, u64 t2)
{
	struct wait w = {.t0 = st->t0, .t1 = st->t1, .t2 = t2, .kind = st->kind, .n = 1};

	w.moved = take_moved(st);
	st->t0 = 0;
	st->t1 = 0;
	return w;
}

/*
 * Switch-ins that no event reported, by the kernel's own count of them: `explained` of them are
 * known by other means. It happens: a host may hide some of its tasks from tracing, and with them
 * whatever comes after them on their CPU.
 */
static __always_inline void audit(struct abi_counts *bank, struct task_struct *p, struct stamp *st,
				  u32 explained, u32 arriving)
{
	u32 runs = compat_runs(p);
	s32 unseen = (s32)(runs - (st->runs + explained));

	if (st->flags & STAMP_RUNS && unseen > 0 && filter_late(st, p))
		bank->unpaired += (u32)unseen;
	st->runs = runs + arriving;
	st->flags |= STAMP_RUNS;
}

/* A task leaves a CPU that it was not seen to come to: the kernel's record tells when it did. */
static __noinline u32 came_unseen(struct abi_counts *bank, struct task_struct *p, struct stamp *st,
				  u64 now, u64 ep)
{
	u64 ran = compat_ran_for(p);
	struct wait w = take(st, now - ran);

	if (!ran) {
		bank->unpaired += filter_late(st, p);
		return 1;
	}
	bank->inferred++;
	if (w.t2 < w.t1) /* the two clocks disagree by more than it waited */
		w.t2 = w.t1;
	w.queued_ns = elapsed(bank, w.t2, w.t1);
	wait_forget(bank, &w);
	finish(bank, p, NULL, st, &w, NULL, true, ep);
	return 1;
}

static __always_inline void stamped_out(struct abi_counts *bank, struct task_struct *p,
					bool runnable, u64 now, u64 ep)
{
	struct stamp *st;
	u32 explained = 0;

	if (!TASK_READ(p, pid) || !filter_early(p))
		return;
	st = stamp_get(p, runnable);
	if (!st) {
		if (runnable)
			bank->store_full++;
		return;
	}
	if (st->t1)
		explained = came_unseen(bank, p, st, now, ep);
	audit(bank, p, st, explained, 0);
	st->flags |= STAMP_SEEN;
	if (slower)
		st->last_cpu = bpf_get_smp_processor_id();
	if (!runnable) {
		st->kind = 0;
		return;
	}
	st->t0 = 0;
	st->t1 = now;
	st->kind = compat_throttled(p) ? ABI_WAIT_THROTTLE : ABI_WAIT_PREEMPT;
}

/*
 * No stamp at the switch-in. Never seen before: it waited since before the start. Else its events
 * were not reported, and the kernel's record has the moment it was queued. false: nothing to count.
 */
static __always_inline bool came_unqueued(struct abi_counts *bank, struct task_struct *p,
					  struct stamp *st, struct wait *w)
{
	u64 queued = compat_queued_for(p);

	if (!(st->flags & STAMP_SEEN)) {
		if (filter_late(st, p))
			bank->missed++;
		return false;
	}
	if (filter_late(st, p)) {
		bank->inferred += queued != 0;
		bank->unpaired += queued == 0;
	}
	if (!queued)
		return false;
	if (w->t0)
		w->kind = ABI_WAIT_WAKEUP;
	else if (!w->kind) /* it slept */
		w->kind = ABI_WAIT_WOKEN_UNSEEN;
	else
		w->kind = ABI_WAIT_PREEMPT;
	w->t1 = w->t2 - queued;
	if (w->t1 < w->t0)
		w->t1 = w->t0;
	return true;
}

static __always_inline void stamped_in(struct abi_counts *bank, struct task_struct *p,
				       struct task_struct *prev, struct why_cpu *s, u64 now, u64 ep)
{
	struct stamp *st = stamp_wanted(bank, p);
	struct wait w;
	bool known;

	if (!st)
		return;
	audit(bank, p, st, 0, 1);
	w = take(st, now);
	known = w.t1 || came_unqueued(bank, p, st, &w);
	st->flags |= STAMP_SEEN;
	if (!known)
		return;
	w.queued_ns = elapsed(bank, w.t2, w.t1);
	wait_forget(bank, &w);
	finish(bank, p, prev, st, &w, s, true, ep);
}

/* A switch, where the kernel keeps no record. */
BESIDE stamped_switch(struct abi_counts *bank, u64 *ctx, bool runnable, u64 at, u64 ep)
{
	u64 now = WHY ? at : bpf_ktime_get_ns();
	struct why_cpu *s = why_own();

	if (WHY && !s)
		return 0;
	stamped_out(bank, (void *)ctx[1], runnable, now, ep);
	stamped_in(bank, (void *)ctx[2], (void *)ctx[1], s, now, ep);
	return 0;
}

#endif
