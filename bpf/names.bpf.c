/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at kernel memory on behalf of src/names, when something is named and at no other time:
 * nothing here is ever attached. User space knows the types (BTF) and does the walking; these only
 * fetch. Raw tracepoint programs, since BPF_PROG_TEST_RUN runs those from 5.10 on (1b4d60ec162f
 * "bpf: Enable BPF_PROG_TEST_RUN for raw_tracepoint"), syscall programs from 5.14 on only.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "names_abi.h"

char LICENSE[] SEC("license") = "GPL";

/* Mapped into user space; it has one thread, and the programs run while that waits. */
struct names_ask ask;

/* a992d7a39791 ("mm/bpf: Add bpf_get_kmem_cache() kfunc", 6.13). Loaded only where BTF has it. */
extern struct kmem_cache *bpf_get_kmem_cache(u64 addr) __ksym __weak;

/* Faults are an answer, not an accident: user space asks for what may be gone. */
SEC("raw_tp")
int ws_peek(void *ctx)
{
	u32 len = ask.len;

	ask.ret = -22; /* EINVAL */
	if (len > NAMES_PEEK_BYTES)
		return 0;
	ask.ret = bpf_probe_read_kernel(ask.data, len, (void *)(unsigned long)ask.addr);
	return 0;
}

/*
 * On a CPU of user space's choice: whoever runs there is on that CPU's run queue. Needs
 * CONFIG_FAIR_GROUP_SCHED.
 */
SEC("raw_tp")
int ws_here(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	ask.task = (u64)task;
	ask.rq = 0;
	if (bpf_core_field_exists(task->se.cfs_rq))
		ask.rq = (u64)BPF_CORE_READ(task, se.cfs_rq, rq);
	return 0;
}

SEC("raw_tp")
int ws_slab(void *ctx)
{
	ask.cache = (u64)bpf_get_kmem_cache(ask.addr);
	return 0;
}
