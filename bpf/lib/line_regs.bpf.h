/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interrupted registers, in the order of include/recipe.h. */
#ifndef WS_LINE_REGS_BPF_H
#define WS_LINE_REGS_BPF_H

#include "common.bpf.h"
#include "recipe.h"

#define MACHINE_X86_64 1
#define MACHINE_ARM64 2

/* One object for all machines: user space says on which it runs. */
const volatile __u32 machine = MACHINE_X86_64;

/*
 * A perf_event program's context begins with the registers in the 8-byte layout of the UAPI, not
 * that of the kernel's own pt_regs (whose cs is 2 bytes wide from 6.9 on, ee63291aa828).
 */
#define X86_CTX_RIP 16
#define X86_CTX_CS 17
#define X86_CTX_RSP 19
#define ARM64_CTX_SP 31
#define ARM64_CTX_PC 32

/* One word of the context; by hand, for clang would pick the offset at run time, which the verifier
 * refuses ("dereference of modified ctx ptr"). */
#define CTX_WORD(ctx, i)                                      \
	({                                                    \
		u64 _v;                                       \
		asm volatile("%[v] = *(u64 *)(%[c] + %[o])"   \
			     : [v] "=r"(_v)                   \
			     : [c] "r"(ctx), [o] "i"((i)*8)); \
		_v;                                           \
	})

struct line_regs {
	__u64 v[RECIPE_REGS];
	__u64 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct line_regs);
} line_scratch SEC(".maps");

static __always_inline void copy_x86(u64 *to, void *ctx)
{
	to[0] = CTX_WORD(ctx, 10); /* rax */
	to[1] = CTX_WORD(ctx, 11); /* rcx */
	to[2] = CTX_WORD(ctx, 12); /* rdx */
	to[3] = CTX_WORD(ctx, 5);  /* rbx */
	to[4] = CTX_WORD(ctx, X86_CTX_RSP);
	to[5] = CTX_WORD(ctx, 4);  /* rbp */
	to[6] = CTX_WORD(ctx, 13); /* rsi */
	to[7] = CTX_WORD(ctx, 14); /* rdi */
	to[8] = CTX_WORD(ctx, 9);  /* r8 */
	to[9] = CTX_WORD(ctx, 8);  /* r9 */
	to[10] = CTX_WORD(ctx, 7); /* r10 */
	to[11] = CTX_WORD(ctx, 6); /* r11 */
	to[12] = CTX_WORD(ctx, 3); /* r12 */
	to[13] = CTX_WORD(ctx, 2); /* r13 */
	to[14] = CTX_WORD(ctx, 1); /* r14 */
	to[15] = CTX_WORD(ctx, 0); /* r15 */
	to[RECIPE_X86_RIP] = CTX_WORD(ctx, X86_CTX_RIP);
}

static __always_inline u64 regs_ip(void *ctx)
{
	if (machine == MACHINE_ARM64)
		return CTX_WORD(ctx, ARM64_CTX_PC);
	return CTX_WORD(ctx, X86_CTX_RIP);
}

/* 32-bit code: x86's code segment says so; on arm64 the processor's mode bit (PSR_MODE32_BIT). */
static __always_inline bool regs_compat(void *ctx)
{
	if (machine == MACHINE_ARM64)
		return CTX_WORD(ctx, ARM64_CTX_PC + 1) & 0x10;
	return CTX_WORD(ctx, X86_CTX_CS) == 0x23;
}

static __always_inline const u64 *regs_copy(void *ctx)
{
	struct line_regs *to;
	u32 zero = 0, k;

	to = bpf_map_lookup_elem(&line_scratch, &zero);
	if (!to)
		return NULL;
	if (machine == MACHINE_ARM64) {
#pragma unroll
		for (k = 0; k < RECIPE_REGS; k++)
			to->v[k] = CTX_WORD(ctx, k);
	} else {
		copy_x86(to->v, ctx);
	}
	return to->v;
}

#endif
