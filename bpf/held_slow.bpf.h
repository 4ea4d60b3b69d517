/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower of locks and futexes: one record per wait above the limit. */
#ifndef WS_HELD_SLOW_BPF_H
#define WS_HELD_SLOW_BPF_H

#include "abi_held.h"
#include "slow_ring.bpf.h"

/* The wait that ends on this CPU; too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_held_slow);
} slow_works SEC(".maps");

static __always_inline struct abi_held_slow *held_slow_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&slow_works, &zero);
}

/* Before a wait is taken apart, which not every one is. */
static __noinline u32 held_slow_begin(void)
{
	struct abi_held_slow *s = held_slow_get();

	if (!s)
		return 0;
	s->n = 0;
	s->released_ns = 0;
	return 0;
}

/* `tid` held it from `from` to `to`, and did that meanwhile. */
static __noinline u32 held_slow_piece(u64 from, u64 to, const struct abi_did *did, u32 tid)
{
	struct abi_held_slow *s = held_slow_get();
	const struct abi_ledger *l = ledger_by_tid(tid);
	u64 at, lim = ABI_HELD_PIECES;
	struct abi_held_piece *p;
	struct task_struct *task;

	if (!s || s->n >= lim)
		return 0;
	at = s->n;
	CLAMP_INDEX(at, lim);
	p = &s->pieces[at];
	s->n = at + 1;
	p->from_ns = from;
	p->to_ns = to;
	p->did = *did;
	p->tid = tid;
	p->pid = 0;
	__builtin_memset(p->comm, 0, sizeof(p->comm));
	if (!l) /* readers, or it has ended */
		return 0;
	task = (void *)l->task;
	bpf_core_read(p->comm, sizeof(p->comm), &task->comm);
	p->pid = l->tgid;
	return 0;
}

static __always_inline void held_slow_released(u64 ns)
{
	struct abi_held_slow *s = held_slow_get();

	if (s)
		s->released_ns = ns;
}

/* `p` NULL: an interrupt waited. */
static __noinline u32 held_slow_emit(struct abi_counts *bank, struct task_struct *p,
				     const struct abi_key *key, u64 addr, u64 wait_ns)
{
	struct abi_held_slow *s = held_slow_get();
	u64 size = offsetof(struct abi_held_slow, pieces);

	if (!s || !bank || !key)
		return 0;
	s->key = *key;
	s->addr = addr;
	s->end_ns = bpf_ktime_get_ns();
	s->wait_ns = wait_ns;
	s->cgroup_id = p ? task_cgroup_id(p) : 0;
	s->pid = p ? TASK_READ(p, tgid) : 0;
	s->tid = p ? TASK_READ(p, pid) : 0;
	s->cpu = bpf_get_smp_processor_id();
	s->pad = 0;
	if (p)
		bpf_core_read(s->comm, sizeof(s->comm), &p->comm);
	else
		__builtin_memcpy(s->comm, "(interrupts)", 13);
	if (!why)
		s->n = 0;
	if (why)
		size = sizeof(*s);
	if (bpf_ringbuf_output(&slow_events, s, size, slow_wakeup()))
		bank->slow_lost++;
	return 0;
}

#endif
