/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms as the kernel's programs keep them, for tests that fill some. */
#ifndef WS_KHIST_H
#define WS_KHIST_H

#include <linux/types.h>

#include "abi.h"

/* The least and the most of the epoch, which either kind of histogram has. */
static inline void khist_ends(__u64 *min_ns, __u64 *max_ns, __u64 *of, uint64_t epoch, uint64_t v)
{
	if (*of != epoch || v < *min_ns)
		*min_ns = v;
	if (*of != epoch || v > *max_ns)
		*max_ns = v;
	*of = epoch;
}

/* What programs do besides the slots: n samples of `v` ns in that epoch. */
static inline void khist_sum(struct abi_hist *h, uint64_t epoch, uint64_t v, uint32_t n)
{
	khist_ends(&h->min_ns, &h->max_ns, &h->epoch, epoch, v);
	h->sum_ns += v * n;
}

/* The same of a keyed entry: khist_add_n, of a value whose slot is known. */
static inline void khist_add(struct abi_khist *h, __u32 *slots, uint64_t epoch, uint64_t v,
			     uint32_t slot, uint32_t n)
{
	__u16 *last = &h->last[h->placed % ABI_KHIST_LAST];

	khist_ends(&h->min_ns, &h->max_ns, &h->epoch, epoch, v);
	h->sum_ns += v * n;
	slots[*last]++;
	*last = (__u16)slot;
	slots[slot] += n - 1;
	h->placed += 1 + ((uint64_t)(n - 1) << 32);
}

#endif
