// SPDX-License-Identifier: GPL-2.0-or-later
/* Nothing, on the hooks that waitscope's scheduler source uses: what no tracer there can go below.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_waking")
int empty_waking(__u64 *ctx)
{
	return 0;
}

SEC("tp_btf/sched_wakeup")
int empty_wakeup(__u64 *ctx)
{
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int empty_new(__u64 *ctx)
{
	return 0;
}

SEC("tp_btf/sched_switch")
int empty_switch(__u64 *ctx)
{
	return 0;
}
