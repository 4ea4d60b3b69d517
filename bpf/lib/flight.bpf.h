/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is still waiting: summed up by a program that user space runs for each task at a report. */
#ifndef WS_FLIGHT_BPF_H
#define WS_FLIGHT_BPF_H

#include "common.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_in_flight);
} in_flight SEC(".maps");

static __always_inline struct abi_in_flight *flight_get(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&in_flight, &key);
}

/*
 * The task waits since then. How long is told as of out->at_ns, the end of the period: the walk
 * comes later, and a wait that began after it is the next period's. At the end of the run there is
 * none: then a later stamp was taken by a program that had begun before.
 */
static __always_inline void flight_add(struct abi_in_flight *out, struct task_struct *p, u64 since)
{
	u64 wait = out->at_ns > since ? out->at_ns - since : 0;

	if (since > out->at_ns && epoch)
		return;
	out->count++;
	if (wait < out->longest_ns)
		return;
	out->longest_ns = wait;
	out->tid = TRACED_READ(p, pid); /* the walk hands tasks over as tracepoints do */
	out->pid = TRACED_READ(p, tgid);
	COMM_READ(out->comm, p, TRACED_TYPED);
}

#endif
