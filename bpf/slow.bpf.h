/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower: one record per wait above the limit, through the ring buffer. */
#ifndef WS_SLOW_BPF_H
#define WS_SLOW_BPF_H

#include "slow_ring.bpf.h"

/* Who wakes it is known here alone, and only if no interrupt came upon `current`. */
static __always_inline void slow_note_waker(struct stamp *st)
{
	u32 context;
	u64 id;

	if (!SLOWER)
		return;
	context = compat_context();
	if (context != CONTEXT_TASK) {
		st->waker = context == CONTEXT_IRQ ? ABI_WAKER_IRQ : ABI_WAKER_UNKNOWN;
		return;
	}
	id = bpf_get_current_pid_tgid();
	st->waker = ABI_WAKER_TASK;
	st->waker_pid = id >> 32;
	st->waker_tid = (u32)id;
	bpf_get_current_comm(st->waker_comm, sizeof(st->waker_comm));
}

static __always_inline void slow_emit(struct abi_counts *bank, struct task_struct *p,
				      struct task_struct *prev, const struct stamp *st,
				      const struct wait *w)
{
	struct abi_slow *s = bpf_ringbuf_reserve(&slow_events, WHY_SLOW_BYTES, 0);

	if (!s) {
		bank->slow_lost++;
		return;
	}
	s->t0_ns = w->t0;
	s->t1_ns = w->t1;
	s->t2_ns = w->t2;
	s->cgroup_id = task_cgroup_id(p);
	s->pid = TASK_READ(p, tgid);
	s->tid = TASK_READ(p, pid);
	s->prev_pid = prev ? TASK_READ(prev, tgid) : 0;
	s->prev_tid = prev ? TASK_READ(prev, pid) : 0;
	s->prev_known = prev != NULL;
	s->pad = 0;
	s->cpu = bpf_get_smp_processor_id();
	s->last_cpu = st->last_cpu;
	s->kind = w->kind;
	s->waker = w->t0 ? st->waker : ABI_WAKER_NONE;
	s->waker_pid = st->waker_pid;
	s->waker_tid = st->waker_tid;
	TASK_COMM(s->comm, p);
	if (prev)
		TASK_COMM(s->prev_comm, prev);
	else
		__builtin_memset(s->prev_comm, 0, sizeof(s->prev_comm));
	__builtin_memcpy(s->waker_comm, st->waker_comm, sizeof(s->waker_comm));
	if (WHY)
		why_slow(s);
	bpf_ringbuf_submit(s, slow_wakeup());
}

#endif
