/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --slower: operations above the limit. */
#ifndef WS_EXT4_SLOW_BPF_H
#define WS_EXT4_SLOW_BPF_H

const volatile bool slower;
const volatile __u64 slower_ns;

static __always_inline void ext4_slow(struct abi_counts *counts, struct task_struct *p,
				      const struct ended *end)
{
	if (!slower || end->total_ns < slower_ns)
		return;
}

#endif
