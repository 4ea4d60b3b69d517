/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What user space asks bpf/names.bpf.c and what it answers; one question at a time. Needs __u8 and
 * so on: vmlinux.h or linux/types.h. */
#ifndef WS_NAMES_ABI_H
#define WS_NAMES_ABI_H

#define NAMES_PEEK_BYTES 4096

struct names_ask {
	__u64 addr;  /* in */
	__u32 len;   /* in: of the peek, at most NAMES_PEEK_BYTES */
	__s32 ret;   /* of the peek */
	__u64 rq;    /* of the CPU the program ran on; 0: cannot be told */
	__u64 task;  /* that runs there */
	__u64 cache; /* the kmem_cache that addr was allocated from, or 0 */
	__u64 pad;
	__u8 data[NAMES_PEEK_BYTES]; /* out: of the peek */
};

_Static_assert(sizeof(struct names_ask) == 48 + NAMES_PEEK_BYTES, "names_ask size");

#endif
