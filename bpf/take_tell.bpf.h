/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: where in its code a holder took the lock (take.bpf.h). The stack is that of its own wait, taken when
 * that ended, once for each lock and thread, then 1 in stack_every; it is told when a wait of another turns out
 * to have been for it.
 */
#ifndef WS_TAKE_TELL_BPF_H
#define WS_TAKE_TELL_BPF_H

#include "release_tell.bpf.h"

#define TAKES_A_SECOND 64 /* stacks on a CPU: the lock is held meanwhile */

/* Where the stack of the current task goes, which has taken a lock; NULL: none is wanted. */
static __always_inline struct abi_take *take_wanted(void)
{
	struct holder_work *w = holder_work_get();
	struct abi_take *t;

	if (!w || !w->took)
		return NULL;
	t = take_at(w->took);
	if (!t || t->tag != w->took || (t->told && (!stack_every || t->takes % stack_every)))
		return NULL;
	return stack_allowed(&w->stacks, w->now, TAKES_A_SECOND) ? t : NULL;
}

/* Into `s`. false: another's lies there by now. */
static __always_inline bool take_copy(struct abi_contend_sample *s, const struct abi_take *t,
				      const struct holder_work *w)
{
	s->nips = t->nips;
	__builtin_memcpy(s->ips, t->ips, sizeof(s->ips));
	barrier();
	return *(volatile u64 *)&t->tag == w->taken && t->since == w->taken_at && s->nips;
}

/* Of a holder of the wait that has been taken apart last on this CPU. Global: the verifier takes it by itself,
 * once. */
__noinline u32 take_tell(void)
{
	struct abi_contend_sample *s;
	const struct holder_work *w;
	struct abi_take *t;

	if (!why)
		return 0;
	w = holder_work_get();
	if (!w || !w->taker)
		return 0;
	t = take_at(w->taken);
	if (!t)
		return 0;
	s = bpf_ringbuf_reserve(&samples, sizeof(*s), 0);
	if (!s)
		return 0; /* with the next wait for it */
	holder_sample(s, w, w->taker, ABI_ROLE_TOOK);
	if (!take_copy(s, t, w)) {
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 0;
	}
	t->told = 1;
	t->nips = 0;
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
	return 0;
}

#endif
