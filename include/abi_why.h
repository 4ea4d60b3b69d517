/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: what the scheduler's programs tell of who made a task wait. */
#ifndef WS_ABI_WHY_H
#define WS_ABI_WHY_H

#include "abi.h"

/* What a CPU did while a task waited for it: abi_key.kind of an entry. */
#define ABI_WHY_TASK 0	      /* ran a task: abi_key.obj says which */
#define ABI_WHY_IDLE 1	      /* was idle, or on the way out of it */
#define ABI_WHY_IRQ 2	      /* hard interrupts, also those that cannot be masked */
#define ABI_WHY_SOFTIRQ 3     /* soft interrupts */
#define ABI_WHY_STEAL 4	      /* was not run by the hypervisor */
#define ABI_WHY_THROTTLE 5    /* the task's cgroup was out of quota */
#define ABI_WHY_KERNEL 6      /* ran on where a reschedule was due */
#define ABI_WHY_UNEXPLAINED 7 /* the rest */
#define ABI_WHY_RT \
	8 /* let others run, or none: its real-time tasks had used up their share of the period */
#define ABI_WHY_DL 9 /* the task's SCHED_DEADLINE budget was used up */
#define ABI_WHY_KINDS 10
#define ABI_WHY_KIND_MASK 15 /* of abi_key.kind */

/*
 * Above the kind: how long the wait was of which that is a part, by powers of two of a second as in
 * histograms. 0: not kept (those that found no entry of their own); 1: up to 2^-20 s; n: longer
 * than ABI_WHY_LONGER(n - 2) ns and not than the next; the last one has no end.
 */
#define ABI_WHY_LENGTH_SHIFT 8
#define ABI_WHY_LENGTHS 33
#define ABI_WHY_LONGER(i) ((1000000000ULL << (i)) >> 20) /* 2^(i - 20) s */

/*
 * And above that, of ABI_WHY_TASK: the class of the task that ran. 0: none of these; a priority:
 * SCHED_FIFO; ABI_WHY_RR and a priority: SCHED_RR.
 */
#define ABI_WHY_CLASS_SHIFT 16
#define ABI_WHY_RR 100
#define ABI_WHY_DEADLINE 200

/* abi_khead.sums of an entry. */
#define ABI_WHY_NS 0
#define ABI_WHY_COUNT 1 /* waits that it had a part in */
#define ABI_WHY_LAST 2	/* no sum: when the last of them ended */
/* Of a task's entry: what of class ABI_WHY_KERNEL fell into its stays, which has no entry of its
 * own. */
#define ABI_WHY_DUE_NS 3
#define ABI_WHY_DUE_COUNT 4

/* A task that was blamed: abi_key.obj of its entries -> who it is. Of a group only what all of the
 * group have. */
struct abi_culprit {
	char comm[ABI_COMM_LEN];
	__u64 cgroup_id;
	__u32 pid;
	__u32 tid;
};

_Static_assert(sizeof(struct abi_culprit) == 32, "abi_culprit size");

struct abi_why_part {
	__u64 ns;
	__u64 rt_class; /* as in the key of an entry */
	struct abi_culprit who;
};

_Static_assert(sizeof(struct abi_why_part) == 48, "abi_why_part size");

/* A slow wait: its kinds add up to it, its parts are those of the tasks, as many as have room. */
#define ABI_WHY_PARTS 12
struct abi_slow_why {
	struct abi_slow slow;
	__u64 kinds[ABI_WHY_KINDS];
	__u64 n;
	struct abi_why_part parts[ABI_WHY_PARTS];
};

_Static_assert(sizeof(struct abi_slow_why) ==
		       sizeof(struct abi_slow) + 8 * ABI_WHY_KINDS + 8 + 48 * ABI_WHY_PARTS,
	       "abi_slow_why size");

#endif
