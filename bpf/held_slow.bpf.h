/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower of locks and futexes: one record per wait above the limit. */
#ifndef WS_HELD_SLOW_BPF_H
#define WS_HELD_SLOW_BPF_H

#include "chain.bpf.h"
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

/*
 * Before a wait is taken apart, which not every one is. Global, as what follows: the verifier takes each
 * by itself, before 6.8 also those that are never called, and before 5.12 without pointers. So each first
 * asks whether it is wanted: what it needs is there only then.
 */
__noinline u32 held_slow_begin(void)
{
	struct abi_held_slow *s;

	if (!slower)
		return 0;
	s = held_slow_get();
	if (!s)
		return 0;
	s->n = 0;
	s->released_ns = 0;
	return 0;
}

/* `tid` held it in the piece that is looked at. */
__noinline u32 held_slow_piece(u32 tid)
{
	u64 at, lim = ABI_HELD_PIECES;
	const struct holder_work *w;
	struct abi_held_piece *p;
	struct abi_held_slow *s;

	if (!slower || !why)
		return 0;
	s = held_slow_get();
	w = holder_work_get();
	if (!s || !w || s->n >= lim)
		return 0;
	at = s->n;
	CLAMP_INDEX(at, lim);
	p = &s->pieces[at];
	s->n = at + 1;
	p->from_ns = w->from;
	p->to_ns = w->to;
	p->took_ns = w->took_ns;
	p->did = w->did;
	p->tid = tid;
	p->pid = 0;
	__builtin_memset(p->comm, 0, sizeof(p->comm));
	thread_name(tid, p->comm, &p->pid); /* not of readers */
	return 0;
}

static __always_inline void held_slow_released(u64 ns)
{
	struct abi_held_slow *s = held_slow_get();

	if (s)
		s->released_ns = ns;
}

/* Who held the longest piece of it; 0: no thread. */
__noinline u32 held_slow_main(void)
{
	const struct abi_held_slow *s;
	u64 most = 0;
	u32 tid = 0, i;

	if (!slower || !why)
		return 0;
	s = held_slow_get();
	for (i = 0; s && i < ABI_HELD_PIECES && i < s->n; i++) {
		const struct abi_held_piece *p = &s->pieces[i];

		if (p->tid >= ABI_HOLDER_RELEASED || p->to_ns - p->from_ns <= most)
			continue;
		most = p->to_ns - p->from_ns;
		tid = p->tid;
	}
	return tid;
}

/* What a new one starts as. */
const struct abi_held_log held_log_zero;

/* `tid` was found to hold what another waits for. */
__noinline u32 chain_mark(u32 tid, u64 now)
{
	struct abi_ledger *l;

	if (!slower || !why)
		return 0;
	l = ledger_by_tid(tid);
	if (!l)
		return 0;
	if (!held_log_get(tid))
		bpf_map_update_elem(&held_logs, &tid, &held_log_zero, BPF_NOEXIST);
	l->held_ns = now;
	return 0;
}

/* The wait of a holder is over: `which` (ABI_HELD_*) says for what. */
__noinline u32 chain_waited(u32 self, u32 which, u64 addr, u64 obj, u64 since)
{
	struct abi_held_log *log;
	struct abi_stretch *s;
	u32 tid;

	if (!slower || !why)
		return 0;
	log = held_log_get(self);
	if (!log)
		return 0;
	tid = held_slow_main();
	s = held_log_next(log, which == ABI_HELD_LOCK ? ABI_STRETCH_LOCK : ABI_STRETCH_FUTEX, since,
			  bpf_ktime_get_ns());
	s->addr = addr;
	s->obj = obj;
	s->tid = tid;
	s->pid = 0;
	__builtin_memset(s->comm, 0, sizeof(s->comm));
	if (tid)
		thread_name(tid, s->comm, &s->pid);
	return 0;
}

static __always_inline void held_slow_log(struct abi_held_slow *s)
{
	u32 tid = held_slow_main();
	const struct abi_held_log *log = tid ? held_log_get(tid) : NULL;

	s->log_tid = 0;
	s->log.n = 0;
	if (log && !bpf_probe_read_kernel(&s->log, sizeof(s->log), log))
		s->log_tid = tid;
}

/* Which row it is of. */
static __always_inline void held_slow_row(const struct abi_key *row)
{
	struct abi_held_slow *s = held_slow_get();

	if (s)
		s->key = *row;
}

/* The current task waited, or the interrupt that came upon it. */
__noinline u32 held_slow_emit(u64 addr, u64 wait_ns, u64 ep, u32 interrupt)
{
	u64 size = offsetof(struct abi_held_slow, pieces);
	struct abi_held_slow *s;
	struct abi_counts *bank;
	struct task_struct *p;

	if (!slower)
		return 0;
	p = current_task();
	s = held_slow_get();
	bank = bank_get(ep);
	if (!s || !bank)
		return 0;
	s->addr = addr;
	s->end_ns = bpf_ktime_get_ns();
	s->wait_ns = wait_ns;
	s->cgroup_id = interrupt ? 0 : task_cgroup_id(p);
	s->pid = interrupt ? 0 : TASK_READ(p, tgid);
	s->tid = interrupt ? 0 : TASK_READ(p, pid);
	s->cpu = bpf_get_smp_processor_id();
	s->pad = 0;
	if (interrupt)
		__builtin_memcpy(s->comm, "(interrupts)", 13);
	else
		bpf_core_read(s->comm, sizeof(s->comm), &p->comm);
	if (why) {
		size = sizeof(*s);
		held_slow_log(s);
	} else {
		s->n = 0;
	}
	if (bpf_ringbuf_output(&slow_events, s, size, slow_wakeup()))
		bank->slow_lost++;
	return 0;
}

#endif
