// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scheduler waits. A task's stamps live with the task; the three moments are
 *
 *	T0 sched_waking		by the waker, before a CPU is chosen
 *	T1 sched_wakeup[_new]	queued, or sched_switch: switched out while runnable
 *	T2 sched_switch		switched in: stamps are consumed, samples taken, on this CPU
 *
 * T0 may be taken while the task is still on its way out: the waker sees a state that the switch-out
 * has set. So a switch-out that blocks keeps T0. A wakeup that finds the task on a CPU was no wait,
 * and T1 is where that can be told: a task that truly slept is off its CPU before it is queued.
 */
#include "common.bpf.h"
#include "compat.bpf.h"
#include "filter.bpf.h"
#include "keyed.bpf.h"
#include "slow.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* sched_switch passes prev_state (fa2c3254d7cf, 5.18); user space counts the prototype's arguments. */
const volatile bool switch_has_state = true;

static __always_inline struct abi_counts *counting(u64 *ep)
{
	struct abi_counts *bank;

	*ep = epoch;
	if (!*ep)
		return NULL;
	bank = bank_get(*ep);
	if (bank)
		bank->events++;
	return bank;
}

SEC("tp_btf/sched_waking")
int ws_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct abi_counts *bank;
	struct stamp *st;
	u64 ep;

	bank = counting(&ep);
	if (!bank || !filter_early(p))
		return 0;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return 0;
	}
	if (st->t1) /* queued already: its clock runs */
		return 0;
	st->t0 = bpf_ktime_get_ns();
	slow_note_waker(st);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int ws_wakeup(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct abi_counts *bank;
	struct stamp *st;
	u64 ep;

	bank = counting(&ep);
	if (!bank || !filter_early(p))
		return 0;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return 0;
	}
	if (compat_on_cpu(p)) { /* it never left: no wait, no T0 */
		st->t0 = 0;
		return 0;
	}
	if (st->t1)
		return 0;
	st->t1 = bpf_ktime_get_ns();
	st->kind = ABI_WAIT_WAKEUP;
	if (!st->t0) {
		if (st->flags & STAMP_SEEN)
			bank->unpaired++;
		else
			bank->missed++;
	}
	st->flags |= STAMP_SEEN;
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int ws_wakeup_new(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct abi_counts *bank;
	struct stamp *st;
	u64 ep;

	bank = counting(&ep);
	if (!bank || !filter_early(p))
		return 0;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return 0;
	}
	st->t0 = 0;
	st->t1 = bpf_ktime_get_ns();
	st->kind = ABI_WAIT_NEW;
	st->flags |= STAMP_SEEN;
	st->last_cpu = ~0U;
	return 0;
}

static __always_inline void switch_out(struct abi_counts *bank, struct task_struct *p, bool runnable,
				       u64 now)
{
	struct stamp *st;

	if (!p->pid || !filter_early(p))
		return;
	st = stamp_get(p, runnable);
	if (!st) {
		if (runnable)
			bank->store_full++;
		return;
	}
	if (slower)
		st->last_cpu = bpf_get_smp_processor_id();
	/*
	 * It ran, yet its wait has not ended: the kernel did not fire this tracepoint when it was switched
	 * in (seen in a paravirtual 6.18 guest on exits from idle). The wait's length is lost, not the fact.
	 */
	if (st->t1 && filter_late(st, p))
		bank->unpaired++;
	if (!runnable) {
		st->t1 = 0;
		return;
	}
	st->t0 = 0;
	st->t1 = now;
	st->kind = compat_throttled(p) ? ABI_WAIT_THROTTLE : ABI_WAIT_PREEMPT;
	st->flags |= STAMP_SEEN;
}

static __always_inline void account(struct abi_counts *bank, struct wait *w, u64 ep)
{
	u32 m = w->kind == ABI_WAIT_PREEMPT ? ABI_PREEMPT_WAIT : ABI_THROTTLE_WAIT;

	w->queued_ns = elapsed(bank, w->t2, w->t1);
	w->wait_ns = w->queued_ns;
	if (w->kind == ABI_WAIT_WAKEUP || w->kind == ABI_WAIT_NEW) {
		m = ABI_QUEUE_TO_RUN;
		if (w->t0) {
			w->to_queue_ns = elapsed(bank, w->t1, w->t0);
			w->wait_ns = w->to_queue_ns + w->queued_ns;
			hist_add(bank, ABI_WAKEUP_LATENCY, w->wait_ns, ep);
			hist_add(bank, ABI_WAKE_TO_QUEUE, w->to_queue_ns, ep);
		}
	}
	hist_add(bank, m, w->queued_ns, ep);
}

static __always_inline void switch_in(struct abi_counts *bank, struct task_struct *p,
				      struct task_struct *prev, u64 now, u64 ep)
{
	struct wait w = { .t2 = now };
	struct stamp *st;

	if (!p->pid || !filter_early(p))
		return;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return;
	}
	w.t0 = st->t0;
	w.t1 = st->t1;
	w.kind = st->kind;
	st->t0 = 0;
	st->t1 = 0;
	if (!w.t1) {
		if (filter_late(st, p)) {
			if (st->flags & STAMP_SEEN)
				bank->unpaired++;
			else
				bank->missed++;
		}
		st->flags |= STAMP_SEEN;
		return;
	}
	if (!filter_late(st, p))
		return;
	account(bank, &w, ep);
	if (by != ABI_BY_NONE)
		keyed_add(bank, p, &w, ep);
	if (slower && w.wait_ns >= slower_ns)
		slow_emit(bank, p, prev, st, &w);
}

SEC("tp_btf/sched_switch")
int ws_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool runnable = ctx[0] & 1; /* preempted, whatever its state */
	struct abi_counts *bank;
	u64 now, ep;

	bank = counting(&ep);
	if (!bank)
		return 0;
	now = bpf_ktime_get_ns();
	if (!runnable) {
		if (switch_has_state)
			runnable = (u32)((volatile u64 *)ctx)[3] == 0;
		else
			runnable = compat_task_state(prev) == 0;
	}
	switch_out(bank, prev, runnable, now);
	switch_in(bank, next, prev, now, ep);
	return 0;
}

static __always_inline void follow_task(struct task_struct *p)
{
	struct stamp *st = stamp_get(p, true);
	struct abi_counts *bank;

	if (st) {
		st->flags |= STAMP_FOLLOWED;
		return;
	}
	bank = bank_get(epoch);
	if (bank)
		bank->store_full++;
}

/* Children of a followed task join before they run; without --follow its threads do. */
SEC("tp_btf/sched_process_fork")
int ws_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];

	if (filter_early(parent) && (follow || child->tgid == parent->tgid))
		follow_task(child);
	return 0;
}

/* COMMAND counts from its exec on: until then it is a copy of us that waits to be let go. */
SEC("tp_btf/sched_process_exec")
int ws_exec(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if ((u32)p->tgid == command_tgid)
		follow_task(p);
	return 0;
}

/* Only with the hash store: task storage goes with its task. */
SEC("tp_btf/sched_process_free")
int ws_free(u64 *ctx)
{
	stamp_delete((void *)ctx[0]);
	return 0;
}

/* Run by user space at a report: who is still waiting? */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_in_flight);
} in_flight SEC(".maps");

static __always_inline bool queued_unseen(const struct task_struct *p)
{
	return p->on_rq && !compat_on_cpu(p) && !compat_task_state(p);
}

SEC("iter/task")
int ws_in_flight(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct abi_in_flight *out;
	struct stamp *st;
	u64 since, now, wait;
	u32 key = 0;

	out = bpf_map_lookup_elem(&in_flight, &key);
	if (!p || !out || !p->pid || !filter_early(p))
		return 0;
	st = stamp_get(p, false);
	if (!st || !(st->flags & STAMP_SEEN)) {
		if (queued_unseen(p))
			out->unseen++;
		return 0;
	}
	if (!st->t1 || !filter_late(st, p))
		return 0;
	now = bpf_ktime_get_ns();
	since = st->t0 ? st->t0 : st->t1;
	wait = now > since ? now - since : 0;
	out->count++;
	if (wait >= out->longest_ns) {
		out->longest_ns = wait;
		out->tid = p->pid;
		out->pid = p->tgid;
		__builtin_memcpy(out->comm, p->comm, sizeof(out->comm));
	}
	return 0;
}
