/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: what culprits are called, the verdict of a final report, and rows of several reports together. */
#include <errno.h>
#include <string.h>

#include "core/culprit.h"
#include "core/frame_own.h"
#include "core/record.h"
#include "unit.h"

static void names(void **state)
{
	static const struct {
		struct culprit k;
		const char *name, *why;
	} rows[] = {
		{{.kind = "task", .comm = "cc1"}, "cc1", "a name alone"},
		{{.kind = "task", .comm = "db", .pid = 7}, "db 7", "a process"},
		{{.kind = "task", .comm = "db", .pid = 7, .tid = 9}, "db 9", "a thread"},
		{{.kind = "task", .pid = 7}, "? 7", "a process without a name"},
		{{.kind = "task", .cgroup = "/a/b"}, "/a/b", "a cgroup"},
		{{.kind = "task"}, "(other tasks)", "those without a row"},
		{{.kind = "softirq"}, "(soft interrupts)", "a class"},
		{{.kind = "unexplained"}, "(unexplained)", "the rest"},
	};
	char out[CULPRIT_NAME_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(culprit_name(&rows[i].k, out, sizeof(out)), rows[i].name);
}

#define VICTIM(id) .victim = {{"pid", id}}, .nvictim = 1

static struct frame frame_of(const struct culprit *rows, size_t n)
{
	return (struct frame){
		.type = FRAME_FINAL, .dur_ns = 1, .why = true, .culprits = rows, .nculprits = n};
}

static void verdict(void **state)
{
	static const struct culprit rows[] = {
		{VICTIM("1"), .kind = "task", .comm = "a", .pid = 5, .wait_ns = 300},
		{VICTIM("1"), .kind = "task", .comm = "b", .pid = 6, .wait_ns = 350},
		{VICTIM("2"), .kind = "task", .comm = "a", .pid = 5, .wait_ns = 100},
		{VICTIM("2"), .kind = "irq", .wait_ns = 50},
		{VICTIM("1"), .kind = "softirq", .wait_ns = 30},
		{VICTIM("1"), .kind = "steal", .wait_ns = 70},
		{VICTIM("1"), .kind = "unexplained", .wait_ns = 1100},
	};
	struct frame f = frame_of(rows, sizeof(rows) / sizeof(rows[0]));
	struct verdict v;

	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 3);
	/* Both of who waited together; what nobody did is not the largest. */
	assert_string_equal(v.line[0], "most of the waiting for a CPU: a 5, 20.0 % of 2.0 us");
	assert_string_equal(v.line[1], "interrupts: 4.0 % of it; taken by the hypervisor: 3.5 %");
	assert_string_equal(v.line[2], "unexplained: 55.0 %");
	f.nculprits = 0;
	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 0);
}

/* Which rows are one: by what they name, not by what they are called now. */
static void joined(void **state)
{
	static const struct {
		struct culprit a, b;
		bool one;
		const char *why;
	} rows[] = {
		{{.kind = "irq"}, {.kind = "irq"}, true, "a class"},
		{{.kind = "irq"}, {.kind = "softirq"}, false, "two classes"},
		{{.kind = "task", .comm = "a"}, {.kind = "task", .comm = "b"}, false, "names"},
		{{.kind = "task", .comm = "a", .pid = 7},
		 {.kind = "task", .comm = "b", .pid = 7},
		 true,
		 "exec"},
		{{.kind = "task", .pid = 7, .tid = 8},
		 {.kind = "task", .pid = 7, .tid = 9},
		 false,
		 "threads"},
		{{.kind = "task", .cgroup = "/a"},
		 {.kind = "task", .cgroup = "/b"},
		 false,
		 "cgroups"},
		{{VICTIM("1"), .kind = "irq"}, {VICTIM("2"), .kind = "irq"}, false, "victims"},
		{{VICTIM("1"), .kind = "irq"}, {.kind = "irq"}, false, "a victim, or nobody"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct culprit a = rows[i].a, b = rows[i].b;
		struct frame_own *o = frame_own_new();
		const struct frame *f;
		struct frame one;

		a.wait_ns = 10;
		a.count = 1;
		b.wait_ns = 20;
		b.count = 2;
		one = frame_of(&a, 1);
		assert_int_equal(frame_own_add(o, &one, FRAME_THEN), 0);
		one = frame_of(&b, 1);
		assert_int_equal(frame_own_add(o, &one, FRAME_THEN), 0);
		f = frame_own_view(o);
		assert_non_null(f);
		assert_true(f->why);
		assert_int_equal(f->nculprits, rows[i].one ? 1 : 2);
		assert_int_equal(f->culprits[0].wait_ns, rows[i].one ? 30 : 10);
		assert_int_equal(f->culprits[0].count, rows[i].one ? 3 : 1);
		frame_own_free(o);
	}
}

static void subtracted(void **state)
{
	static const struct culprit rows[] = {
		{.kind = "irq", .count = 3, .wait_ns = 30},
		{.kind = "task", .comm = "a", .count = 1, .wait_ns = 10},
	};
	static const struct culprit earlier[] = {
		{.kind = "task", .comm = "a", .count = 1, .wait_ns = 10},
		{.kind = "irq", .count = 1, .wait_ns = 11},
	};
	struct frame all = frame_of(rows, 2), part = frame_of(earlier, 2);
	struct frame_own *o = frame_own_new();
	const struct frame *f;

	assert_int_equal(frame_own_add(o, &all, FRAME_THEN), 0);
	assert_int_equal(frame_own_subtract(o, &part), 0);
	f = frame_own_view(o);
	assert_non_null(f);
	assert_int_equal(f->nculprits, 1); /* to the other nothing came */
	assert_string_equal(f->culprits[0].kind, "irq");
	assert_int_equal(f->culprits[0].wait_ns, 19);
	assert_int_equal(f->culprits[0].count, 2);
	assert_int_equal(frame_own_subtract(o, &all), -EINVAL);
	frame_own_free(o);
}

#define SLOW(culprits)                                                                          \
	"{\"v\":1,\"type\":\"slow\",\"ts\":\"2026-01-01T00:00:01.000000000Z\",\"mono_ns\":9,"   \
	"\"metric\":\"sched_preempt_wait\",\"kind\":\"preempt\",\"cpu\":1,\"pid\":7,\"tid\":8," \
	"\"comm\":\"x\",\"cgroup\":null,\"wait_ns\":30,\"waker\":null,\"prev\":null,"           \
	"\"migrated\":false,\"last_cpu\":1,\"culprits\":[" culprits "]}"
#define PART(ns) \
	"{\"kind\":\"task\",\"pid\":1,\"tid\":1,\"comm\":\"a\",\"cgroup\":null,\"ns\":" ns "}"

/* A slow wait's parts are all of it, or it is no record. */
static void slow_parts(void **state)
{
	static const struct {
		const char *line;
		int ret;
		size_t n;
	} rows[] = {
		{SLOW(PART("10") "," PART("20")), 0, 2},
		{SLOW(PART("30")), 0, 1},
		{SLOW(PART("29")), -EINVAL, 0},
		{SLOW(""), -EINVAL, 0},
		{SLOW(PART("31") "," PART("18446744073709551615")), -EINVAL, 0},
		{SLOW("7"), -EINVAL, 0},
		{SLOW(PART("-1")), -EINVAL, 0},
	};
	struct record r;

	record_init(&r);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = {0};

		assert_int_equal(record_read(&r, rows[i].line, strlen(rows[i].line), &e),
				 rows[i].ret);
		if (!rows[i].ret)
			assert_int_equal(r.slow.nculprits, rows[i].n);
	}
	record_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),      cmocka_unit_test(verdict),
		cmocka_unit_test(joined),     cmocka_unit_test(subtracted),
		cmocka_unit_test(slow_parts),
	};

	return cmocka_run_group_tests_name("culprit", tests, NULL, NULL);
}
