// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits for kernel locks: lock:contention_begin to lock:contention_end of the same lock by the same
 * context. They come in two sorts, kept in two places.
 *
 *	spinning	preemption is off: the wait begins and ends on one CPU, and so do the
 *			waits of interrupts that come upon it. A stack per CPU; all in it is of
 *			one stay of one task on that CPU, or stale.
 *	sleeping	with the task: one, on PREEMPT_RT two (a lock inside of a lock)
 *
 * An event can be missed: what our own maps' locks make, inside these programs, is not reported to
 * them (the kernel counts it as a recursion miss), nor is what interrupts do meanwhile. `busy`
 * keeps the two programs from seeing one half of such a pair. A place is never given up for lost:
 * what is found there by mistake is counted (unpaired), and overwritten.
 */
#include "common.bpf.h"
#include "compat.bpf.h"
#include "abi_contend.h"

struct lock_wait {
	u64 lock; /* 0: none */
	u64 since;
	u32 kind;
	u32 flags; /* of the last begin */
};

#define SLEEPS 2

struct stamp {
	u64 cgroup_id;
	u32 flags;
	u32 pad;
	struct lock_wait waits[SLEEPS];
};

_Static_assert(sizeof(struct stamp) == 64, "stamp size");

#define TASKS_FROM_CURRENT
#include "filter.bpf.h"
#include "flight.bpf.h"
#include "follow.bpf.h"
#include "hist.bpf.h"

#include "keyed.bpf.h"
#include "lock.bpf.h"
#include "lock_holder.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define STAMP_SEEN STAMP_OWN /* from now on an end without a beginning is a loss */

/* PREEMPT_RT: spinlocks sleep too, inside of other sleeping locks */
const volatile bool preempt_rt;

#define LCB_F_SPIN 1U
#define LCB_F_READ 2U
#define LCB_F_WRITE 4U
#define LCB_F_RT 8U
#define LCB_F_PERCPU 16U
#define LCB_F_MUTEX 32U
#define LCB_FLAGS 64U

static const __u8 kinds[LCB_FLAGS] = {
	[0] = ABI_LOCK_SEMAPHORE,
	[LCB_F_SPIN] = ABI_LOCK_SPINLOCK,
	[LCB_F_SPIN | LCB_F_READ] = ABI_LOCK_RWLOCK_R,
	[LCB_F_SPIN | LCB_F_WRITE] = ABI_LOCK_RWLOCK_W,
	[LCB_F_MUTEX] = ABI_LOCK_MUTEX,
	[LCB_F_MUTEX | LCB_F_SPIN] = ABI_LOCK_MUTEX,
	[LCB_F_READ] = ABI_LOCK_RWSEM_R,
	[LCB_F_WRITE] = ABI_LOCK_RWSEM_W,
	[LCB_F_PERCPU | LCB_F_READ] = ABI_LOCK_PERCPU_RWSEM_R,
	[LCB_F_PERCPU | LCB_F_WRITE] = ABI_LOCK_PERCPU_RWSEM_W,
	[LCB_F_RT] = ABI_LOCK_RT_MUTEX,
	[LCB_F_RT | LCB_F_READ] = ABI_LOCK_RT_RW_R,
	[LCB_F_RT | LCB_F_WRITE] = ABI_LOCK_RT_RW_W,
};

static __always_inline u32 lock_kind(u32 flags)
{
	u64 at = flags, lim = LCB_FLAGS;

	if (at >= lim)
		return ABI_LOCK_UNKNOWN;
	CLAMP_INDEX(at, lim);
	return kinds[at] ? kinds[at] : ABI_LOCK_UNKNOWN;
}

/* A mutex is also spun for, but preemptibly: that is with the task. */
static __always_inline bool spins(u32 flags)
{
	return (flags & (LCB_F_SPIN | LCB_F_MUTEX)) == LCB_F_SPIN;
}

/* ---- spinning: on the CPU ---- */

static __always_inline void spin_begin(struct lock_cpu *c, struct abi_counts *bank,
				       struct task_struct *p, u64 lock, u32 flags)
{
	u64 stay = (u64)p->nvcsw + p->nivcsw, at, lim = SPINS;
	struct lock_wait *w;
	u32 i;

	if (c->task != (u64)p || c->stay != stay) {
		bank->unpaired += c->depth;
		c->depth = 0;
		c->task = (u64)p;
		c->stay = stay;
	}
	for (i = 0; i < SPINS && i < c->depth; i++) { /* nobody spins twice for the same lock */
		if (c->waits[i].lock != lock)
			continue;
		bank->unpaired += c->depth - i;
		c->depth = i;
	}
	if (c->depth >= SPINS) {
		bank->unpaired += c->depth;
		c->depth = 0;
	}
	at = c->depth++;
	CLAMP_INDEX(at, lim);
	w = &c->waits[at];
	w->lock = lock;
	w->kind = lock_kind(flags);
	w->since = bpf_ktime_get_ns();
}

/* The wait that ends, out of the stack; what lies above it has lost its end. */
static __always_inline bool spin_end(struct lock_cpu *c, struct abi_counts *bank,
				     struct task_struct *p, u64 lock, struct lock_wait *out)
{
	u32 i, depth = c->depth;

	if (!depth || c->task != (u64)p || c->stay != (u64)p->nvcsw + p->nivcsw)
		return false;
	for (i = SPINS; i > 0; i--) {
		if (i > depth || c->waits[i - 1].lock != lock)
			continue;
		*out = c->waits[i - 1];
		bank->unpaired += depth - i;
		c->depth = i - 1;
		return true;
	}
	return false;
}

/* ---- sleeping: with the task ---- */

/*
 * A mutex begins anew whenever its waiter, first in the queue, turns from sleeping to spinning or
 * back: it is one wait. Two of the same in a row are two waits, and the end of one is lost.
 */
static __always_inline bool goes_on(const struct lock_wait *w, u64 lock, u32 flags)
{
	return w->lock == lock && w->kind == ABI_LOCK_MUTEX && lock_kind(flags) == w->kind &&
	       w->flags != flags;
}

static __always_inline void sleep_begin(struct abi_counts *bank, struct task_struct *p, u64 lock,
					u32 flags)
{
	struct lock_wait *w;
	struct stamp *st;

	if (!filter_early(p))
		return;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return;
	}
	st->flags |= STAMP_SEEN;
	w = &st->waits[0];
	if (goes_on(w, lock, flags)) {
		w->flags = flags;
		if (why)
			lock_holder_again(p, lock, w->kind, !(flags & LCB_F_SPIN));
		return;
	}
	if (w->lock && preempt_rt && flags & LCB_F_RT && w->lock != lock) {
		w = &st->waits[1];
	} else {
		bank->unpaired += w->lock != 0;
		bank->unpaired += st->waits[1].lock != 0;
		st->waits[1].lock = 0;
	}
	if (w == &st->waits[1])
		bank->unpaired += w->lock != 0;
	w->lock = lock;
	w->kind = lock_kind(flags);
	w->flags = flags;
	w->since = bpf_ktime_get_ns();
	if (why && w == &st->waits[0])
		lock_holder_begin(p, w, !(flags & LCB_F_SPIN));
}

static __always_inline bool sleep_end(struct abi_counts *bank, struct stamp *st, u64 lock,
				      struct lock_wait *out)
{
	struct lock_wait *w = &st->waits[0];

	if (w->lock == lock) {
		bank->unpaired += st->waits[1].lock != 0;
		st->waits[1].lock = 0;
	} else {
		w = &st->waits[1];
		if (w->lock != lock)
			return false;
	}
	*out = *w;
	w->lock = 0;
	return true;
}

SEC("tp_btf/contention_begin")
int ws_lock_begin(u64 *ctx)
{
	u64 lock = ctx[0], ep = epoch;
	u32 flags = (u32)ctx[1];
	struct abi_counts *bank;
	struct task_struct *p;
	struct lock_cpu *c;

	if (!ep)
		return 0;
	bank = bank_get(ep);
	c = lock_cpu_enter();
	if (!bank || !c)
		return 0;
	p = current_task();
	if (spins(flags))
		spin_begin(c, bank, p, lock, flags);
	else
		sleep_begin(bank, p, lock, flags);
	lock_cpu_leave(c);
	return 0;
}

/* ---- the end of a wait ---- */

/* Whose wait was it? Those of interrupts are nobody's: a filter that asks about tasks leaves them
 * out. */
#define OF_NOBODY_WANTED 0
#define OF_TASK 1
#define OF_INTERRUPT 2

static __always_inline u32 whose_spin(struct abi_counts *bank, struct task_struct *p)
{
	struct stamp *st;

	if ((filter.asks_task || keyed.by != ABI_BY_NONE || filter_is_self(p)) &&
	    compat_context() == CONTEXT_IRQ)
		return filter_interrupt() ? OF_INTERRUPT : OF_NOBODY_WANTED;
	if (!filter_early(p))
		return OF_NOBODY_WANTED;
	if (!filter.asks_late)
		return OF_TASK;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return OF_NOBODY_WANTED;
	}
	return filter_late(st, p) ? OF_TASK : OF_NOBODY_WANTED;
}

/* An end whose beginning we have not: the first of a task may have begun before we did. */
static __always_inline void unmatched(struct abi_counts *bank, struct task_struct *p,
				      struct stamp *st)
{
	if (!filter_early(p))
		return;
	if (!st)
		st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return;
	}
	if (!filter_late(st, p))
		return;
	if (st->flags & STAMP_SEEN)
		bank->unpaired++;
	else
		bank->missed++;
	st->flags |= STAMP_SEEN;
}

static __always_inline void lock_slow(struct task_struct *p, const struct lock_wait *w, u64 now,
				      u64 ep, bool interrupt)
{
	u64 wait_ns = now > w->since ? now - w->since : 0;
	struct abi_key key = {};

	if (wait_ns < slower_ns)
		return;
	lock_key(&key, p, w, interrupt);
	held_slow_row(&key);
	held_slow_emit(w->lock, wait_ns, ep, interrupt);
}

SEC("tp_btf/contention_end")
int ws_lock_end(u64 *ctx)
{
	u64 lock = ctx[0], ep = epoch, now;
	struct lock_wait w = {};
	struct abi_counts *bank;
	struct stamp *st = NULL;
	struct task_struct *p;
	struct lock_cpu *c;
	u32 whose = OF_NOBODY_WANTED;

	if (!ep)
		return 0;
	now = bpf_ktime_get_ns();
	bank = bank_get(ep);
	c = lock_cpu_enter();
	if (!bank || !c)
		return 0;
	p = current_task();
	if (spin_end(c, bank, p, lock, &w)) {
		whose = whose_spin(bank, p);
	} else {
		st = stamp_get(p, false);
		if (!st || !sleep_end(bank, st, lock, &w))
			unmatched(bank, p, st);
		else if (filter_late(st, p))
			whose = OF_TASK;
	}
	if (why)
		holder_no_row();
	if (why && slower)
		held_slow_begin();
	if (whose != OF_NOBODY_WANTED)
		lock_account(ctx, c, bank, p, &w, now, ep, whose == OF_INTERRUPT);
	if (why && w.lock) {
		lock_holder_end(bank, p, &w, now, (s64)ctx[1], ep);
		lock_take(ctx);
	}
	if (slower && whose != OF_NOBODY_WANTED)
		lock_slow(p, &w, now, ep, whose == OF_INTERRUPT);
	lock_cpu_leave(c);
	return 0;
}

/* ---- run by user space at a report: who is still waiting? ---- */

SEC("iter/task")
int ws_lock_in_flight(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct abi_in_flight *out = flight_get();
	struct stamp *st;

	if (!p || !out || !filter_early(p))
		return 0;
	st = stamp_get(p, false);
	if (!st || !st->waits[0].lock || !filter_late(st, p))
		return 0;
	flight_add(out, p, st->waits[0].since);
	return 0;
}
