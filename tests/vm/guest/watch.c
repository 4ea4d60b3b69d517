// SPDX-License-Identifier: GPL-2.0-or-later
/* Watched addresses in a guest: every access, by debug registers that the emulator has too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"

#define TIMES "300"
#define KERNEL_VARIABLE "jiffies" /* of which every clock tick knows */
#define BOUND "200"

/*
 * What `accesses` does to each of its variables, TIMES times. (`loaded` is a name of libc's, too;
 * and of `swapped` the emulator's DR6 tells once more at the next hit of another.)
 */
static const struct {
	const char *name;
	bool reads, writes, locked;
} truth[] = {
	{"followed", true, false, false},
	{"stored", false, true, false},
	{"locked", true, true, true},
};

#define NTRUTH (sizeof(truth) / sizeof(truth[0]))

static struct json_object *row_of(struct json_object *final, const char *name)
{
	struct json_object *rows = contended_rows(final);

	for (size_t i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		const char *tail = strrchr(json_text(row, "name"), '`');

		if (!strcmp(tail ? tail + 1 : json_text(row, "name"), name))
			return row;
	}
	return NULL;
}

/* Exactly so many, and of the right kinds; else with words. */
static bool exact(struct guest *g, struct json_object *final, size_t k, int64_t n)
{
	struct json_object *row = row_of(final, truth[k].name);
	int64_t count = json_number(row, "count"), reads = json_number(row, "reads");
	int64_t writes = json_number(row, "writes"), locked = json_number(row, "locked");

	if (count == n && reads == truth[k].reads * n && writes == truth[k].writes * n &&
	    locked == truth[k].locked * n)
		return true;
	(void)say(g, FAIL, "%s: %lld of %lld accesses, %lld reads, %lld writes, %lld locked",
		  truth[k].name, (long long)count, (long long)n, (long long)reads,
		  (long long)writes, (long long)locked);
	return false;
}

/* Where breakpoints are of no use it says so. */
static bool refused(struct guest *g)
{
	const char *const argv[] = {TOOL, "-s",	 "watch", "--watch", KERNEL_VARIABLE,
				    "-d", "0.1", NULL};
	bool no = status_of(argv) == 3;

	(void)say(g, SKIP, "%s", stderr_line());
	return no;
}

static int test_watch(struct guest *g)
{
	const char *const load[] = {"/bin/accesses", TIMES, NULL};
	const char *more[2 * NTRUTH + 1] = {NULL};
	struct json_object *report;
	bool ok = true;
	int64_t n;

	if (refused(g))
		return SKIP;
	for (size_t k = 0; k < NTRUTH; k++) {
		more[2 * k] = "--watch";
		more[2 * k + 1] = truth[k].name;
	}
	report = run_whole(g, load, "watch", "-p", more, "done", &n);
	if (!report)
		return FAIL;
	for (size_t k = 0; ok && k < NTRUTH; k++)
		ok = n > 0 && exact(g, report_line(report, "final"), k, n);
	json_object_put(report);
	return ok ? say(g, PASS, "%lld each of loads, stores and locked adds", (long long)n) : FAIL;
}

/* Traps on two CPUs at once: each is there. */
static int test_two(struct guest *g)
{
	const char *const load[] = {"/bin/accesses", "2000", "two", NULL};
	const char *const more[] = {"--watch", "halves:16", NULL};
	struct json_object *report, *final;
	int64_t n, count, lost;

	if (refused(g))
		return SKIP;
	report = run_whole(g, load, "watch", "-p", more, "done", &n);
	if (!report)
		return FAIL;
	final = report_line(report, "final");
	count = json_number(json_object_array_get_idx(contended_rows(final), 0), "count");
	lost = quality_of(final, "lost_events");
	json_object_put(report);
	return say(g, n > 0 && count == 2 * n ? PASS : FAIL,
		   "%lld accesses by each of two threads, %lld counted, %lld lost", (long long)n,
		   (long long)count, (long long)lost);
}

/* A run that watches only ends with its bound. */
static int test_kernel(struct guest *g)
{
	const char *const argv[] = {TOOL,  "-s", "watch", "--watch", KERNEL_VARIABLE, "--confirm",
				    BOUND, "-d", "20",	  "-o",	     "json:" OUT,     NULL};
	struct json_object *report, *final, *row;
	int64_t count, lost;
	bool stopped;
	int status;

	if (refused(g))
		return SKIP;
	status = status_of(argv);
	report = status ? NULL : report_load(OUT);
	if (!report)
		return say(g, FAIL, "exit %d: %s", status, stderr_line());
	final = report_line(report, "final");
	row = row_of(final, KERNEL_VARIABLE);
	count = json_number(row, "count");
	lost = quality_of(final, "lost_events");
	stopped = json_object_get_boolean(json_object_object_get(row, "stopped"));
	json_object_put(report);
	return say(g, count == atoll(BOUND) && stopped ? PASS : FAIL,
		   KERNEL_VARIABLE ": %lld accesses, to the bound of " BOUND ", %lld lost",
		   (long long)count, (long long)lost);
}

const struct test watch_tests[] = {
	{"watch", test_watch, "btf"},
	{"watch-two", test_two, "btf"},
	{"watch-kernel", test_kernel, "btf"},
	{0},
};
