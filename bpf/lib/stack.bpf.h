/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that are taken while others wait: of the kernel, and how many of any kind. */
#ifndef WS_STACK_BPF_H
#define WS_STACK_BPF_H

#include "common.bpf.h"
#include "abi_contend.h"

/* Of a CPU. */
struct stack_rate {
	u64 second; /* of 1.07 s */
	u64 taken;  /* in that one */
};

/* One more, if there are not `most` in this second yet. */
static __always_inline bool stack_allowed(struct stack_rate *r, u64 now, u32 most)
{
	u64 second = now >> 30;

	if (r->second != second) {
		r->second = second;
		r->taken = 0;
	}
	return r->taken++ < most;
}

/* Where in the kernel the current task is; how many addresses. As stack_take() for its program. */
static __always_inline u32 kernel_stack_take(void *ctx, u64 ips[ABI_CONTEND_IPS])
{
	long got = bpf_get_stack(ctx, ips, 8 * ABI_CONTEND_IPS, 0);

	return got > 0 ? (u32)got / 8 : 0;
}

#endif
