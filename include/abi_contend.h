/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs of contended addresses (locks, futexes) share with user space. Waits are keyed
 * histograms (abi.h): key.obj is the address, key.kind says of what kind it is. Beside them a few
 * waits are described one by one, through a ring buffer: who waited and where in the code.
 */
#ifndef WS_ABI_CONTEND_H
#define WS_ABI_CONTEND_H

#include "abi.h"

/* The key.kind of what found no entry of its own (key.obj is ABI_OBJ_OTHER). */
#define ABI_KIND_OTHER 0

/* abi_khead.sums of a contended entry; the rest is the source's. */
#define ABI_CONTEND_TASKS 4 /* no sum: bit (tid % 64) of each task that waited in this epoch */

/* Kinds of locks, by the flags of lock:contention_begin. */
#define ABI_LOCK_SPINLOCK 1
#define ABI_LOCK_RWLOCK_R 2
#define ABI_LOCK_RWLOCK_W 3
#define ABI_LOCK_MUTEX 4
#define ABI_LOCK_RWSEM_R 5
#define ABI_LOCK_RWSEM_W 6
#define ABI_LOCK_PERCPU_RWSEM_R 7
#define ABI_LOCK_PERCPU_RWSEM_W 8
#define ABI_LOCK_RT_MUTEX 9
#define ABI_LOCK_RT_RW_R 10 /* PREEMPT_RT: rwlock_t and rw_semaphore alike */
#define ABI_LOCK_RT_RW_W 11
#define ABI_LOCK_SEMAPHORE 12
#define ABI_LOCK_UNKNOWN 13 /* flags of a kernel that is newer than we */
#define ABI_LOCK_KINDS 14

/* In which object of the waiting task the address lies. */
#define ABI_OBJECT_NONE 0
#define ABI_OBJECT_MM 1
#define ABI_OBJECT_SIGNAL 2
#define ABI_OBJECT_SIGHAND 3
#define ABI_OBJECT_FILES 4
#define ABI_OBJECT_FS 5
#define ABI_OBJECT_TASK 6
#define ABI_OBJECT_FUTEX 7 /* a bucket of its process's own futex table (6.16) */
#define ABI_OBJECTS 8

#define ABI_CONTEND_IPS 16

/* Whose stack it is, abi_contend_sample.role: who waited; with --why who held it, */
#define ABI_ROLE_WAITED 0
#define ABI_ROLE_RELEASED 1 /* when it woke who waited; */
#define ABI_ROLE_TOOK 2	    /* where it had waited itself, and then took it */

/* One wait, described: taken when it has ended, so that it is no part of what it describes. */
struct abi_contend_sample {
	struct abi_key key; /* of the row it belongs to; cpu: where it waited */
	__u64 object;	    /* where the object begins; 0: not known */
	__u32 type;	    /* ABI_OBJECT_* */
	__u32 pid;
	__u32 tid; /* 0: an interrupt, or an idle CPU */
	__u32 nips;
	__u32 role;
	__u32 execs; /* of a futex's process (abi_futex_key) */
	__u64 born;  /* of a futex: start time of the process (abi_futex_key) */
	__u64 space; /* of the process's addresses (abi_space.h); 0: not known */
	char comm[ABI_COMM_LEN];
	char process[ABI_COMM_LEN]; /* comm of its process; empty: not asked for */
	__u64 ips[ABI_CONTEND_IPS]; /* innermost first */
};

_Static_assert(sizeof(struct abi_contend_sample) == 112 + 8 * ABI_CONTEND_IPS,
	       "abi_contend_sample size");

#endif
