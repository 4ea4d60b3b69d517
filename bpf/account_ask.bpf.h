/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: who asks what a task does has its ledger kept from then on. */
#ifndef WS_ACCOUNT_ASK_BPF_H
#define WS_ACCOUNT_ASK_BPF_H

/* Its switches are looked at from now on. Global, as what follows: the verifier takes each by itself, once; before
 * 6.8 also without --why, where its maps are not. */
__noinline u32 kept_mark(u32 tid)
{
	struct abi_kept *kept;

	if (!why)
		return 0;
	kept = kept_get();
	if (kept && !kept->tid[kept_at(tid)])
		kept->tid[kept_at(tid)] = 1;
	return 0;
}

/* What a task does at the moment. */
static __always_inline u32 task_does(struct task_struct *p)
{
	if (compat_task_runs(p))
		return ABI_DID_RUN;
	if (!compat_task_queued(p))
		return ABI_DID_BLOCK;
	return compat_task_throttled(p) ? ABI_DID_THROTTLE : ABI_DID_QUEUE;
}

/*
 * From `now` on its sums are kept. One store says so: where two CPUs come here at once, they mean the same. A
 * switch at just this moment may miss it, which the next one finds out (ledger_mends()).
 */
__noinline u32 ledger_keep(u32 tid, u64 now)
{
	struct task_struct *p;
	struct abi_ledger *l;

	if (!why)
		return 0;
	l = ledger_by_tid(tid);
	if (!l)
		return 0;
	p = (void *)l->task;
	l->left = compat_task_clock(p); /* before the look at what it does */
	barrier();
	l->does = task_does(p);
	l->delay_ns = compat_task_delay(p) + compat_task_waits(p, l->left);
	barrier();
	*(volatile u64 *)&l->seen_ns = now;
	barrier();
	return kept_mark(tid);
}

/* account_read(), which from now on has something to read. */
static __noinline bool account_ask(const struct abi_ledger *l, u64 now, struct abi_did *out)
{
	if (!l->seen_ns)
		ledger_keep(l->tid, now);
	return account_read(l, now, out);
}

#endif
