/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains: who ran on a CPU lately, and who of them ran while another was queued there. */
#ifndef WS_CHAIN_CPU_BPF_H
#define WS_CHAIN_CPU_BPF_H

#include "chain.bpf.h"

const volatile bool chains;

#define STAYS 256 /* a power of two */

struct stay {
	u64 since;
	u32 tid; /* 0: idle */
	u32 pid;
	char comm[ABI_COMM_LEN];
};

struct chain_cpu {
	u64 n; /* stays so far; the last one goes on */
	struct stay v[STAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct chain_cpu);
} chain_cpus SEC(".maps");

static __always_inline struct chain_cpu *chain_cpu_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&chain_cpus, &zero);
}

/* `next` comes to this CPU. */
static __always_inline void chain_stay(struct task_struct *next, u64 now)
{
	struct chain_cpu *c = chain_cpu_get();
	struct stay *s;

	if (!c)
		return;
	s = &c->v[c->n & (STAYS - 1)];
	s->since = now;
	s->tid = (u32)next->pid;
	s->pid = (u32)next->tgid;
	bpf_core_read(s->comm, sizeof(s->comm), &next->comm);
	c->n++;
}

/* `p` was queued from `from` on and comes now: by the kernel's record for how long on this CPU. */
static __noinline u32 chain_queued(struct task_struct *p, u64 from, u64 now)
{
	struct abi_held_log *log = held_log_get((u32)p->pid);
	u64 queued = compat_queued_for(p), to = now, n;
	struct chain_cpu *c = chain_cpu_get();
	u32 i;

	if (!log || !c || !queued)
		return 0;
	if (now - queued > from)
		from = now - queued;
	n = c->n;
	for (i = 0; i < STAYS && i < n && to > from; i++) {
		const struct stay *t = &c->v[(n - 1 - i) & (STAYS - 1)];
		u64 begin = t->since > from ? t->since : from;
		struct abi_stretch *s;

		if (to > begin) {
			s = held_log_next(log, t->tid ? ABI_STRETCH_TASK : ABI_STRETCH_IDLE, begin,
					  to);
			s->addr = 0;
			s->obj = 0;
			s->tid = t->tid;
			s->pid = t->pid;
			__builtin_memcpy(s->comm, t->comm, sizeof(s->comm));
		}
		to = t->since;
	}
	return 0;
}

#endif
