/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records read back: whole ones are read in tests/golden; here is what is refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/record.h"
#include "unit.h"

#define REPORT(metrics, rest) WHOLE(metrics, "", rest)
#define TABLES(tables) WHOLE("", tables, SELF)
#define WHOLE(metrics, tables, rest)                                                             \
	"{\"v\":1,\"type\":\"interval\",\"seq\":1,\"ts\":\"2026-11-22T14:02:11.000000005Z\","    \
	"\"mono_ns\":7,\"dur_ns\":1000000000,\"metrics\":[" metrics "],\"tables\":{" tables "}," \
	"\"quality\":{\"missed\":1,\"in_flight\":0,\"in_flight_longest_ns\":0,\"unpaired\":2,"   \
	"\"clamped\":3,\"map_full\":4,\"recursion_misses\":5,\"lost_events\":6,"                 \
	"\"over_range\":7,\"inferred\":8,\"pending\":9,\"complete\":false}," rest "}"
#define SELF                                                                           \
	"\"self\":{\"bpf_ns_per_event\":61.5,\"bpf_cpu_ppm\":4000.0,\"user_cpu_ppm\":" \
	"100.0}"
#define HIST(count, min, zero, offset, counts)                                                 \
	"{\"name\":\"sched_wakeup_latency\",\"unit\":\"ns\",\"labels\":{\"cpu\":\"3\"},"       \
	"\"count\":" count ",\"sum\":30,\"min\":" min ",\"max\":20,"                           \
	"\"p\":{\"50\":10,\"99.9\":20},\"few\":[\"50\",\"99.9\"],"                             \
	"\"buckets\":{\"schema\":5,\"zero\":" zero ",\"offset\":" offset ",\"counts\":" counts \
	"}}"
#define COUNTER(value) "{\"name\":\"some_count\",\"labels\":{}," value "}"

static int read_line(struct record *r, const char *line, struct err *e)
{
	return record_read(r, line, strlen(line), e);
}

TEST(values)
{
	static const char line[] =
		REPORT(HIST("4", "10", "1", "-850", "[1,0,2]") "," COUNTER("\"value\":42"), SELF);
	const struct series *s;
	struct err e = {0};
	struct record r;

	record_init(&r);
	assert_int_equal(read_line(&r, line, &e), 0);
	assert_int_equal(r.type, RECORD_INTERVAL);
	assert_int_equal(r.frame.time.tv_sec, 1795356131);
	assert_int_equal(r.frame.time.tv_nsec, 5);
	assert_int_equal(r.frame.dur_ns, 1000000000);
	assert_int_equal(r.frame.quality.pending, 9);
	assert_int_equal(r.frame.quality.unpaired, 2);
	assert_true(r.frame.self.bpf_known && r.frame.self.bpf_ns_per_event == 61.5);
	assert_false(r.frame.contends);
	assert_int_equal(r.frame.nseries, 2);
	s = &r.frame.series[0];
	assert_ptr_equal(s->desc, metric_find("sched_wakeup_latency"));
	assert_string_equal(series_label(s, "cpu"), "3");
	assert_int_equal(s->hist->count, 4);
	assert_int_equal(s->hist->zero, 1);
	assert_int_equal(s->hist->len, 3);
	assert_int_equal(s->hist->slots[2], 2);
	assert_int_equal(hist_schema_base(5) + (int32_t)s->hist->first, -850);
	s = &r.frame.series[1];
	assert_string_equal(s->desc->name, "some_count"); /* not one of ours: told by the record */
	assert_true(s->desc->counter);
	assert_int_equal(s->value, 42);
	assert_int_equal(r.nquantiles, 2);
	assert_string_equal(r.quantiles[1].text, "99.9");
	record_free(&r);
}

TEST(refused)
{
	static const struct {
		const char *line, *words, *why;
	} rows[] = {
		{"", "too early", "nothing"},
		{"{\"v\":1", "too early", "a line cut off"},
		{"{\"v\":1,}", "no JSON", "a comma too many"},
		{"{\"v\":\"\xc3\"}", "no UTF-8 at byte 6", "half a character"},
		{"[1]", "one JSON object", "no object"},
		{"{\"v\":1} {}", "no JSON", "two values on a line"},
		{"{\"v\":2,\"type\":\"meta\"}", "'v'", "another version"},
		{"{\"v\":1,\"type\":\"diff\"}", "'type'", "another kind of record"},
		{"{\"v\":1}", "'type'", "no type"},
		{"{\"v\":1,\"type\":\"meta\"}", "'version'", "a member missing"},
		{"{\"v\":1,\"type\":\"meta\",\"version\":\"1\",\"kernel\":\"6\",\"cpus\":2,"
		 "\"argv\":[],\"start\":\"2026-11-22T14:02:11.000000005Z\",\"sources\":[],"
		 "\"filters\":{},\"addresses\":\"shown\"}",
		 "'addresses'", "another word than hidden"},
		{REPORT("", "\"self\":7"), "'self'", "another type"},
		{REPORT(COUNTER("\"value\":-1"), SELF), "'value'", "negative"},
		{REPORT(COUNTER("\"value\":1.5"), SELF), "'value'", "not whole"},
		{REPORT(COUNTER("\"value\":\"7\""), SELF), "'value'", "a number as a text"},
		{REPORT(HIST("5", "10", "1", "-850", "[1,0,2]"), SELF), "'counts'",
		 "count is not their sum"},
		{REPORT(HIST("4", "21", "1", "-850", "[1,0,2]"), SELF), "'min'", "min above max"},
		{REPORT(HIST("4", "null", "1", "-850", "[1,0,2]"), SELF), "'min'",
		 "samples without min"},
		{REPORT(HIST("4", "10", "1", "-957", "[1,0,2]"), SELF), "'offset'", "below 1 ns"},
		{REPORT(HIST("4", "10", "1", "258", "[1,0,2]"), SELF), "'offset'",
		 "past the last bucket"},
		{REPORT(HIST("4", "10", "1", "9223372036854775807", "[1,0,2]"), SELF), "'offset'",
		 "far past it"},
		{REPORT(HIST("4", "10", "1", "-9223372036854775808", "[1,0,2]"), SELF), "'offset'",
		 "far below"},
		{REPORT(HIST("4", "10", "1", "-850", "[18446744073709551615,4]"), SELF), "'counts'",
		 "a sum past 2^64"},
		{REPORT(HIST("4", "10", "1", "-850", "{}"), SELF), "'counts'", "no array"},
		{REPORT("7", SELF), "'metrics'", "no object in the array"},
		{REPORT("{\"name\":\"x\\u0000y\",\"labels\":{},\"value\":1}", SELF), "'name'",
		 "a NUL in a text"},
	};
	struct record r;

	record_init(&r);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = {0};
		int ret = read_line(&r, rows[i].line, &e);

		if (ret != -EINVAL || !strstr(e.text, rows[i].words))
			fail_msg("%s: %d '%s', expected words: %s", rows[i].why, ret, e.text,
				 rows[i].words);
	}
	record_free(&r);
}

/* Empty tables are shown of sources that would fill them: the meta record says which ran. */
TEST(tables)
{
#define META(source, on)                                                                        \
	"{\"v\":1,\"type\":\"meta\",\"version\":\"1\",\"kernel\":\"6\",\"cpus\":2,\"argv\":[]," \
	"\"start\":\"2026-11-22T14:02:11.000000005Z\",\"filters\":{},\"sources\":[{"            \
	"\"name\":\"" source "\",\"state\":" on "}]}"
	static const struct {
		const char *meta;
		bool contends, lines;
	} rows[] = {
		{META("lock", "\"on\",\"hooks\":[]"), true, false},
		{META("line", "\"on\",\"hooks\":[]"), false, true},
		{META("line", "\"off\",\"why\":\"\""), true, false},
		{META("watch", "\"on\",\"hooks\":[]"), false, false},
		{META("new", "\"on\",\"hooks\":[]"), true, false},
	};
	struct record r;

	record_init(&r);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = {0};

		assert_int_equal(read_line(&r, rows[i].meta, &e), 0);
		assert_int_equal(read_line(&r, TABLES("\"contended\":[]"), &e), 0);
		assert_int_equal(r.frame.contends, rows[i].contends);
		assert_int_equal(r.frame.lines, rows[i].lines);
		assert_int_equal(read_line(&r, TABLES(""), &e), 0);
		assert_false(r.frame.contends || r.frame.lines);
	}
	record_free(&r);
}

/* One that was refused leaves nothing to the next. */
TEST(again)
{
	struct err e = {0};
	struct record r;

	record_init(&r);
	assert_int_equal(read_line(&r, REPORT(COUNTER("\"value\":-1"), SELF), &e), -EINVAL);
	assert_int_equal(read_line(&r, REPORT("", SELF), &(struct err){0}), 0);
	assert_int_equal(r.frame.nseries, 0);
	assert_int_equal(r.nquantiles, 0);
	record_free(&r);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
