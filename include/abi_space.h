/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells a process's address space from the one before an exec, and from that of another process
 * which had its number: names that were read of one are not true of another. BPF makes the number
 * of mm_struct, the opener of /proc/PID/stat, which has the same values: where code, data, heap and
 * stack were placed at the exec. With these equal it is the same program at the same places (a fork
 * of it, say), and names are equal too. Needs __u64.
 */
#ifndef WS_ABI_SPACE_H
#define WS_ABI_SPACE_H

#define ABI_SPACE_PARTS 5 /* start_code, end_code, start_stack, start_data, start_brk */

/* 0: a kernel thread, or nothing may be known. */
static inline __attribute__((always_inline)) __u64 abi_space(const __u64 v[ABI_SPACE_PARTS])
{
	__u64 h = 0, any = 0;

	for (int i = 0; i < ABI_SPACE_PARTS; i++) {
		any |= v[i];
		h = (h ^ v[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return any ? h | 1 : 0;
}

#endif
