/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms in user space: pure data, no clocks, no I/O. Buckets are those of include/bucket.h;
 * counts are 64-bit and exact, as are count, sum, min and max.
 */
#ifndef WS_HIST_H
#define WS_HIST_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bucket.h"

struct hist {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t min_ns; /* of no meaning while count == 0 */
	uint64_t max_ns;
	uint64_t zero; /* samples of 0 ns, part of count */
	uint32_t schema;
	uint32_t first; /* slots[i] is slot first + i of bucket.h; grows on demand */
	uint32_t len;	/* slots held: [first, first + len) may be non-zero */
	uint32_t cap;
	uint64_t *slots;
};

/* A quantile: `ppb` of 1e9, and the text the user wrote ("99.9"). */
struct quantile {
	uint64_t ppb;
	char text[16];
};

struct quantile_value {
	uint64_t ns;	 /* bucket's geometric middle, clamped to [min, max] */
	uint64_t rank;	 /* nearest rank, 1 .. count */
	uint64_t beyond; /* samples after it */
	bool thin;	 /* fewer than 10 samples beyond: mark it (DESIGN 2.13) */
};

/* Fills the table for schema s; BUCKET_SCHEMA_MIN <= s <= BUCKET_SCHEMA_MAX, else -EINVAL. */
int bucket_table_init(struct bucket_table *t, uint32_t schema);

void hist_init(struct hist *h, uint32_t schema);
void hist_free(struct hist *h);
/* Forget the samples, keep the memory. */
void hist_reset(struct hist *h);
/* Make room for all slots at once (0 or -ENOMEM), so that later adds cannot fail. */
int hist_reserve_all(struct hist *h);
/* n samples into a slot; count rises, sum/min/max are the caller's. 0 or -ENOMEM. */
int hist_add_slot(struct hist *h, uint32_t slot, uint64_t n);
/* One sample of v ns, exact sum/min/max included. */
int hist_add(struct hist *h, const struct bucket_table *t, uint64_t v);
/* to += from; same schema, else -EINVAL. */
int hist_merge(struct hist *to, const struct hist *from);
/* Nearest rank. count == 0 gives all zeroes. */
struct quantile_value hist_quantile(const struct hist *h, const struct quantile *q);
/* Upper edge of a slot in ns (rounded), and the geometric middle. */
double hist_slot_upper_ns(uint32_t schema, uint32_t slot);
double hist_slot_middle_ns(uint32_t schema, uint32_t slot);
/* Prometheus bucket index of slot 0 at this schema (negative): slot k is bucket base + k. */
int32_t hist_schema_base(uint32_t schema);

#endif
