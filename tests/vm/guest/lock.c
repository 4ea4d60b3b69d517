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

/* A wait is shorter than the run, and its percentiles rise. */
static void look_at(struct seen *s, struct json_object *row, int64_t run_ns)
{
	struct json_object *wait = json_object_object_get(row, "wait_ns");
	struct json_object *p = json_object_object_get(wait, "p");
	const char *kind = json_text(row, "kind");

	s->waits += json_number(row, "count");
	if (!strcmp(kind, "mutex") || !strcmp(kind, "rt-mutex"))
		s->pipe += json_number(row, "count");
	s->named |= strstr(json_text(row, "name"), NAMED) != NULL;
	if (json_number(p, "50") > json_number(p, "99") || json_number(wait, "max") >= run_ns ||
	    json_number(row, "count") != json_number(wait, "count"))
		(void)snprintf(
			s->bad, sizeof(s->bad),
			"%s %s: %lld waits, p50 %lld, p99 %lld, max %lld ns of a run of %lld", kind,
			json_text(row, "addr"), (long long)json_number(row, "count"),
			(long long)json_number(p, "50"), (long long)json_number(p, "99"),
			(long long)json_number(wait, "max"), (long long)run_ns);
}

static void look(struct seen *s, struct json_object *final, int64_t run_ns)
{
	struct json_object *rows = contended_rows(final);

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
	struct run r;
	int64_t whole;

	memset(s, 0, sizeof(*s));
	if (!run_start(g, &r, load_argv, "lock", NULL, more))
		return false;
	json_object_put(run_go(&r));
	report = run_finish(g, &r);
	if (!report)
		return false;
	final = report_line(report, "final");
	look(s, final, json_number(final, "dur_ns"));
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
	{"lock", test_lock, "waits"},
	{"lock-name", test_lock_name, "waits"},
	{0},
};
