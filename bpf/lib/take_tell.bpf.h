/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: where in its code a holder took the lock (release.bpf.h). The stack is that of its own
 * wait, taken when that ended, once for each lock and thread, then 1 in stack_every; it is told
 * when a wait of another turns out to have been for it.
 */
#ifndef WS_TAKE_TELL_BPF_H
#define WS_TAKE_TELL_BPF_H

#include "holder.bpf.h"

/* Stacks on their way to user space. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} samples SEC(".maps");

/* After the first stack of an entry, take one for each so many waits; 0: no more. */
const volatile __u32 stack_every;
const volatile __u64 ring_wake_bytes; /* unread bytes in `samples` at which user space is woken */

/* ---- releases ---- */

/* --why: a wait is over, and the stack of who gave the lock up is told (release.bpf.h). */

/* Into `s`, which is of this wait. false: another's stack lies there. */
static __always_inline bool release_copy(struct abi_contend_sample *s, u32 waiter, u64 woken_ns)
{
	const struct abi_release *r = release_of(waiter);

	if (!r || *(volatile u64 *)&r->woken_ns != woken_ns || r->waiter != waiter)
		return false;
	s->nips = r->nips;
	__builtin_memcpy(s->ips, r->ips, sizeof(s->ips));
	barrier();
	return *(volatile u64 *)&r->woken_ns == woken_ns && r->waiter == waiter && s->nips;
}

static __always_inline void release_mark(const struct holder_work *w)
{
	u64 tag = lock_thread_tag(w->wait.lock, w->wait.space, w->releaser);
	struct abi_released *seen = released_of(tag);

	if (!seen || seen->tag == tag)
		return;
	seen->wakes = 0;
	seen->tag = tag;
}

/* Of thread `tid`, a holder that a wait of the row was for. */
static __always_inline void holder_sample(struct abi_contend_sample *s, const struct holder_work *w,
					  u32 tid, u32 role)
{
	s->key = w->key.row;
	s->object = 0;
	s->type = 0;
	s->tid = tid;
	s->pid = 0;
	s->role = role;
	s->execs = 0;
	s->born = 0;
	s->space = 0;
	__builtin_memset(s->process, 0, sizeof(s->process));
	__builtin_memset(s->comm, 0, sizeof(s->comm));
	thread_name(s->tid, s->comm, &s->pid);
}

/* Sends the stack of who released the lock, for the wait that was attributed last on this CPU.
 * A global function, so that the verifier checks it once instead of at every call. */
__noinline u32 release_tell(void)
{
	u32 waiter = (u32)bpf_get_current_pid_tgid();
	struct abi_contend_sample *s;
	const struct abi_release *r;
	const struct holder_work *w;

	if (!why)
		return 0;
	w = holder_work_get();
	r = release_of(waiter);
	if (!w || !r || !w->releaser || r->woken_ns != w->released_at || r->waiter != waiter)
		return 0;
	s = bpf_ringbuf_reserve(&samples, sizeof(*s), 0);
	if (!s)
		return 0; /* it is taken again, at the next wake */
	holder_sample(s, w, w->releaser, ABI_ROLE_RELEASED);
	if (!release_copy(s, waiter, w->released_at)) {
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 0;
	}
	release_mark(w);
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
	return 0;
}

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

/* Of a holder of the wait that has been taken apart last on this CPU. Global: the verifier takes it
 * by itself, once. */
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
