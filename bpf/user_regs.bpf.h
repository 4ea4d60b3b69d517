/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers that a task had when it entered the kernel. */
#ifndef WS_USER_REGS_BPF_H
#define WS_USER_REGS_BPF_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs___x86 {
	unsigned long orig_ax, bx, cx, dx, si, di, bp, r8, r9, r10, ip, sp;
};

struct pt_regs___arm64 {
	u64 regs[31];
	int syscallno;
};

#pragma clang attribute pop

static __always_inline bool arch_x86(void)
{
	return bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax);
}

#endif
