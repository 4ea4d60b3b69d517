// SPDX-License-Identifier: GPL-2.0-or-later
/* Nothing, where waits for kernel locks begin and end. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/contention_begin")
int empty_begin(__u64 *ctx)
{
	return 0;
}

SEC("tp_btf/contention_end")
int empty_end(__u64 *ctx)
{
	return 0;
}
