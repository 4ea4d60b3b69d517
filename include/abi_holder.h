/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: what a task's time went to (bpf/lib/tasks_keep.bpf.h keeps it), and who held what a wait
 * was for (bpf/lib/holder.bpf.h). A reading of a ledger is what its four sums were at a moment; the
 * difference of two is the time between them, to the nanosecond.
 */
#ifndef WS_ABI_HOLDER_H
#define WS_ABI_HOLDER_H

#include "abi_contend.h"

#define ABI_DID_RUN 0
#define ABI_DID_QUEUE 1	   /* woken or preempted, and not on a CPU */
#define ABI_DID_THROTTLE 2 /* the same, out of CPU quota */
#define ABI_DID_BLOCK 3
#define ABI_DIDS 4

struct abi_did {
	__u64 ns[ABI_DIDS];
};

/* A wait that goes on: of the task in whose ledger it lies. */
struct abi_held_wait {
	__u64 lock;
	__u64 space; /* whose address it is: a process, 0 the kernel's */
	__u64 since;
	__u64 line;	   /* the record of the lock's holders, */
	__u64 tenures;	   /* and how many it had then */
	__u64 queued;	   /* and when the waiter stood in its queue; ~0: it only spins */
	struct abi_did at; /* of who held it then */
};

#define ABI_HELD_LOCK 0
#define ABI_HELD_FUTEX 1 /* a futex call can wait for a lock of the kernel */
#define ABI_HELD_WAITS 2
#define ABI_HELD_KNOWN 8 /* shift of abi_ledger.waits: bit for each whose lock tells its holders */

/*
 * Of a task, by its number. Its sums are kept from the first reading of them on (account_ask()).
 * They are those of the time from seen_ns to mark_ns: who finds them to be anything else has read
 * them while they were written.
 */
struct abi_ledger {
	__u64 task;	/* its address: numbers are used again */
	__u32 tid;	/* 0: the ledger is nobody's */
	__u32 waits;	/* bit for each of `wait`, and ABI_HELD_KNOWN */
	__u64 seen_ns;	/* 0: its sums are not kept */
	__u64 mark_ns;	/* since then it does `does`; 0: since seen_ns */
	__u64 woken_ns; /* blocked, and woken then; 0: not yet */
	__u16 does;	/* ABI_DID_* */
	__u16 did_last;
	__u32 waker;	 /* the thread that woke it last, see waker_ns */
	__u64 before_ns; /* and since then it did `did_last` */
	__u64 held_ns;	 /* found to hold what another waits for, last then; 0: never (--slower) */
	struct abi_did did;
	__u32 tgid;
	__u32 vtid;	/* as its own pid namespace numbers it; 0: as we do */
	__u64 waker_ns; /* in the last of these it was last woken then, by `waker` */
	/* off its CPU: `mark_ns` (0: seen_ns) by its run queue's clock, or a tick earlier */
	__u64 left;
	__u64 delay_ns;		  /* and the sum of its waits then, in the kernel's own record */
	struct abi_did waker_did; /* which had done that by then; all 0: its sums were not kept */
	struct abi_held_wait wait[ABI_HELD_WAITS];
};

_Static_assert(sizeof(struct abi_ledger) == 160 + 2 * 80, "abi_ledger size: whole cache lines");

#define ABI_TASK_PLACES 8192 /* for ledgers, by the thread's number modulo; a power of two */

/*
 * Threads of which somebody has asked what they do, or that wait for what another holds, by their
 * number modulo: not 0. Most tasks hold nothing that others wait for, and all that a switch of
 * theirs costs is a look at this. Threads with the same number here are looked at for nothing.
 */
#define ABI_KEPT (1 << 16)

struct abi_kept {
	__u8 tid[ABI_KEPT];
};

/* Where a thread was in its code when it woke one that waited for what it held: its stack. Kept
 * until that wait is over, and it is known whether the lock was given up then. */
struct abi_release {
	__u64 woken_ns; /* the waiter's waker_ns; 0: it is being written */
	__u32 waiter;	/* thread number */
	__u32 nips;
	__u64 ips[ABI_CONTEND_IPS]; /* innermost first */
};

_Static_assert(sizeof(struct abi_release) == 16 + 8 * ABI_CONTEND_IPS, "abi_release size");

#define ABI_RELEASES 256 /* by the waiter's number, modulo; the last one stays */

/* A lock and a thread of which such a stack has been told, and how often it woke others since. */
struct abi_released {
	__u64 tag; /* of both; 0: none */
	__u64 wakes;
};

#define ABI_RELEASED_BITS 12

/*
 * A lock and a thread that came to have it after a wait of its own, the last time. The place is
 * found by `tag`, which is that of both: who finds another's there knows nothing of his own.
 */
struct abi_take {
	__u64 tag; /* 0: none, or it is being written */
	__u64 since;
	__u64 gave_ns; /* first seen to give it up then; 0: not yet */
	__u32 told;    /* a stack of these two has been */
	__u32 takes;
	__u32 nips; /* 0: no stack was taken, or it has been told */
	__u32 pad;
	__u64 ips[ABI_CONTEND_IPS]; /* where it waited, innermost first */
};

_Static_assert(sizeof(struct abi_take) == 40 + 8 * ABI_CONTEND_IPS, "abi_take size");

#define ABI_TAKE_BITS 12

/* A thread as its process numbers it. */
struct abi_vtid {
	__u32 tgid;
	__u32 vtid;
};

/* Who held it, where that is no thread. */
#define ABI_HOLDER_UNKNOWN 0
#define ABI_HOLDER_RELEASED 0xfffffffeU /* nobody: the waiter was woken, and had not come yet */
#define ABI_HOLDER_READERS 0xffffffffU

/* What waits of a row (its keyed entry) were for; tid: or ABI_HOLDER_*. */
struct abi_holder_key {
	struct abi_key row;
	__u32 tid;
	__u32 pad;
};

_Static_assert(sizeof(struct abi_holder_key) == 40, "abi_holder_key size");

struct abi_holder {
	__u64 count; /* waits that it held up, or some part of them */
	__u64 wait_ns;
	__u64 took_ns; /* of wait_ns: it was seen to take it, after a wait of its own */
	struct abi_did did;
	__u32 pid;
	__u32 pad;
	char comm[ABI_COMM_LEN]; /* as last seen; empty: it was not there any more */
};

_Static_assert(sizeof(struct abi_holder) == 80, "abi_holder size");

#endif
