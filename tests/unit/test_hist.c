/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms against the sorted samples themselves. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/hist.h"
#include "unit.h"

#define SAMPLES 20011

static uint64_t random_state = 7;

/* 2^0 .. 2^36 ns, evenly in the exponent */
static uint64_t random_wait(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint64_t)exp2((double)(random_state >> 33) / (double)(1U << 31) * 36);
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void add(struct hist *h, uint64_t v)
{
	struct bucket_table t;

	assert_int_equal(bucket_table_init(&t, h->schema), 0);
	assert_int_equal(hist_add(h, &t, v), 0);
}

static struct quantile_value ask(const struct hist *h, uint64_t ppb)
{
	struct quantile q = {.ppb = ppb};

	return hist_quantile(h, &q);
}

static uint64_t in_slots(const struct hist *h)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < h->len; i++)
		n += h->slots[i];
	return n;
}

TEST(empty)
{
	struct hist h;
	struct quantile_value v;

	hist_init(&h, 5);
	v = ask(&h, 500000000);
	assert_int_equal(v.ns, 0);
	assert_int_equal(v.rank, 0);
	assert_int_equal(v.beyond, 0);
	assert_false(v.few);
	hist_reset(&h);
	hist_free(&h);
	hist_free(&h);
	hist_free(NULL);
}

TEST(one_sample)
{
	static const uint64_t values[] = {0, 1, 2, 999, 123456789, 256000000000, 1ULL << 63};
	struct quantile_value v;
	struct hist h;

	for (size_t i = 0; i < ROWS(values); i++) {
		hist_init(&h, 3);
		add(&h, values[i]);
		for (uint64_t ppb = 1; ppb < 1000000000; ppb += 99999999) {
			v = ask(&h, ppb);
			assert_int_equal(v.ns, values[i]); /* clamped: exact even at schema 3 */
			assert_int_equal(v.rank, 1);
			assert_int_equal(v.beyond, 0);
			assert_true(v.few);
		}
		assert_int_equal(h.sum_ns, values[i]);
		hist_free(&h);
	}
}

/* Quantiles of SAMPLES known values: within half a bucket (and the rounding to whole ns). */
static void check_quantiles(uint32_t schema, double allowed)
{
	static const uint64_t ppbs[] = {1,	   10000000,  250000000, 500000000,
					900000000, 990000000, 999000000, 999999999};
	uint64_t *v = calloc(SAMPLES, sizeof(*v)), sum = 0;
	struct hist h;

	assert_non_null(v);
	hist_init(&h, schema);
	for (size_t i = 0; i < SAMPLES; i++) {
		v[i] = random_wait();
		sum += v[i];
		add(&h, v[i]);
	}
	qsort(v, SAMPLES, sizeof(*v), ascending);
	assert_int_equal(h.count, SAMPLES);
	assert_int_equal(in_slots(&h), SAMPLES);
	assert_int_equal(h.sum_ns, sum);
	assert_int_equal(h.min_ns, v[0]);
	assert_int_equal(h.max_ns, v[SAMPLES - 1]);
	for (size_t i = 0; i < ROWS(ppbs); i++) {
		struct quantile_value q = ask(&h, ppbs[i]);
		uint64_t rank = (SAMPLES * ppbs[i] + 999999999) / 1000000000;
		double exact = (double)v[rank - 1];

		assert_int_equal(q.rank, rank);
		assert_int_equal(q.beyond, SAMPLES - rank);
		assert_int_equal(q.few, SAMPLES - rank < 10);
		assert_true(fabs((double)q.ns - exact) <= exact * allowed + 0.5);
	}
	free(v);
	hist_free(&h);
}

TEST(quantile_error)
{
	check_quantiles(3, 0.045);
	check_quantiles(4, 0.022);
	check_quantiles(5, 0.011);
	check_quantiles(6, 0.0055);
}

/* Nearest rank, row by row: samples 1000, 2000 .. n * 1000 */
TEST(nearest_rank)
{
	static const struct {
		uint64_t n, ppb, rank;
		bool few;
		const char *why;
	} rows[] = {
		{1, 1, 1, true, "never below 1"},
		{10, 500000000, 5, true, "exactly half: the fifth, not the sixth"},
		{11, 500000000, 6, true, "rounded up"},
		{100, 990000000, 99, true, "one beyond"},
		{100, 900000000, 90, false, "exactly ten beyond are enough"},
		{100, 900000001, 91, true, "a hair more is the next rank"},
		{1000, 999000000, 999, true, "99.9 of 1000"},
		{1000, 1000000, 1, false, "0.1 of 1000"},
		{1000, 999999999, 1000, true, "the last, nothing beyond"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct quantile_value v;
		struct hist h;

		hist_init(&h, 6);
		for (uint64_t k = 1; k <= rows[i].n; k++)
			add(&h, k * 1000);
		v = ask(&h, rows[i].ppb);
		if (v.rank != rows[i].rank || v.few != rows[i].few)
			print_error("row %zu: %s\n", i, rows[i].why);
		assert_int_equal(v.rank, rows[i].rank);
		assert_int_equal(v.beyond, rows[i].n - rows[i].rank);
		assert_int_equal(v.few, rows[i].few);
		hist_free(&h);
	}
}

/* count * ppb passes 2^64 early: the product must not. */
TEST(huge_counts)
{
	struct hist h;

	hist_init(&h, 5);
	assert_int_equal(hist_add_slot(&h, 500, 1ULL << 62), 0);
	assert_int_equal(hist_add_slot(&h, 900, 1ULL << 62), 0);
	h.min_ns = 1;
	h.max_ns = ~0ULL;
	assert_int_equal(h.count, 1ULL << 63);
	assert_int_equal(ask(&h, 500000000).rank, 1ULL << 62);
	assert_int_equal(ask(&h, 500000000).ns, llround(hist_slot_middle_ns(5, 500)));
	assert_int_equal(ask(&h, 500000001).ns, llround(hist_slot_middle_ns(5, 900)));
	hist_free(&h);
}

TEST(zero_samples_come_first)
{
	struct hist h;

	hist_init(&h, 5);
	for (int i = 0; i < 50; i++) {
		add(&h, 0);
		add(&h, 4000);
	}
	assert_int_equal(h.zero, 50);
	assert_int_equal(h.count, 100);
	assert_int_equal(h.min_ns, 0);
	assert_int_equal(ask(&h, 500000000).ns, 0);
	assert_in_range(ask(&h, 510000000).ns, 3956, 4000);
	hist_free(&h);
}

/* A bucket's middle may lie outside of what was seen. */
TEST(clamped)
{
	struct bucket_table t;
	uint32_t slot;
	uint64_t middle;
	struct hist h;

	hist_init(&h, 3);
	assert_int_equal(bucket_table_init(&t, 3), 0);
	slot = bucket_slot(&t, 3, 1000000);
	middle = (uint64_t)llround(hist_slot_middle_ns(3, slot));
	add(&h, middle + 5);
	add(&h, middle + 9);
	assert_int_equal(h.len, 1);
	assert_int_equal(ask(&h, 500000000).ns, middle + 5);
	hist_reset(&h);
	add(&h, middle - 9);
	add(&h, middle - 5);
	assert_int_equal(ask(&h, 500000000).ns, middle - 5);
	hist_free(&h);
}

/* The window follows the samples up and down, and holds no more than their span. */
TEST(window)
{
	static const uint32_t order[] = {600, 601, 100, 99, 1215, 0, 600, 640};
	uint64_t want[1216] = {0};
	struct hist h;

	hist_init(&h, 5);
	for (size_t i = 0; i < ROWS(order); i++) {
		assert_int_equal(hist_add_slot(&h, order[i], i + 1), 0);
		want[order[i]] += i + 1;
		for (uint32_t k = 0; k < 1216; k++) {
			bool held = k >= h.first && k < h.first + h.len;

			assert_int_equal(held ? h.slots[k - h.first] : 0, want[k]);
		}
	}
	assert_int_equal(h.first, 0);
	assert_int_equal(h.len, 1216);
	assert_int_equal(h.count, in_slots(&h));
	assert_int_equal(hist_add_slot(&h, 1216, 1), -EINVAL);
	assert_int_equal(hist_add_slot(&h, UINT32_MAX, 1), -EINVAL);
	hist_free(&h);
}

TEST(window_stays_narrow)
{
	struct hist h;

	hist_init(&h, 5);
	assert_int_equal(hist_add_slot(&h, 700, 0), 0);
	assert_int_equal(h.len, 0);
	assert_int_equal(hist_add_slot(&h, 700, 3), 0);
	assert_int_equal(h.first, 700);
	assert_int_equal(h.len, 1);
	assert_true(h.cap < 64);
	hist_free(&h);
}

TEST(reset_keeps_memory)
{
	uint64_t *slots;
	struct hist h;

	hist_init(&h, 6);
	assert_int_equal(hist_reserve_all(&h), 0);
	slots = h.slots;
	for (int round = 0; round < 3; round++) {
		for (uint32_t k = 0; k < (uint32_t)BUCKET_SLOTS(6); k += 7)
			assert_int_equal(hist_add_slot(&h, k, 2), 0);
		for (uint32_t k = BUCKET_SLOTS(6); k--;)
			assert_int_equal(hist_add_slot(&h, k, 1), 0);
		assert_int_equal(in_slots(&h), h.count);
		assert_ptr_equal(h.slots, slots);
		hist_reset(&h);
		assert_int_equal(h.count + h.sum_ns + h.zero + h.len, 0);
		assert_int_equal(h.schema, 6);
	}
	add(&h, 5); /* what lay there before must not come back */
	assert_int_equal(in_slots(&h), 1);
	assert_int_equal(h.min_ns, 5);
	assert_int_equal(h.max_ns, 5);
	hist_free(&h);
}

/* Merged parts are the same histogram as all samples put into one. */
TEST(merge_is_sum)
{
	struct hist part[3], sum, all;

	hist_init(&sum, 4);
	hist_init(&all, 4);
	for (int p = 0; p < 3; p++) {
		hist_init(&part[p], 4);
		for (int i = 0; i < 500 * p; i++) { /* the first stays empty */
			uint64_t v = i % 50 ? random_wait() >> (4 * p) : 0;

			add(&part[p], v);
			add(&all, v);
		}
		assert_int_equal(hist_merge(&sum, &part[p]), 0);
	}
	assert_int_equal(sum.count, 1500);
	assert_int_equal(sum.count, all.count);
	assert_int_equal(sum.sum_ns, all.sum_ns);
	assert_int_equal(sum.min_ns, all.min_ns);
	assert_int_equal(sum.max_ns, all.max_ns);
	assert_int_equal(sum.zero, all.zero);
	assert_int_equal(sum.first, all.first);
	assert_int_equal(sum.len, all.len);
	assert_memory_equal(sum.slots, all.slots, all.len * sizeof(*all.slots));
	for (int p = 0; p < 3; p++)
		hist_free(&part[p]);
	hist_free(&sum);
	hist_free(&all);
}

TEST(merge_edges)
{
	struct hist a, b;

	hist_init(&a, 4);
	hist_init(&b, 4);
	add(&b, 0); /* no slot at all */
	assert_int_equal(hist_merge(&a, &b), 0);
	assert_int_equal(a.count, 1);
	assert_int_equal(a.zero, 1);
	assert_int_equal(a.len, 0);
	add(&b, 77);
	assert_int_equal(hist_merge(&a, &b), 0);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.min_ns, 0);
	assert_int_equal(a.max_ns, 77);
	hist_free(&a);
	hist_free(&b);
}

/* Both forms hold the same, however they come together. */
TEST(packed_is_the_same)
{
	static const uint64_t none[] = {0}, some[] = {1, 1, 5, 300, 300, 1000000, UINT64_MAX / 2};
	struct hist dense[2], packed[2];
	struct quantile q = {.ppb = 500000000};
	struct hist_walk a = {0}, b = {0};
	int i, n;

	for (i = 0; i < 2; i++) {
		hist_init(&dense[i], 4);
		hist_init_packed(&packed[i], 4);
	}
	assert_false(hist_next(&packed[0], &b));
	for (n = 0; n < 200; n++) {
		uint64_t v = n < 7 ? some[n] : n == 7 ? none[0] : random_wait();

		add(&dense[n % 2], v);
		add(&packed[n % 2], v);
	}
	assert_int_equal(hist_merge(&packed[0], &dense[1]), 0); /* of the other form */
	assert_int_equal(hist_merge(&dense[0], &packed[1]), 0);
	assert_int_equal(hist_merge(&packed[0], &packed[1]), 0);
	assert_int_equal(hist_merge(&dense[0], &dense[1]), 0);
	assert_int_equal(hist_add_slot(&packed[0], 7, 1ULL << 40), 0);
	assert_int_equal(hist_add_slot(&dense[0], 7, 1ULL << 40), 0);
	while (hist_next(&dense[0], &a)) {
		assert_true(hist_next(&packed[0], &b));
		assert_int_equal(a.slot, b.slot);
		assert_int_equal(a.n, b.n);
	}
	assert_false(hist_next(&packed[0], &b));
	assert_int_equal(dense[0].count, packed[0].count);
	assert_int_equal(dense[0].sum_ns, packed[0].sum_ns);
	assert_int_equal(dense[0].min_ns, packed[0].min_ns);
	assert_int_equal(dense[0].max_ns, packed[0].max_ns);
	assert_int_equal(dense[0].zero, packed[0].zero);
	assert_int_equal(hist_quantile(&dense[0], &q).ns, hist_quantile(&packed[0], &q).ns);
	hist_reset(&packed[0]);
	assert_false(hist_next(&packed[0], &(struct hist_walk){0}));
	for (i = 0; i < 2; i++) {
		hist_free(&dense[i]);
		hist_free(&packed[i]);
	}
}

static void check_same(const struct hist *h, const struct hist *want)
{
	assert_int_equal(h->schema, want->schema);
	assert_int_equal(h->count, want->count);
	assert_int_equal(h->sum_ns, want->sum_ns);
	assert_int_equal(h->min_ns, want->min_ns);
	assert_int_equal(h->max_ns, want->max_ns);
	assert_int_equal(h->zero, want->zero);
	assert_int_equal(h->first, want->first);
	assert_int_equal(h->len, want->len);
	assert_memory_equal(h->slots, want->slots, h->len * sizeof(*h->slots));
}

/* Every boundary of the finest schema that is a whole number of ns, give or take one; the range's
 * end, and past it; 0. */
static void add_all(struct hist *h)
{
	for (uint32_t slot = 0; slot < BUCKET_SLOTS(6); slot++)
		for (int by = -1; by <= 1; by++)
			add(h, (uint64_t)(hist_slot_upper_ns(6, slot) + by));
	for (int i = 0; i < 1000; i++)
		add(h, random_wait());
	add(h, BUCKET_VALUE_END - 1);
	add(h, BUCKET_VALUE_END);
	add(h, UINT64_MAX / 2);
	add(h, 0);
}

/* Counting finely and joining buckets is counting coarsely. */
TEST(rescale)
{
	struct hist fine, coarse, sum, packed, back;

	for (uint32_t from = 4; from <= 6; from++) {
		for (uint32_t to = 3; to < from; to++) {
			hist_init(&fine, from);
			hist_init(&coarse, to);
			random_state = 11;
			add_all(&fine);
			random_state = 11;
			add_all(&coarse);
			hist_init_packed(&packed, 6);
			hist_init(&back, to);
			assert_int_equal(hist_merge(&packed, &fine), 0);
			assert_int_equal(hist_rescale(&packed, to), 0);
			assert_int_equal(hist_merge(&back, &packed), 0);
			check_same(&back, &coarse);
			assert_int_equal(hist_merge(&packed, &fine), 0);
			assert_int_equal(hist_merge(&back, &fine), 0);
			assert_int_equal(hist_merge(&packed, &back), 0);
			assert_int_equal(hist_subtract(&packed, &back), -EINVAL);
			assert_int_equal(packed.count, 2 * back.count);
			hist_init(&sum, to);
			assert_int_equal(hist_merge(&sum, &packed), 0);
			assert_int_equal(hist_subtract(&sum, &back), 0);
			assert_int_equal(sum.count, back.count);
			assert_int_equal(sum.sum_ns, back.sum_ns);
			hist_free(&packed);
			hist_free(&back);
			hist_free(&sum);
			hist_init(&sum, 6); /* empty: takes the coarser schema */
			assert_int_equal(hist_merge(&sum, &coarse), 0);
			assert_int_equal(hist_merge(&sum, &fine), 0);
			assert_int_equal(hist_rescale(&fine, to), 0);
			check_same(&fine, &coarse);
			assert_int_equal(hist_merge(&fine, &coarse), 0);
			check_same(&sum, &fine);
			assert_int_equal(hist_rescale(&fine, from), -EINVAL);
			hist_free(&fine);
			hist_free(&coarse);
			hist_free(&sum);
		}
	}
	hist_init(&fine, 3);
	assert_int_equal(hist_rescale(&fine, 2), -EINVAL);
}

/* A total less an earlier one is what came between: exact but for min and max, which are bounds. */
TEST(subtract)
{
	static const struct {
		uint64_t before[2], after[2];
		uint32_t schema; /* of the earlier one; the other has 5 */
		uint64_t min, max, slack_percent;
		const char *why;
	} rows[] = {
		{{0}, {100, 5000}, 5, 100, 5000, 0, "nothing before"},
		{{1000, 2000}, {5000, 500}, 5, 500, 5000, 3, "both ends came later"},
		{{100, 9000}, {2000, 2500}, 5, 2000, 2500, 3, "both ends were there before"},
		{{100, 9000}, {2000, 2500}, 3, 2000, 2500, 10, "and of a coarser schema"},
		{{100, 9000}, {2000, 2500}, 6, 2000, 2500, 3, "of a finer one"},
		{{1, 9000}, {1, 1}, 5, 1, 1, 0, "the lowest bucket"},
	};
	struct hist early, between, total;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hist_init(&early, rows[i].schema);
		hist_init(&between, rows[i].schema < 5 ? rows[i].schema : 5);
		hist_init(&total, 5);
		for (int k = 0; k < 2; k++) {
			if (rows[i].before[k]) {
				add(&early, rows[i].before[k]);
				add(&total, rows[i].before[k]);
			}
			add(&between, rows[i].after[k]);
			add(&total, rows[i].after[k]);
		}
		assert_int_equal(hist_subtract(&total, &early), 0);
		if (total.count != 2 || total.sum_ns != between.sum_ns ||
		    total.min_ns > rows[i].min || total.max_ns < rows[i].max ||
		    (rows[i].min - total.min_ns) * 100 > rows[i].min * rows[i].slack_percent ||
		    (total.max_ns - rows[i].max) * 100 > rows[i].max * rows[i].slack_percent)
			fail_msg("%s: %u samples, %u to %u", rows[i].why, (unsigned)total.count,
				 (unsigned)total.min_ns, (unsigned)total.max_ns);
		for (uint32_t k = 0; k < between.len; k++)
			if (between.slots[k])
				assert_int_equal(total.slots[between.first + k - total.first],
						 between.slots[k]);
		add(&early, 1ULL << 30); /* was never in the total */
		assert_int_equal(hist_subtract(&total, &early), -EINVAL);
		hist_free(&early);
		hist_free(&between);
		hist_free(&total);
	}
	/* Zeros alone, and nothing. */
	hist_init(&early, 5);
	hist_init(&total, 5);
	add(&early, 50);
	add(&total, 50);
	add(&total, 0);
	assert_int_equal(hist_subtract(&total, &early), 0);
	assert_int_equal(total.count, 1);
	assert_int_equal(total.max_ns, 0);
	assert_int_equal(hist_subtract(&total, &total), 0);
	assert_int_equal(total.count, 0);
	hist_free(&early);
	hist_free(&total);
}

TEST(add_wants_its_schema)
{
	struct bucket_table t;
	struct hist h;

	hist_init(&h, 5);
	assert_int_equal(bucket_table_init(&t, 4), 0);
	assert_int_equal(hist_add(&h, &t, 1), -EINVAL);
	assert_int_equal(h.count, 0);
	hist_free(&h);
}

/* Formats print bucket `base + slot`: it ends at 2^(that / 2^s) seconds. */
TEST(schema_base)
{
	for (uint32_t s = BUCKET_SCHEMA_MIN; s <= BUCKET_SCHEMA_MAX; s++) {
		struct hist h;
		int32_t bucket;

		hist_init(&h, s);
		add(&h, 500000000);
		bucket = hist_schema_base(s) + (int32_t)h.first;
		assert_int_equal(bucket, -(1 << s)); /* half a second: 2^-1 */
		hist_free(&h);
	}
}

/* Bucket by bucket as Prometheus numbers them: at the schema of the histogram or a coarser one it
 * is what counting there would have given, down to one bucket for each power of two. */
TEST(next_bucket)
{
	static const uint64_t values[] = {1,
					  2,
					  931,
					  932,
					  1000,
					  976562,
					  976563,
					  1000000000,
					  1000000001,
					  255999999999,
					  256000000000,
					  256000000001,
					  1000000000000};
	for (uint32_t s = 3; s <= 6; s++) {
		struct bucket_table t;
		struct hist h;

		assert_int_equal(bucket_table_init(&t, s), 0);
		hist_init_packed(&h, s);
		for (size_t i = 0; i < ROWS(values); i++)
			assert_int_equal(hist_add(&h, &t, values[i]), 0);
		for (uint32_t at = 0; at <= s; at++) {
			struct hist_buckets w = {0};
			int32_t before = INT32_MIN,
				last = hist_schema_base(s) + BUCKET_SLOTS(s) - 1;
			uint64_t n = 0;

			while (hist_next_bucket(&h, at, &w)) {
				uint64_t want = 0;

				assert_true(w.bucket > before);
				before = w.bucket;
				for (size_t i = 0; i < ROWS(values); i++) {
					double edge = log2((double)values[i] / 1e9) * (1 << at);

					/* those past the range share the last bucket */
					if (values[i] > 256000000000)
						edge = (double)last / (1 << (s - at));
					want += (int32_t)ceil(edge - 1e-11) == w.bucket;
				}
				assert_int_equal(w.n, want);
				n += w.n;
			}
			assert_int_equal(n, ROWS(values));
			assert_int_equal(before, (last + (1 << (s - at)) - 1) >> (s - at));
			assert_true(s == 3 || before > 8 << at); /* not with 256 s */
		}
		hist_free(&h);
	}
}

/* What moves is exact, at the coarser of both buckets, and what is not there does not. */
TEST(moves)
{
	static const struct {
		uint32_t schema, of;
	} rows[] = {{5, 4}, {4, 4}, {3, 4}, {5, 5}};
	struct hist from, to, what, stays;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		hist_init(&from, rows[i].schema);
		hist_init(&to, rows[i].schema);
		hist_init(&stays, rows[i].schema);
		hist_init(&what, rows[i].of);
		for (uint64_t ns = 0; ns < 3000000; ns += 1 + ns / 3) {
			add(&from, ns);
			add(&from, ns + 1000);
			add(&what, ns);
			add(&stays, ns + 1000);
		}
		add(&to, 7);
		assert_int_equal(hist_move(&to, &from, &what), 0);
		assert_int_equal(from.count, stays.count);
		assert_int_equal(from.sum_ns, stays.sum_ns);
		assert_int_equal(to.count, what.count + 1);
		assert_int_equal(to.sum_ns, what.sum_ns + 7);
		assert_int_equal(to.min_ns, 0);
		assert_int_equal(to.max_ns, what.max_ns);
		assert_int_equal(from.schema,
				 rows[i].schema < rows[i].of ? rows[i].schema : rows[i].of);
		assert_int_equal(hist_rescale(&stays, from.schema), 0);
		for (uint32_t k = 0; k < stays.len; k++)
			assert_int_equal(from.slots[stays.first + k - from.first], stays.slots[k]);
		assert_int_equal(hist_move(&to, &from, &what), -EINVAL);
		assert_int_equal(from.sum_ns, stays.sum_ns);
		assert_int_equal(to.count, what.count + 1);
		hist_free(&from);
		hist_free(&to);
		hist_free(&stays);
		hist_free(&what);
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
