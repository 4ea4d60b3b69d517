// SPDX-License-Identifier: GPL-2.0-or-later
/* Nothing, where ext4's look-ups are counted and its write segments are timed. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/ext4_es_lookup_extent_exit")
int empty_es_end(__u64 *ctx)
{
	return 0;
}

SEC("tp_btf/ext4_da_write_begin")
int empty_da_begin(__u64 *ctx)
{
	return 0;
}

SEC("tp_btf/ext4_da_write_end")
int empty_da_end(__u64 *ctx)
{
	return 0;
}
