/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interrupted registers, in the order of include/recipe.h. */
#ifndef WS_LINE_REGS_BPF_H
#define WS_LINE_REGS_BPF_H

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

static __always_inline void copy_x86(u64 *to, const u64 *ctx)
{
	to[0] = ctx[10];  /* rax */
	to[1] = ctx[11];  /* rcx */
	to[2] = ctx[12];  /* rdx */
	to[3] = ctx[5];	  /* rbx */
	to[4] = ctx[X86_CTX_RSP];
	to[5] = ctx[4];	  /* rbp */
	to[6] = ctx[13];  /* rsi */
	to[7] = ctx[14];  /* rdi */
	to[8] = ctx[9];	  /* r8 */
	to[9] = ctx[8];	  /* r9 */
	to[10] = ctx[7];  /* r10 */
	to[11] = ctx[6];  /* r11 */
	to[12] = ctx[3];  /* r12 */
	to[13] = ctx[2];  /* r13 */
	to[14] = ctx[1];  /* r14 */
	to[15] = ctx[0];  /* r15 */
	to[RECIPE_X86_RIP] = ctx[X86_CTX_RIP];
}

static __always_inline u64 regs_ip(const u64 *ctx)
{
	return machine == MACHINE_ARM64 ? ctx[ARM64_CTX_PC] : ctx[X86_CTX_RIP];
}

/* 32-bit code: x86's code segment says so; on arm64 the processor's mode bit (PSR_MODE32_BIT). */
static __always_inline bool regs_compat(const u64 *ctx)
{
	if (machine == MACHINE_ARM64)
		return ctx[ARM64_CTX_PC + 1] & 0x10;
	return ctx[X86_CTX_CS] == 0x23;
}

static __always_inline const u64 *regs_copy(const u64 *ctx)
{
	struct line_regs *to;
	u32 zero = 0, k;

	to = bpf_map_lookup_elem(&line_scratch, &zero);
	if (!to)
		return NULL;
	if (machine == MACHINE_ARM64) {
#pragma unroll
		for (k = 0; k < RECIPE_REGS; k++)
			to->v[k] = ctx[k];
	} else {
		copy_x86(to->v, ctx);
	}
	return to->v;
}

#endif
