/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which address space a task's user addresses are of: names of one are not true of another. */
#ifndef WS_SPACE_BPF_H
#define WS_SPACE_BPF_H

#include "abi_space.h"

static __always_inline u64 space_of(struct task_struct *p)
{
	struct mm_struct *mm = TASK_READ(p, mm);
	u64 v[ABI_SPACE_PARTS];

	if (!mm)
		return 0;
	v[0] = BPF_CORE_READ(mm, start_code);
	v[1] = BPF_CORE_READ(mm, end_code);
	v[2] = BPF_CORE_READ(mm, start_stack);
	v[3] = BPF_CORE_READ(mm, start_data);
	v[4] = BPF_CORE_READ(mm, start_brk);
	return abi_space(v);
}

#endif
