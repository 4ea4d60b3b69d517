/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: the code of who held a lock, where it gave it up. Who gives it up to another wakes that
 * one, and has a stack then:
 *
 *	sched_waking	the waker's stack is laid down for the waiter (tasks.bpf.c)
 *	the wait ends	if the waker is found to have held it, the stack is told to user space
 *
 * Once for each lock and thread, then 1 in stack_every; what both share lies in arrays, without
 * locks: who finds another's there has lost his own, and the next wake is taken in its place.
 */
#ifndef WS_RELEASE_BPF_H
#define WS_RELEASE_BPF_H

/* ---- takes ---- */

/*
 * --why: that a thread came to have a lock after a wait of its own, and until when it is known to
 * have had it. A lock says who holds it, not since when: between two waits for it the same thread
 * may have given it up and taken it again, which nobody sees of a lock that is free.
 *
 *	a wait ends		its thread has taken it, where it waited
 *	it wakes a waiter	... and has given it up
 *	it calls FUTEX_WAKE	... whether or not anybody waits
 *
 * One that was woken for it and came too late waits again, and with that begins another's tenure:
 * when its own ended is not known, and nothing of it counts (holder_begin()).
 */

#include "account.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << ABI_TAKE_BITS);
	__type(key, u32);
	__type(value, struct abi_take);
} takes SEC(".maps");

static __always_inline u64 lock_thread_tag(u64 lock, u64 space, u32 tid)
{
	u64 h = lock ^ space << 40 ^ (u64)tid << 20;

	h = (h ^ h >> 29) * 0x9e3779b97f4a7c15ULL;
	return (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL | 1;
}

static __always_inline struct abi_take *take_at(u64 tag)
{
	u32 at = tag >> (64 - ABI_TAKE_BITS);

	return bpf_map_lookup_elem(&takes, &at);
}

/* The thread of `tag` has its lock from `now` on. */
static __always_inline void take_begin(u64 tag, u64 now)
{
	struct abi_take *t = take_at(tag);

	if (!t)
		return;
	if (t->tag != tag)
		t->told = 0;
	*(volatile u64 *)&t->tag = 0;
	barrier();
	t->since = now;
	t->gave_ns = 0;
	t->takes++;
	t->nips = 0;
	barrier();
	*(volatile u64 *)&t->tag = tag;
}

static __always_inline void take_gave(u64 tag, u64 now)
{
	struct abi_take *t = take_at(tag);

	if (t && t->tag == tag && !t->gave_ns)
		t->gave_ns = now;
}

/* Until when it is known to have had what it took at `since`; `now`: it still has. 0: that is not
 * known. */
static __always_inline u64 take_until(u64 tag, u64 since, u64 now)
{
	const struct abi_take *t = take_at(tag);
	u64 gave;

	if (!t || *(volatile u64 *)&t->tag != tag || t->since != since)
		return 0;
	gave = *(volatile u64 *)&t->gave_ns;
	barrier();
	if (*(volatile u64 *)&t->tag != tag || t->since != since)
		return 0;
	return gave ? gave : now;
}

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
