/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is still waiting: summed up by a program that user space runs for each task at a report. */
#ifndef WS_FLIGHT_BPF_H
#define WS_FLIGHT_BPF_H

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

/* It waits, since then. */
static __always_inline void flight_add(struct abi_in_flight *out, struct task_struct *p, u64 since)
{
	u64 now = bpf_ktime_get_ns(), wait = now > since ? now - since : 0;

	out->count++;
	if (wait < out->longest_ns)
		return;
	out->longest_ns = wait;
	out->tid = TRACED_READ(p, pid); /* the walk hands tasks over as tracepoints do */
	out->pid = TRACED_READ(p, tgid);
	COMM_READ(out->comm, p, TRACED_TYPED);
}

#endif
