// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups of one name become one, whose series stand together in the order of the metrics. */
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "core/regroup.h"
#include "waits.h"

#define M(id) (&metric_list[METRIC_##id])

TEST(joined)
{
	struct hist h = waits(5000, 3);
	const struct series s[] = {
		{M(SCHED_WAKEUP_LATENCY), {{0}}, 0, &h},
		{M(SCHED_WAKEUP_LATENCY), {{"cpu", "0"}}, 1, &h},
		{M(SCHED_WAKEUP_LATENCY), {{"unit", "a"}}, 1, &h},
		{M(SCHED_WAKEUP_LATENCY), {{"unit", "b"}}, 1, &h},
		{M(SCHED_RUN_DELAY), {{"unit", "b"}}, 1, &h},
		{M(SCHED_RUN_DELAY), {{"unit", "a"}}, 1, &h},
		{M(SCHED_WAKE_TO_QUEUE), {{"unit", "a"}}, 1, &h},
		{M(SCHED_RUN_DELAY), {{"unit", "a"}}, 1, &h},
		{M(EXT4_OP_LATENCY), {{"unit", "a"}, {"op", "fsync"}}, 2, &h},
		{M(EXT4_OP_LATENCY), {{"unit", "a"}, {"op", "fsync"}}, 2, &h},
		{M(FUTEX_WAIT), {{0}}, 0, &h},
		{M(FUTEX_WAIT), {{"unit", "a"}}, 1, &h},
	};
	static const struct {
		const char *name, *unit;
		uint64_t count;
	} want[] = {
		{"sched_wakeup_latency", NULL, 3}, {"sched_wakeup_latency", "0", 3},
		{"sched_wakeup_latency", "a", 3},  {"sched_wake_to_queue", "a", 3},
		{"sched_run_delay", "a", 6},	   {"sched_wakeup_latency", "b", 3},
		{"sched_run_delay", "b", 3},	   {"ext4_op_latency", "a", 6},
		{"futex_wait", NULL, 3},	   {"futex_wait", "a", 3},
	};
	const struct contended rows[] = {
		{.source = "lock",
		 .kind = "mutex",
		 .addr = 7,
		 .group = {"unit", "a"},
		 .count = 3,
		 .wait = &h},
		{.source = "lock",
		 .kind = "mutex",
		 .addr = 7,
		 .group = {"unit", "a"},
		 .count = 3,
		 .wait = &h},
		{.source = "lock",
		 .kind = "mutex",
		 .addr = 7,
		 .group = {"unit", "b"},
		 .count = 3,
		 .wait = &h},
	};
	struct regroup r = {0};

	for (int round = 0; round < 3; round++) {
		struct frame f = {.series = s,
				  .nseries = ROWS(s),
				  .contended = rows,
				  .ncontended = 3,
				  .seq = 5,
				  .dur_ns = 9};

		assert_int_equal(regroup(&r, &f), 0);
		assert_int_equal(f.nseries, ROWS(want));
		for (size_t i = 0; i < ROWS(want); i++) {
			const struct series *g = &f.series[i];
			const char *unit = g->nlabels ? g->labels[0].value : NULL;

			if (strcmp(g->desc->name, want[i].name) ||
			    strcmp(unit ? unit : "-", want[i].unit ? want[i].unit : "-") ||
			    g->hist->count != want[i].count)
				fail_msg("%zu: %s %s %d", i, g->desc->name, unit,
					 (int)g->hist->count);
		}
		assert_int_equal(f.ncontended, 2);
		assert_int_equal(f.contended[0].count, 6);
		assert_int_equal(f.seq, 5);
		assert_int_equal(f.dur_ns, 9);
		f = (struct frame){0};
		assert_int_equal(regroup(&r, &f), 0);
		assert_int_equal(f.nseries, 0);
	}
	regroup_free(&r);
	hist_free(&h);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
