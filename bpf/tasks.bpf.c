// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why: the ledgers of tasks in an object of their own, whose maps others share. Its programs at sched_switch
 * and sched_waking are loaded where the scheduler source, which does the same (sched.bpf.c), does not run.
 */
#include "common.bpf.h"
#include "compat.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile bool switch_has_state = true; /* as in sched.bpf.c */

#include "tasks_make.bpf.h"

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
