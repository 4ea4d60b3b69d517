/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bucket_slot() as the BPF compiler and the verifier see it, a value in, its slot out; and
 * hist_add(), which places a value in a bank.
 */
#include "lib/common.bpf.h"
#include "lib/hist.bpf.h"

const volatile struct bucket_table buckets;
const volatile __u32 schema = BUCKET_SCHEMA_DEFAULT;

__u64 value;
__u32 slot;

struct {
	struct abi_counts counts;
	struct abi_hist hist;
	__u32 slots[BUCKET_SLOTS(BUCKET_SCHEMA_MAX)];
} bank;

SEC("socket")
int slot_of_value(void *ctx)
{
	slot = bucket_slot(&buckets, schema, value);
	return 1;
}

SEC("socket")
int add_value(void *ctx)
{
	hist_add(&bank.counts, 0, value, 1);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
