/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bucket_slot() against exact integer arithmetic done elsewhere (gen_boundaries.py). */
#include <errno.h>
#include <math.h>

#include "core/hist.h"
#include "unit.h"

struct truth {
	uint32_t schema;
	uint64_t value;
	uint32_t slot;
};

#include "boundaries.inc"

static void init(struct bucket_table *t, uint32_t schema)
{
	assert_int_equal(bucket_table_init(t, schema), 0);
}

TEST(every_boundary)
{
	struct bucket_table t[BUCKET_SCHEMA_MAX + 1];
	size_t wrong = 0;

	for (uint32_t s = BUCKET_SCHEMA_MIN; s <= BUCKET_SCHEMA_MAX; s++)
		init(&t[s], s);
	assert_true(ROWS(truths) > 30000 + 38 * (8 + 16 + 32 + 64));
	for (size_t i = 0; i < ROWS(truths); i++) {
		const struct truth *r = &truths[i];
		uint32_t slot = bucket_slot(&t[r->schema], r->schema, r->value);

		if (slot != r->slot && wrong++ < 10)
			print_error("schema %u: %llu ns is in slot %u, should be in %u\n",
				    r->schema, (unsigned long long)r->value, slot, r->slot);
	}
	assert_int_equal(wrong, 0);
}

TEST(base)
{
	static const int32_t bases[] = {TRUE_BASE_3, TRUE_BASE_4, TRUE_BASE_5, TRUE_BASE_6};
	struct bucket_table t;

	for (uint32_t s = BUCKET_SCHEMA_MIN; s <= BUCKET_SCHEMA_MAX; s++) {
		init(&t, s);
		assert_int_equal(t.base, bases[s - BUCKET_SCHEMA_MIN]);
		assert_int_equal(hist_schema_base(s), t.base);
		assert_int_equal(t.schema, s);
	}
}

/* Powers of two seconds are the only whole boundaries: the upper edge belongs to the bucket. */
TEST(whole_seconds)
{
	struct bucket_table t;

	for (uint32_t s = BUCKET_SCHEMA_MIN; s <= BUCKET_SCHEMA_MAX; s++) {
		init(&t, s);
		for (int n = -9; n <= 8; n++) {
			uint64_t edge = n < 0 ? 1000000000ULL >> -n : 1000000000ULL << n;
			uint32_t slot = (uint32_t)(n * (1 << s) - t.base);

			assert_int_equal(bucket_slot(&t, s, edge), slot);
			assert_int_equal(bucket_slot(&t, s, edge - 1), slot);
			assert_int_equal(bucket_slot(&t, s, edge + 1),
					 n < 8 ? slot + 1 : (uint32_t)BUCKET_SLOTS(s) - 1);
			assert_true(hist_slot_upper_ns(s, slot) == ldexp(1e9, n));
		}
	}
}

TEST(ends)
{
	struct bucket_table t;

	for (uint32_t s = BUCKET_SCHEMA_MIN; s <= BUCKET_SCHEMA_MAX; s++) {
		uint32_t last = (uint32_t)BUCKET_SLOTS(s) - 1;

		init(&t, s);
		assert_int_equal(bucket_slot(&t, s, 1), 0);
		assert_int_equal(bucket_slot(&t, s, BUCKET_VALUE_END - 1), (8 << s) - t.base);
		assert_true(bucket_slot(&t, s, BUCKET_VALUE_END - 1) <= last);
		assert_int_equal(bucket_slot(&t, s, BUCKET_VALUE_END), last);
		assert_int_equal(bucket_slot(&t, s, BUCKET_VALUE_END + 1), last);
		assert_int_equal(bucket_slot(&t, s, 1ULL << 38), last);
		assert_int_equal(bucket_slot(&t, s, 1ULL << 63), last);
		assert_int_equal(bucket_slot(&t, s, ~0ULL), last);
		/* callers keep 0 out; should one not, it must stay within the table */
		assert_true(bucket_slot(&t, s, 0) <= last);
	}
}

TEST(ilog2)
{
	struct bucket_table t;

	init(&t, BUCKET_SCHEMA_DEFAULT);
	for (uint32_t e = 0; e < BUCKET_OCTAVES; e++) {
		assert_int_equal(bucket_ilog2(&t, 1ULL << e), e);
		assert_int_equal(bucket_ilog2(&t, (1ULL << e) | ((1ULL << e) - 1)), e);
	}
}

/* What bucket_slot() relies on: a slot of the look-up table holds one threshold at most. */
TEST(table_shape)
{
	struct bucket_table t;

	for (uint32_t s = BUCKET_SCHEMA_MIN; s <= BUCKET_SCHEMA_MAX; s++) {
		init(&t, s);
		for (uint32_t i = 0; i < 1U << s; i++) {
			assert_int_equal(t.th[i] >> 62, 1);
			assert_true(t.th[i] < t.th[i + 1]);
			if (i)
				assert_true(t.th[i] - t.th[i - 1] > 1ULL << (61 - s));
		}
		for (uint32_t i = 1U << s; i < ROWS(t.th); i++)
			assert_true(t.th[i] == ~0ULL >> 1);
		for (uint32_t i = (2U << s) + 1; i < 4U << s; i++)
			assert_in_range(t.lut[i] - t.lut[i - 1], 0, 1);
	}
}

TEST(refused_schemas)
{
	static const uint32_t bad[] = {0, 1, 2, 7, 8, 31, 32, UINT32_MAX};
	struct bucket_table t;

	for (size_t i = 0; i < ROWS(bad); i++)
		assert_int_equal(bucket_table_init(&t, bad[i]), -EINVAL);
}

/* Edges and middles of neighbours fit together. */
TEST(edges)
{
	for (uint32_t s = BUCKET_SCHEMA_MIN; s <= BUCKET_SCHEMA_MAX; s++) {
		double step = exp2(1.0 / (1 << s));

		assert_true(hist_slot_upper_ns(s, 0) >= 1.0);
		assert_true(hist_slot_upper_ns(s, 0) / step < 1.0);
		for (uint32_t k = 1; k < (uint32_t)BUCKET_SLOTS(s); k++) {
			double low = hist_slot_upper_ns(s, k - 1), high = hist_slot_upper_ns(s, k);

			assert_true(fabs(high / low - step) < 1e-12);
			assert_true(fabs(hist_slot_middle_ns(s, k) / sqrt(low * high) - 1) < 1e-12);
		}
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
