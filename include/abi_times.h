/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of tasks went: what bpf/times.bpf.c and user space share. */
#ifndef WS_ABI_TIMES_H
#define WS_ABI_TIMES_H

#include "abi.h"

/* What an interval's tasks did, summed up. Two entries each, by the epoch's lowest bit; user space
 * deletes or clears those of the interval that ended. */
struct abi_times {
	__u64 running_ns;
	__u64 waiting_ns; /* queued: out of CPU quota, too */
	__u64 asleep_ns;
	__u64 throttled_ns; /* of tasks that are out of quota now: what they have waited so far */
	/* told as asleep, and found to have been running: up to a tick of a task that ended */
	__u64 late_ns;
	__u64 pid; /* of a thread: its process */
	char comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct abi_times) == 48 + ABI_COMM_LEN, "abi_times size");

#endif
