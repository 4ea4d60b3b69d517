/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: where other sources ask for the ledgers of tasks, the scheduler's programs keep them, by
 * the same reading of the clock. That does not depend on its epoch or filters. */
#ifndef WS_SCHED_TASKS_BPF_H
#define WS_SCHED_TASKS_BPF_H

#ifdef WS_WHY
#include "tasks_keep.bpf.h"

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

#endif
