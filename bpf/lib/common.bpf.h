/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every source's programs use: the epoch, and the per-CPU banks with what was lost. */
#ifndef WS_COMMON_BPF_H
#define WS_COMMON_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"

/*
 * BTF tracepoints hand tasks over as pointers that programs may follow. Kernels without BTF have
 * raw tracepoints alone (WS_RAW_TP): there an argument is a number, and what it points to is
 * copied.
 */
#ifdef WS_RAW_TP
#define TRACEPOINT(name) SEC("raw_tp/" #name)
#define TRACED_TYPED false
#else
#define TRACEPOINT(name) SEC("tp_btf/" #name)
#define TRACED_TYPED true
#endif

/* Of a task that may be read through its pointer if `typed`, which is a constant. */
#define READ_AS(typed, p, field) ((typed) ? (p)->field : BPF_CORE_READ(p, field))
#define TRACED_READ(p, field) READ_AS(TRACED_TYPED, p, field)

/* A task's name into an array. As a function it would be copied byte by byte: a char * has no
 * alignment. */
#define COMM_READ(to, p, typed)                                        \
	do {                                                           \
		if (typed)                                             \
			__builtin_memcpy(to, (p)->comm, ABI_COMM_LEN); \
		else                                                   \
			bpf_core_read(to, ABI_COMM_LEN, &(p)->comm);   \
	} while (0)

/*
 * What the command line asks for is read-only data, and the verifier drops the code that it rules
 * out. The reads of it stay, and a run that asks for nothing would pay for each of them. That run
 * has an object of its own (WS_PLAIN), in which the answers are constants.
 */
#ifdef WS_PLAIN
#define OPTION(value, plain) (plain)
#else
#define OPTION(value, plain) (value)
#endif

/*
 * 0: not counting. Else its lowest bit is the bank to write. Each run reads it once. User space
 * alone writes it, and nothing else is in .bss: no program dirties its cache line.
 */
volatile __u64 epoch;

/*
 * Bank of CPU c: entry c * ABI_BANKS + (epoch & 1): its struct abi_counts, then what the source
 * keeps there besides (hist.bpf.h, or nothing); both dimensions are set at load. An array mapped
 * into user space rather than a per-CPU array: each entry is written by its own CPU alone, and
 * reading them costs no system call. Without histograms it is two cache lines a bank, so that CPUs
 * do not share one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct abi_counts));
} banks SEC(".maps");

static __always_inline struct abi_counts *bank_get(u64 ep)
{
	u32 key = bpf_get_smp_processor_id() * ABI_BANKS + (u32)(ep & 1);

	return bpf_map_lookup_elem(&banks, &key);
}

/* i < n, proven to the verifier on the very register that is then used (6.1 loses a plain test). */
#define CLAMP_INDEX(i, n) \
	asm volatile("if %[idx] < %[lim] goto +1; %[idx] = 0" : [idx] "+r"(i) : [lim] "r"(n))

/* a - b; a negative difference counts as 0 ns and as clamped. */
static __always_inline u64 elapsed(struct abi_counts *counts, u64 a, u64 b)
{
	if (a >= b)
		return a - b;
	counts->clamped++;
	return 0;
}

#endif
