/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of every source that filters by process: --follow, COMMAND, and stamps that outlive
 * tasks. */
#ifndef WS_FOLLOW_BPF_H
#define WS_FOLLOW_BPF_H

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
TRACEPOINT(sched_process_fork)
int ws_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];

	/* It is of a dead one at this address, whose end nobody reported, and which may have been followed. */
	STAMP_SLOT_FREE(child);
	if (filter_early(parent) &&
	    (filter.follow || TASK_READ(child, tgid) == TASK_READ(parent, tgid)))
		follow_task(child);
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
#ifdef WS_LEDGER_BPF_H
	if (keeps_ledgers)
		ledger_delete((void *)ctx[0]);
#endif
	return 0;
}

#endif
