/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T1 by the kernel's own record of a task's waits (CONFIG_SCHED_INFO), which is what
 * /proc/PID/schedstat is made of, by the clock of the run queue:
 *
 *	last_queued	since when it is queued on this CPU; 0: it is not
 *	run_delay	the sum of its waits that are over, and of what it waited on another
 *			CPU from which it was moved in the midst of this one
 *
 * Both hold at sched_switch, which is called before the record of `next` is turned over. What the sum
 * will be then, less what it was when the task came to a CPU before, is the wait: to the
 * nanosecond, and also where tracepoints did not report all (a host may hide some of its tasks, and
 * with them whatever comes after them on their CPU).
 *
 * Two things are not in the record: the wait of a task that was preempted on its way to sleep, and
 * where a wait began if the task was moved while it slept with its dequeueing delayed
 * (152e11f6df29 "sched/fair: Implement delayed dequeue", 6.12): it is then recorded as queued from
 * there on. The first is stamped; the second cannot have begun before the waking.
 *
 * So nothing is done when a task is queued, nor when one blocks. A switch-out that leaves the task
 * runnable is noted, for it has no T0; one that no tracepoint reported is known by the kernel's
 * counts of switches.
 */
#ifndef WS_SCHED_RECORD_BPF_H
#define WS_SCHED_RECORD_BPF_H

/* Since its last switch-out, which left it runnable, it has not come to a CPU. */
static __always_inline bool still_queued(const struct stamp *st, u32 runs)
{
	return st->kind && st->left == runs;
}

static __always_inline bool born_since(struct task_struct *p)
{
	return TASK_READ(p, start_time) >= started_ns;
}

/* A task that waits for the first time: from here on its sum of waits is known. */
static __always_inline void record_begins(struct task_struct *p, struct stamp *st)
{
	if (st->flags & STAMP_DELAY)
		return;
	if (!born_since(p))
		st->delay_ns = compat_run_delay(p);
	st->flags |= STAMP_DELAY;
}

/*
 * Any T0 is of a wakeup that found it running. Stamped is what the record will not have right: a
 * task on its way to sleep (`state`), and one that is recorded as queued while it ran.
 */
static __noinline u32 record_out(struct abi_counts *bank, struct task_struct *p, u32 state)
{
	struct stamp *st = stamp_wanted(bank, p);

	if (!st)
		return 0;
	record_begins(p, st);
	st->kind = compat_throttled(p) ? ABI_WAIT_THROTTLE : ABI_WAIT_PREEMPT;
	st->left = compat_runs(p);
	st->t0 = 0;
	st->t1 = state || compat_last_queued(p) ? bpf_ktime_get_ns() : 0;
	return 0;
}

/* The same by a few comparisons, for a task whose stamp is in its slot; idle tasks have none to be noted. */
static __always_inline bool plain_out(struct task_struct *p, u32 state)
{
	struct stamp *st = STAMP_SLOT(p);

	if (!TASK_READ(p, pid))
		return true;
	if (!st || state || compat_throttled(p) || compat_last_queued(p))
		return false;
	st->kind = ABI_WAIT_PREEMPT;
	st->left = compat_runs(p);
	st->t0 = 0;
	st->t1 = 0;
	return true;
}

/*
 * What the kernel tells of a switch-in, and of what has been since the one that we saw before. It
 * lies in the CPU's scratch, for the reason of wait_put().
 */
struct arrival {
	u64 queued_ns; /* since it was queued here */
	u64 before_ns; /* what the sum of its waits grew by, but for that */
	u32 hidden;    /* switch-ins that no tracepoint reported */
	u32 sleeps;    /* switch-outs that blocked */
	bool known;    /* since when it waits */
	bool seen;     /* there was one, or none at all before: else neither count holds */
	bool unseen;   /* we never saw it before */
	bool first;    /* it has never been on a CPU */
	bool queued;   /* and since its last switch-out, which left it runnable */
};

_Static_assert(sizeof(struct arrival) <= sizeof(((struct abi_counts *)0)->scratch), "scratch");

/*
 * What a slot has of a dead task, whose last switch-out nobody reported, is not of one that has its address now.
 * That has been on a CPU less often, or never, or else what is counted as hidden is too little by a few.
 */
static __always_inline bool anothers(const struct stamp *st, u32 runs)
{
	return st->flags & STAMP_SEEN && (!runs || (s32)(runs - st->runs) < 0);
}

static __always_inline void stamp_renew(struct stamp *st, u32 runs)
{
	if (!anothers(st, runs))
		return;
	st->flags &= STAMP_FOLLOWED | STAMP_CGROUP_OK;
	st->t0 = st->t1 = st->delay_ns = 0;
	st->runs = st->sleeps = 0;
	st->kind = 0;
}

static __always_inline void arrive(struct abi_counts *bank, struct task_struct *p, struct stamp *st,
				   struct arrival *a)
{
	u64 last_queued = compat_last_queued(p), delay_ns = compat_run_delay(p);
	u32 runs = compat_runs(p), sleeps = compat_sleeps(p);

	stamp_renew(st, runs);
	a->known = last_queued != 0;
	a->queued_ns = last_queued ? compat_since(p, last_queued) : 0;
	a->seen = st->flags & STAMP_SEEN || born_since(p);
	a->before_ns = 0;
	if (a->seen || st->flags & STAMP_DELAY)
		a->before_ns = elapsed(bank, delay_ns, st->delay_ns);
	a->unseen = !(st->flags & STAMP_SEEN);
	a->hidden = a->seen ? runs - st->runs : 0;
	a->sleeps = sleeps - st->sleeps;
	a->first = !runs;
	a->queued = still_queued(st, runs);
	st->delay_ns = delay_ns + a->queued_ns;
	st->runs = runs + 1;
	st->sleeps = sleeps;
	st->flags |= STAMP_SEEN | STAMP_DELAY;
	barrier();
}

/* ABI_WAIT_*; 0: it began before we saw the task, and who knows how. */
static __always_inline u32 kind_of(const struct arrival *a, u32 queued_as, u64 t0)
{
	if (a->first)
		return ABI_WAIT_NEW;
	if (a->queued)
		return queued_as;
	if (a->seen && !a->sleeps)
		return ABI_WAIT_PREEMPT;
	if (t0)
		return ABI_WAIT_WAKEUP;
	return a->seen ? ABI_WAIT_WOKEN_UNSEEN : 0;
}

/*
 * Waits whose end no tracepoint reported: how many they are is known, and the sum of them. If one of
 * several was a wakeup all count as such; T0 is lost, and with it the wakeup's latency. Global: the
 * verifier takes it by itself, once.
 */
__noinline u32 add_hidden(u64 sum_ns, u64 n, u64 kind)
{
	u64 ep = epoch;
	struct abi_counts *bank = bank_get(ep);

	if (!bank)
		return 0;
	bank->inferred += n;
	if (kind == ABI_WAIT_WOKEN_UNSEEN)
		bank->unpaired += n;
	hist_add_n(bank, kind == ABI_WAIT_PREEMPT ? ABI_PREEMPT_WAIT : ABI_QUEUE_TO_RUN, sum_ns,
		   (u32)n, ep);
	return 0;
}

static __always_inline void hidden_waits(struct abi_counts *bank, struct task_struct *p,
					 struct stamp *st, struct wait *w, u64 ep)
{
	if (!filter_late(st, p))
		return;
	add_hidden(w->queued_ns, w->n, w->kind);
	if (WHY)
		why_hidden(p, w, ep);
	if (keyed.by != ABI_BY_NONE)
		account_group(bank, p, w, ep);
	if (!SLOWER || w->n != 1 || w->queued_ns < slower_ns)
		return;
	w->t2 = bpf_ktime_get_ns() - compat_ran_for(p);
	w->t1 = w->t2 - w->queued_ns;
	slow_emit(bank, p, NULL, st, w);
}

static __always_inline void hidden_before(struct abi_counts *bank, struct task_struct *p,
					  struct stamp *st, const struct arrival *a, u32 last_kind,
					  u64 ep)
{
	struct wait w = {.queued_ns = a->before_ns, .n = a->hidden, .kind = ABI_WAIT_NEW};

	if (!a->unseen)
		w.kind = a->sleeps > !was_queued_by_preemption(last_kind) ? ABI_WAIT_WOKEN_UNSEEN
									  : ABI_WAIT_PREEMPT;
	hidden_waits(bank, p, st, &w, ep);
}

/* false: it began before we did, or nothing tells since when it waited. */
static __always_inline bool known_wait(struct abi_counts *bank, struct task_struct *p,
				       struct stamp *st, const struct arrival *a,
				       const struct wait *w)
{
	if (w->kind && (a->known || w->t0))
		return true;
	if (!filter_late(st, p))
		return false;
	if (a->seen)
		bank->unpaired++;
	else
		bank->missed++;
	return false;
}

/*
 * A task leaves for good: stays that no tracepoint reported, of which no switch-in will tell. Out of
 * line, which spares the switches that are nobody's last.
 */
static __noinline u32 record_ends(struct abi_counts *bank, struct task_struct *p, u64 ep)
{
	u32 runs = compat_runs(p);
	struct wait w = {};
	struct stamp *st;

	if (!born_since(p))
		return 0;
	st = stamp_wanted(bank, p);
	if (!st)
		return 0;
	stamp_renew(st, runs);
	if (runs == st->runs)
		return 0;
	w.n = runs - st->runs;
	w.kind = st->runs ? ABI_WAIT_WOKEN_UNSEEN : ABI_WAIT_NEW;
	w.queued_ns = elapsed(bank, compat_run_delay(p), st->delay_ns);
	hidden_waits(bank, p, st, &w, ep);
	return 0;
}

/*
 * The common cases by a few comparisons: a wait of which all is known, of a task whose stamp is in its slot and
 * that has been queued on this CPU alone. It blocked and has T0, or a switch-out that left it runnable was seen
 * and nothing since. Else false, and nothing is changed.
 */
static __always_inline bool plain_wait(struct abi_counts *bank, struct task_struct *p, u64 at)
{
	struct stamp *st = STAMP_SLOT(p);
	u64 last_queued, delay_ns;
	struct wait w = {};
	u32 runs, sleeps;

	if (!st)
		return false;
	last_queued = compat_last_queued(p);
	delay_ns = compat_run_delay(p);
	runs = compat_runs(p);
	sleeps = compat_sleeps(p);
	if ((st->runs ^ runs) | (st->delay_ns ^ delay_ns) | st->t1 | st->in_op)
		return false;
	if (WHY && st->moved)
		return false;
	if (!last_queued)
		return false;
	w.queued_ns = compat_since(p, last_queued);
	w.kind = st->kind;
	if (WHY)
		w.t2 = at;
	if (!w.kind) {
		w.kind = ABI_WAIT_WAKEUP;
		w.t0 = st->t0;
		if (!w.t0 || st->sleeps == sleeps)
			return false;
		if (!WHY)
			w.t2 = bpf_ktime_get_ns();
		if (w.queued_ns > w.t2 - w.t0)
			return false;
	}
	if (WHY)
		w.t1 = at - w.queued_ns;
	st->t0 = 0;
	st->kind = 0;
	st->runs = runs + 1;
	st->sleeps = sleeps;
	st->delay_ns = delay_ns + w.queued_ns;
	wait_put(bank, &w);
	return true;
}

/* A stamp that was taken: if nobody asks for more of it, the verifier may forget which store it is in. */
static __always_inline struct stamp *still_wanted(struct stamp *st)
{
	if (!SLOWER && !filter_reads_stamp())
		st = NULL;
	asm volatile("" : "+r"(st));
	return st;
}

/* Any wait, left in the CPU's scratch; false: it does not count. */
static __always_inline bool any_wait(struct abi_counts *bank, struct task_struct *p,
				     struct stamp *st, u64 at, u64 ep)
{
	struct arrival *a = (void *)bank->scratch;
	struct wait w = {.n = 1};
	u32 queued_as;

	if (keeps_ledgers && st->in_op)
		op_comes(bank, p, st);
	arrive(bank, p, st, a);
	w.t0 = st->t0;
	w.t1 = st->t1;
	queued_as = st->kind;
	st->t0 = 0;
	st->t1 = 0;
	st->kind = 0;
	w.moved = take_moved(st);
	slot_take(p, st);
	st = still_wanted(st);
	w.queued_ns = a->queued_ns;
	if (SLOWER || WHY || w.t0 || w.t1 || !a->seen || a->hidden)
		w.t2 = WHY ? at : bpf_ktime_get_ns();
	if (a->hidden && w.t0 < w.t2 - compat_ran_for(p))
		w.t0 = 0; /* of a wakeup that we did not see come to a CPU */
	w.kind = kind_of(a, queued_as, w.t0);
	if (was_queued_by_preemption(w.kind))
		w.t0 = 0;
	if (w.t1) {
		w.queued_ns = elapsed(bank, w.t2, w.t1);
		a->known = true;
	} else if (!a->hidden) {
		w.queued_ns += a->before_ns;
		a->known |= a->before_ns != 0;
	}
	if (a->hidden)
		hidden_before(bank, p, st, a, w.kind, ep);
	if (SLOWER && !a->seen)
		st->last_cpu = ~0U;
	if (!known_wait(bank, p, st, a, &w))
		return false;
	if (w.t0 && w.queued_ns > w.t2 - w.t0) {
		w.queued_ns = w.t2 - w.t0;
		bank->inferred += filter_late(st, p);
	}
	w.t1 = w.t2 - w.queued_ns;
	wait_put(bank, &w);
	return true;
}

/* Out of line, which spares the verifier to follow what comes after it for each store that a stamp can be in. */
static __noinline u32 other_wait(struct abi_counts *bank, struct task_struct *p, u64 at, u64 ep)
{
	struct stamp *st = stamp_made(bank, p);

	return st && any_wait(bank, p, st, at, ep);
}

/* The whole of it, where more of the stamp is wanted (--slower), or more is made of the wait (--why by groups). */
BESIDE whole_wait(struct abi_counts *bank, struct task_struct *p, struct task_struct *prev, u64 at,
		  u64 ep)
{
	struct stamp *st = stamp_made(bank, p);
	struct why_cpu *s = why_own();
	struct wait w = {.n = 1};

	if (!st || (WHY && !s))
		return 0;
	if (any_wait(bank, p, st, at, ep)) {
		wait_get(bank, &w);
		finish(bank, p, prev, still_wanted(st), &w, s, true, ep);
	}
	if (SLOWER)
		st->last_cpu = bpf_get_smp_processor_id();
	return 0;
}

static __always_inline void record_in(struct abi_counts *bank, struct task_struct *p,
				      struct task_struct *prev, struct why_cpu *s, u64 at, u64 ep)
{
	bool whole = SLOWER || (WHY && keyed.by != ABI_BY_NONE), plain;
	struct stamp *st = NULL;
	struct wait w = {.n = 1};

	plain = !whole && plain_wait(bank, p, at);
	if (!plain && (!TASK_READ(p, pid) || !filter_early(p)))
		return;
	if (whole) {
		whole_wait(bank, p, prev, at, ep);
		return;
	}
	if (!plain && !other_wait(bank, p, at, ep))
		return;
	if (filter_reads_stamp()) {
		st = stamp_get(p, false);
		if (!st)
			return;
	}
	wait_get(bank, &w);
	finish(bank, p, prev, st, &w, s, !WHY, ep);
}

/* Since when it waits, of one that is queued; 0: who knows, since before we began. */
static __always_inline u64 record_waits_since(struct task_struct *p, const struct stamp *st)
{
	u64 last_queued = compat_last_queued(p), waited;
	u32 runs = compat_runs(p);
	bool queued;

	if (st && anothers(st, runs + 1)) /* one that runs has been on a CPU once more */
		st = NULL;
	queued = st && still_queued(st, runs);
	if (queued && st->t1)
		return st->t1;
	if (st && st->t0 && !queued)
		return st->t0;
	if (!last_queued || (runs && !queued && !(st && st->flags & STAMP_SEEN)))
		return 0;
	waited = compat_task_waits(p, compat_task_clock(p));
	if (st && st->flags & STAMP_DELAY)
		waited += compat_run_delay(p) - st->delay_ns;
	return bpf_ktime_get_ns() - waited;
}

#endif
