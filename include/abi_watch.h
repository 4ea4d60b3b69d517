/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program of the watch source and user space share. */
#ifndef WS_ABI_WATCH_H
#define WS_ABI_WATCH_H

#include "abi_line.h"

#define ABI_WATCH_SLOTS 4 /* x86 has four debug registers */

/*
 * One ring for both records, told apart by their size: a hit, and before the first one of its
 * pointer the code around it (struct abi_new_ip). Its order is the order of the hits.
 */
struct abi_hit {
	struct abi_ip_key key;
	__u64 addr; /* of the slot, as configured: not of the byte touched */
	__u32 pid;  /* of the thread's process, also in the kernel */
	__u32 tid;
	__u32 cpu;
	__u32 pad;
	__u64 space; /* as in struct abi_access_key, also in the kernel */
	char comm[16];
};

_Static_assert(sizeof(struct abi_hit) == 64, "abi_hit size");
_Static_assert(sizeof(struct abi_new_ip) != sizeof(struct abi_hit), "records differ in size");

/* Written by all CPUs, atomically: a hit costs microseconds, and there are few. Each counter on its
 * own line all the same. */
struct abi_watch_counts {
	__u64 taken; /* hits sent; user space counts the first of them up to the limit */
	__u64 pad1[7];
	__u64 foreign; /* of tasks that the filters leave out: they bound too */
	__u64 pad2[7];
	__u64 lost; /* hits, and code, that could not be sent: they bound as those of others do */
	__u64 pad3[7];
};

_Static_assert(sizeof(struct abi_watch_counts) == 192, "abi_watch_counts size");

/* Has enough been seen, or borne? */
static inline int abi_watch_over(const volatile struct abi_watch_counts *n, __u64 hits_max,
				 __u64 others_max)
{
	return n->taken >= hits_max || n->foreign + n->lost >= others_max;
}

#endif
