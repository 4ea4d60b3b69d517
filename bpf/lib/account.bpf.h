/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledgers of all tasks (--why), by thread number: found, and read while others write them. */
#ifndef WS_ACCOUNT_BPF_H
#define WS_ACCOUNT_BPF_H

#include "compat.bpf.h"
#include "abi_holder.h"

/*
 * A thread's lies at its number modulo, where nearly all have a place to themselves: an array is
 * looked up in line, for a tenth of what a hash takes. The rest, behind these places, is for
 * threads whose place another has.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_TASK_PLACES);
	__type(key, u32);
	__type(value, struct abi_ledger);
} tasks SEC(".maps");

/* Thread number -> where its ledger is, of those that are not at their place; PLACE | place ->
 * whose. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} tasks_at SEC(".maps");

#define PLACE (1U << 31) /* no thread number is that large */

/* Of tasks in pid namespaces: the number that we know them by. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct abi_vtid);
	__type(value, u32);
} vtids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_kept);
} tasks_kept SEC(".maps");

static __always_inline struct abi_kept *kept_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&tasks_kept, &zero);
}

static __always_inline u32 kept_at(u32 tid)
{
	return tid & (ABI_KEPT - 1);
}

/* One word of stack, and one kind of pointer, whichever way it was found: what the verifier has to
 * follow grows little. */
static __always_inline struct abi_ledger *ledger_by_tid(u32 tid)
{
	u32 at = tid & (ABI_TASK_PLACES - 1);
	const struct abi_ledger *l = bpf_map_lookup_elem(&tasks, &at);
	const u32 *elsewhere;

	if (!l || l->tid != tid) {
		at = tid;
		elsewhere = bpf_map_lookup_elem(&tasks_at, &at);
		at = elsewhere ? *elsewhere : ~0U;
	}
	return bpf_map_lookup_elem(&tasks, &at);
}

/* What it is called, and its process. false: it has ended, nothing is written. */
static __always_inline bool thread_name(u32 tid, char comm[ABI_COMM_LEN], u32 *pid)
{
	const struct abi_ledger *l = ledger_by_tid(tid);
	struct task_struct *p;

	if (!l)
		return false;
	p = (void *)l->task;
	bpf_core_read(comm, ABI_COMM_LEN, &p->comm);
	*pid = l->tgid;
	return true;
}

static __always_inline void did_add(struct abi_did *d, u32 does, u64 ns)
{
	if (does == ABI_DID_RUN)
		d->ns[ABI_DID_RUN] += ns;
	else if (does == ABI_DID_QUEUE)
		d->ns[ABI_DID_QUEUE] += ns;
	else if (does == ABI_DID_THROTTLE)
		d->ns[ABI_DID_THROTTLE] += ns;
	else
		d->ns[ABI_DID_BLOCK] += ns;
}

/* Since when it does what it does. */
static __always_inline u64 ledger_mark(const volatile struct abi_ledger *l)
{
	u64 mark = l->mark_ns;

	return mark ? mark : l->seen_ns;
}

/*
 * When did the task get a CPU again after its switch-out? `mark` is the time of the switch-out by
 * CLOCK_MONOTONIC, `left` the same moment by the clock of the task's run queue. Returns:
 * - that time, if the kernel's record shows that the task runs now;
 * - `now`, if the task still waits or sleeps;
 * - 0, if the task has run and is off its CPU again: both switches were hidden from us.
 *
 * A host may hide switches (sched.bpf.c), and a reader of the ledger may look between a switch and
 * our program for it. `queued`: the time at which the task was queued, less the kernel's sum of its
 * waits at that time; with the sum as it is now added, it is the time of the switch-in. 0: the task
 * sleeps and no wakeup was seen, or it is out of quota, which is not in that sum.
 *
 * A global function, so that the verifier checks it once instead of at every call.
 */
__noinline u64 off_until(u64 task, u64 left, u64 queued, u64 mark, u64 now)
{
	struct task_struct *p = (void *)task;
	u64 arrived = compat_task_arrived(p), came;

	if (arrived <= left)
		return now;
	if (!compat_task_runs(p))
		return 0;
	came = queued ? queued + compat_task_delay(p) : mark + arrived - left;
	return came < now ? came : now;
}

/* From `mark` to `now` it was off its CPU, but for what was not seen. false: that is not known. */
static __always_inline bool account_off(const volatile struct abi_ledger *l, u32 does, u64 mark,
					u64 woken, u64 now, struct abi_did *out)
{
	u64 until, queued = 0;

	if (does == ABI_DID_BLOCK && woken >= mark && woken <= now) {
		did_add(out, ABI_DID_BLOCK, woken - mark);
		mark = woken;
		does = ABI_DID_QUEUE;
	}
	until = off_until(l->task, l->left, does == ABI_DID_QUEUE ? mark - l->delay_ns : 0, mark,
			  now);
	if (until < mark)
		return false;
	if (does == ABI_DID_BLOCK && until < now)
		queued = compat_task_delay((void *)l->task) - l->delay_ns;
	if (queued > until - mark)
		queued = until - mark;
	did_add(out, does, until - mark - queued);
	out->ns[ABI_DID_QUEUE] += queued;
	out->ns[ABI_DID_RUN] += now - until;
	return true;
}

/* false: it is being written. */
static __always_inline bool account_try(const volatile struct abi_ledger *l, u64 now,
					struct abi_did *out)
{
	u64 mark = ledger_mark(l), woken = l->woken_ns, seen = l->seen_ns;
	u32 does = l->does;

	out->ns[0] = l->did.ns[0];
	out->ns[1] = l->did.ns[1];
	out->ns[2] = l->did.ns[2];
	out->ns[3] = l->did.ns[3];
	if (out->ns[0] + out->ns[1] + out->ns[2] + out->ns[3] != mark - seen)
		return false;
	if (now < mark) { /* it has turned to something else since */
		if (now < l->before_ns || now < seen)
			return false;
		did_add(out, l->did_last, now - mark);
		return true;
	}
	if (does != ABI_DID_RUN)
		return account_off(l, does, mark, woken, now, out);
	did_add(out, ABI_DID_RUN, now - mark);
	return true;
}

/*
 * The sums at `now`, which was a moment ago. false: they are being written on another CPU, or the
 * task has done more than one other thing since, or what it did is not known.
 */
static __noinline bool account_read(const struct abi_ledger *l, u64 now, struct abi_did *out)
{
	return account_try(l, now, out) || account_try(l, now, out);
}

#endif
