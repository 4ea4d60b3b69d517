/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower: the limit, and the ring buffer of a source's records. */
#ifndef WS_SLOW_RING_BPF_H
#define WS_SLOW_RING_BPF_H

#include "common.bpf.h"

const volatile bool slower;
#define SLOWER OPTION(slower, false)
const volatile __u64 slower_ns;
const volatile __u64 slow_wake_bytes; /* records that lie unread before user space is woken */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} slow_events SEC(".maps");

/*
 * Waking user space makes somebody wait, which may be slow, which would make a record: it looks by
 * itself every so often, and is woken only when the buffer fills.
 */
static __always_inline u64 slow_wakeup(void)
{
	if (bpf_ringbuf_query(&slow_events, BPF_RB_AVAIL_DATA) < slow_wake_bytes)
		return BPF_RB_NO_WAKEUP;
	return BPF_RB_FORCE_WAKEUP;
}

#endif
