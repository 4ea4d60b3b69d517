/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in its program the current task is, or what a wait came from. Frame pointers do not say:
 * the C library's lock functions have none on x86-64, so that following them leaves out the very
 * caller that is looked for, and in programs without any the register holds something else. So the
 * stack is searched for return addresses: words that point behind a call instruction. Each is
 * checked in the program's memory; one that an earlier call has left behind may yet be among them.
 */
#ifndef WS_USER_STACK_BPF_H
#define WS_USER_STACK_BPF_H

#include "common.bpf.h"
#include "abi_contend.h"

/* ---- registers ---- */

/* The registers that a task had when it entered the kernel. */

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

const volatile bool have_pt_regs; /* bpf_task_pt_regs: dd6e10fbd9fb (5.15) */

#define STACK_WORDS 80
#define USER_END_BITS 47
#define NEAR 0x1000 /* a function that locks is no longer than that */

#define CALL_NONE 0
#define CALL_UNKNOWN 1 /* through a register, or memory */

static __always_inline u64 read_user(u64 at)
{
	u64 v = 0;

	bpf_probe_read_user(&v, sizeof(v), (void *)at); /* 0: not there */
	return v;
}

/* jmp *disp32(%rip), with or without endbr64 and bnd before it: an entry of a PLT. Else itself. */
static __always_inline u64 behind_plt(u64 to)
{
	u64 code = read_user(to);

	if ((u32)code == 0xfa1e0ff3U) {
		to += 4;
		code = read_user(to);
	}
	if ((code & 0xff) == 0xf2) {
		to += 1;
		code >>= 8;
	}
	if ((code & 0xffff) != 0x25ff)
		return to;
	return read_user(to + 6 + (s64)(s32)(code >> 16));
}

/* What the call before addr calls. Global, for the verifier to take it once. */
__noinline u64 called_before(u64 addr)
{
	u64 to;
	u8 b[8];

	if (addr < 0x10000 || addr >> USER_END_BITS ||
	    bpf_probe_read_user(b, sizeof(b), (void *)(addr - sizeof(b))))
		return CALL_NONE;
	to = (u64)b[4] | (u64)b[5] << 8 | (u64)b[6] << 16 | (u64)b[7] << 24;
	to = addr + (s64)(s32)to;
	if (b[3] == 0xe8) /* call rel32 */
		return behind_plt(to);
	if (b[2] == 0xff && b[3] == 0x15) /* call *disp32(%rip) */
		return behind_plt(read_user(to));
	/* call r/m64: ff /2, by length */
	if ((b[6] == 0xff && (b[7] & 0x38) == 0x10) || (b[5] == 0xff && (b[6] & 0xf8) == 0x50) ||
	    (b[5] == 0xff && b[6] == 0x14) || (b[4] == 0xff && b[5] == 0x54) ||
	    (b[2] == 0xff && (b[3] & 0xf8) == 0x90) || (b[1] == 0xff && b[2] == 0x94))
		return CALL_UNKNOWN;
	return CALL_NONE;
}

/* What was found so far, on this CPU; in a map, for the verifier not to follow it. */
struct found {
	u64 n;
	u64 ips[ABI_CONTEND_IPS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct found);
} found SEC(".maps");

/*
 * One word of the stack; 1: enough. Who calls the function that one of those found is in, is its
 * caller: what was found in between was left behind by earlier calls.
 */
__noinline u32 stack_word(u64 word)
{
	u64 to = called_before(word), lim = ABI_CONTEND_IPS, at;
	u32 zero = 0, back;
	struct found *f = bpf_map_lookup_elem(&found, &zero);

	if (!f || to == CALL_NONE)
		return !f;
	for (back = 1; back <= 4; back++) {
		at = f->n - back;
		if (at >= lim)
			break;
		CLAMP_INDEX(at, lim);
		if (f->ips[at] - to < NEAR) {
			f->n = at + 1;
			break;
		}
	}
	at = f->n;
	CLAMP_INDEX(at, lim);
	f->ips[at] = word;
	f->n = at + 1;
	return at + 1 >= lim;
}

/* Into ips, innermost first; how many. */
static __always_inline u32 stack_search(u64 ips[ABI_CONTEND_IPS], u64 ip, u64 sp)
{
	u32 i, zero = 0;
	struct found *f = bpf_map_lookup_elem(&found, &zero);
	u64 word;

	if (!f)
		return 0;
	f->ips[0] = ip;
	f->n = 1;
	for (i = 0; i < STACK_WORDS; i++)
		if (bpf_probe_read_user(&word, sizeof(word), (void *)(sp + 8 * i)) ||
		    stack_word(word))
			break;
	__builtin_memcpy(ips, f->ips, sizeof(f->ips));
	return f->n;
}

static __always_inline u32 stack_take(void *ctx, u64 ips[ABI_CONTEND_IPS])
{
	const struct pt_regs___x86 *regs;
	long got;

	if (arch_x86() && have_pt_regs) {
		regs = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
		return stack_search(ips, BPF_CORE_READ(regs, ip), BPF_CORE_READ(regs, sp));
	}
	got = bpf_get_stack(ctx, ips, 8 * ABI_CONTEND_IPS, BPF_F_USER_STACK);
	return got > 0 ? (u32)got / 8 : 0;
}

#endif
