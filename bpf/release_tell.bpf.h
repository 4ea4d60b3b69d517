/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: a wait is over, and the stack of who gave the lock up is told (release.bpf.h). */
#ifndef WS_RELEASE_TELL_BPF_H
#define WS_RELEASE_TELL_BPF_H

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
	s->files = 0;
	s->space = 0;
	__builtin_memset(s->process, 0, sizeof(s->process));
	__builtin_memset(s->comm, 0, sizeof(s->comm));
	thread_name(s->tid, s->comm, &s->pid);
}

/* Of the wait that has been taken apart last on this CPU. Global: the verifier takes it by itself, once. */
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

#endif
