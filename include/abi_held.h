/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower of locks and futexes: one wait, through a ring buffer, with --why taken apart. */
#ifndef WS_ABI_HELD_H
#define WS_ABI_HELD_H

#include "abi_holder.h"

/* A part of a wait, in which one thread held what was waited for. */
struct abi_held_piece {
	__u64 from_ns, to_ns;
	struct abi_did did;
	__u32 tid; /* or ABI_HOLDER_READERS */
	__u32 pid;
	char comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct abi_held_piece) == 72, "abi_held_piece size");

#define ABI_HELD_PIECES 8

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
};

_Static_assert(sizeof(struct abi_held_slow) == 112 + ABI_HELD_PIECES * 72, "abi_held_slow size");

#endif
