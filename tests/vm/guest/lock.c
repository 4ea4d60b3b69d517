// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks in a guest: a pipe's mutex, fought over, and a lock that has a name on every kernel. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "guest.h"

#define LOAD_MS "2000"
#define NAMED "mm_struct.mmap_lock" /* by its task: no slab has to tell */

struct seen {
	int64_t waits; /* of all rows */
	int64_t pipe;  /* of mutexes; on RT they are rt_mutexes */
	char bad[256]; /* a row that cannot be right */
	bool named;
};

static int64_t number(struct json_object *o, const char *key)
{
	return json_object_get_int64(json_object_object_get(o, key));
}

/* A wait is shorter than the run, and its percentiles rise. */
static void look_at(struct seen *s, struct json_object *row, int64_t run_ns)
{
	struct json_object *wait = json_object_object_get(row, "wait_ns");
	struct json_object *p = json_object_object_get(wait, "p");
	const char *kind = json_text(row, "kind");

	s->waits += number(row, "count");
	if (!strcmp(kind, "mutex") || !strcmp(kind, "rt-mutex"))
		s->pipe += number(row, "count");
	s->named |= strstr(json_text(row, "name"), NAMED) != NULL;
	if (number(p, "50") > number(p, "99") || number(wait, "max") >= run_ns ||
	    number(row, "count") != number(wait, "count"))
		(void)snprintf(
			s->bad, sizeof(s->bad),
			"%s %s: %lld waits, p50 %lld, p99 %lld, max %lld ns of a run of %lld", kind,
			json_text(row, "addr"), (long long)number(row, "count"),
			(long long)number(p, "50"), (long long)number(p, "99"),
			(long long)number(wait, "max"), (long long)run_ns);
}

static void look(struct seen *s, struct json_object *final, int64_t run_ns)
{
	struct json_object *tables = json_object_object_get(final, "tables");
	struct json_object *rows = json_object_object_get(tables, "contended");

	for (size_t i = 0; rows && i < json_object_array_length(rows); i++)
		look_at(s, json_object_array_get_idx(rows, i), run_ns);
}

static int refused(struct guest *g)
{
	const char *const argv[] = {TOOL, "-s", "lock", "1", "1", NULL};
	int status = status_of(argv);

	return say(g,
		   status == 3 && strstr(stderr_line(), "no lock:contention_begin") ? PASS : FAIL,
		   "exit %d: %s", status, stderr_line());
}

/* Runs `locks MODE` beside waitscope; false with words. */
static bool contend(struct guest *g, const char *mode, struct seen *s)
{
	const char *const load_argv[] = {"/bin/locks", mode, "4", LOAD_MS, NULL};
	const char *const more[] = {NULL};
	struct json_object *report, *final;
	struct proc load, tool;
	int64_t whole;

	memset(s, 0, sizeof(*s));
	json_object_put(load_start(&load, load_argv));
	if (!tool_start(g, &tool, "lock", more)) {
		(void)proc_wait(&load, 0);
		return false;
	}
	json_object_put(load_finish(&load));
	report = tool_finish(g, &tool);
	if (!report)
		return false;
	final = report_line(report, "final");
	look(s, final, number(final, "dur_ns"));
	whole = report_sum(final, "lock_wait", NULL, NULL, "count");
	json_object_put(report);
	if (whole != s->waits)
		(void)say(g, FAIL, "%lld waits, %lld in the rows", (long long)whole,
			  (long long)s->waits);
	else if (*s->bad)
		(void)say(g, FAIL, "%s", s->bad);
	return whole == s->waits && !*s->bad;
}

/* Before 5.19: a clear word. */
static int test_lock(struct guest *g)
{
	struct seen s;

	if (older_than(5, 19))
		return refused(g);
	if (!contend(g, "pipe", &s))
		return FAIL;
	return say(g, s.pipe > 0 ? PASS : FAIL, "%lld waits, %lld for mutexes", (long long)s.waits,
		   (long long)s.pipe);
}

static int test_lock_name(struct guest *g)
{
	struct seen s;

	if (older_than(5, 19))
		return say(g, SKIP, "no lock:contention_begin");
	if (!contend(g, "mmap", &s))
		return FAIL;
	return say(g, s.named ? PASS : FAIL, "%lld waits, %s " NAMED, (long long)s.waits,
		   s.named ? "one of them" : "none of them");
}

const struct test lock_tests[] = {
	{"lock", test_lock, "sched"},
	{"lock-name", test_lock_name, "sched"},
	{0},
};
