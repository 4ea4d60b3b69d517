// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why: the ledgers of all tasks in an object of their own, whose maps others share. Its programs at
 * events are loaded where the scheduler source, which does the same (sched.bpf.c), does not run.
 */
#include "common.bpf.h"
#include "compat.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile bool switch_has_state = true; /* as in sched.bpf.c */

#include "tasks_keep.bpf.h"

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
	l = ledger_by_tid(tid);
	if (l && l->task == (u64)p)
		return 0;
	if (!l)
		l = ledger_made(tid);
	if (!l || l->task == (u64)p)
		return 0;
	if (compat_on_cpu(p))
		does = ABI_DID_RUN;
	else if (p->on_rq && !compat_task_state(p))
		does = ABI_DID_QUEUE;
	ledger_begin(l, p, does, bpf_ktime_get_ns());
	return 0;
}
