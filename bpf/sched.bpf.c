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
#include "lib/common.bpf.h"
#include "compat.bpf.h"
#include "lib/hist.bpf.h"

/* ---- tasks ---- */

/* What the scheduler source keeps of a task, and of a wait that is over. */

#define STAMP_SEEN (STAMP_OWN << 0)  /* queued or running: from now on a missing stamp is a loss */
#define STAMP_RUNS (STAMP_OWN << 1)  /* `runs` holds */
#define STAMP_DELAY (STAMP_OWN << 2) /* `delay_ns` holds */

#define STAMP_OF_SOURCE
struct stamp {
	u64 t0;
	u64 t1; /* by the record: only where the kernel keeps none, on the way to sleep */
	u64 cgroup_id;
	/* the kernel's sum of its waits, when it last came to a CPU: that one in it */
	u64 delay_ns;
	u32 flags;
	u32 runs;   /* times it came to a CPU, by the kernel's count, as far as we saw */
	u32 sleeps; /* of these stays, how many ended in sleep */
	u32 left;   /* `runs` at the switch-out that `kind` is of */
	u8 kind;    /* ABI_WAIT_* of a wait that a switch-out began; 0 after one that blocked */
	u8 in_op;   /* it left its CPU in the middle of an operation: its ledger waits for it */
	u8 moved;   /* --why: to another CPU, in the midst of this wait */
	u8 waker;   /* this and all that follows: --slower */
	u32 last_cpu;
	u32 waker_pid;
	u32 waker_tid;
	char waker_comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct stamp) == ABI_STAMP_BYTES, "stamp size");
_Static_assert(__builtin_offsetof(struct stamp, t1) == ABI_STAMP_T1, "stamp t1");

/* One finished wait, as it goes from the switch-in to everything that wants it. */
struct wait {
	u64 t0;
	u64 t1;
	u64 t2;
	u64 to_queue_ns;
	u64 queued_ns; /* of all `n` */
	u64 wait_ns;
	u32 kind;
	u32 n;	    /* 1; more: waits that no tracepoint reported, of which the sum is known */
	bool moved; /* --why: to another CPU, in the midst of it */
};

/* ---- stamps in slots ---- */

/*
 * Stamps where they are sooner found than in task storage, whose helper is several calls deep, each
 * of which costs where returns are made safe from speculation (AMD): a table of slots, a cache line
 * each, one for a task. A task's stamp is made in task storage. When the task comes to a CPU, and
 * the slot that its address leads to is free, the stamp moves there, until the task's last
 * switch-out. Where the slot is another's, it stays where it is. So a task with a slot has passed
 * the early filters, and its stamp has STAMP_SEEN and STAMP_DELAY: none of that is asked again.
 *
 * A stamp moves at a switch-in of a task whose state is TASK_RUNNING: then nobody wakes it
 * (try_to_wake_up() reports sched_waking under the task's pi_lock and only if its state says that
 * it sleeps), and the CPU that it comes to is the only one to write its stamp. Nor is a waking
 * under way when a slot is given back: do_task_dead() takes the pi_lock, too.
 *
 * Two CPUs that want one slot for two tasks: each adds one to its `claims` and has it if it then
 * reads one. If both read two, neither has. (Kernels before 5.12 know no compare-and-exchange, and
 * refuse an object that has one even where it is dead code.)
 */

/* User space: not with --slower, which wants more of a stamp than a slot has. */
const volatile bool slots_used;

#ifdef WS_RAW_TP
#define slot_take(p, st) ((void)st)
#else

_Static_assert(sizeof(struct abi_slot) == 64, "a cache line");
_Static_assert(__builtin_offsetof(struct stamp, kind) ==
			       __builtin_offsetof(struct abi_slot, bytes) &&
		       __builtin_offsetof(struct stamp, last_cpu) ==
			       __builtin_offsetof(struct abi_slot, claims),
	       "a slot has all of a stamp but what --slower keeps");

struct abi_slot slots[ABI_SLOTS] __attribute__((aligned(64)));

/*
 * By the lower half of its address, copied as the verifier allows it: to it the whole is no number.
 */
static __always_inline struct abi_slot *slot_of(struct task_struct *p)
{
	u64 at;
	u32 low;

	asm("%0 = %1" : "=w"(low) : "w"((u32)(u64)p));
	at = (u64)(low * 0x9e3779b1U) * ABI_SLOTS >> 32;
	asm("" : "+r"(at)); /* its bound is seen here, not in a shift that is made of both */
	return &slots[at];
}

static __always_inline struct stamp *slot_get(struct task_struct *p)
{
	struct abi_slot *s;
	struct stamp *st;

	if (!slots_used)
		return NULL;
	s = slot_of(p);
	st = s->owner == (u64)p ? (struct stamp *)s : NULL;
	asm("" : "+r"(st)); /* or a compiler compares owners again where NULL is asked about */
	return st;
}

#define STAMP_SLOT(p) slot_get(p)

/* The stamp of a task that comes to a CPU moves to its slot, if it can. */
static __noinline int slot_move(struct task_struct *p, struct stamp *st)
{
	struct abi_slot *s = slot_of(p);
	const u64 *words = (void *)st;
	u32 i;

	if (compat_task_state(p))
		return 0;
	__sync_fetch_and_add(&s->claims, 1);
	if (*(volatile u32 *)&s->claims != 1) {
		__sync_fetch_and_add(&s->claims, -1);
		return 0;
	}
	for (i = 0; i < 6; i++)
		s->words[i] = words[i];
	s->bytes = *(u32 *)&st->kind;
	barrier();
	s->owner = (u64)p;
	return 0;
}

static __always_inline void slot_take(struct task_struct *p, struct stamp *st)
{
	if (slots_used && !slot_of(p)->claims)
		slot_move(p, st);
}

/* Its last switch-out. */
static __always_inline void slot_release(struct task_struct *p)
{
	struct abi_slot *s;

	if (!slots_used)
		return;
	s = slot_of(p);
	if (s->owner != (u64)p)
		return;
	s->owner = 0;
	barrier();
	__sync_fetch_and_add(&s->claims, -1);
}

#define STAMP_SLOT_FREE(p) slot_release(p)
#endif

#include "lib/filter.bpf.h"
#include "lib/ledger.bpf.h"
#include "lib/flight.bpf.h"
#include "lib/follow.bpf.h"

#include "lib/keyed.bpf.h"
#include "lib/slow_ring.bpf.h"

/* ---- --why ---- */

/*
 * --why (WS_WHY) is a second object of the same source: without it nothing of this is loaded, or
 * lies in the programs that are. There WHY is true, elsewhere what it guards is never compiled into
 * anything.
 */

#ifdef WS_WHY
#define WHY true
#define WHY_SLOW_BYTES sizeof(struct abi_slow_why)
#define BESIDE static __noinline int /* its frame is not part of the switch's own */
static __always_inline bool by_record(void);
#include "why_cpu.bpf.h"
#include "why.bpf.h"
#else
#define WHY false
#define BESIDE static __always_inline int
#define WHY_SLOW_BYTES sizeof(struct abi_slow)
struct why_cpu;
#define why_own() NULL
#define why_switch(s, prev, next, runnable, now, casts) ((void)now)
#define why_wait(s, p, st, w, ep) ((void)s)
#define why_later(s, ctx) ((void)s)
#define why_hidden(p, w, ep) ((void)0)
#define why_slow(s) ((void)0)
#endif

/* ---- --slower ---- */

/* --slower: one record per wait above the limit, through the ring buffer. */

/* Who wakes it is known here alone, and only if no interrupt came upon `current`. */
static __always_inline void slow_note_waker(struct stamp *st)
{
	u32 context;
	u64 id;

	if (!SLOWER)
		return;
	context = compat_context();
	if (context != CONTEXT_TASK) {
		st->waker = context == CONTEXT_IRQ ? ABI_WAKER_IRQ : ABI_WAKER_UNKNOWN;
		return;
	}
	id = bpf_get_current_pid_tgid();
	st->waker = ABI_WAKER_TASK;
	st->waker_pid = id >> 32;
	st->waker_tid = (u32)id;
	bpf_get_current_comm(st->waker_comm, sizeof(st->waker_comm));
}

static __always_inline void slow_emit(struct abi_counts *bank, struct task_struct *p,
				      struct task_struct *prev, const struct stamp *st,
				      const struct wait *w)
{
	struct abi_slow *s = bpf_ringbuf_reserve(&slow_events, WHY_SLOW_BYTES, 0);

	if (!s) {
		bank->slow_lost++;
		return;
	}
	s->t0_ns = w->t0;
	s->t1_ns = w->t1;
	s->t2_ns = w->t2;
	s->cgroup_id = task_cgroup_id(p);
	s->pid = TASK_READ(p, tgid);
	s->tid = TASK_READ(p, pid);
	s->prev_pid = prev ? TASK_READ(prev, tgid) : 0;
	s->prev_tid = prev ? TASK_READ(prev, pid) : 0;
	s->prev_known = prev != NULL;
	s->pad = 0;
	s->cpu = bpf_get_smp_processor_id();
	s->last_cpu = st->last_cpu;
	s->kind = w->kind;
	s->waker = w->t0 ? st->waker : ABI_WAKER_NONE;
	s->waker_pid = st->waker_pid;
	s->waker_tid = st->waker_tid;
	TASK_COMM(s->comm, p);
	if (prev)
		TASK_COMM(s->prev_comm, prev);
	else
		__builtin_memset(s->prev_comm, 0, sizeof(s->prev_comm));
	__builtin_memcpy(s->waker_comm, st->waker_comm, sizeof(s->waker_comm));
	if (WHY)
		why_slow(s);
	bpf_ringbuf_submit(s, slow_wakeup());
}

/* ---- accounts ---- */

/* A wait for a CPU is over: what it counts for. */

static __always_inline bool was_queued_by_preemption(u32 kind)
{
	return kind == ABI_WAIT_PREEMPT || kind == ABI_WAIT_THROTTLE;
}

/* --why: was it moved to another CPU, in the midst of the wait that is over? */
static __always_inline bool take_moved(struct stamp *st)
{
	bool moved = WHY && st->moved;

	if (moved)
		st->moved = 0;
	return moved;
}

/* The parts of a wakeup: `queued_ns` is known, the way to the queue is the rest. */
static __always_inline void wait_parts(struct abi_counts *bank, struct wait *w)
{
	w->wait_ns = w->n == 1 ? w->queued_ns : w->queued_ns / w->n;
	if (!w->t0)
		return;
	w->wait_ns = elapsed(bank, w->t2, w->t0);
	w->to_queue_ns = elapsed(bank, w->wait_ns, w->queued_ns);
}

static __always_inline void account(struct abi_counts *bank, const struct wait *w, u64 ep)
{
	if (was_queued_by_preemption(w->kind)) {
		hist_add_n(bank, w->kind == ABI_WAIT_PREEMPT ? ABI_PREEMPT_WAIT : ABI_THROTTLE_WAIT,
			   w->queued_ns, w->n, ep);
		return;
	}
	hist_add_n(bank, ABI_QUEUE_TO_RUN, w->queued_ns, w->n, ep);
	if (w->kind == ABI_WAIT_WOKEN_EARLY)
		bank->missed++;
	else if (w->kind == ABI_WAIT_WOKEN_UNSEEN)
		bank->unpaired += w->n;
	if (!w->t0)
		return;
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
		khist_add_n(e, w->kind == ABI_WAIT_PREEMPT ? ABI_PREEMPT_WAIT : ABI_THROTTLE_WAIT,
			    w->queued_ns, w->n, ep);
		return;
	}
	khist_add_n(e, ABI_QUEUE_TO_RUN, w->queued_ns, w->n, ep);
	if (!w->t0)
		return;
	khist_add(e, ABI_WAKEUP_LATENCY, w->wait_ns, ep);
	khist_add(e, ABI_WAKE_TO_QUEUE, w->to_queue_ns, ep);
}

/*
 * All that is known of a wait is known. It goes through memory that is the CPU's own, and comes out
 * as numbers that the verifier never saw: else what it learns of one multiplies with what it learns
 * of the next, past its limit of a million instructions.
 */
static __always_inline void wait_put(struct abi_counts *bank, const struct wait *w)
{
	volatile __u64 *to = bank->scratch;

	to[0] = w->queued_ns;
	to[1] = WHY ? w->kind | (u64)w->moved << 32 : w->kind;
	to[2] = w->t0;
	to[3] = w->t2;
	if (SLOWER || WHY)
		to[4] = w->t1;
}

static __always_inline void wait_get(struct abi_counts *bank, struct wait *w)
{
	volatile __u64 *from = bank->scratch;
	u64 kind;

	w->queued_ns = from[0];
	kind = from[1];
	w->kind = (u32)kind;
	w->moved = WHY && kind >> 32;
	w->t0 = from[2];
	w->t2 = from[3];
	if (SLOWER || WHY)
		w->t1 = from[4];
}

static __always_inline void wait_forget(struct abi_counts *bank, struct wait *w)
{
	wait_put(bank, w);
	wait_get(bank, w);
}

/* A wait is over: its stamps are consumed, now it counts if it is wanted. */
static __always_inline void finish(struct abi_counts *bank, struct task_struct *p,
				   struct task_struct *prev, struct stamp *st, struct wait *w,
				   struct why_cpu *s, bool groups, u64 ep)
{
	if (!filter_late(st, p))
		return;
	wait_parts(bank, w);
	account(bank, w, ep);
	if (groups && OPTION(keyed.by, ABI_BY_NONE) != ABI_BY_NONE)
		account_group(bank, p, w, ep);
	if (WHY && prev) {
		why_wait(s, p, st, w, ep);
		return;
	}
	if (WHY)
		why_hidden(p, w, ep);
	if (SLOWER && w->wait_ns >= slower_ns)
		slow_emit(bank, p, prev, st, w);
}

char LICENSE[] SEC("license") = "GPL";

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

/* ---- the kernel's record ---- */

/*
 * T1 by the kernel's own record of a task's waits (CONFIG_SCHED_INFO), which is what
 * /proc/PID/schedstat is made of, by the clock of the run queue:
 *
 *	last_queued	since when it is queued on this CPU; 0: it is not
 *	run_delay	the sum of its waits that are over, and of what it waited on another
 *			CPU from which it was moved in the midst of this one
 *
 * Both hold at sched_switch, which is called before the record of `next` is turned over. What the
 * sum will be then, less what it was when the task came to a CPU before, is the wait: to the
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

/* The same by a few comparisons, for a task whose stamp is in its slot; idle tasks have none to be
 * noted. */
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
 * What a slot has of a dead task, whose last switch-out nobody reported, is not of one that has its
 * address now. That has been on a CPU less often, or never, or else what is counted as hidden is
 * too little by a few.
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
 * Adds waits whose end no tracepoint reported. The kernel's record tells their number and their
 * sum. If one of several was a wakeup, all count as wakeups; T0 is lost, and with it the wakeup
 * latency. A global function, so that the verifier checks it on
 *ce instead of at every call.
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
 * A task leaves for good: stays that no tracepoint reported, of which no switch-in will tell. Out
 * of line, which spares the switches that are nobody's last.
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
 * The common cases by a few comparisons: a wait of which all is known, of a task whose stamp is in
 * its slot and that has been queued on this CPU alone. It blocked and has T0, or a switch-out that
 * left it runnable was seen and nothing since. Else false, and nothing is changed.
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

/* Returns the stamp of a finished wait if somebody still reads it, else NULL: the verifier then
 * need not tell apart the store that the stamp lies in. */
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

/* Out of line, which spares the verifier to follow what comes after it for each store that a stamp
 * can be in. */
static __noinline u32 other_wait(struct abi_counts *bank, struct task_struct *p, u64 at, u64 ep)
{
	struct stamp *st = stamp_made(bank, p);

	return st && any_wait(bank, p, st, at, ep);
}

/* The whole of it, where more of the stamp is wanted (--slower), or more is made of the wait (--why
 * by groups). */
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

/* ---- stamped waits ---- */

/*
 * Kernels without a record of waits (CONFIG_SCHED_INFO), and those without BTF, where what is read
 * of a task is copied: the moment at which it is queued is stamped.
 *
 *	T1 sched_wakeup[_new]	queued, or sched_switch: switched out while runnable
 *
 * A wakeup that finds the task on a CPU was no wait, and T1 is where that can be told: a task that
 * truly slept is off its CPU before it is queued.
 */

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

/*
 * The task is switched out, but we missed its switch-in: the kernel's record tells when that was.
 */
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

/* ---- ledgers of all tasks ---- */

/* --why: where other sources ask for the ledgers of tasks, the scheduler's programs keep them, by
 * the same reading of the clock. That does not depend on its epoch or filters. */

#ifdef WS_WHY
#include "lib/tasks_keep.bpf.h"

const volatile bool keeps_tasks;

static __always_inline void tasks_switch(u64 *ctx, u64 now)
{
	if (keeps_tasks)
		tasks_switched(ctx, now);
}

/* When that was, or 0. */
static __always_inline u64 tasks_waking(u64 *ctx, struct task_struct *p)
{
	u64 now;

	if (!keeps_tasks)
		return 0;
	now = bpf_ktime_get_ns();
	tasks_woken(ctx, p, now);
	return now;
}
#else
#define tasks_switch(ctx, now) ((void)now)
#define tasks_waking(ctx, p) 0
#endif

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
	state = compat_switch_state(ctx, prev);
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
 * The stamps of all tasks that are there, before counting begins. One timer interrupt may wake a
 * lot of tasks, and a CPU's allocator has memory for four of them at first: it is refilled only
 * when interrupts are on again (prefill_mem_cache(), kernel/bpf/memalloc.c). The hash has its
 * memory from the start.
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
