/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms to put into frames. Include after unit.h. */
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

#endif
