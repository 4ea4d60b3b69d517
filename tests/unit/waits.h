/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms: to put into frames, and whether one is what went into it. Include after unit.h. */
#ifndef WS_WAITS_H
#define WS_WAITS_H

#include "core/hist.h"

/* Of n waits of `ns`; the caller frees it. */
static inline struct hist waits(uint64_t ns, uint32_t n)
{
	struct bucket_table t;
	struct hist h;

	assert_int_equal(bucket_table_init(&t, 5), 0);
	hist_init(&h, 5);
	while (n--)
		assert_int_equal(hist_add(&h, &t, ns), 0);
	return h;
}

static inline void check_hist(const struct hist *h, uint64_t count, uint64_t sum, uint64_t min,
			      uint64_t max)
{
	assert_int_equal(h->count, count);
	assert_int_equal(h->sum_ns, sum);
	assert_int_equal(h->min_ns, min);
	assert_int_equal(h->max_ns, max);
}

#endif
