/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram as the kernel's programs keep it (struct abi_hist), for tests that fill one. */
#ifndef WS_KHIST_H
#define WS_KHIST_H

#include <linux/types.h>

#include "abi.h"

/* What programs do besides the slots: n samples of `v` ns in that epoch. */
static inline void khist_sum(struct abi_hist *h, uint64_t epoch, uint64_t v, uint32_t n)
{
	if (h->epoch != epoch || v < h->min_ns)
		h->min_ns = v;
	if (h->epoch != epoch || v > h->max_ns)
		h->max_ns = v;
	h->epoch = epoch;
	h->sum_ns += v * n;
}

#endif
