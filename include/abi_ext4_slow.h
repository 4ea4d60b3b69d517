/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower of the ext4 source: one operation, through the ring buffer. */
#ifndef WS_ABI_EXT4_SLOW_H
#define WS_ABI_EXT4_SLOW_H

#include "abi.h"

struct abi_ext4_slow {
	__u64 end_ns;
	__u64 total_ns;
	__u64 blocked_ns;
	__u64 run_queue_ns;
	__u64 ino; /* 0: no file */
	__u64 bytes;
	__u64 cgroup_id;
	__u32 pid;
	__u32 tid;
	__u32 cpu;
	__u32 dev;
	__u32 generation;
	__u32 kind;  /* ABI_EXT4_* */
	__u32 split; /* 0: blocked_ns and run_queue_ns are not known */
	__u32 fs;    /* with dev: ABI_EXT4_OBJ */
	char comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct abi_ext4_slow) == 88 + ABI_COMM_LEN, "abi_ext4_slow size");

#endif
