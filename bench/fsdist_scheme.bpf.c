// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fsdist's scheme on the tracepoints of a write segment, for machines on which fsdist itself, which
 * wants kprobes or fentry, does not run: the start in a hash by thread, removed at the end; one
 * histogram for all CPUs, its power-of-two slots added to atomically.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define SLOTS 32

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u64);
} starts SEC(".maps");

__u32 slots[SLOTS];

static __always_inline __u32 log2_of(__u64 v)
{
	__u32 n = 0, i;

	for (i = 32; i; i >>= 1) {
		if (v >> i) {
			v >>= i;
			n += i;
		}
	}
	return n;
}

SEC("tp_btf/ext4_da_write_begin")
int scheme_begin(__u64 *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&starts, &tid, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/ext4_da_write_end")
int scheme_end(__u64 *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns(), *start = bpf_map_lookup_elem(&starts, &tid);

	if (!start)
		return 0;
	__sync_fetch_and_add(&slots[log2_of((now - *start) / 1000) & (SLOTS - 1)], 1);
	bpf_map_delete_elem(&starts, &tid);
	return 0;
}
