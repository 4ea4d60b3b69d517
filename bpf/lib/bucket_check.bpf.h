/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No compiler may change a number: user space has these programs place values that it chose, before
 * anything is attached, and compares with its own arithmetic (src/source/bpf/bucket_check.c). The
 * functions that are asked are those that place samples.
 */
#ifndef WS_BUCKET_CHECK_BPF_H
#define WS_BUCKET_CHECK_BPF_H

#include "common.bpf.h"

/* Who made this object: named where a value is in another bucket. */
const volatile char compiler[ABI_COMPILER_LEN] = __VERSION__;

/* Mapped by user space: values in, slots out. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_bucket_check);
} bucket_checks SEC(".maps");

static __always_inline int check_slots(u32 (*slot_of)(u64 v))
{
	struct abi_bucket_check *c;
	u32 first = 0, i;

	c = bpf_map_lookup_elem(&bucket_checks, &first);
	if (!c)
		return 0;
	for (i = 0; i < ABI_CHECK_VALUES; i++)
		c->slots[i] = slot_of(c->values[i]);
	return 0;
}

#endif
