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
	uint32_t cap : 31;
	uint32_t packed : 1; /* bytes[0 .. len) instead: no more than the buckets that it has */
	union {
		uint64_t *slots;
		uint8_t *bytes; /* packed.h */
	};
};

/*
 * The buckets that hold something, in order, of either form:
 *
 *	struct hist_walk w = {0};
 *
 *	while (hist_next(h, &w))
 *		... w.slot, w.n ...
 */
struct hist_walk {
	uint32_t at; /* the walk's own */
	uint32_t slot;
	uint64_t n;
};

/* The same at a schema, and as Prometheus numbers buckets (bucket.h). */
struct hist_buckets {
	struct hist_walk at; /* one ahead */
	bool begun, more;
	int32_t bucket;
	uint64_t n;
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
	bool few;	 /* fewer than 10 samples beyond: mark it (DESIGN 2.13) */
};

/* Fills the table for schema s; BUCKET_SCHEMA_MIN <= s <= BUCKET_SCHEMA_MAX, else -EINVAL. */
int bucket_table_init(struct bucket_table *t, uint32_t schema);

void hist_init(struct hist *h, uint32_t schema);
/* For one of very many: two bytes a bucket instead of eight for each slot between the first and the
 * last. It is meant to be merged into: adding to a single slot costs as much as a merge. */
void hist_init_packed(struct hist *h, uint32_t schema);
bool hist_next(const struct hist *h, struct hist_walk *w);
/*
 * `schema`: 0 (a bucket for each power of two) to the histogram's own. Samples above the range
 * (BUCKET_VALUE_END) are in the last slot, which lies behind 256 s; in a histogram of schema 3,
 * which has none there, it is the one before.
 */
bool hist_next_bucket(const struct hist *h, uint32_t schema, struct hist_buckets *w);
void hist_free(struct hist *h);
/* Forget the samples, keep the memory. */
void hist_reset(struct hist *h);
/* Make room for all slots at once (0 or -ENOMEM), so that later adds cannot fail. */
int hist_reserve_all(struct hist *h);
/* n samples into a slot; count rises, sum/min/max are the caller's. 0 or -ENOMEM. */
int hist_add_slot(struct hist *h, uint32_t slot, uint64_t n);
/* One sample of v ns, exact sum/min/max included. */
int hist_add(struct hist *h, const struct bucket_table *t, uint64_t v);
/* to += from. Of two schemas the coarser one is the result's: `to` may lose precision, no sample
 * and no bucket is ever split. 0 or -ENOMEM. */
int hist_merge(struct hist *to, const struct hist *from);
/*
 * To a coarser schema: each bucket joins the one that holds it (bucket b of schema s lies in bucket
 * ceil(b / 2) of schema s - 1), so the result is what counting at that schema would have given. 0;
 * -EINVAL: `schema` is finer, or none.
 */
int hist_rescale(struct hist *h, uint32_t schema);
/*
 * from -= earlier, which is part of it: what came in between. Of two schemas the coarser one is
 * the result's. Minimum and maximum of what is left are exact where they were not in `earlier`,
 * else bounds: the edges of the first and last bucket. 0; -EINVAL: `earlier` is no part of it, and
 * `from` is of no more use, or is packed.
 */
int hist_subtract(struct hist *from, const struct hist *earlier);
/*
 * Samples of `from`, which are those of `what`, go to `to`; neither is packed. Both get what's
 * schema where that is coarser. from's minimum and maximum become edges of its buckets where they
 * may have left. 0, -EINVAL (`from` does not have them: both stay, but for from's schema) or
 * -ENOMEM.
 */
int hist_move(struct hist *to, struct hist *from, const struct hist *what);
/* Nearest rank. count == 0 gives all zeroes. */
struct quantile_value hist_quantile(const struct hist *h, const struct quantile *q);
/* Upper edge of a slot in ns (rounded), and the geometric middle. */
double hist_slot_upper_ns(uint32_t schema, uint32_t slot);
double hist_slot_middle_ns(uint32_t schema, uint32_t slot);
/* What a bucket's samples are taken for: its middle, rounded, but never outside [min, max]. */
uint64_t hist_slot_value(const struct hist *h, uint32_t slot);
/* Prometheus bucket index of slot 0 at this schema (negative): slot k is bucket base + k. */
int32_t hist_schema_base(uint32_t schema);
/* Prometheus bucket index, at schema `coarse`, of what a slot of schema `fine` holds. */
int32_t hist_bucket_at(uint32_t slot, uint32_t fine, uint32_t coarse);

#endif
