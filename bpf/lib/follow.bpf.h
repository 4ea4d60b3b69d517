/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of every source that filters by process: --follow, COMMAND, and stamps that outlive
 * tasks. */
#ifndef WS_FOLLOW_BPF_H
#define WS_FOLLOW_BPF_H

#include "filter.bpf.h"

/* What an object does with the stamp of a task that becomes a target. */
#ifndef STAMP_JOINS
#define STAMP_JOINS(st, p) ((void)0)
#endif

/* A hook: drops what else an object keeps of a task that is freed (ledger.bpf.h). */
#ifndef TASK_FREED
#define TASK_FREED(p) ((void)p)
#endif

static __always_inline void follow_task(struct task_struct *p)
{
	struct stamp *st = stamp_get(p, true);
	struct abi_counts *bank;

	if (st) {
		st->flags |= STAMP_FOLLOWED;
		STAMP_JOINS(st, p);
		return;
	}
	bank = bank_get(epoch);
	if (bank)
		bank->store_full++;
}

/* Children of a followed task join before they run; without --follow its threads do. */
static __always_inline void join_parent(struct task_struct *parent, struct task_struct *child)
{
	/* It is of a dead one at this address, whose end nobody reported, and which may have been
	 * followed. */
	STAMP_SLOT_FREE(child);
	if (filter_early(parent) &&
	    (filter.follow || TASK_READ(child, tgid) == TASK_READ(parent, tgid)))
		follow_task(child);
}

/*
 * The kernel makes threads of a process by itself, and reports no fork of them: workers of io_uring
 * (3bfe6106693b "io-wq: fork worker threads from original task", 5.12) and of vhost (6e890c5d5021
 * "vhost: use vhost_tasks for worker threads", 6.4). This tracepoint has them too; their creator is
 * the current task.
 */
TRACEPOINT(task_newtask)
int ws_newtask(u64 *ctx)
{
#ifdef WS_RAW_TP
	struct task_struct *creator = (void *)bpf_get_current_task();
#else
	struct task_struct *creator = bpf_get_current_task_btf();
#endif

	join_parent(creator, (void *)ctx[0]);
	return 0;
}

/* Where there is no bpf_get_current_task_btf (before 5.11), nor are there such threads. */
TRACEPOINT(sched_process_fork)
int ws_fork(u64 *ctx)
{
	join_parent((void *)ctx[0], (void *)ctx[1]);
	return 0;
}

/* COMMAND counts from its exec on: until then it is a copy of us that waits to be let go. */
TRACEPOINT(sched_process_exec)
int ws_exec(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if ((u32)TASK_READ(p, tgid) == filter.command_tgid)
		follow_task(p);
	return 0;
}

/* Only with the hash store: task storage goes with its task. */
TRACEPOINT(sched_process_free)
int ws_free(u64 *ctx)
{
	stamp_delete((void *)ctx[0]);
	TASK_FREED((void *)ctx[0]);
	return 0;
}

#endif
