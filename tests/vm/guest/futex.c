// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Futexes in a guest: what the callers of tests/load/futex.c count, waitscope must have counted.
 * One run sees all loads: its programs are the same for each, and to load them takes a guest long.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "futex.h"

#define REPORT "/tmp/user/futex"
#define WAIT_MS 60000

static int64_t member(struct json_object *o, const char *key)
{
	return json_object_get_int64(json_object_object_get(o, key));
}

static const char *const modes[] = {"threads", "pi", "eagain", "timeout", "bitset"};

#define NMODES (sizeof(modes) / sizeof(modes[0]))

/* The word of a load, of which the load has counted what was done to it. */
struct word {
	const char *mode;
	struct proc load;
	bool runs;
	int64_t pid;
	struct json_object *said;
};

/* Sum over the rows of a word: of a member, or of one of its futex counts. */
static int64_t row_sum(struct json_object *rows, const struct word *w, const char *key, bool futex)
{
	const char *addr = json_text(w->said, "addr");
	int64_t sum = 0;
	size_t i;

	for (i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (strcmp(json_text(row, "addr"), addr) || member(row, "pid") != w->pid)
			continue;
		sum += member(futex ? json_object_object_get(row, "futex") : row, key);
	}
	return sum;
}

/* What the kernel kept from the programs: one of 1026 events on 7.2 (recursion_misses). */
static int64_t unseen(struct json_object *final)
{
	struct json_object *q = json_object_object_get(final, "quality");

	return member(q, "recursion_misses") + member(q, "unpaired");
}

static bool differ(int64_t a, int64_t b, int64_t room)
{
	return a - b > room || b - a > room;
}

/* Calls that woke nobody before anybody had waited are left out. */
static bool wakes_fit(const struct word *w, struct json_object *rows, int64_t room, char *why,
		      size_t len)
{
	int64_t n = row_sum(rows, w, "wakes", true);
	int64_t least = member(w->said, "wakers"), most = member(w->said, "wakes");

	if (n >= least - room && n <= most + room)
		return true;
	(void)snprintf(why, len, "%s: %lld wakes, of %lld that woke and %lld in all", w->mode,
		       (long long)n, (long long)least, (long long)most);
	return false;
}

static bool equal(const struct word *w, struct json_object *final, char *why, size_t len)
{
	static const char *const counts[] = {"eagain", "timeouts", "woken"};
	struct json_object *rows =
		json_object_object_get(json_object_object_get(final, "tables"), "contended");
	int64_t waits = row_sum(rows, w, "count", false), room = unseen(final);
	size_t i;

	if (differ(waits, member(w->said, "waits"), room)) {
		(void)snprintf(why, len, "%s: %lld waits of %lld, %lld unseen", w->mode,
			       (long long)waits, (long long)member(w->said, "waits"),
			       (long long)room);
		return false;
	}
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		int64_t n = row_sum(rows, w, counts[i], true);

		if (!differ(n, member(w->said, counts[i]), room))
			continue;
		(void)snprintf(why, len, "%s: %s: %lld of %lld", w->mode, counts[i], (long long)n,
			       (long long)member(w->said, counts[i]));
		return false;
	}
	return wakes_fit(w, rows, room, why, len);
}

static bool start_loads(struct word words[NMODES], const char *n, char *why, size_t len)
{
	for (size_t i = 0; i < NMODES; i++) {
		const char *const argv[] = {"/bin/futex", modes[i], n, NULL};
		struct json_object *line;

		words[i].mode = modes[i];
		words[i].runs = !proc_start(&words[i].load, argv, NULL, NULL, NULL);
		line = words[i].runs ? proc_read_json(&words[i].load) : NULL;
		words[i].pid = member(line, "pid");
		json_object_put(line);
		if (words[i].pid)
			continue;
		(void)snprintf(why, len, "%s: does not start", modes[i]);
		return false;
	}
	return true;
}

/* One after the other. */
static bool run_loads(struct word words[NMODES], char *why, size_t len)
{
	for (size_t i = 0; i < NMODES; i++) {
		struct word *w = &words[i];

		proc_poke(&w->load);
		w->said = proc_read_json(&w->load);
		(void)proc_wait(&w->load, WAIT_MS);
		w->runs = false;
		if (w->said)
			continue;
		(void)snprintf(why, len, "%s: it says nothing", w->mode);
		return false;
	}
	return true;
}

/* The tool beside them: it ends when they have. */
static bool beside(const struct futex_try *t, struct word words[NMODES], char *why, size_t len)
{
	char pids[NMODES * 12] = "";
	const char *const argv[] = {t->tool, "-s",  "futex", "-p",	     pids,
				    "-n",    "100", "-o",    "json:" REPORT, NULL};
	struct proc tool;
	size_t at = 0;
	bool ran;
	int status;

	if (!start_loads(words, t->n, why, len))
		return false;
	for (size_t i = 0; i < NMODES; i++)
		at += (size_t)snprintf(pids + at, sizeof(pids) - at, "%s%lld", i ? "," : "",
				       (long long)words[i].pid); /* fits */
	(void)unlink(REPORT);
	if (proc_start(&tool, argv, t->err, t->setup, t->ctx))
		return false;
	ran = report_await(&tool, REPORT, "meta", WAIT_MS) && run_loads(words, why, len);
	status = proc_wait(&tool, ran ? WAIT_MS : 100);
	if (ran && status)
		(void)snprintf(why, len, "exit %d", status);
	return ran && !status;
}

static void end_loads(struct word words[NMODES])
{
	for (size_t i = 0; i < NMODES; i++) {
		if (words[i].runs)
			(void)proc_wait(&words[i].load, 0);
		json_object_put(words[i].said);
	}
}

bool futex_try(const struct futex_try *t, char *why, size_t len)
{
	struct word words[NMODES] = {0};
	struct json_object *report = NULL, *final = NULL;
	bool same;

	(void)mkdir("/tmp/user", 0777);
	(void)chmod("/tmp/user", 0777);
	(void)snprintf(why, len, "no report");
	if (beside(t, words, why, len))
		report = report_load(REPORT);
	final = report ? report_line(report, "final") : NULL;
	same = final != NULL;
	for (size_t i = 0; same && i < NMODES; i++)
		same = equal(&words[i], final, why, len);
	json_object_put(report);
	end_loads(words);
	return same;
}
