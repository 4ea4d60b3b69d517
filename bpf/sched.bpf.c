// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scheduler waits. What is known of a task's wait lives with the task; the three moments are
 *
 *	T0 sched_waking	by the waker, before a CPU is chosen
 *	T1		queued: by the kernel's own record, or stamped where there is none
 *	T2 sched_switch	switched in: what is known is consumed, samples taken, on this CPU
 *
 * T0 may be taken while the task is still on its way out: the waker sees a state that the
 * switch-out has set. So a switch-out that blocks keeps T0.
 */
#include "common.bpf.h"
#include "compat.bpf.h"
#include "hist.bpf.h"
#include "sched.bpf.h"
#include "sched_slots.bpf.h"
#include "filter.bpf.h"
#include "ledger.bpf.h"
#include "flight.bpf.h"
#include "follow.bpf.h"

#include "keyed.bpf.h"
#include "sched_why.bpf.h"
#include "slow.bpf.h"
#include "sched_account.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* sched_switch passes prev_state (fa2c3254d7cf, 5.18); user space counts the prototype's arguments.
 */
const volatile bool switch_has_state = true;
/* The kernel keeps a record of waits: then there is no program at sched_wakeup. */
const volatile bool kernel_record = true;

/* When counting began: all that a task born since then did was for us to see. */
volatile __u64 started_ns;

static __always_inline bool by_record(void)
{
	return TRACED_TYPED && OPTION(kernel_record, true) && compat_has_record();
}

/* The task's stamp at a switch, where the bank is at hand, made if need be. No filter is asked. */
static __always_inline struct stamp *stamp_made(struct abi_counts *bank, struct task_struct *p)
{
	struct stamp *st = stamp_get(p, true);

	if (!st)
		bank->store_full++;
	return st;
}

/* The same of a task that passes the early filters, else NULL; idle tasks (pid 0) have none. */
static __always_inline struct stamp *stamp_wanted(struct abi_counts *bank, struct task_struct *p)
{
	return TASK_READ(p, pid) && filter_early(p) ? stamp_made(bank, p) : NULL;
}

/* An operation's task leaves its CPU, or comes to one. */
static __noinline u32 op_left(struct abi_counts *bank, struct task_struct *p, bool runnable)
{
	struct stamp *st;

	if (!ledger_out(bank, p, runnable))
		return 0;
	st = stamp_made(bank, p);
	if (st)
		st->in_op = 1;
	return 0;
}

static __always_inline void op_leaves(struct abi_counts *bank, struct task_struct *p, bool runnable)
{
	struct cpu_op *c = cpu_op_get();

	if (!c || !c->task)
		return;
	if (c->task == (u64)p)
		op_left(bank, p, runnable);
	c->task = 0;
}

static __always_inline void op_comes(struct abi_counts *bank, struct task_struct *p,
				     struct stamp *st)
{
	struct ledger *l = ledger_get(p, false);
	struct cpu_op *c = cpu_op_get();

	st->in_op = 0;
	if (c)
		c->task = (u64)p;
	if (l && l->left_ns)
		ledger_in(bank, p, l);
}

#include "sched_record.bpf.h"

/*
 * The task's stamp at a wakeup, made if need be; NULL if nobody counts or nobody asked for it.
 * Wakeups do not touch the bank but to count a failure.
 */
static __always_inline struct stamp *stamp_woken(struct task_struct *p)
{
	struct stamp *st = STAMP_SLOT(p); /* a task that has one was asked about when it got it */
	struct abi_counts *bank;
	u64 ep;

	if (st)
		return st;
	ep = epoch;
	if (!ep || !filter_early(p))
		return NULL;
	st = stamp_stored(p, true);
	if (!st) {
		bank = bank_get(ep);
		if (bank)
			bank->store_full++;
	} else if (by_record()) {
		record_begins(p, st);
	}
	return st;
}

#include "sched_stamped.bpf.h"
#include "sched_tasks.bpf.h"

/* Of a task that is queued already the clock runs. */
TRACEPOINT(sched_waking)
int ws_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 now = tasks_waking(ctx, p);
	struct stamp *st = stamp_woken(p);

	if (!st)
		return 0;
	if (by_record() ? still_queued(st, compat_runs(p)) : st->t1 != 0)
		return 0;
	st->t0 = now ? now : bpf_ktime_get_ns();
	slow_note_waker(st);
	return 0;
}

static __noinline u32 last_out(struct abi_counts *bank, struct task_struct *p, u64 ep)
{
	record_ends(bank, p, ep);
	STAMP_SLOT_FREE(p);
	return 0;
}

/* With --why: `s`, which is not NULL, and the moment `at`, which is read once. */
static __always_inline void switched(u64 *ctx, struct why_cpu *s, u64 at, bool casts)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool preempted = ctx[0] & 1; /* whatever its state */
	struct abi_counts *bank;
	u32 state;
	u64 ep;

	ep = epoch;
	if (!ep)
		return;
	bank = bank_get(ep);
	if (!bank)
		return;
	bank->switches++;
	state = OPTION(switch_has_state, true) ? (u32)((volatile u64 *)ctx)[3]
					       : (u32)compat_task_state(prev);
	if (WHY)
		why_switch(s, prev, next, preempted || !state, at, casts);
	if (by_record()) {
		if (keeps_ledgers)
			op_leaves(bank, prev, preempted || !state);
		if (preempted || !state) {
			if (!plain_out(prev, state))
				record_out(bank, prev, state);
		} else if (state & TASK_DEAD) {
			last_out(bank, prev, ep);
		}
		record_in(bank, next, prev, s, at, ep);
		return;
	}
	stamped_switch(bank, ctx, preempted || !state, at, ep);
}

#ifdef WS_WHY
/* What why_wait() has left for now. */
static __noinline int why_later_slow(struct why_cpu *s, u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct abi_counts *bank;
	struct stamp *st;
	u32 last_cpu;

	bank = bank_get(s->walk.ep);
	st = stamp_get(next, false);
	if (!bank || !st)
		return 0;
	last_cpu = st->last_cpu;
	st->last_cpu = (u32)s->walk.last_cpu;
	slow_emit(bank, next, prev, st, &s->walk.wait);
	st->last_cpu = last_cpu;
	return 0;
}

static __always_inline void why_later(struct why_cpu *s, u64 *ctx)
{
	if (!s->later)
		return;
	s->later = 0;
	why_walk_wait(s, (void *)ctx[2]);
	if (slower && s->walk.slow)
		why_later_slow(s, ctx);
}
#endif

/* `casts`: the kernel has bpf_rdonly_cast(). */
static __always_inline int any_switch(u64 *ctx, bool casts)
{
	u64 now = WHY ? bpf_ktime_get_ns() : 0;
	struct why_cpu *s = why_own();

	tasks_switch(ctx, now);
	if (WHY && !s)
		return 0;
	switched(ctx, s, now, casts);
	if (WHY)
		why_later(s, ctx);
	return 0;
}

TRACEPOINT(sched_switch)
int ws_switch(u64 *ctx)
{
	return any_switch(ctx, false);
}

#ifdef WS_WHY
/* Loaded in place of ws_switch where the kernel has bpf_rdonly_cast(). */
TRACEPOINT(sched_switch)
int ws_switch_cast(u64 *ctx)
{
	return any_switch(ctx, true);
}
#endif

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

static __always_inline bool is_queued(struct task_struct *p)
{
	return TASK_READ(p, on_rq) && !compat_on_cpu(p) && !compat_task_state(p);
}

static __always_inline void look_at_stamped(struct abi_in_flight *out, struct task_struct *p,
					    struct stamp *st)
{
	if (!st || !(st->flags & STAMP_SEEN))
		out->unseen += is_queued(p);
	else if (st->t1 && filter_late(st, p))
		flight_add(out, p, st->t0 ? st->t0 : st->t1);
}

static __always_inline void look_at_record(struct abi_in_flight *out, struct task_struct *p,
					   struct stamp *st)
{
	u64 since;

	if (!is_queued(p) && !(st && st->t1 && !compat_on_cpu(p)))
		return;
	since = record_waits_since(p, st);
	if (!since) {
		out->unseen++;
		return;
	}
	if (since > out->at_ns) /* the record goes on when counting has ended */
		return;
	if (!st && filter.asks_late)
		st = stamp_get(p, true); /* a new task: no event has made it */
	if (!filter.asks_late || (st && filter_late(st, p)))
		flight_add(out, p, since);
}

static __always_inline int look_at(struct task_struct *p)
{
	struct abi_in_flight *out = flight_get();
	struct stamp *st;

	if (!p || !out || !TASK_READ(p, pid) || !filter_early(p))
		return 0;
	st = stamp_get(p, false);
	if (by_record())
		look_at_record(out, p, st);
	else
		look_at_stamped(out, p, st);
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
/*
 * The stamps of all tasks that are there, before counting begins. One timer interrupt may wake a lot of
 * tasks, and a CPU's allocator has memory for four of them at first: it is refilled only when interrupts
 * are on again (prefill_mem_cache(), kernel/bpf/memalloc.c). The hash has its memory from the start.
 */
static __always_inline void stamp_early(struct task_struct *p)
{
	if (TASK_STORAGE && p && TASK_READ(p, pid) && filter_early(p))
		stamp_stored(p, true);
}

/* Also run once before counting begins. */
SEC("iter/task")
int ws_in_flight(struct bpf_iter__task *ctx)
{
	if (started_ns)
		return look_at(ctx->task);
	stamp_early(ctx->task);
	return 0;
}
#endif
