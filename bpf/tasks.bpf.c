// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why: the ledgers of tasks in an object of their own, whose maps others share. Its programs at
 * sched_switch and sched_waking are loaded where the scheduler source, which does the same
 * (sched.bpf.c), does not run.
 */
#include "lib/common.bpf.h"
#include "compat.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* ---- making ---- */

/* --why: every task has a ledger, from its beginning on, so that a thread's number leads to its
 * task. */

#include "lib/tasks_keep.bpf.h"

/* Tasks that found no room. */
volatile __u64 tasks_full;

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

/* Of several that want a place the hash takes one: 5.10 has no compare and exchange. */
static __always_inline u32 ledger_take(u32 tid)
{
	u32 at = tid & (ABI_TASK_PLACES - 1), place = PLACE | at;
	const u32 *has;

	if (!bpf_map_update_elem(&tasks_at, &place, &tid, BPF_NOEXIST))
		return at;
	has = bpf_map_lookup_elem(&tasks_at, &place);
	if (has && *has == tid) /* just taken by the same for the same thread, on another CPU */
		return at;
	if (bpf_map_pop_elem(&tasks_spare, &at))
		return ~0U;
	if (!bpf_map_update_elem(&tasks_at, &tid, &at, BPF_NOEXIST))
		return at;
	bpf_map_push_elem(&tasks_spare, &at, 0);
	has = bpf_map_lookup_elem(&tasks_at, &tid);
	return has ? *has : ~0U;
}

/* Out of line: there are not many. */
static __noinline u32 ledger_make(u32 tid)
{
	u32 at = ledger_take(tid);

	if (bpf_map_update_elem(&tasks, &at, &ledger_zero, BPF_ANY))
		tasks_full++;
	return at;
}

static __always_inline struct abi_ledger *ledger_made(u32 tid)
{
	u32 at = ledger_make(tid);

	return bpf_map_lookup_elem(&tasks, &at);
}

/* A task seen for the first time. */
static __always_inline void ledger_begin(struct abi_ledger *l, struct task_struct *p)
{
	l->task = 0;
	l->seen_ns = l->mark_ns = l->before_ns = 0;
	l->did = (struct abi_did){};
	l->does = l->did_last = ABI_DID_RUN;
	l->woken_ns = 0;
	l->held_ns = 0;
	l->tgid = (u32)p->tgid;
	l->waits = 0;
	vtid_add(l, p);
	l->task = (u64)p;
	l->tid = (u32)p->pid;
}

static __always_inline void ledger_of_new(struct task_struct *p)
{
	u32 tid = (u32)p->pid;
	struct abi_ledger *l;

	if (!tid)
		return;
	l = ledger_by_tid(tid);
	if (!l)
		l = ledger_made(tid);
	if (l && l->task != (u64)p)
		ledger_begin(l, p);
}

TRACEPOINT(sched_switch)
int ws_tasks_switch(u64 *ctx)
{
	tasks_switched(ctx, bpf_ktime_get_ns());
	return 0;
}

TRACEPOINT(sched_waking)
int ws_tasks_waking(u64 *ctx)
{
	tasks_woken(ctx, (void *)ctx[0], 0);
	return 0;
}

/* Also of what the kernel starts for itself, which no fork is reported of. */
TRACEPOINT(sched_wakeup_new)
int ws_tasks_new(u64 *ctx)
{
	ledger_of_new((void *)ctx[0]);
	return 0;
}

/* From a thread: it has its process's number now, and gives up its own. */
TRACEPOINT(sched_process_exec)
int ws_tasks_exec(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 was = (u32)ctx[1];
	struct abi_ledger *l;

	if (was == (u32)p->pid)
		return 0;
	l = ledger_by_tid(was);
	if (l && l->task == (u64)p)
		forget(l, was);
	ledger_of_new(p);
	return 0;
}

/* Run by user space once, when the others are attached: those that were there before. */
SEC("iter/task")
int ws_tasks_walk(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;

	if (p)
		ledger_of_new(p);
	return 0;
}
