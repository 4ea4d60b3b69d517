// SPDX-License-Identifier: GPL-2.0-or-later
/* Comparing: cells, intervals and verdicts of runs whose answer is known; cost of many rows. The
 * statistics themselves are held against numpy's by tests/compare/test_compare.py. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/compare.h"
#include "core/compare_inside.h"
#include "unit.h"

#define RUNS 8
#define SEC_NS 1000000000ULL

static const struct quantile quantiles[] = {
	{500000000, "50"}, {900000000, "90"}, {990000000, "99"}, {999000000, "99.9"}};
#define NQ (sizeof(quantiles) / sizeof(quantiles[0]))

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % n;
}

struct many {
	struct compare_run runs[RUNS];
	struct compare_row rows[RUNS];
	const struct compare_run *run_list[RUNS];
	struct compare_row *row_list[RUNS];
	struct compare_side side;
};

/* What a made-up run is like: `waits` an interval of 10 us to 20 us, times `percent` / 100. */
struct shape {
	size_t runs;
	uint32_t intervals, waits, percent;
	uint64_t dur_ns;
	uint32_t own_percent; /* of each run, up to: what runs differ by */
};

static void make(struct many *m, const struct shape *s, uint32_t schema)
{
	struct bucket_table t;
	uint32_t i, w;
	size_t r;

	assert_int_equal(bucket_table_init(&t, schema), 0);
	memset(m, 0, sizeof(*m));
	for (r = 0; r < s->runs; r++) {
		uint64_t level = 100 + (s->own_percent ? random_below(s->own_percent) : 0);

		compare_run_init(&m->runs[r]);
		compare_row_init(&m->rows[r]);
		m->run_list[r] = &m->runs[r];
		m->row_list[r] = &m->rows[r];
		for (i = 0; i < s->intervals; i++) {
			struct hist h;

			hist_init(&h, schema);
			for (w = 0; w < s->waits; w++)
				assert_int_equal(hist_add(&h, &t,
							  (10000 + random_below(10000)) *
								  s->percent / 100 * level / 100),
						 0);
			compare_run_next(&m->runs[r], s->dur_ns ? s->dur_ns : SEC_NS);
			assert_int_equal(compare_row_add(&m->rows[r], &m->runs[r], &h), 0);
			hist_free(&h);
		}
	}
	m->side = (struct compare_side){m->run_list, m->row_list, s->runs};
}

static void unmake(struct many *m)
{
	size_t r;

	for (r = 0; r < RUNS; r++)
		compare_row_free(&m->rows[r]);
}

static const struct {
	const char *why;
	struct shape base, new;
	const char *verdicts; /* p50 p90 p99 p99.9 mean rate sum: s l(onger) f u */
	bool within, few_runs, too_short;
} cases[] = {
	{"equal", {1, 60, 500, 100}, {1, 60, 500, 100}, "sssssss", .within = true},
	{"half as long again", {1, 60, 500, 100}, {1, 60, 500, 150}, "lllllsl", .within = true},
	{"and the other way round",
	 {1, 60, 500, 150},
	 {1, 60, 500, 100},
	 "fffffsf",
	 .within = true},
	{"less than the noise", {1, 60, 500, 100}, {1, 60, 500, 102}, "sssssss", .within = true},
	{"twice as often", {1, 60, 500, 100}, {1, 60, 1000, 100}, "sssssll", .within = true},
	{"the same rate in runs of other lengths",
	 {1, 60, 500, 100},
	 {1, 90, 500, 100},
	 "sssssss",
	 .within = true},
	{"the same rate in intervals of other lengths",
	 {1, 60, 500, 100},
	 {1, 30, 1000, 100, 2 * SEC_NS},
	 "sssssss",
	 .within = true},
	{"few samples beyond p99 and p99.9",
	 {1, 60, 10, 100},
	 {1, 60, 10, 100},
	 "ssuusss",
	 .within = true},
	{"fewer than ten samples", {1, 4, 2, 100}, {1, 60, 500, 100}, "uuuuuuu", .within = true},
	{"too short",
	 {1, 3, 5000, 100},
	 {1, 60, 500, 200},
	 "uuuuuuu",
	 .within = true,
	 .too_short = true},
	{"no interval at all",
	 {1, 0, 0, 100},
	 {1, 60, 500, 200},
	 "uuuuuuu",
	 .within = true,
	 .too_short = true},
	{"nothing in it", {1, 60, 0, 100}, {1, 60, 500, 200}, "uuuuuuu", .within = true},
	{"waits of 0 ns", {1, 60, 500, 0}, {1, 60, 500, 100}, "uuuuusu", .within = true},
	{"four runs a side, longer", {4, 20, 200, 100}, {4, 20, 200, 200}, "lllllsl"},
	{"four runs a side that differ by as much",
	 {4, 20, 200, 100, .own_percent = 100},
	 {4, 20, 200, 110, .own_percent = 100},
	 "ssuusss"},
	{"three runs a side", {3, 20, 200, 100}, {3, 20, 200, 200}, "uuuuusu", .few_runs = true},
	{"one and four", {1, 20, 200, 100}, {4, 20, 200, 200}, "uuuuusu", .few_runs = true},
};

TEST(test_verdicts)
{
	struct compare_work *k = compare_work_new();
	size_t i, j;

	assert_non_null(k);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct many base, new;
		struct compare_result r, *list = &r;
		char got[NQ + COMPARE_MORE + 1] = "";

		random_state = i;
		make(&base, &cases[i].base, 5);
		make(&new, &cases[i].new, 5);
		assert_int_equal(compare_rows(k, &base.side, &new.side, quantiles, NQ, &r), 0);
		assert_int_equal(compare_decide(&list, 1, COMPARE_NOISE), 0);
		for (j = 0; j < NQ + COMPARE_MORE; j++) {
			const struct compare_stat *s = &r.stats[j];

			got[j] = "slfu"[s->verdict];
			if (s->hi > 0 &&
			    !(s->lo <= s->ratio * 1.000001 && s->ratio <= s->hi * 1.000001))
				print_error("%s: %zu: %f %f %f\n", cases[i].why, j, s->lo, s->ratio,
					    s->hi);
			assert_true(s->hi <= 0 || (s->lo > 0 && s->lo <= s->ratio * 1.000001 &&
						   s->ratio <= s->hi * 1.000001));
			assert_true(s->p >= 0 && s->p <= 1);
		}
		if (strcmp(got, cases[i].verdicts))
			print_error("%s: %s, not %s\n", cases[i].why, got, cases[i].verdicts);
		assert_string_equal(got, cases[i].verdicts);
		assert_int_equal(r.within, cases[i].within);
		assert_int_equal(r.few_runs, cases[i].few_runs);
		assert_int_equal(r.too_short, cases[i].too_short);
		unmake(&base);
		unmake(&new);
	}
	compare_work_free(k);
}

/* The same runs have the same results; whatever was compared before. */
TEST(test_again)
{
	static struct many base, new;
	struct compare_work *k = compare_work_new();
	struct compare_result first, then, other;

	random_state = 1;
	make(&base, &(struct shape){1, 60, 200, 100}, 5);
	make(&new, &(struct shape){1, 60, 200, 110}, 5);
	assert_int_equal(compare_rows(k, &base.side, &new.side, quantiles, NQ, &first), 0);
	assert_int_equal(compare_rows(k, &new.side, &base.side, quantiles, 1, &other), 0);
	assert_int_equal(compare_rows(k, &base.side, &new.side, quantiles, NQ, &then), 0);
	assert_memory_equal(&first, &then, sizeof(first));
	assert_int_equal(other.nquantiles, 1);
	assert_true(fabs(other.stats[0].ratio * first.stats[0].ratio - 1) < 1e-9);
	unmake(&base);
	unmake(&new);
	compare_work_free(k);
}

/* Of several schemas the coarsest is taken, within a run too: as if all had been counted at it. */
TEST(test_schemas)
{
	static struct many coarse, fine, mixed;
	struct compare_work *k = compare_work_new();
	struct compare_result r, wanted;
	struct hist h;
	size_t i;

	for (i = 0; i < 2; i++) { /* 300 intervals: joined to cells once before, and once after */
		struct many *new = i ? &mixed : &fine;

		random_state = 1;
		make(&coarse, &(struct shape){1, 10, 50, 100}, 4);
		make(new, &(struct shape){1, 300, 50, 120}, 4);
		hist_init(&h, 4);
		assert_int_equal(hist_add_slot(&h, 90, 7), 0);
		compare_run_next(&new->runs[0], SEC_NS);
		assert_int_equal(compare_row_add(&new->rows[0], &new->runs[0], &h), 0);
		assert_int_equal(compare_rows(k, &coarse.side, &new->side, quantiles, NQ, &wanted),
				 0);
		unmake(&coarse);
		unmake(new);

		random_state = 1;
		make(&coarse, &(struct shape){1, 10, 50, 100}, i ? 6 : 4);
		make(new, &(struct shape){1, 300, 50, 120}, i ? 5 : 6);
		compare_run_next(&new->runs[0], SEC_NS);
		assert_int_equal(compare_row_add(&new->rows[0], &new->runs[0], &h), 0);
		assert_int_equal(compare_rows(k, &coarse.side, &new->side, quantiles, NQ, &r), 0);
		assert_memory_equal(&r, &wanted, sizeof(r));
		hist_free(&h);
		unmake(&coarse);
		unmake(new);
	}
	compare_work_free(k);
}

TEST(test_refused)
{
	static struct many one;
	struct compare_work *k = compare_work_new();
	struct compare_result r;

	make(&one, &(struct shape){1, 10, 50, 100}, 5);
	assert_int_equal(
		compare_rows(k, &one.side, &one.side, quantiles, COMPARE_QUANTILES + 1, &r),
		-EINVAL);
	one.side.n = 0;
	assert_int_equal(compare_rows(k, &one.side, &one.side, quantiles, NQ, &r), -EINVAL);
	unmake(&one);
	compare_work_free(k);
	compare_work_free(NULL);
	compare_row_free(NULL);
}

/* Of many equal rows some differ by chance: with the others in view they do not. */
TEST(test_many_rows)
{
	struct compare_result rows[100], *list[100];
	size_t i;

	for (i = 0; i < 100; i++) {
		rows[i] = (struct compare_result){.nquantiles = 0};
		rows[i].stats[COMPARE_MEAN] =
			(struct compare_stat){.ratio = 1.2,
					      .lo = 1.1,
					      .hi = 1.3,
					      .p = i < 3 ? 0.03 : 0.5 + (double)i / 200};
		list[i] = &rows[i];
	}
	assert_int_equal(compare_decide(list, 1, 0.03), 0);
	assert_int_equal(rows[0].stats[COMPARE_MEAN].verdict, COMPARE_SLOWER);
	assert_int_equal(compare_decide(list, 100, 0.03), 0);
	assert_int_equal(rows[0].stats[COMPARE_MEAN].verdict, COMPARE_UNDECIDED);
	rows[0].stats[COMPARE_MEAN].p = 0.0004;
	assert_int_equal(compare_decide(list, 100, 0.03), 0);
	assert_int_equal(rows[0].stats[COMPARE_MEAN].verdict, COMPARE_SLOWER);
	assert_int_equal(compare_decide(list, 100, 0.25), 0);
	assert_int_equal(rows[0].stats[COMPARE_MEAN].verdict, COMPARE_SAME);
	assert_int_equal(compare_decide(list, 0, 0.03), 0);
	assert_string_equal(compare_verdict_text(COMPARE_UNDECIDED), "undecided");
}

/* No difference is the same only where a bound of the interval is within the noise. */
TEST(test_wide)
{
	static const struct {
		double lo, ratio, hi;
		enum compare_verdict verdict;
	} rows_of[] = {
		{0.2, 2, 25, COMPARE_UNDECIDED},    {0.2, 1, 25, COMPARE_UNDECIDED},
		{0.9, 1, 1.02, COMPARE_SAME},	    {0.98, 1, 1.2, COMPARE_SAME},
		{0.96, 1, 1.04, COMPARE_UNDECIDED}, {0.98, 1, 1.02, COMPARE_SAME},
		{1.01, 1.02, 1.2, COMPARE_SAME},    {1.001, 2, 4, COMPARE_SLOWER},
		{0.25, 0.5, 0.999, COMPARE_FASTER},
	};
	size_t i;

	for (i = 0; i < sizeof(rows_of) / sizeof(rows_of[0]); i++) {
		struct compare_result r = {0}, *list = &r;

		r.stats[COMPARE_MEAN] = (struct compare_stat){
			.ratio = rows_of[i].ratio, .lo = rows_of[i].lo, .hi = rows_of[i].hi};
		r.stats[COMPARE_MEAN].p = rows_of[i].lo <= 1 && rows_of[i].hi >= 1 ? 0.5 : 0.001;
		assert_int_equal(compare_decide(&list, 1, 0.03), 0);
		assert_int_equal(r.stats[COMPARE_MEAN].verdict, rows_of[i].verdict);
	}
}

/* Cells of a row that is not there in most intervals, joined as the run grows. */
TEST(test_cells)
{
	uint64_t counts[COMPARE_CELLS] = {0}, zeros = 0, sum = 0, n;
	struct compare_run run;
	struct compare_row row;
	struct compare_cursor c = {0};
	struct bucket_table t;
	uint32_t i, j, cells;

	assert_int_equal(bucket_table_init(&t, 5), 0);
	compare_run_init(&run);
	compare_row_init(&row);
	random_state = 3;
	for (i = 0; i < 3000; i++) {
		struct hist h;

		hist_init(&h, 5);
		for (j = 0; i % 7 == 0 && j < 1 + i % 5; j++)
			assert_int_equal(hist_add(&h, &t, random_below(4) ? i * 1000 + j : 0), 0);
		compare_run_next(&run, SEC_NS);
		assert_int_equal(compare_row_add(&row, &run, &h), 0);
		counts[i / 32] += h.count - h.zero;
		zeros += h.zero;
		sum += h.sum_ns;
		hist_free(&h);
	}
	cells = run.ncells;
	assert_int_equal(run.span, 32);
	assert_int_equal(cells, 94);
	assert_int_equal(run.dur_ns[0], 32 * SEC_NS);
	assert_int_equal(run.dur_ns[93], 24 * SEC_NS);
	assert_int_equal(compare_row_settle(&row, &run, row.schema), 0);
	while (compare_unpack(&c, &row)) {
		zeros -= c.zero;
		sum -= c.sum_ns;
		while ((n = compare_unpack_slot(&c)))
			counts[c.cell] -= n;
	}
	for (i = 0; i < cells; i++)
		assert_int_equal(counts[i], 0);
	assert_int_equal(zeros, 0);
	assert_int_equal(sum, 0);
	compare_row_free(&row);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
