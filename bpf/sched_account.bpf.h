/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A wait for a CPU is over: what it counts for. */
#ifndef WS_SCHED_ACCOUNT_BPF_H
#define WS_SCHED_ACCOUNT_BPF_H

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
 * All that is known of a wait is known. It goes through memory that is the CPU's own, and comes out as numbers
 * that the verifier never saw: else what it learns of one multiplies with what it learns of the next, past its
 * limit of a million instructions.
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

#endif
