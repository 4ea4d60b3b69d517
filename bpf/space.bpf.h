/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address space of a task, by which user space tells whether a name belongs to a user address. */
#ifndef WS_SPACE_BPF_H
#define WS_SPACE_BPF_H

#include "abi_space.h"

/* typed: the memory of `p` is read by loads, else by calls. A load is cheaper to run; futex.bpf.c calls, for its loops cost the
 * verifier half as much again with loads. */
static __always_inline u64 space_of(struct task_struct *p, bool typed)
{
	struct mm_struct *mm = TASK_READ(p, mm);
	u64 v[ABI_SPACE_PARTS];

	if (!mm)
		return 0;
	v[0] = READ_AS(typed, mm, start_code);
	v[1] = READ_AS(typed, mm, end_code);
	v[2] = READ_AS(typed, mm, start_stack);
	v[3] = READ_AS(typed, mm, start_data);
	v[4] = READ_AS(typed, mm, start_brk);
	return abi_space(v);
}

#endif
