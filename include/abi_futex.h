/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the futex programs and user space share, beyond abi_contend.h. */
#ifndef WS_ABI_FUTEX_H
#define WS_ABI_FUTEX_H

#include "abi_contend.h"

/* key.kind: the class of a wait (futex.bpf.c); key.obj: the number of the address. */
#define ABI_FUTEX_LOCK 1   /* certainly for a lock */
#define ABI_FUTEX_WORK 2   /* certainly for work */
#define ABI_FUTEX_UNSURE 3 /* for a lock or for work: not known */
#define ABI_FUTEX_KINDS 4  /* with ABI_KIND_OTHER */
#define ABI_FUTEX_WAKERS \
	4 /* wakes alone: user space adds them to what the address is waited for \
	   */

/* What was called. */
#define ABI_FUTEX_NONE 0 /* neither waits nor wakes */
#define ABI_FUTEX_WAIT 1
#define ABI_FUTEX_WAIT_BITSET 2
#define ABI_FUTEX_LOCK_PI 3
#define ABI_FUTEX_LOCK_PI2 4
#define ABI_FUTEX_TRYLOCK_PI 5
#define ABI_FUTEX_WAIT_REQUEUE_PI 6
#define ABI_FUTEX_WAIT2 7 /* futex_wait(2), 6.7 */
#define ABI_FUTEX_WAITV 8 /* futex_waitv(2), 5.16 */
#define ABI_FUTEX_WAKE 9  /* all that wake or move waiters; those before it wait */
#define ABI_FUTEX_OPS 10

/* abi_khead.sums of an entry; ABI_CONTEND_TASKS is the last. */
#define ABI_FUTEX_EAGAIN 0  /* the value had changed: no wait, not in the histogram */
#define ABI_FUTEX_TIMEOUT 1 /* waits that ended so: in the histogram */
#define ABI_FUTEX_WAKES 2   /* calls that wake or move waiters */
#define ABI_FUTEX_WOKEN 3   /* how many those woke or moved */

/* Histograms in a bank: one for the waits of each class, in the order of the kinds. */
#define ABI_FUTEX_HISTS 3

/* A futex as one process sees it. An exec makes another process of it. */
struct abi_futex_key {
	__u64 uaddr;
	__u64 born; /* start time of the process */
	__u32 tgid;
	__u32 execs; /* its count of execs, modulo 2^32 */
};

_Static_assert(sizeof(struct abi_futex_key) == 24, "abi_futex_key size");

/* abi_futex_addr.flags; and, in abi_contend_sample.type, the operation in the low byte. */
#define ABI_FUTEX_OP_MASK 0xffU
#define ABI_FUTEX_SHARED 0x100U /* without FUTEX_PRIVATE_FLAG: other processes may have it too */
#define ABI_FUTEX_SEEN_UNSURE 0x200U /* a value was waited for that need not be a lock's */
#define ABI_FUTEX_STACKED 0x400U     /* a wait was described */
#define ABI_FUTEX_TOLD 0x800U	     /* user space was told of it, with a wait or without */
/* User space knows the class by the functions that wait, and writes it into the programs' map. */
#define ABI_FUTEX_LOCKS 0x1000U
#define ABI_FUTEX_WORKS 0x2000U
#define ABI_FUTEX_MANYS 0x4000U /* a thread sleeps there on whatever it waits for: no class holds */

struct abi_futex_addr {
	__u64 id; /* never 0, never used again */
	__u32 flags;
	__u32 pad;
	__u64 space;		 /* that it lies in (abi_space.h) */
	char comm[ABI_COMM_LEN]; /* of the process, when it was first seen */
};

_Static_assert(sizeof(struct abi_futex_addr) == 40, "abi_futex_addr size");

#endif
