/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why with --slower: chains of waits. A thread that is found to hold a lock gets a log of what it
 * waited for itself:
 *
 *	switched in		the tasks that ran on this CPU while it was queued there
 *	its wait ends		the lock or futex that it waited for itself, and who held that
 *
 * At the end of a slow wait, the log of the thread that held the lock longest is copied. A log is
 * written by its own thread, or by the program at that thread's switch-in. No log has the time that
 * a thread was queued on another CPU, or that lies before the last tasks that a CPU remembers.
 */
#ifndef WS_CHAIN_BPF_H
#define WS_CHAIN_BPF_H

#include "common.bpf.h"
#include "abi_held.h"

/* By thread number. An LRU hash: a slow wait for a thread whose log was evicted has no chain. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_held_log);
} held_logs SEC(".maps");

static __always_inline struct abi_held_log *held_log_get(u32 tid)
{
	return bpf_map_lookup_elem(&held_logs, &tid);
}

/* The next one, to be filled in. */
static __always_inline struct abi_stretch *held_log_next(struct abi_held_log *log, u32 kind,
							 u64 from, u64 to)
{
	struct abi_stretch *s = &log->v[log->n & (ABI_STRETCHES - 1)];

	s->from_ns = from;
	s->to_ns = to;
	s->kind = kind;
	s->pad = 0;
	log->n++;
	return s;
}

#endif
