/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/frame.h"
#include "unit.h"

static const struct metric_desc wait = {"wait", "Wait", METRIC_HEADLINE};
static const struct metric_desc leg = {"leg", "leg", METRIC_LEG};

static const struct series series[] = {
	{&wait, {{"cpu", "0"}}, 1},
	{&wait, {{"pid", "42"}, {"comm", "x"}}, 2},
	{&leg, {{0}}, 0},
	{&wait, {{0}}, 0},
};

static void labels(void **state)
{
	assert_string_equal(series_label(&series[1], "pid"), "42");
	assert_string_equal(series_label(&series[1], "comm"), "x");
	assert_null(series_label(&series[0], "comm"));
	assert_null(series_label(&series[3], "cpu"));
}

static void complete(void **state)
{
	static const struct {
		struct quality q;
		bool complete;
		const char *why;
	} rows[] = {
		{{0}, true, "nothing lost"},
		{{.unpaired = 1}, false, "unpaired is a loss"},
		{{.clamped = 1}, false, "clamped is a loss"},
		{{.map_full = 1}, false, "map_full is a loss"},
		{{.recursion_misses = 1}, false, "recursion_misses is a loss"},
		{{.lost_events = 1}, false, "lost_events is a loss"},
		{{.over_range = 1}, true, "counted, in the last bucket"},
		{{.missed = 1}, true, "an edge of the run"},
		{{.in_flight = 1, .longest_ns = 9, .longest_tid = 1}, true, "an edge of the run"},
		{{.in_flight = 1, .clamped = 1}, false, "an edge hides no loss"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (quality_complete(&rows[i].q) != rows[i].complete)
			print_error("row %zu: %s\n", i, rows[i].why);
		assert_int_equal(quality_complete(&rows[i].q), rows[i].complete);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels),
		cmocka_unit_test(complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
