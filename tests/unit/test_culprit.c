/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: what culprits are called, the verdict of a final report, and rows of several reports
 * together. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/culprit.h"
#include "core/frame_own.h"
#include "core/record.h"
#include "unit.h"
#include "waits.h"

TEST(names)
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
		{{.kind = "task", .comm = "audiod", .rt_class = "SCHED_FIFO", .priority = 50},
		 "audiod, SCHED_FIFO 50",
		 "a real-time class and its priority"},
		{{.kind = "task", .comm = "db", .pid = 7, .tid = 9, .rt_class = "SCHED_DEADLINE"},
		 "db 9, SCHED_DEADLINE",
		 "a class without priorities"},
		{{.kind = "task", .cgroup = "/a", .rt_class = "SCHED_RR", .priority = 1},
		 "/a, SCHED_RR 1",
		 "of a cgroup's tasks those of a class"},
		{{.kind = "rt-throttle"}, "(real-time tasks out of their runtime)", "a limit"},
		{{.kind = "dl-throttle"}, "(SCHED_DEADLINE budget used up)", "another"},
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

/* Tasks of one name and of two classes are two rows, in whatever way reports are put together. */
static void classes(void **state)
{
	static const struct culprit rows[] = {
		{.kind = "task", .comm = "a", .count = 1, .wait_ns = 3},
		{.kind = "task",
		 .comm = "a",
		 .rt_class = "SCHED_FIFO",
		 .priority = 2,
		 .count = 1,
		 .wait_ns = 5},
		{.kind = "task",
		 .comm = "a",
		 .rt_class = "SCHED_RR",
		 .priority = 2,
		 .count = 1,
		 .wait_ns = 7},
		{.kind = "task",
		 .comm = "a",
		 .rt_class = "SCHED_FIFO",
		 .priority = 3,
		 .count = 1,
		 .wait_ns = 11},
	};
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	struct frame f = frame_of(rows, n);
	struct frame_own *own = frame_own_new();
	const struct frame *all;

	assert_non_null(own);
	frame_own_add(own, &f, FRAME_THEN);
	frame_own_add(own, &f, FRAME_THEN);
	all = frame_own_view(own);
	assert_non_null(all);
	assert_int_equal(all->nculprits, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(all->culprits[i].wait_ns, 2 * rows[i].wait_ns);
		assert_int_equal(all->culprits[i].priority, rows[i].priority);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(!culprit_compare(&rows[i], &rows[k]), i == k);
	}
	frame_own_free(own);
}

TEST(verdict)
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
	assert_string_equal(v.line[0],
			    "the largest part of the waiting for a CPU: a 5, 20.0 % of 2.0 us");
	assert_string_equal(v.line[1], "interrupts: 4.0 % of the waiting for a CPU; "
				       "taken by the hypervisor: 3.5 %");
	assert_string_equal(v.line[2], "unexplained: 55.0 %");
	f.nculprits = 0;
	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 0);
}

/* Below a hundredth of the time of those who waited nobody is blamed. */
TEST(hardly)
{
	static const struct culprit rows[] = {
		{.kind = "task", .comm = "kworker/1:4", .wait_ns = 106000}};
	struct times t = {TIMES_THREADS, .running_ns = 800000, .waiting_ns = 106000,
			  .asleep_ns = 1999094000};
	struct frame f = frame_of(rows, 1);
	struct verdict v;

	f.dur_ns = 2000000000;
	f.times = &t;
	f.ntimes = 1;
	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.line[0],
			    "hardly any waiting for a CPU: 106 us, 0.005 % of the time; "
			    "1 thread: on CPU 0.04 %, waiting for a CPU 0.01 %, asleep 99.9 %");
	t.asleep_ns = 9000000; /* now it is more than that */
	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 3);
	assert_string_equal(v.line[0],
			    "most of the waiting for a CPU: kworker/1:4, 100 % of 106 us");
}

/* A part of the tool's own is told as such. */
TEST(itself)
{
	static const char *const names[] = {"waitscope", "waitscope-names", "waitscope-open"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct culprit row = {.kind = "task", .comm = names[i], .wait_ns = 100};
		const struct frame f = frame_of(&row, 1);
		char want[VERDICT_BYTES];
		struct verdict v;

		(void)snprintf(want, sizeof(want),
			       "most of the waiting for a CPU: %s itself, 100 %% of 100 ns",
			       names[i]);
		assert_int_equal(verdict_make(&v, &f), 0);
		assert_string_equal(v.line[0], want);
	}
}

/* "held longest by" is said where a thread held it for the largest part. */
TEST(lock_held)
{
	static const struct {
		struct holder holders[2];
		const char *words;
	} rows[] = {
		{{{.tid = 31, .comm = "db", .wait_ns = 900},
		  {.comm = "(released)", .wait_ns = 100}},
		 "; held longest by db 31, 90.0 %; holders: "},
		{{{.tid = 31, .comm = "db", .wait_ns = 20}, {.comm = "(released)", .wait_ns = 740}},
		 "; mostly released already, 74.0 %; holders: "},
		{{{.tid = 31, .comm = "db", .wait_ns = 20}, {.comm = "(readers)", .wait_ns = 740}},
		 "; held mostly by readers, 74.0 %; holders: "},
		{{{.tid = 31, .comm = "db", .wait_ns = 20}, {.comm = "(released)", .wait_ns = 240}},
		 "; holder mostly not known, 74.0 %; holders: "},
	};
	struct hist h = waits(100, 10);
	struct verdict v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct contended c = {.source = "lock",
					    .kind = "mutex",
					    .name = "orders",
					    .count = 10,
					    .wait = &h,
					    .holders = rows[i].holders,
					    .nholders = 2};
		const struct frame f = {.type = FRAME_FINAL,
					.dur_ns = 1,
					.why = true,
					.contended = &c,
					.ncontended = 1};

		assert_int_equal(verdict_make(&v, &f), 0);
		assert_int_equal(v.n, 1);
		assert_ptr_equal(
			strstr(v.line[0], "most expensive lock: mutex orders, 1.0 us waited; "),
			v.line[0]);
		assert_non_null(strstr(v.line[0], rows[i].words));
	}
	hist_free(&h);
}

/* Nor is a lock expensive that hardly was waited for. */
TEST(lock_cheap)
{
	struct hist h = waits(1000, 17);
	const struct contended c[] = {
		{.source = "lock", .kind = "mutex", .addr = 1, .wait = &h, .count = 17},
		{.source = "lock", .kind = "mutex", .addr = 2, .wait = &h, .count = 17}};
	struct times t = {TIMES_THREADS, .asleep_ns = 1000000000};
	struct frame f = {.type = FRAME_FINAL,
			  .dur_ns = 1000000000,
			  .why = true,
			  .contended = c,
			  .ncontended = 2,
			  .times = &t,
			  .ntimes = 1};
	struct verdict v;

	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.line[0],
			    "hardly any waiting for locks: 34.0 us, 0.003 % of the time; "
			    "1 thread: on CPU 0 %, waiting for a CPU 0 %, asleep 100 %");
	t.asleep_ns = 2000000; /* together they were, none alone */
	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 1);
	assert_ptr_equal(strstr(v.line[0], "hardly any waiting for any one lock: 17.0 us, "),
			 v.line[0]);
	t.asleep_ns = 1000000;
	assert_int_equal(verdict_make(&v, &f), 0);
	assert_ptr_equal(strstr(v.line[0], "most expensive lock: mutex 0x1, 17.0 us waited; "),
			 v.line[0]);
	hist_free(&h);
}

/* 2^-9 s and what follows: lengths of waits, 0 the first that is longer than it. */
#define FROM_2MS(i) [-9 - CULPRIT_LENGTH_FIRST + 1 + (i)]

static void count(struct hist *h, const struct bucket_table *t, uint64_t ns, uint32_t n)
{
	while (n--)
		assert_int_equal(hist_add(h, t, ns), 0);
}

static const char *said_of_tail(const struct frame *f, struct verdict *v)
{
	assert_int_equal(verdict_make(v, f), 0);
	for (size_t i = 0; i < v->n; i++)
		if (strstr(v->line[i], "of the tail"))
			return v->line[i];
	return NULL;
}

/* Many short waits for one, few long ones for another: the tail begins at a power of two of a
 * second such that the 99th percentile is in it. */
TEST(tail)
{
	struct culprit rows[] = {
		{.kind = "task", .comm = "short", .length_ns = {FROM_2MS(-2) = 990000}},
		{.kind = "task", .comm = "long", .length_ns = {FROM_2MS(1) = 48000}},
		{.kind = "softirq", .length_ns = {FROM_2MS(1) = 2000, FROM_2MS(-2) = 10}},
		{.kind = "unexplained", .length_ns = {FROM_2MS(1) = 50000}},
	};
	static const struct {
		uint32_t below, at, above; /* of 1.953125 ms, the wait that is 2^-9 s, and 5 ms */
		const char *said, *why;
	} cases[] = {
		{990, 0, 10,
		 "of the tail, 1,000 waits over 488 us (100 % of all): short, 90.8 % of 1.1 ms",
		 "the 99th percentile is the last of the short ones"},
		{989, 0, 11,
		 "of the tail, 11 waits over 3.9 ms (1.1 % of all): long, 48.0 % of 100 us",
		 "one more"},
		{989, 1, 10,
		 "of the tail, 11 waits over 977 us (1.1 % of all): long, 48.0 % of 100 us",
		 "an edge is the shorter ones'"},
		{0, 0, 1, "of the tail, 1 wait over 3.9 ms (100 % of all): long, 48.0 % of 100 us",
		 "one alone"},
	};
	struct frame f = frame_of(rows, sizeof(rows) / sizeof(rows[0]));
	const struct metric_desc run_delay = {.name = "sched_run_delay"};
	struct bucket_table t;
	struct series s = {.desc = &run_delay};
	struct verdict v;
	struct hist h;

	assert_int_equal(bucket_table_init(&t, 5), 0);
	for (size_t i = 0; i < f.nculprits; i++)
		for (size_t j = 0; j < CULPRIT_LENGTHS; j++)
			rows[i].wait_ns += rows[i].length_ns[j];
	f.series = &s;
	f.nseries = 1;
	s.hist = &h;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		hist_init(&h, 5);
		count(&h, &t, 700000, cases[i].below);
		count(&h, &t, 1953125, cases[i].at);
		count(&h, &t, 5000000, cases[i].above);
		assert_string_equal(said_of_tail(&f, &v), cases[i].said);
		assert_non_null(strstr(v.line[0], ": short, 90.8 % of 1.1 ms"));
		hist_free(&h);
	}
	/* Of what has no length nobody knows whether it is of the tail. */
	hist_init(&h, 5);
	count(&h, &t, 5000000, 1);
	rows[2].wait_ns++;
	assert_null(said_of_tail(&f, &v));
	rows[2].wait_ns--;
	assert_non_null(said_of_tail(&f, &v));
	s.nlabels = 1; /* a group's: not of all */
	assert_null(said_of_tail(&f, &v));
	hist_free(&h);
}

/* Rows of one address are one lock; who held it longest of all of them; the parts are all of it. */
TEST(locks)
{
	static const struct holder a[] = {
		{.pid = 7,
		 .tid = 8,
		 .comm = "db",
		 .wait_ns = 300,
		 .running_ns = 100,
		 .blocked_ns = 200},
		{.comm = "(readers)", .wait_ns = 50},
		{.wait_ns = 50},
	};
	static const struct holder b[] = {
		{.pid = 7, .tid = 9, .comm = "db", .wait_ns = 350, .runnable_ns = 350},
		{.pid = 7, .tid = 8, .comm = "db", .wait_ns = 200, .throttled_ns = 200},
		{.comm = "(released)", .wait_ns = 50},
	};
	static const struct futex_counts idle = {.idle = true};
	struct hist w[] = {{.sum_ns = 400}, {.sum_ns = 600}, {.sum_ns = 900}, {.sum_ns = 5000}};
	struct contended rows[] = {
		{.source = "futex",
		 .kind = "futex",
		 .addr = 0x10,
		 .pid = 7,
		 .name = "m",
		 .wait = &w[0],
		 .holders = a,
		 .nholders = 3},
		{.source = "lock", .kind = "mutex", .addr = 0x10, .wait = &w[2]},
		{.source = "futex",
		 .kind = "futex",
		 .addr = 0x10,
		 .pid = 7,
		 .name = "m",
		 .wait = &w[1],
		 .holders = b,
		 .nholders = 3},
		{.source = "futex", .kind = "futex", .addr = 0x20, .wait = &w[3], .futex = &idle},
		{.source = "lock", .kind = "other", .other = true, .wait = &w[3]},
	};
	struct frame f = {.type = FRAME_FINAL, .contended = rows, .ncontended = 5};
	struct verdict v;

	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 1);
	assert_string_equal(
		v.line[0], "most expensive lock: futex m, 1.0 us waited; held longest by db 8, "
			   "50.0 %; holders: running 10.0 %, runnable 35.0 %, out of quota 20.0 %, "
			   "blocked 20.0 %, readers 5.0 %, released 5.0 %, not known 5.0 %");
	rows[1].wait = &w[3];
	assert_int_equal(verdict_make(&v, &f), 0);
	assert_string_equal(v.line[0], "most expensive lock: mutex 0x10, 5.0 us waited; "
				       "holders: not known 100 %");
	rows[0].nholders = rows[2].nholders = 0; /* without --why */
	assert_int_equal(verdict_make(&v, &f), 0);
	assert_int_equal(v.n, 0);
}

/* Which rows are one: by what they name, not by what they are called now. */
TEST(joined)
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

TEST(subtracted)
{
	static const struct culprit rows[] = {
		{.kind = "irq", .count = 3, .wait_ns = 30, .length_ns = {20, 10}},
		{.kind = "task", .comm = "a", .count = 1, .wait_ns = 10},
	};
	static const struct culprit earlier[] = {
		{.kind = "task", .comm = "a", .count = 1, .wait_ns = 10},
		{.kind = "irq", .count = 1, .wait_ns = 11, .length_ns = {8, 3}},
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
	assert_int_equal(f->culprits[0].length_ns[0], 12);
	assert_int_equal(f->culprits[0].length_ns[1], 7);
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
TEST(slow_parts)
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
	return unit_main(NULL, NULL);
}
