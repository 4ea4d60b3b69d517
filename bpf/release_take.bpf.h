/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: the stack of a thread that wakes who waits for what it holds. */
#ifndef WS_RELEASE_TAKE_BPF_H
#define WS_RELEASE_TAKE_BPF_H

#include "release.bpf.h"
#include "stack.bpf.h"
#include "user_stack.bpf.h"

#define RELEASES_A_SECOND 64 /* on a CPU: who is woken comes that much later */

const volatile __u32 release_every; /* 0: only the first of a lock and thread */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_rate);
} release_rates SEC(".maps");

static __always_inline bool release_wanted(const struct abi_held_wait *wait, u32 waker, u64 now)
{
	u64 tag = lock_thread_tag(wait->lock, wait->space, waker);
	struct abi_released *seen = released_of(tag);
	struct stack_rate *rate;
	u32 zero = 0;

	if (!seen)
		return false;
	if (seen->tag == tag) {
		seen->wakes++;
		if (!release_every || seen->wakes % release_every)
			return false;
	}
	rate = bpf_map_lookup_elem(&release_rates, &zero);
	return rate && stack_allowed(rate, now, RELEASES_A_SECOND);
}

/* The current task wakes `waiter`, whose ledger that is. Of a futex the program's stack says where, of a
 * lock the kernel's. */
static __always_inline void release_take(void *ctx, const struct abi_ledger *l, u32 waiter, u64 now)
{
	u32 lock = l->waits & 1U << ABI_HELD_LOCK, waits = lock ? 1U << ABI_HELD_LOCK : l->waits;
	const struct abi_held_wait *wait =
		lock ? &l->wait[ABI_HELD_LOCK] : &l->wait[ABI_HELD_FUTEX];
	struct abi_release *r;

	take_gave(lock_thread_tag(wait->lock, wait->space, (u32)bpf_get_current_pid_tgid()), now);
	if (!(l->waits & waits << ABI_HELD_KNOWN) || !l->waker ||
	    !release_wanted(wait, l->waker, now))
		return;
	r = release_of(waiter);
	if (!r)
		return;
	*(volatile u64 *)&r->woken_ns = 0;
	barrier();
	r->waiter = waiter;
	r->nips = lock ? kernel_stack_take(ctx, r->ips) : stack_take(ctx, r->ips);
	barrier();
	*(volatile u64 *)&r->woken_ns = now;
}

#endif
