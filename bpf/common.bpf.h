/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every source's programs use: the epoch, the per-CPU banks and adding a sample to a
 * histogram. */
#ifndef WS_COMMON_BPF_H
#define WS_COMMON_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"

/*
 * User space alone writes these two, and nothing else is in .bss: no program dirties their cache
 * line.
 *
 * epoch	0: not counting. Else its lowest bit is the bank to write. Each run reads it once.
 * self_tgid	our own process, by its number in the initial pid namespace
 */
volatile __u64 epoch;
volatile __u32 self_tgid;

const volatile struct bucket_table buckets;
const volatile __u32 schema = BUCKET_SCHEMA_DEFAULT;
const volatile __u32 nslots = BUCKET_SLOTS(BUCKET_SCHEMA_DEFAULT);

/*
 * Bank of CPU c: entry c * ABI_BANKS + (epoch & 1), ABI_BANK_BYTES(schema) long; both dimensions
 * are set at load. An array mapped into user space rather than a per-CPU array: entries are
 * page-sized, each written by its own CPU alone, and reading them costs no system call.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, ABI_BANK_BYTES(BUCKET_SCHEMA_DEFAULT));
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

/* Head of a histogram: everything but the slot. */
static __always_inline void hist_head_add(struct abi_hist *h, u64 v, u64 ep)
{
	h->sum_ns += v;
	if (h->epoch != ep) {
		h->epoch = ep;
		h->min_ns = v;
		h->max_ns = v;
	} else if (v > h->max_ns) {
		h->max_ns = v;
	} else if (v < h->min_ns) {
		h->min_ns = v;
	}
}

/*
 * Global: the verifier takes it by itself, once. Inlined, what it learns of one sample's slot
 * multiplies with the next one's, past its limit of a million instructions.
 */
__noinline u32 hist_slot(u64 v)
{
	return bucket_slot((const struct bucket_table *)&buckets, schema, v);
}

/* One sample into histogram `m` of a bank. */
static __always_inline void hist_add(struct abi_counts *bank, u32 m, u64 v, u64 ep)
{
	u64 lim = nslots, slot;
	struct abi_hist *h = (void *)(bank + 1) + m * (sizeof(*h) + 8 * lim);

	hist_head_add(h, v, ep);
	if (!v) {
		h->zero++;
		return;
	}
	if (v >= BUCKET_VALUE_END) {
		h->over++;
		bank->over++;
	}
	slot = hist_slot(v);
	CLAMP_INDEX(slot, lim);
	((u64 *)(h + 1))[slot]++;
}

#endif
