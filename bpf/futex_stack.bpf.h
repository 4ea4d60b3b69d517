/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in its program a wait came from. Frame pointers do not say: the C library's lock functions
 * have none on x86-64, so that following them leaves out the very caller that is looked for, and in
 * programs without any the register holds something else. So the stack is searched for return
 * addresses: words that point behind a call instruction. Each is checked in the program's memory;
 * one that an earlier call has left behind may yet be among them.
 */
#ifndef WS_FUTEX_STACK_BPF_H
#define WS_FUTEX_STACK_BPF_H

const volatile bool have_pt_regs; /* bpf_task_pt_regs: dd6e10fbd9fb (5.15) */

#define STACK_WORDS 96
#define USER_END_BITS 47

/* Global, for the verifier to take it once. */
__noinline u32 behind_call(u64 addr)
{
	u8 b[8];

	if (addr < 0x10000 || addr >> USER_END_BITS ||
	    bpf_probe_read_user(b, sizeof(b), (void *)(addr - sizeof(b))))
		return 0;
	if (b[3] == 0xe8) /* call rel32 */
		return 1;
	/* call r/m64: ff /2, by length */
	return (b[6] == 0xff && (b[7] & 0x38) == 0x10) || (b[5] == 0xff && (b[6] & 0xf8) == 0x50) ||
	       (b[5] == 0xff && b[6] == 0x14) || (b[4] == 0xff && b[5] == 0x54) ||
	       (b[2] == 0xff && ((b[3] & 0xf8) == 0x90 || b[3] == 0x15)) ||
	       (b[1] == 0xff && b[2] == 0x94);
}

/* Into ips; how many. */
static __always_inline u32 stack_search(u64 ips[ABI_CONTEND_IPS], u64 ip, u64 sp)
{
	u64 lim = ABI_CONTEND_IPS, at, word;
	u32 i, n = 1;

	ips[0] = ip;
	for (i = 0; i < STACK_WORDS && n < ABI_CONTEND_IPS; i++) {
		if (bpf_probe_read_user(&word, sizeof(word), (void *)(sp + 8 * i)))
			break;
		at = n;
		CLAMP_INDEX(at, lim);
		ips[at] = word;
		n += behind_call(word) & 1;
	}
	return n;
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
