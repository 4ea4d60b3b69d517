/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thresholds, look-up tables and edges of the buckets in include/bucket.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/hist.h"

#define NS_PER_S 1e9

/*
 * Mantissas of the 64 boundaries 2^(j/64) s in an octave of nanoseconds, top bit set, ascending:
 *
 *	floor(2^63 * 2^frac(log2(1e9) + j/64)), j = 0..63, sorted
 *
 * computed with 80 decimal digits. All are irrational but 1e9 * 2^34 = 0xee6b280000000000, which is
 * exact. Coarser schemas take every 2^(6-s)-th of them.
 */
static const __u64 boundary[1 << BUCKET_SCHEMA_MAX] = {
	/* clang-format off */
	0x80992abb83a534a2ULL, 0x81ffa7a9549ca6e3ULL, 0x836a0bee9d9d5401ULL, 0x84d8626d3118d396ULL,
	0x864ab625376b7b77ULL, 0x87c11235836d16a3ULL, 0x893b81dbe7ed5966ULL, 0x8aba10758e1ea3cfULL,
	0x8c3cc97f4cf1aaddULL, 0x8dc3b8960164a7d9ULL, 0x8f4ee976e7c8b4ccULL, 0x90de67fff600044cULL,
	0x9272403036b7aa56ULL, 0x940a7e28259fb382ULL, 0x95a72e2a0ca44f7cULL, 0x97485c9a622adb60ULL,
	0x98ee16002855a076ULL, 0x9a9867054d512391ULL, 0x9c475c770cade96dULL, 0x9dfb034651c99c68ULL,
	0x9fb368881b4a8811ULL, 0xa1709975dfb06757ULL, 0xa332a36df2fd8a6aULL, 0xa4f993f3ed7b61caULL,
	0xa6c578b1139d848cULL, 0xa8965f74bf065071ULL, 0xaa6c5634c8b04b16ULL, 0xac476b0df43f745fULL,
	0xae27ac445c7dc318ULL, 0xb00d2843e1060dc2ULL, 0xb1f7eda09520aa93ULL, 0xb3e80b172fd51af7ULL,
	0xb5dd8f8d7d341ffdULL, 0xb7d88a12d0dd9ea0ULL, 0xb9d909e079c5c456ULL, 0xbbdf1e5a373ce5c6ULL,
	0xbdead70eaf3d9b5aULL, 0xbffc43b7e604a922ULL, 0xc213743bb6f64957ULL, 0xc43078ac4ed47ae7ULL,
	0xc6536148a749ff7dULL, 0xc87c3e7d03cdbec3ULL, 0xcaab20e36fe24ee5ULL, 0xcce019443eb56ce4ULL,
	0xcf1b38968c2339b8ULL, 0xd15c9000bf211c1fULL, 0xd3a430d90d943190ULL, 0xd5f22ca6019743e0ULL,
	0xd846951f0034440aULL, 0xdaa17c2cd19555dbULL, 0xdd02f3ea2ab18362ULL, 0xdf6b0ea438793a89ULL,
	0xe1d9dedb2c86c2b2ULL, 0xe44f7742cb56e3ddULL, 0xe6cbeac2fc0e04aaULL, 0xe94f4c7859ce1066ULL,
	0xebd9afb4c6a18262ULL, 0xee6b280000000000ULL, 0xf103c91834f0f723ULL, 0xf3a3a6f29dd0c333ULL,
	0xf64ad5bc15bce751ULL, 0xf8f969d9b5abf948ULL, 0xfbaf77e97135e555ULL, 0xfe6d14c2b5114024ULL,
	/* clang-format on */
};

/* What a schema takes from the table: bucket of slot 0, and its first boundary's place. */
static const struct {
	int32_t base;
	uint32_t start;
} schemas[BUCKET_SCHEMA_MAX + 1] = {
	[3] = {-239, 1},
	[4] = {-478, 1},
	[5] = {-956, 1},
	[6] = {-1913, 0},
};

/* Thresholds below the first mantissa of slot t: one on that edge itself counts only above it. */
static __u8 thresholds_below(const struct bucket_table *t, uint32_t slot)
{
	__u64 low = (1ULL << 62) + ((__u64)slot << (61 - t->schema));
	uint32_t n = 1U << t->schema;
	uint32_t i = 0;

	while (i < n && t->th[i] < low)
		i++;
	return (__u8)i;
}

int bucket_table_init(struct bucket_table *t, uint32_t schema)
{
	uint32_t i, n;

	if (schema < BUCKET_SCHEMA_MIN || schema > BUCKET_SCHEMA_MAX)
		return -EINVAL;
	memset(t, 0, sizeof(*t));
	n = 1U << schema;
	t->schema = schema;
	t->base = schemas[schema].base;
	for (i = 0; i < n; i++)
		t->th[i] =
			boundary[schemas[schema].start + (i << (BUCKET_SCHEMA_MAX - schema))] >> 1;
	for (; i < sizeof(t->th) / sizeof(t->th[0]); i++)
		t->th[i] = ~0ULL >> 1; /* nothing compares above */
	for (i = 0; i < 2 * n; i++)
		t->lut[2 * n + i] = thresholds_below(t, i);
	for (i = 2; i < sizeof(t->ilog2); i++)
		t->ilog2[i] = (__u8)(t->ilog2[i / 2] + 1);
	return 0;
}

int32_t hist_schema_base(uint32_t schema)
{
	return schema <= BUCKET_SCHEMA_MAX ? schemas[schema].base : 0;
}

/* 2^((bucket of slot - back) / 2^schema) s in ns */
static double edge_ns(uint32_t schema, uint32_t slot, double back)
{
	double bucket = (double)hist_schema_base(schema) + (double)slot - back;

	return NS_PER_S * exp2(bucket / (double)(1U << schema));
}

double hist_slot_upper_ns(uint32_t schema, uint32_t slot)
{
	return edge_ns(schema, slot, 0);
}

double hist_slot_middle_ns(uint32_t schema, uint32_t slot)
{
	return edge_ns(schema, slot, 0.5);
}

int32_t hist_bucket_at(uint32_t slot, uint32_t fine, uint32_t coarse)
{
	int32_t bucket = hist_schema_base(fine) + (int32_t)slot;

	return -((-bucket) >> (fine - coarse)); /* ceil(bucket / 2^n) */
}

bool hist_next_bucket(const struct hist *h, uint32_t schema, struct hist_buckets *w)
{
	if (!w->begun)
		w->more = hist_next(h, &w->at);
	w->begun = true;
	if (!w->more)
		return false;
	w->bucket = hist_bucket_at(w->at.slot, h->schema, schema);
	w->n = 0;
	do {
		w->n += w->at.n;
		w->more = hist_next(h, &w->at);
	} while (w->more && hist_bucket_at(w->at.slot, h->schema, schema) == w->bucket);
	return true;
}
