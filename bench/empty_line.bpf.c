// SPDX-License-Identifier: GPL-2.0-or-later
/* Nothing, at every sample of the CPU clock. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("perf_event")
int empty_clock(void *ctx)
{
	return 0;
}
