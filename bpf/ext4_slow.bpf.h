/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower: one record per operation above the limit, the inner ones of nested before the outer. */
#ifndef WS_EXT4_SLOW_BPF_H
#define WS_EXT4_SLOW_BPF_H

#include "abi_ext4_slow.h"
#include "slow_ring.bpf.h"

/* Whose operation it is: of direct I/O that ends elsewhere, remembered where it began. */
struct slow_task {
	u64 cgroup_id;
	u32 pid;
	u32 tid;
	char comm[ABI_COMM_LEN];
};

static __always_inline void slow_task_of(struct slow_task *t, struct task_struct *p)
{
	t->cgroup_id = task_cgroup_id(p);
	t->pid = TASK_READ(p, tgid);
	t->tid = TASK_READ(p, pid);
	bpf_core_read(t->comm, sizeof(t->comm), &p->comm);
}

static __always_inline void ext4_slow_of(struct abi_counts *counts, const struct slow_task *t,
					 const struct ended *end)
{
	struct abi_ext4_slow *s = bpf_ringbuf_reserve(&slow_events, sizeof(*s), 0);

	if (!s) {
		counts->slow_lost++;
		return;
	}
	s->end_ns = end->end_ns;
	s->total_ns = end->total_ns;
	s->blocked_ns = end->split ? end->blocked_ns : 0;
	s->run_queue_ns = end->split ? end->run_queue_ns : 0;
	s->ino = end->file.ino;
	s->bytes = end->bytes;
	s->cgroup_id = t->cgroup_id;
	s->pid = t->pid;
	s->tid = t->tid;
	s->cpu = bpf_get_smp_processor_id();
	s->dev = end->dev;
	s->generation = end->file.generation;
	s->kind = end->kind;
	s->split = end->split;
	s->fs = end->file.fs;
	__builtin_memcpy(s->comm, t->comm, sizeof(s->comm));
	bpf_ringbuf_submit(s, slow_wakeup());
}

static __always_inline bool ext4_is_slow(const struct ended *end)
{
	return slower && end->total_ns >= slower_ns;
}

/* `p` runs it. */
static __always_inline void ext4_slow(struct abi_counts *counts, struct task_struct *p,
				      const struct ended *end)
{
	struct slow_task t;

	if (!ext4_is_slow(end))
		return;
	slow_task_of(&t, p);
	ext4_slow_of(counts, &t, end);
}

#endif
