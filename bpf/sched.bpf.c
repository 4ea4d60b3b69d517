// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scheduler waits. A task's stamps live with the task; the three moments are
 *
 *	T0 sched_waking		by the waker, before a CPU is chosen
 *	T1 sched_wakeup[_new]	queued, or sched_switch: switched out while runnable
 *	T2 sched_switch		switched in: stamps are consumed, samples taken, on this CPU
 *
 * T0 may be taken while the task is still on its way out: the waker sees a state that the
 * switch-out has set. So a switch-out that blocks keeps T0. A wakeup that finds the task on a CPU
 * was no wait, and T1 is where that can be told: a task that truly slept is off its CPU before it is
 * queued.
 */
#include "common.bpf.h"
#include "compat.bpf.h"
#include "hist.bpf.h"
#include "sched.bpf.h"
#include "filter.bpf.h"
#include "flight.bpf.h"
#include "follow.bpf.h"

#include "keyed.bpf.h"
#include "slow.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* sched_switch passes prev_state (fa2c3254d7cf, 5.18); user space counts the prototype's arguments.
 */
const volatile bool switch_has_state = true;

/*
 * The task's stamp at a wakeup, made if need be; NULL if nobody counts or nobody asked for it.
 * Wakeups do not touch the bank but to count a failure.
 */
static __always_inline struct stamp *stamp_woken(struct task_struct *p)
{
	struct abi_counts *bank;
	struct stamp *st;
	u64 ep = epoch;

	if (!ep || !filter_early(p))
		return NULL;
	st = stamp_get(p, true);
	if (st)
		return st;
	bank = bank_get(ep);
	if (bank)
		bank->store_full++;
	return NULL;
}

TRACEPOINT(sched_waking)
int ws_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct stamp *st = stamp_woken(p);

	if (!st || st->t1) /* queued already: its clock runs */
		return 0;
	st->t0 = bpf_ktime_get_ns();
	slow_note_waker(st);
	return 0;
}

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

static __always_inline bool was_queued_by_preemption(u32 kind)
{
	return kind == ABI_WAIT_PREEMPT || kind == ABI_WAIT_THROTTLE;
}

static __always_inline void account(struct abi_counts *bank, struct wait *w, u64 ep)
{
	w->queued_ns = elapsed(bank, w->t2, w->t1);
	w->wait_ns = w->queued_ns;
	if (was_queued_by_preemption(w->kind)) {
		hist_add(bank, w->kind == ABI_WAIT_PREEMPT ? ABI_PREEMPT_WAIT : ABI_THROTTLE_WAIT,
			 w->queued_ns, ep);
		return;
	}
	hist_add(bank, ABI_QUEUE_TO_RUN, w->queued_ns, ep);
	if (w->kind == ABI_WAIT_WOKEN_EARLY)
		bank->missed++;
	else if (w->kind == ABI_WAIT_WOKEN_UNSEEN)
		bank->unpaired++;
	if (!w->t0)
		return;
	w->to_queue_ns = elapsed(bank, w->t1, w->t0);
	w->wait_ns = w->to_queue_ns + w->queued_ns;
	hist_add(bank, ABI_WAKEUP_LATENCY, w->wait_ns, ep);
	hist_add(bank, ABI_WAKE_TO_QUEUE, w->to_queue_ns, ep);
}

/* The same for its group. */
static __always_inline void account_group(struct abi_counts *bank, struct task_struct *p,
					  const struct wait *w, u64 ep)
{
	struct abi_key key = {};
	struct abi_khead *e;

	group_key(&key, p);
	e = keyed_get(bank, &key, ep);
	if (!e)
		return;
	group_name(e, p);
	if (was_queued_by_preemption(w->kind)) {
		khist_add(e, w->kind == ABI_WAIT_PREEMPT ? ABI_PREEMPT_WAIT : ABI_THROTTLE_WAIT,
			  w->queued_ns, ep);
		return;
	}
	khist_add(e, ABI_QUEUE_TO_RUN, w->queued_ns, ep);
	if (!w->t0)
		return;
	khist_add(e, ABI_WAKEUP_LATENCY, w->wait_ns, ep);
	khist_add(e, ABI_WAKE_TO_QUEUE, w->to_queue_ns, ep);
}

/* A wait is over: its stamps are consumed, now it counts if it is wanted. */
static __always_inline void finish(struct abi_counts *bank, struct task_struct *p,
				   struct task_struct *prev, struct stamp *st, struct wait *w,
				   u64 ep)
{
	if (!filter_late(st, p))
		return;
	account(bank, w, ep);
	if (keyed.by != ABI_BY_NONE)
		account_group(bank, p, w, ep);
	if (slower && w->wait_ns >= slower_ns)
		slow_emit(bank, p, prev, st, w);
}

static __always_inline struct wait take(struct stamp *st, u64 t2)
{
	struct wait w = {.t0 = st->t0, .t1 = st->t1, .t2 = t2, .kind = st->kind};

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
	u32 runs;
	s32 unseen;

	if (!compat_runs(p, &runs))
		return;
	/* negative: the kernel does not count the return of a task preempted in S or D state */
	unseen = (s32)(runs - (st->runs + explained));
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
	finish(bank, p, NULL, st, &w, ep);
	return 1;
}

static __always_inline void switch_out(struct abi_counts *bank, struct task_struct *p,
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

static __always_inline void switch_in(struct abi_counts *bank, struct task_struct *p,
				      struct task_struct *prev, u64 now, u64 ep)
{
	struct stamp *st;
	struct wait w;
	bool known;

	if (!TASK_READ(p, pid) || !filter_early(p))
		return;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return;
	}
	audit(bank, p, st, 0, 1);
	w = take(st, now);
	known = w.t1 || came_unqueued(bank, p, st, &w);
	st->flags |= STAMP_SEEN;
	if (known)
		finish(bank, p, prev, st, &w, ep);
}

TRACEPOINT(sched_switch)
int ws_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool runnable = ctx[0] & 1; /* preempted, whatever its state */
	struct abi_counts *bank;
	u64 now, ep;

	ep = epoch;
	if (!ep)
		return 0;
	bank = bank_get(ep);
	if (!bank)
		return 0;
	bank->switches++;
	now = bpf_ktime_get_ns();
	if (!runnable) {
		if (switch_has_state)
			runnable = (u32)((volatile u64 *)ctx)[3] == 0;
		else
			runnable = compat_task_state(prev) == 0;
	}
	switch_out(bank, prev, runnable, now, ep);
	switch_in(bank, next, prev, now, ep);
	return 0;
}

/*
 * A row of --by pid or tid has the name that its task has now: one that does not wait again after
 * its exec, or its prctl(PR_SET_NAME), would keep the old one. Loaded for these groups alone. The
 * task still has its old name here: the new one is the second argument.
 */
TRACEPOINT(task_rename)
int ws_rename(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct abi_counts *bank;
	struct abi_khead *e = NULL;
	struct abi_key key = {};
	struct stamp *st;
	u64 ep = epoch;

	if (!ep || !filter_early(p))
		return 0;
	if (keyed.by == ABI_BY_PID && TASK_READ(p, pid) != TASK_READ(p, tgid))
		return 0; /* a process is called what its first thread is */
	st = stamp_get(p, false);
	bank = bank_get(ep);
	if (!bank || !st || !filter_late(st, p))
		return 0;
	group_key(&key, p);
	e = keyed_get(bank, &key, ep);
	if (!e)
		return 0;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), (void *)ctx[1]);
	e->pid = (u32)TASK_READ(p, tgid);
	e->named_ns = bpf_ktime_get_ns();
	return 0;
}

/* ---- run by user space at a report: who is still waiting? ---- */

static __always_inline bool queued_unseen(struct task_struct *p)
{
	return TASK_READ(p, on_rq) && !compat_on_cpu(p) && !compat_task_state(p);
}

static __always_inline int look_at(struct task_struct *p)
{
	struct abi_in_flight *out = flight_get();
	struct stamp *st;

	if (!p || !out || !TASK_READ(p, pid) || !filter_early(p))
		return 0;
	st = stamp_get(p, false);
	if (!st || !(st->flags & STAMP_SEEN)) {
		if (queued_unseen(p))
			out->unseen++;
		return 0;
	}
	if (!st->t1 || !filter_late(st, p))
		return 0;
	flight_add(out, p, st->t0 ? st->t0 : st->t1);
	return 0;
}

#ifdef WS_RAW_TP
/* Without BTF there is no iterator: run by user space for the tasks whose stamps say so. */
SEC("raw_tp")
int ws_in_flight(u64 *ctx)
{
	return look_at((void *)ctx[0]);
}

/*
 * Are these the types of the kernel that runs? Run once by user space, as the task that asks: what
 * we read of it must be what the kernel tells by itself.
 */
SEC("raw_tp")
int ws_types_fit(u64 *ctx)
{
	struct task_struct *p = (void *)bpf_get_current_task();
	u64 id = bpf_get_current_pid_tgid(), ours[2] = {}, theirs[2] = {};

	bpf_get_current_comm(ours, sizeof(ours));
	TASK_COMM(theirs, p);
	return (u32)TASK_READ(p, tgid) == id >> 32 && (u32)TASK_READ(p, pid) == (u32)id &&
	       ours[0] == theirs[0] && compat_on_cpu(p) && !compat_task_state(p);
}
#else
SEC("iter/task")
int ws_in_flight(struct bpf_iter__task *ctx)
{
	return look_at(ctx->task);
}
#endif
