/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bucket_slot() as the BPF compiler and the verifier see it: a value in, its slot out.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bucket.h"

const volatile struct bucket_table buckets;
const volatile __u32 schema = BUCKET_SCHEMA_DEFAULT;

__u64 value;
__u32 slot;

SEC("socket")
int slot_of_value(void *ctx)
{
	slot = bucket_slot(&buckets, schema, value);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
