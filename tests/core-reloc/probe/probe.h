/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common to the objects that corecheck is tested with. */
#ifndef WS_TEST_PROBE_H
#define WS_TEST_PROBE_H

#include <stdbool.h>

typedef unsigned char __u8;
typedef unsigned short __u16, __be16;
typedef unsigned int __u32, __be32, __wsum;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#ifndef PROBE_NO_CORE
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif
struct task_struct {
	int pid;
	int on_cpu;
	unsigned int __state;
};
#ifndef PROBE_NO_CORE
#pragma clang attribute pop
#endif

long seen;

char LICENSE[] SEC("license") = "GPL";

#endif
