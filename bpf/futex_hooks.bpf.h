/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where system calls are seen. Measured on 6.18, x86-64, both ends, against no tracing at all:
 *
 *				getppid()	a futex call
 *	syscalls:sys_*_futex	+10 ns		+65 ns
 *	raw sys_enter/sys_exit	+40 ns		+36 ns
 *
 * Any system-call tracepoint sends every system call of the machine down the slow path; the first
 * kind then runs a program for futexes alone. It takes tracefs (for the tracepoint's number) and
 * CONFIG_FTRACE_SYSCALLS; without them user space takes the second. That one also sees what the first
 * leaves out, the calls of 32-bit programs (arch_trace_is_compat_syscall): for them both are there, if
 * a 32-bit program runs when waitscope starts. Programs that begin later are counted (ws_exec_32).
 */
#ifndef WS_FUTEX_HOOKS_BPF_H
#define WS_FUTEX_HOOKS_BPF_H

#include "user_regs.bpf.h"

/* What perf hands to programs on syscalls:sys_enter_* and sys_exit_* (syscall_tp_t). */
struct syscall_enter {
	u64 common;
	s64 nr;
	u64 args[6];
};

struct syscall_exit {
	u64 common;
	s64 nr;
	s64 ret;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info___x86 {
	u32 status;
};

struct thread_info___arm64 {
	unsigned long flags;
};

struct task_struct___x86 {
	struct thread_info___x86 thread_info;
};

struct task_struct___arm64 {
	struct thread_info___arm64 thread_info;
};

#pragma clang attribute pop

#define TS_COMPAT 2U	      /* arch/x86/include/asm/thread_info.h */
#define TIF_32BIT (1UL << 22) /* arch/arm64/include/asm/thread_info.h */

/* Call numbers: those from 424 on are the same everywhere. */
#define NR_FUTEX_X86 202
#define NR_FUTEX_ARM64 98
#define NR_RESTART_X86 219
#define NR_RESTART_ARM64 128
#define NR_FUTEX_32 240	       /* i386 and arm */
#define NR_FUTEX_TIME64_32 422 /* ... with 64-bit time-outs */
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456

#define SYSCALL_OTHER 0
#define SYSCALL_FUTEX 1
#define SYSCALL_WAITV 2
#define SYSCALL_WAKE 3
#define SYSCALL_WAIT 4
#define SYSCALL_REQUEUE 5
#define SYSCALL_RESTART 6

/* Does a 32-bit call go on? Asked about the few numbers only that mean a futex there. */
static __always_inline bool syscall_is_32(void)
{
	const struct task_struct___x86 *x = (void *)bpf_get_current_task();
	const struct task_struct___arm64 *a = (const void *)x;

	if (bpf_core_field_exists(x->thread_info.status)) /* x86 has both */
		return BPF_CORE_READ(x, thread_info.status) & TS_COMPAT;
	return BPF_CORE_READ(a, thread_info.flags) & TIF_32BIT;
}

static __always_inline u32 syscall_new(u32 nr)
{
	if (nr == NR_FUTEX_WAITV)
		return SYSCALL_WAITV;
	if (nr == NR_FUTEX_WAKE)
		return SYSCALL_WAKE;
	if (nr == NR_FUTEX_WAIT)
		return SYSCALL_WAIT;
	return nr == NR_FUTEX_REQUEUE ? SYSCALL_REQUEUE : SYSCALL_OTHER;
}

/*
 * Most calls of the machine end here: few instructions. A wait that a 32-bit program restarts
 * (restart_syscall is 0 there, which is read or io_setup elsewhere) is not looked for.
 */
static __always_inline u32 syscall_kind(u32 nr, bool *is_32)
{
	u32 futex = arch_x86() ? NR_FUTEX_X86 : NR_FUTEX_ARM64;
	u32 restart = arch_x86() ? NR_RESTART_X86 : NR_RESTART_ARM64;

	*is_32 = false;
	if (nr != futex && nr != restart && nr - NR_FUTEX_WAITV > 7 && nr != NR_FUTEX_32 &&
	    nr != NR_FUTEX_TIME64_32)
		return SYSCALL_OTHER;
	*is_32 = syscall_is_32();
	if (nr >= NR_FUTEX_WAITV)
		return syscall_new(nr);
	if (*is_32)
		return nr == NR_FUTEX_32 || nr == NR_FUTEX_TIME64_32 ? SYSCALL_FUTEX
								     : SYSCALL_OTHER;
	if (nr == futex)
		return SYSCALL_FUTEX;
	return nr == restart ? SYSCALL_RESTART : SYSCALL_OTHER;
}

struct args {
	u64 v[4];
};

static __always_inline void syscall_args(struct args *a, const void *regs, bool is_32)
{
	const struct pt_regs___x86 *x = regs;
	const struct pt_regs___arm64 *r = regs;

	if (!arch_x86()) {
		a->v[0] = r->regs[0];
		a->v[1] = r->regs[1];
		a->v[2] = r->regs[2];
		a->v[3] = r->regs[3];
	} else if (is_32) {
		a->v[0] = (u32)x->bx;
		a->v[1] = (u32)x->cx;
		a->v[2] = (u32)x->dx;
		a->v[3] = (u32)x->si;
	} else {
		a->v[0] = x->di;
		a->v[1] = x->si;
		a->v[2] = x->dx;
		a->v[3] = x->r10;
	}
}

static __always_inline u32 syscall_nr(const void *regs)
{
	if (arch_x86())
		return (u32)((const struct pt_regs___x86 *)regs)->orig_ax;
	return (u32)((const struct pt_regs___arm64 *)regs)->syscallno;
}

#endif
