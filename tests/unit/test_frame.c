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

TEST(labels)
{
	assert_string_equal(series_label(&series[1], "pid"), "42");
	assert_string_equal(series_label(&series[1], "comm"), "x");
	assert_null(series_label(&series[0], "comm"));
	assert_null(series_label(&series[3], "cpu"));
}

TEST(describing)
{
	static const struct {
		struct series s;
		uint32_t label;
		bool describes;
		const char *why;
	} rows[] = {
		{{.labels = {{"pid", "42"}, {"comm", "x"}}, .nlabels = 2}, 0, false, "the key"},
		{{.labels = {{"pid", "42"}, {"comm", "x"}}, .nlabels = 2}, 1, true, "its name now"},
		{{.labels = {{"tid", "43"}, {"pid", "42"}, {"comm", "x"}}, .nlabels = 3},
		 1,
		 true,
		 "whose thread it is"},
		{{.labels = {{"comm", "x"}}, .nlabels = 1}, 0, false, "the key"},
		{{.labels = {{"op", "fsync"}, {"dev", "8:1"}, {"mount", "/"}}, .nlabels = 3},
		 2,
		 true,
		 "where the device is mounted"},
		{{.labels = {{"op", "fsync"}, {"dev", "8:1"}, {"mount", "/"}}, .nlabels = 3},
		 1,
		 false,
		 "another device is another series"},
		{{.labels = {{"mount", "/"}}, .nlabels = 1}, 0, false, "of no device"},
		{{.labels = {{"cgroup", "/a"}, {"comm", "x"}}, .nlabels = 2},
		 1,
		 false,
		 "a cgroup has many names: each is a series"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (series_label_describes(&rows[i].s, rows[i].label) != rows[i].describes)
			print_error("row %zu: %s\n", i, rows[i].why);
		assert_int_equal(series_label_describes(&rows[i].s, rows[i].label),
				 rows[i].describes);
	}
}

TEST(complete)
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
	return unit_main(NULL, NULL);
}
