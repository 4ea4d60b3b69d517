/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms as the kernel's programs keep them, for tests that fill some. */
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

/* The same of a keyed entry: khist_add_n, of a value whose slot is known. */
static inline void khist_add(struct abi_khist *h, __u32 *slots, uint64_t epoch, uint64_t v,
			     uint32_t slot, uint32_t n)
{
	__u16 *last = &h->last[h->placed % ABI_KHIST_LAST];

	if (h->epoch != epoch || v < h->min_ns)
		h->min_ns = v;
	if (h->epoch != epoch || v > h->max_ns)
		h->max_ns = v;
	h->epoch = epoch;
	h->sum_ns += v * n;
	slots[*last]++;
	*last = (__u16)slot;
	slots[slot] += n - 1;
	h->placed += 1 + ((uint64_t)(n - 1) << 32);
}

#endif
