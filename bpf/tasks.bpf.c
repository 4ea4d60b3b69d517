// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why: the ledger of every task, kept in an object of its own, so that the scheduler's programs pay
 * nothing for it where nobody asks.
 *
 *	switched out		running until now; blocked, runnable or throttled from now on
 *	sched_waking		blocked until now, runnable from now on
 *	switched in		... until now; running from now on
 *
 * All moments are of one clock and follow each other, so a ledger's sums are the time since the task
 * was first seen. Each is written by the CPU that switches the task; others read it meanwhile
 * (account.bpf.h).
 */
#include "common.bpf.h"
#include "compat.bpf.h"
#include "account.bpf.h"
#include "chain_cpu.bpf.h"
#include "release_take.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile bool switch_has_state = true; /* as in sched.bpf.c */

/* Tasks that found no room. */
volatile __u64 tasks_full;

#define TASK_DEAD 0x80 /* include/linux/sched.h: the last switch-out */

/* ---- a task's own number ---- */

static __always_inline u32 vtid_of(struct task_struct *p)
{
	struct pid *pid = BPF_CORE_READ(p, thread_pid);
	u32 level, nr = 0;

	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	if (!level || bpf_probe_read_kernel(&nr, sizeof(nr),
					    (char *)pid + bpf_core_field_offset(pid->numbers) +
						    level * bpf_core_type_size(struct upid)))
		return 0;
	return nr; /* the first member */
}

static __always_inline void vtid_add(struct abi_ledger *l, struct task_struct *p)
{
	struct abi_vtid key = {.tgid = (u32)p->tgid};
	u32 tid = (u32)p->pid;

	l->vtid = key.vtid = vtid_of(p);
	if (l->vtid && bpf_map_update_elem(&vtids, &key, &tid, BPF_ANY))
		tasks_full++;
}

/* ---- ledgers ---- */

/* What a new one starts as: too large for the stack. */
const struct abi_ledger ledger_zero;

static __always_inline struct abi_ledger *ledger_make(struct task_struct *p, u32 tid)
{
	struct abi_ledger *l;

	bpf_map_update_elem(&tasks, &tid, &ledger_zero, BPF_NOEXIST);
	l = bpf_map_lookup_elem(&tasks, &tid);
	if (!l)
		tasks_full++;
	return l;
}

/* A task seen for the first time: from now on it does that. */
static __always_inline void ledger_begin(struct abi_ledger *l, struct task_struct *p, u32 does,
					 u64 now)
{
	l->task = 0;
	l->did = (struct abi_did){};
	l->did_last = ABI_DID_RUN;
	l->seen_ns = l->mark_ns = l->before_ns = now;
	l->woken_ns = 0;
	l->held_ns = 0;
	l->does = does;
	l->tgid = (u32)p->tgid;
	l->waits = 0;
	vtid_add(l, p);
	l->task = (u64)p;
}

static __always_inline void ledger_turn(struct abi_ledger *l, u32 from, u64 since, u32 to, u64 now)
{
	u64 ns = now > since ? now - since : 0;

	did_add(&l->did, from, ns);
	l->before_ns = since;
	l->did_last = from;
	l->mark_ns = since + ns;
	l->does = to;
}

/* It came to a CPU at `now`. */
static __always_inline void ledger_runs(struct abi_ledger *l, struct task_struct *p, u64 now)
{
	u32 does = l->does;
	u64 woken, queued;

	if (does != ABI_DID_BLOCK) {
		ledger_turn(l, does, l->mark_ns, ABI_DID_RUN, now);
		return;
	}
	woken = l->woken_ns;
	if (!woken) { /* while it was still on its way out: what the kernel recorded */
		queued = compat_queued_for(p);
		woken = now > l->mark_ns + queued ? now - queued : l->mark_ns;
	}
	if (woken > l->mark_ns)
		ledger_turn(l, ABI_DID_BLOCK, l->mark_ns, ABI_DID_QUEUE, woken);
	ledger_turn(l, ABI_DID_QUEUE, l->mark_ns, ABI_DID_RUN, now);
}

static __always_inline void forget(const struct abi_ledger *l, u32 tid)
{
	struct abi_vtid key;

	if (l && l->vtid) {
		key = (struct abi_vtid){.tgid = l->tgid, .vtid = l->vtid};
		bpf_map_delete_elem(&vtids, &key);
	}
	bpf_map_delete_elem(&tasks, &tid);
}

static __always_inline void leaves(struct task_struct *p, bool runnable, bool dead, u64 now)
{
	u32 tid = (u32)p->pid, does = ABI_DID_BLOCK;
	struct abi_ledger *l;

	if (!tid)
		return;
	l = bpf_map_lookup_elem(&tasks, &tid);
	if (dead) {
		forget(l, tid);
		return;
	}
	if (!l)
		l = ledger_make(p, tid);
	if (!l)
		return;
	if (runnable)
		does = compat_throttled(p) ? ABI_DID_THROTTLE : ABI_DID_QUEUE;
	if (l->task != (u64)p) {
		ledger_begin(l, p, does, now);
		return;
	}
	if (l->does != ABI_DID_RUN) /* a host may hide switches (sched_record.bpf.h) */
		ledger_runs(l, p, now - compat_ran_for(p));
	l->woken_ns = 0;
	ledger_turn(l, ABI_DID_RUN, l->mark_ns, does, now);
}

static __always_inline void comes(struct task_struct *p, u64 now)
{
	u32 tid = (u32)p->pid;
	struct abi_ledger *l;

	if (!tid)
		return;
	l = bpf_map_lookup_elem(&tasks, &tid);
	if (!l)
		l = ledger_make(p, tid);
	if (!l)
		return;
	if (l->task != (u64)p)
		ledger_begin(l, p, ABI_DID_RUN, now);
	else
		ledger_runs(l, p, now);
	if (chains && l->held_ns && l->did_last == ABI_DID_QUEUE && l->mark_ns > l->before_ns)
		chain_queued(p, l->before_ns, now);
}

TRACEPOINT(sched_switch)
int ws_tasks_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool preempted = ctx[0] & 1; /* whatever its state */
	u64 now = bpf_ktime_get_ns();
	u32 state;

	state = switch_has_state ? (u32)((volatile u64 *)ctx)[3] : (u32)compat_task_state(prev);
	leaves(prev, preempted || !state, state & TASK_DEAD && !preempted, now);
	comes(next, now);
	if (chains)
		chain_stay(next, now);
	return 0;
}

/* Of one that waits for a lock or futex: who woke it, and what that one had done by then. */
static __always_inline void waker_note(struct abi_ledger *l, u64 now)
{
	u32 waker = (u32)bpf_get_current_pid_tgid();
	struct abi_ledger *w = bpf_map_lookup_elem(&tasks, &waker);
	struct abi_did did = {};

	if (!w || !account_read(w, now, &did))
		waker = 0;
	l->waker = waker;
	l->waker_did = did;
	l->waker_ns = now;
}

TRACEPOINT(sched_waking)
int ws_tasks_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 tid = (u32)p->pid;
	struct abi_ledger *l = bpf_map_lookup_elem(&tasks, &tid);
	u64 now;

	if (!l || l->task != (u64)p)
		return 0;
	if (!l->waits && (l->does != ABI_DID_BLOCK || l->woken_ns))
		return 0;
	now = bpf_ktime_get_ns();
	if (l->waits) {
		waker_note(l, now);
		release_take(ctx, l, tid, now);
	}
	if (l->does == ABI_DID_BLOCK && !l->woken_ns)
		l->woken_ns = now;
	return 0;
}

/* Run by user space once, when the others are attached: those that have not been switched since. */
SEC("iter/task")
int ws_tasks_walk(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	u32 tid, does = ABI_DID_BLOCK;
	struct abi_ledger *l;

	if (!p || !p->pid)
		return 0;
	tid = (u32)p->pid;
	l = bpf_map_lookup_elem(&tasks, &tid);
	if (l && l->task == (u64)p)
		return 0;
	if (!l)
		l = ledger_make(p, tid);
	if (!l || l->task == (u64)p)
		return 0;
	if (compat_on_cpu(p))
		does = ABI_DID_RUN;
	else if (p->on_rq && !compat_task_state(p))
		does = ABI_DID_QUEUE;
	ledger_begin(l, p, does, bpf_ktime_get_ns());
	return 0;
}
