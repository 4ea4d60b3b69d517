// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits: what is read, what is refused with which words, and what series they are tested on. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/limit.h"
#include "unit.h"

static const struct {
	const char *text;
	enum metric_id metric;
	size_t nlabels;
	const char *key, *value; /* of the last label */
	enum limit_stat stat;
	uint64_t ppb;
	enum limit_op op;
	double limit;
	bool relative;
} good[] = {
	{"sched_wakeup_latency p99 > 500us", METRIC_SCHED_WAKEUP_LATENCY, .stat = LIMIT_QUANTILE,
	 .ppb = 990000000, .op = LIMIT_ABOVE, .limit = 500000},
	{" lock_wait   p99.99>=1.5s ", METRIC_LOCK_WAIT, .stat = LIMIT_QUANTILE, .ppb = 999900000,
	 .op = LIMIT_AT_LEAST, .limit = 1.5e9},
	{"lock_wait max<0", METRIC_LOCK_WAIT, .stat = LIMIT_MAX, .op = LIMIT_BELOW},
	{"lock_wait sum <= 2m", METRIC_LOCK_WAIT, .stat = LIMIT_SUM, .op = LIMIT_AT_MOST,
	 .limit = 120e9},
	{"ext4_op_latency{op=\"fsync\"} mean > 2ms", METRIC_EXT4_OP_LATENCY, 1, "op", "fsync",
	 LIMIT_MEAN, .limit = 2000000},
	{"ext4_op_latency {dev=\"8:1\", op = \"a \\\"b\\\\ }\" } min > 2ns", METRIC_EXT4_OP_LATENCY,
	 2, "op", "a \"b\\ }", LIMIT_MIN, .limit = 2},
	{"ext4_es_lookups{result=\"\"} rate > 12.5", METRIC_EXT4_ES_LOOKUPS, 1, "result", "",
	 LIMIT_RATE, .limit = 12.5},
	{"ext4_es_lookups count > 1000", METRIC_EXT4_ES_LOOKUPS, .stat = LIMIT_COUNT,
	 .limit = 1000},
	{"lock_wait p99 > +10%", METRIC_LOCK_WAIT, .stat = LIMIT_QUANTILE, .ppb = 990000000,
	 .limit = 1.1, .relative = true},
	{"lock_wait count < -2.5%", METRIC_LOCK_WAIT, .stat = LIMIT_COUNT, .op = LIMIT_BELOW,
	 .limit = 0.975, .relative = true},
};

TEST(test_read)
{
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct err e = {0};
		struct limit l;

		assert_int_equal(limit_parse(&l, good[i].text, true, &e), 0);
		assert_string_equal(e.text, "");
		assert_string_equal(l.text, good[i].text);
		assert_ptr_equal(l.desc, &metric_list[good[i].metric]);
		assert_int_equal(l.nlabels, good[i].nlabels);
		if (l.nlabels) {
			assert_string_equal(l.labels[l.nlabels - 1].key, good[i].key);
			assert_string_equal(l.labels[l.nlabels - 1].value, good[i].value);
		}
		assert_int_equal(l.stat, good[i].stat);
		assert_int_equal(l.quantile.ppb, good[i].ppb);
		assert_int_equal(l.op, good[i].op);
		assert_true(fabs(l.value - good[i].limit) <= 1e-9 * l.value);
		assert_int_equal(l.relative, good[i].relative);
		limit_free(&l);
	}
	limit_free(NULL);
}

static const struct {
	const char *text, *why;
} bad[] = {
	{"",
	 "'' is not read (expected METRIC{label=\"value\"} STAT OP VALUE, such as sched_wakeup_latency p99 > 500us)"},
	{"lock_waits p99 > 1ms",
	 "'lock_waits' is no metric (expected a name such as sched_wakeup_latency)"},
	{"lock_wait",
	 "'' is no STAT (expected p50 ... p99.99, min, max, mean, count, sum or rate)"},
	{"lock_wait p99", "'' is no OP (expected >, >=, < or <=)"},
	{"lock_wait p99 >", "'' is no time (expected one with its unit, such as 500us)"},
	{"lock_wait p99 == 1ms", "'==' is no OP (expected >, >=, < or <=)"},
	{"lock_wait p99 >> 1ms", "'>>' is no OP (expected >, >=, < or <=)"},
	{"lock_wait p100 > 1ms",
	 "'p100' is no STAT (expected p50 ... p99.99, min, max, mean, count, sum or rate)"},
	{"lock_wait p > 1ms",
	 "'p' is no STAT (expected p50 ... p99.99, min, max, mean, count, sum or rate)"},
	{"lock_wait 99 > 1ms",
	 "'99' is no STAT (expected p50 ... p99.99, min, max, mean, count, sum or rate)"},
	{"lock_wait p99 > 1ms 2",
	 "'1ms 2' is more than a VALUE (expected METRIC{label=\"value\"} STAT OP VALUE, such as sched_wakeup_latency p99 > 500us)"},
	{"lock_wait p99 > 500", "'500' is no time (expected one with its unit, such as 500us)"},
	{"lock_wait p99 > 5xs", "'5xs' is no time (expected one with its unit, such as 500us)"},
	{"lock_wait count > 5ms", "'5ms' is no number (expected one such as 1000)"},
	{"lock_wait count > 5.", "'5.' is no number (expected one such as 1000)"},
	{"lock_wait count > 1e3", "'1e3' is no number (expected one such as 1000)"},
	{"lock_wait rate > +10", "'+10' is not read (expected a change such as +10%)"},
	{"lock_wait rate > -101%", "'-101%' is less than nothing (expected at least -100%)"},
	{"ext4_es_lookups sum > 5", "'sum' is nothing that a counter has (expected count or rate)"},
	{"lock_wait{} p99 > 1ms", "'} p99 > 1ms' is not read (expected a label such as cpu=\"3\")"},
	{"lock_wait{cpu} p99 > 1ms",
	 "'} p99 > 1ms' is not read (expected =\"value\" after a label's name)"},
	{"lock_wait{cpu=3} p99 > 1ms",
	 "'=3} p99 > 1ms' is not read (expected =\"value\" after a label's name)"},
	{"lock_wait{cpu=\"3} p99 > 1ms", "'{cpu=\"3} p99 > 1ms' has no end (expected \"})"},
	{"lock_wait{cpu=\"3\" p99 > 1ms",
	 "'p99 > 1ms' is not read (expected , or } after a label)"},
	{"lock_wait{a=\"\",b=\"\",c=\"\",d=\"\",e=\"\",f=\"\",g=\"\"} p99 > 1ms",
	 "'g=\"\"} p99 > 1ms' is one label too many"},
	{"lock_wait\033 p99 > 1ms",
	 "'\\x1b' is no STAT (expected p50 ... p99.99, min, max, mean, count, sum or rate)"},
};

TEST(test_refused)
{
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = {0};
		struct limit l;
		const char *why;

		assert_int_equal(limit_parse(&l, bad[i].text, true, &e), -EINVAL);
		assert_int_equal(e.exit, EXIT_USAGE);
		why = strstr(e.text, "': ");
		assert_non_null(why);
		if (strcmp(why + 3, bad[i].why))
			print_error("%s\n", bad[i].text);
		assert_string_equal(why + 3, bad[i].why);
		assert_null(l.text);
	}
}

/* ---- on a frame ---- */

#define TOLD 8

struct told {
	size_t n;
	char words[TOLD][200];
	int ret;
};

static int tell(void *ctx, const char *words)
{
	struct told *t = ctx;

	assert_true(t->n < TOLD);
	snprintf(t->words[t->n++], sizeof(t->words[0]), "%s", words);
	return t->ret;
}

TEST(test_frame)
{
	static const struct {
		const char *text, *words; /* NULL: not exceeded */
		int ret;
		size_t n; /* more than one */
	} rows[] = {
		{"sched_wakeup_latency count >= 3", "it is 3, of 3 samples"},
		{"sched_wakeup_latency count > 3", NULL},
		{"sched_wakeup_latency max > 4999ns", "it is 5.0 us, of 3 samples"},
		{"sched_wakeup_latency max > 5us", NULL},
		{"sched_wakeup_latency min <= 1us", "it is 1.0 us, of 3 samples"},
		{"sched_wakeup_latency mean >= 3us", "it is 3.0 us, of 3 samples"},
		{"sched_wakeup_latency mean > 3us", NULL},
		{"sched_wakeup_latency sum >= 9us", "it is 9.0 us, of 3 samples"},
		{"sched_wakeup_latency rate >= 1.5", "it is 1.5 a second, of 3 samples"},
		{"sched_wakeup_latency{cpu=\"0\"} count > 0", "it is 1, of 1 samples"},
		{"sched_wakeup_latency{cpu=\"1\"} count > 0", NULL},
		{"sched_wakeup_latency{cpu=\"1\"} p50 > 1h", "not tested: there was no sample",
		 -ENOENT},
		{"sched_wakeup_latency{cpu=\"2\"} count > 0",
		 "not tested: nothing in the report has these labels", -ENOENT},
		{"sched_run_delay count > 0", "not tested: nothing in the report has these labels",
		 -ENOENT},
		{"ext4_es_lookups{result=\"hit\"} count >= 7", "dev=\"8:1\": it is 7"},
		{"ext4_es_lookups{dev=\"8:1\"} rate > 1", "result=\"hit\": it is 3.5 a second", 0,
		 2},
		{"ext4_es_lookups count > 0", "dev=\"8:1\": result=\"hit\": it is 7", 0, 2},
	};
	struct series series[] = {
		{.desc = &metric_list[METRIC_SCHED_WAKEUP_LATENCY]},
		{.desc = &metric_list[METRIC_SCHED_WAKEUP_LATENCY], {{"cpu", "0"}}, 1},
		{.desc = &metric_list[METRIC_SCHED_WAKEUP_LATENCY], {{"cpu", "1"}}, 1},
		{.desc = &metric_list[METRIC_EXT4_ES_LOOKUPS],
		 {{"dev", "8:1"}, {"result", "hit"}},
		 2,
		 .value = 7},
		{.desc = &metric_list[METRIC_EXT4_ES_LOOKUPS],
		 {{"dev", "8:1"}, {"result", "miss"}},
		 2,
		 .value = 5},
	};
	struct frame f = {.series = series, .nseries = 5, .dur_ns = 2000000000};
	struct hist whole, one, none;
	struct bucket_table t;
	size_t i, exceeded;

	assert_int_equal(bucket_table_init(&t, 5), 0);
	hist_init(&whole, 5);
	hist_init(&one, 5);
	hist_init(&none, 5);
	assert_int_equal(hist_add(&whole, &t, 1000), 0);
	assert_int_equal(hist_add(&whole, &t, 3000), 0);
	assert_int_equal(hist_add(&whole, &t, 5000), 0);
	assert_int_equal(hist_add(&one, &t, 1000), 0);
	series[0].hist = &whole;
	series[1].hist = &one;
	series[2].hist = &none;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct told told = {0};
		struct err e = {0};
		struct limit l;
		const char *words;
		char begin[128];

		assert_int_equal(limit_parse(&l, rows[i].text, false, &e), 0);
		assert_int_equal(
			limits_test(&(struct limit_list){&l, 1}, &f, tell, &told, &exceeded, &e),
			rows[i].ret);
		assert_int_equal(exceeded, told.n);
		assert_int_equal(told.n, rows[i].ret || !rows[i].words ? 0
					 : rows[i].n		       ? rows[i].n
								       : 1);
		words = rows[i].ret ? e.text : told.words[0];
		snprintf(begin, sizeof(begin), "--fail-if '%s': ", rows[i].text);
		if (rows[i].words) {
			assert_int_equal(strncmp(words, begin, strlen(begin)), 0);
			assert_string_equal(words + strlen(begin), rows[i].words);
		}
		limit_free(&l);
	}
	hist_free(&whole);
	hist_free(&one);
	hist_free(&none);
}

/* One that cannot be tested keeps no other from being so; a failed message ends it. */
TEST(test_several)
{
	struct series series = {.desc = &metric_list[METRIC_EXT4_ES_LOOKUPS], .value = 7};
	struct frame f = {.series = &series, .nseries = 1};
	struct told told = {0};
	struct limit_list l = {0}, last;
	struct err e = {0};
	size_t exceeded;

	assert_int_equal(limit_list_add(&l, "lock_wait count > 1", false, &e), 0);
	assert_int_equal(limit_list_add(&l, "ext4_es_lookups count > 6", false, &e), 0);
	assert_int_equal(limit_list_add(&l, "ext4_es_lookups count", false, &e), -EINVAL);
	assert_int_equal(l.n, 2);
	assert_int_equal(limits_test(&l, &f, tell, &told, &exceeded, &e), -ENOENT);
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_int_equal(exceeded, 1);
	assert_int_equal(limit_list_add(&l, "ext4_es_lookups rate > 0", false, &e), 0);
	last = (struct limit_list){&l.v[2], 1};
	assert_int_equal(limits_test(&last, &f, tell, &told, &exceeded, &e), -ENOENT); /* no time */
	told.ret = -EIO;
	assert_int_equal(limits_test(&l, &f, tell, &told, &exceeded, &e), -EIO);
	limit_list_free(&l);
	assert_int_equal(limits_test(&l, &f, tell, &told, &exceeded, &e), 0);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
