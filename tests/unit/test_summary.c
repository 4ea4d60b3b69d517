/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first line of a report: where the time went, and what was waited for. */
#include <string.h>

#include "core/frame_own.h"
#include "core/summary.h"
#include "unit.h"
#include "waits.h"

#define S 1000000000ULL

TEST(where)
{
	static const struct {
		struct times t;
		const char *text, *why;
	} rows[] = {
		{{TIMES_CPUS, .running_ns = 146 * S / 100, .asleep_ns = 54 * S / 100},
		 "2 CPUs 73 % busy",
		 "CPUs"},
		{{TIMES_CPUS, .running_ns = S / 2, .waiting_ns = S / 25,
		  .asleep_ns = S - S / 2 - S / 25},
		 "1 CPU 50 % busy, 4 % taken by the hypervisor",
		 "a guest"},
		{{TIMES_CPUS, .running_ns = S / 2, .waiting_ns = S / 200,
		  .asleep_ns = S / 2 - S / 200},
		 "1 CPU 50 % busy",
		 "hardly anything is not told"},
		{{TIMES_THREADS, .running_ns = 18 * 12 * S / 100, .waiting_ns = 7 * 12 * S / 100,
		  .asleep_ns = 9 * S},
		 "12 threads: on CPU 18 %, waiting for a CPU 7 %, asleep 75 %",
		 "threads"},
		{{TIMES_THREADS, .running_ns = S / 10, .waiting_ns = S / 10, .throttled_ns = S / 2,
		  .asleep_ns = 3 * S / 10},
		 "1 thread: on CPU 10 %, waiting for a CPU 10 %, out of CPU quota 50 %, asleep 30 %",
		 "out of quota"},
		{{TIMES_THREADS, .running_ns = 3 * S / 10, .asleep_ns = 2 * S},
		 "2.3 threads on average: on CPU 13 %, waiting for a CPU 0 %, asleep 87 %",
		 "some came and went"},
		{{TIMES_THREADS, .running_ns = S / 100},
		 "threads, there for 1 % of the time: on CPU 100 %, waiting for a CPU 0 %, asleep 0 %",
		 "one that was there for a moment"},
		{{TIMES_THREADS, .running_ns = S / 2500, .waiting_ns = 1,
		  .asleep_ns = S - S / 2500 - 1},
		 "1 thread: on CPU 0.04 %, waiting for a CPU < 0.01 %, asleep 99.9 %",
		 "hardly any is not none"},
		{{TIMES_THREADS}, "", "none was there"},
	};
	char out[SUMMARY_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame f = {.dur_ns = S, .times = &rows[i].t, .ntimes = 1};

		assert_string_equal(summary_text(out, &f, NULL), rows[i].text);
	}
}

static struct series of(enum metric_id id, const struct hist *h)
{
	return (struct series){.desc = &metric_list[id], .hist = h};
}

TEST(what)
{
	struct hist cpu = waits(3900000, 200), op = waits(10000000, 20), lock = waits(1000, 17);
	const struct split blocked = {.blocked_ns = 172000000};
	const struct futex_counts idle = {.idle = true};
	const struct label one = {"pid", "1"}, two = {"pid", "2"};
	struct series s[5] = {of(METRIC_SCHED_RUN_DELAY, &cpu), of(METRIC_EXT4_OP_LATENCY, &op),
			      of(METRIC_EXT4_OP_LATENCY, &op), of(METRIC_SCHED_RUN_DELAY, &op),
			      of(METRIC_SCHED_WAKEUP_LATENCY, &cpu)};
	struct contended c[3] = {{.source = "lock", .wait = &lock, .group = one},
				 {.source = "futex", .wait = &cpu, .futex = &idle},
				 {.source = "lock", .other = true}};
	struct frame f = {.dur_ns = S, .series = s, .nseries = 5, .contended = c, .ncontended = 3};
	char out[SUMMARY_BYTES];

	s[1].split = &blocked;
	s[1].labels[s[1].nlabels++] = (struct label){"op", "fsync"};
	s[2].labels[s[2].nlabels++] = one; /* a group's: no part of the whole */
	s[2].labels[s[2].nlabels++] = (struct label){"op", "read"};
	s[3].labels[s[3].nlabels++] = one;
	/* What waits for work is no wait for a lock, and what only describes is none of its own. */
	assert_string_equal(summary_text(out, &f, NULL),
			    "waited 780 ms/s for a CPU (99 %: 3.9 ms), 172 ms/s in ext4 (fsync), "
			    "17.0 us/s for kernel locks");
	assert_string_equal(summary_text(out, &f, &one),
			    "waited 200 ms/s in ext4 (read), 200 ms/s for a CPU (99 %: 10.0 ms), "
			    "17.0 us/s for kernel locks");
	assert_string_equal(summary_text(out, &f, &two), "");
	f.dur_ns = 2 * S; /* a rate */
	f.nseries = 1;
	f.ncontended = 0;
	assert_string_equal(summary_text(out, &f, NULL),
			    "waited 390 ms/s for a CPU (99 %: 3.9 ms)");
	hist_reset(&cpu);
	assert_string_equal(summary_text(out, &f, NULL), "no waits");
	hist_free(&cpu);
	hist_free(&op);
	hist_free(&lock);
}

TEST(untraced)
{
	const struct meta_source v[] = {{.name = "sched", .on = true},
					{.name = "ext4", .why = "no ext4"},
					{.name = "lock", .on = true}};
	const struct meta_source synth = {.name = "synth", .on = true};
	const struct meta m = {.sources = v, .nsources = 3},
			  none = {.sources = &synth, .nsources = 1};
	const struct meta alone = {.sources = v, .nsources = 1};
	char out[SUMMARY_BYTES];

	assert_string_equal(summary_untraced(out, &m),
			    "futex: not traced (-s futex), ext4: not traced (no ext4)");
	assert_string_equal(summary_untraced(out, &alone),
			    "ext4, lock, futex: not traced (-s ext4,lock,futex)");
	assert_string_equal(summary_untraced(out, &none), "");
}

/* Rows of several reports add up, group by group. */
TEST(together)
{
	const struct times first[] = {
		{TIMES_CPUS, .running_ns = 1, .asleep_ns = 9},
		{TIMES_THREADS, {{"tid", "7"}, {"comm", "a"}}, 2, .waiting_ns = 4}};
	const struct times second[] = {
		{TIMES_THREADS, {{"tid", "8"}}, 1, .throttled_ns = 5},
		{TIMES_THREADS, {{"tid", "7"}, {"comm", "b"}}, 2, .waiting_ns = 6},
		{TIMES_CPUS, .running_ns = 2, .asleep_ns = 8}};
	const struct frame a = {.dur_ns = 10, .times = first, .ntimes = 2};
	const struct frame b = {.dur_ns = 10, .times = second, .ntimes = 3}, *both;
	struct frame_own *o = frame_own_new();

	assert_non_null(o);
	assert_int_equal(frame_own_add(o, &a, FRAME_THEN), 0);
	assert_int_equal(frame_own_add(o, &b, FRAME_THEN), 0);
	both = frame_own_view(o);
	assert_int_equal(both->ntimes, 3);
	assert_int_equal(times_all_ns(summary_find_times(both, NULL)), 20);
	assert_int_equal(summary_find_times(both, NULL)->running_ns, 3);
	assert_int_equal(summary_find_times(both, &first[1].labels[0])->waiting_ns, 10);
	assert_string_equal(summary_find_times(both, &first[1].labels[0])->labels[1].value, "b");
	assert_int_equal(frame_own_subtract(o, &a), 0);
	both = frame_own_view(o);
	assert_int_equal(summary_find_times(both, &first[1].labels[0])->waiting_ns, 6);
	assert_int_equal(summary_find_times(both, NULL)->running_ns, 2);
	frame_own_free(o);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
