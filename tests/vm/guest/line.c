// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache lines in a guest. Emulated CPUs stop elsewhere than real ones, so what is sampled says
 * little: only that programs load, samples come, and all ends well.
 */
#include <stdio.h>

#include "guest.h"

static int64_t rows_of(struct json_object *final)
{
	struct json_object *tables = json_object_object_get(final, "tables");
	struct json_object *rows = json_object_object_get(tables, "contended");

	return rows ? (int64_t)json_object_array_length(rows) : 0;
}

static int test_line(struct guest *g)
{
	const char *const load_argv[] = {"/bin/lines", "plain", "6", NULL};
	const char *const try_argv[] = {TOOL, "-s", "line", "0.1", "1", NULL};
	const char *const more[] = {NULL};
	struct json_object *report, *final;
	struct proc load, tool;
	int64_t rows, pending;
	int status = status_of(try_argv);

	if (status == 3)
		return say(g, SKIP, "%s", stderr_line());
	json_object_put(load_start(&load, load_argv));
	if (!tool_start(g, &tool, "line", more)) {
		(void)proc_wait(&load, 0);
		return FAIL;
	}
	json_object_put(load_finish(&load));
	report = tool_finish(g, &tool);
	if (!report)
		return FAIL;
	final = report_line(report, "final");
	rows = rows_of(final);
	pending = quality_of(final, "pending");
	json_object_put(report);
	return say(g, rows + pending > 0 ? PASS : FAIL, "%lld lines, %lld samples pending",
		   (long long)rows, (long long)pending);
}

const struct test line_tests[] = {
	{"line", test_line, "sched"},
	{0},
};
