/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower of locks and futexes: one wait, through a ring buffer, with --why taken apart. */
#ifndef WS_ABI_HELD_H
#define WS_ABI_HELD_H

#include "abi_holder.h"

/* A part of a wait, in which one thread held what was waited for. */
struct abi_held_piece {
	__u64 from_ns, to_ns;
	__u64 took_ns; /* abi_holder.took_ns */
	struct abi_did did;
	__u32 tid; /* or ABI_HOLDER_READERS */
	__u32 pid;
	char comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct abi_held_piece) == 80, "abi_held_piece size");

#define ABI_HELD_PIECES 8

/* What a thread waited for that others wait for: the last such stretches (bpf/lib/chain.bpf.h). */
#define ABI_STRETCH_TASK 0  /* for its CPU, on which this task ran */
#define ABI_STRETCH_IDLE 1  /* ... which was on its way out of idle */
#define ABI_STRETCH_LOCK 2  /* for a lock of the kernel, and the thread that held it longest */
#define ABI_STRETCH_FUTEX 3 /* for a futex */

struct abi_stretch {
	__u64 from_ns, to_ns;
	__u64 addr;
	__u64 obj; /* abi_key.obj of its row; 0: counted for none */
	__u32 kind;
	__u32 tid; /* 0: not known */
	__u32 pid;
	__u32 pad;
	char comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct abi_stretch) == 64, "abi_stretch size");

#define ABI_STRETCHES 64 /* a power of two */

struct abi_held_log {
	__u64 n; /* so far */
	struct abi_stretch v[ABI_STRETCHES];
};

_Static_assert(sizeof(struct abi_held_log) == 8 + 64 * ABI_STRETCHES, "abi_held_log size");

struct abi_held_slow {
	struct abi_key key; /* of the row it counts for */
	__u64 addr;
	__u64 end_ns;
	__u64 wait_ns;
	__u64 cgroup_id;
	__u32 pid;
	__u32 tid; /* 0: an interrupt */
	__u32 cpu;
	__u32 pad;
	char comm[ABI_COMM_LEN];
	/* With --why. What is neither in a piece nor released, nobody is known to have held. */
	__u64 released_ns;
	__u64 n;
	struct abi_held_piece pieces[ABI_HELD_PIECES];
	__u64 log_tid; /* whose is the longest; 0: of none is known what it waited for */
	struct abi_held_log log;
};

_Static_assert(sizeof(struct abi_held_slow) ==
		       120 + ABI_HELD_PIECES * 80 + sizeof(struct abi_held_log),
	       "abi_held_slow size");

#endif
