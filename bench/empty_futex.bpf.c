// SPDX-License-Identifier: GPL-2.0-or-later
/* Nothing, where futex calls begin and end. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tracepoint/syscalls/sys_enter_futex")
int empty_enter(void *ctx)
{
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_futex")
int empty_exit(void *ctx)
{
	return 0;
}
