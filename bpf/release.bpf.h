/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: the code of who held a lock, where it gave it up. Who gives it up to another wakes that one, and has
 * a stack then:
 *
 *	sched_waking	the waker's stack is laid down for the waiter (tasks.bpf.c)
 *	the wait ends	if the waker is found to have held it, the stack is told to user space
 *
 * Once for each lock and thread, then 1 in stack_every; what both share lies in arrays, without locks: who
 * finds another's there has lost his own, and the next wake is taken in its place.
 */
#ifndef WS_RELEASE_BPF_H
#define WS_RELEASE_BPF_H

#include "take.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_RELEASES);
	__type(key, u32);
	__type(value, struct abi_release);
} releases SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << ABI_RELEASED_BITS);
	__type(key, u32);
	__type(value, struct abi_released);
} released SEC(".maps");

static __always_inline struct abi_release *release_of(u32 waiter)
{
	u32 at = waiter % ABI_RELEASES;

	return bpf_map_lookup_elem(&releases, &at);
}

static __always_inline struct abi_released *released_of(u64 tag)
{
	u32 at = tag >> (64 - ABI_RELEASED_BITS);

	return bpf_map_lookup_elem(&released, &at);
}

#endif
