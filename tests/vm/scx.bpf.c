// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The least of a sched_ext scheduler, for the tests of a guest: one queue for all CPUs, first in,
 * first out. A task that finds an idle CPU is put there by the kernel's own default; all others
 * wait in the global queue, on no CPU's run queue, until a CPU runs out of tasks.
 *
 * scx_bpf_dsq_insert() has its name since 6.13 (5209c03c8ed2, before: scx_bpf_dispatch()). None of
 * the matrix's older kernels has sched_ext.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define DSQ_GLOBAL 0x8000000000000001ULL /* SCX_DSQ_GLOBAL */
#define SLICE_NS 5000000ULL		 /* of the CPU, before the next in the queue has its turn */

/* Of the kernel's structure what we set; libbpf matches members by name. */
struct sched_ext_ops {
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	char name[128];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} queued SEC(".maps");

void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym;

char LICENSE[] SEC("license") = "GPL";

SEC("struct_ops/ws_enqueue")
void ws_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 zero = 0;
	u64 *n = bpf_map_lookup_elem(&queued, &zero);

	if (n)
		__sync_fetch_and_add(n, 1);
	scx_bpf_dsq_insert(p, DSQ_GLOBAL, SLICE_NS, ctx[1]);
}

SEC(".struct_ops")
struct sched_ext_ops ws_fifo = {
	.enqueue = (void *)ws_enqueue,
	.name = "ws_fifo",
};
