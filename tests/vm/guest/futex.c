// SPDX-License-Identifier: GPL-2.0-or-later
/* Futexes in a guest: what the callers of tests/load/futex.c count, waitscope must have counted. */
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

/* Sum over the rows of an address: of a member, or of one of its futex counts. */
static int64_t row_sum(struct json_object *rows, const char *addr, const char *key, bool futex)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (strcmp(json_text(row, "addr"), addr))
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
static bool wakes_fit(const struct futex_try *t, struct json_object *rows, struct json_object *word,
		      int64_t room, char *why, size_t len)
{
	int64_t n = row_sum(rows, json_text(word, "addr"), "wakes", true);
	int64_t least = member(word, "wakers"), most = member(word, "wakes");

	if (n >= least - room && n <= most + room)
		return true;
	(void)snprintf(why, len, "%s: %lld wakes, of %lld that woke and %lld in all", t->mode,
		       (long long)n, (long long)least, (long long)most);
	return false;
}

static bool equal(const struct futex_try *t, struct json_object *final, struct json_object *word,
		  char *why, size_t len)
{
	static const char *const counts[] = {"eagain", "timeouts", "woken"};
	struct json_object *rows =
		json_object_object_get(json_object_object_get(final, "tables"), "contended");
	const char *addr = json_text(word, "addr");
	int64_t waits = row_sum(rows, addr, "count", false), room = unseen(final);
	size_t i;

	if (differ(waits, member(word, "waits"), room)) {
		(void)snprintf(why, len, "%s: %lld waits of %lld, %lld unseen", t->mode,
			       (long long)waits, (long long)member(word, "waits"), (long long)room);
		return false;
	}
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		int64_t n = row_sum(rows, addr, counts[i], true);

		if (!differ(n, member(word, counts[i]), room))
			continue;
		(void)snprintf(why, len, "%s: %s: %lld of %lld", t->mode, counts[i], (long long)n,
			       (long long)member(word, counts[i]));
		return false;
	}
	return wakes_fit(t, rows, word, room, why, len);
}

/* Runs the load beside the tool; the load's word, or NULL. */
static struct json_object *beside(const struct futex_try *t, char *why, size_t len)
{
	const char *const load_argv[] = {"/bin/futex", t->mode, t->n, NULL};
	struct json_object *line = NULL, *word = NULL;
	struct proc load, tool;
	char pid[16];
	const char *const argv[] = {t->tool, "-s", "futex", "-p", pid, "-o", "json:" REPORT, NULL};
	int status;

	if (proc_start(&load, load_argv, NULL, NULL, NULL))
		return NULL;
	line = proc_read_json(&load);
	(void)snprintf(pid, sizeof(pid), "%lld", (long long)member(line, "pid"));
	json_object_put(line);
	(void)unlink(REPORT);
	if (proc_start(&tool, argv, t->err, t->setup, t->ctx) == 0) {
		if (report_await(&tool, REPORT, "meta", WAIT_MS)) {
			proc_poke(&load);
			word = proc_read_json(&load);
			(void)proc_wait(&load, WAIT_MS);
		}
		status = proc_wait(&tool, WAIT_MS); /* its target has ended */
		if (!status)
			return word;
		(void)snprintf(why, len, "%s: exit %d", t->mode, status);
	}
	(void)proc_wait(&load, 0);
	json_object_put(word);
	return NULL;
}

bool futex_try(const struct futex_try *t, char *why, size_t len)
{
	struct json_object *word, *report;
	bool same = false;

	(void)mkdir("/tmp/user", 0777);
	(void)chmod("/tmp/user", 0777);
	(void)snprintf(why, len, "%s: no report", t->mode);
	word = beside(t, why, len);
	if (!word)
		return false;
	report = report_load(REPORT);
	if (report && report_line(report, "final"))
		same = equal(t, report_line(report, "final"), word, why, len);
	json_object_put(report);
	json_object_put(word);
	return same;
}
