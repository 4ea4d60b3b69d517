// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why in a guest: who kept a task from its CPU, and who held what it waited for, of loads that
 * know it. Sums are exact on every kernel; shares have room for what an emulator adds.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"

#define VICTIM_S "2"
#define HOG_S "60" /* it is ended before */
#define ROUNDS "5"

#define HOG_PERCENT 60 /* of the waits of one of two that share a CPU; of the rest, interrupts */
#define UNEXPLAINED_PERCENT 10
#define ROOM_PERCENT 10 /* between two accounts of what it did */
/* Of the waits for a mutex, for its holder: of one of ROUNDS it may be unknown. */
#define HELD_PERCENT 72
#define DID_PERCENT 60 /* of these it did what it is for: beside other work it is late */

/* ---- of a CPU ---- */

struct blame {
	int64_t all, hog, most, unexplained; /* ns */
};

static int64_t waited(struct json_object *frame, const char *metric)
{
	int64_t ns = report_sum(frame, metric, NULL, NULL, "sum");

	return ns > 0 ? ns : 0;
}

/* The parts are what was waited, to the nanosecond; else false, with words. */
static bool look_at(struct guest *g, struct json_object *frame, int64_t hog, struct blame *b)
{
	struct json_object *rows =
		json_object_object_get(json_object_object_get(frame, "tables"), "culprits");
	int64_t truth = waited(frame, "sched_run_delay") + waited(frame, "sched_throttle_wait");

	memset(b, 0, sizeof(*b));
	for (size_t i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		int64_t ns = json_number(row, "wait_ns");

		b->all += ns;
		if (!strcmp(json_text(row, "kind"), "task") && json_number(row, "pid") == hog)
			b->hog += ns;
		else if (ns > b->most)
			b->most = ns;
		if (!strcmp(json_text(row, "kind"), "unexplained"))
			b->unexplained += ns;
	}
	if (rows && b->all == truth)
		return true;
	return say(g, FAIL, "%s: %lld ns blamed of %lld waited", json_text(frame, "type"),
		   (long long)b->all, (long long)truth) == PASS;
}

static int judge_blame(struct guest *g, struct json_object *report, int64_t hog)
{
	int intervals = 0;
	struct blame b;

	for (size_t i = 0; i < json_object_array_length(report); i++) {
		struct json_object *line = json_object_array_get_idx(report, i);

		if (strcmp(json_text(line, "type"), "interval"))
			continue;
		intervals++;
		if (!look_at(g, line, hog, &b))
			return FAIL;
	}
	if (!look_at(g, report_line(report, "final"), hog, &b))
		return FAIL;
	return say(g,
		   intervals > 1 && b.all > 0 && b.hog * 100 >= b.all * HOG_PERCENT &&
				   b.hog > b.most &&
				   b.unexplained * 100 <= b.all * UNEXPLAINED_PERCENT
			   ? PASS
			   : FAIL,
		   "%lld us waited in %d intervals, exactly blamed: %.1f %% the hog, %.1f %% the "
		   "next, %.1f %% unexplained",
		   (long long)b.all / 1000, intervals, 100.0 * (double)b.hog / (double)b.all,
		   100.0 * (double)b.most / (double)b.all,
		   100.0 * (double)b.unexplained / (double)b.all);
}

/* Two that only compute share a CPU: each waits for the other. */
static int test_cpu(struct guest *g)
{
	char cpu[16];
	const char *const hog_argv[] = {"/bin/hog", "--cpu", cpu, "--wait", "1", HOG_S, NULL};
	const char *const victim[] = {"/bin/hog", "--cpu", cpu, "--wait", "1", VICTIM_S, NULL};
	const char *const more[] = {"--why", "--by", "pid", NULL};
	struct json_object *report = NULL;
	struct proc hog;
	struct run r;
	int result;

	(void)snprintf(cpu, sizeof(cpu), "%d", online_cpus() - 1);
	if (proc_start(&hog, hog_argv, NULL, NULL, NULL))
		return say(g, FAIL, "cannot start %s", hog_argv[0]);
	json_object_put(proc_read_json(&hog));
	if (run_start(g, &r, victim, "sched", "-p", more)) {
		proc_poke(&hog);
		json_object_put(run_go(&r));
		report = run_finish(g, &r);
	}
	result = report ? judge_blame(g, report, hog.pid) : FAIL;
	json_object_put(report);
	(void)proc_wait(&hog, 0);
	return result;
}

/* ---- of a lock ---- */

/* A mutex that another thread waits for, and a file that four processes write to. */
static const struct {
	const char *argv[6], *did;
} loads[] = {
	{{"/bin/holders", "hold", "asleep", "normal", ROUNDS, NULL}, "blocked_ns"},
	{{"/bin/holders", "hold", "computing", "normal", ROUNDS, NULL}, "running_ns"},
	{{"/bin/holders", "file", "/tmp", "1", NULL}, NULL}, /* in the kernel: its inode's lock */
};

#define NLOADS (sizeof(loads) / sizeof(loads[0]))

struct held {
	struct proc load;
	bool runs;
	struct json_object *first, *said; /* whom it consists of; what they did */
};

static int64_t wait_sum(struct json_object *row)
{
	return json_number(json_object_object_get(row, "wait_ns"), "sum");
}

/*
 * Holders are all of a row's waits, and what a thread did all of its share; else false, with words.
 */
static bool adds_up(struct guest *g, struct json_object *row)
{
	struct json_object *list = json_object_object_get(row, "holders");
	int64_t all = 0;

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *h = json_object_array_get_idx(list, i);
		int64_t did = json_number(h, "running_ns") + json_number(h, "runnable_ns") +
			      json_number(h, "throttled_ns") + json_number(h, "blocked_ns");

		all += json_number(h, "wait_ns");
		if (did == (json_number(h, "tid") ? json_number(h, "wait_ns") : 0))
			continue;
		return say(g, FAIL, "%s of %s: it did %lld ns of %lld", json_text(h, "comm"),
			   json_text(row, "addr"), (long long)did,
			   (long long)json_number(h, "wait_ns")) == PASS;
	}
	if (!list || all == wait_sum(row))
		return true;
	return say(g, FAIL, "%s: %lld ns of its holders, %lld waited", json_text(row, "addr"),
		   (long long)all, (long long)wait_sum(row)) == PASS;
}

static bool all_add_up(struct guest *g, struct json_object *rows)
{
	for (size_t i = 0; rows && i < json_object_array_length(rows); i++)
		if (!adds_up(g, json_object_array_get_idx(rows, i)))
			return false;
	return true;
}

/* What a process waited for longest of what has holders. */
static struct json_object *longest_of(struct json_object *rows, int64_t pid)
{
	struct json_object *longest = NULL;

	for (size_t i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (json_number(row, "pid") == pid && json_object_object_get(row, "holders") &&
		    (!longest || wait_sum(row) > wait_sum(longest)))
			longest = row;
	}
	return longest;
}

/* By its thread, or by what stands in its place. */
static struct json_object *holder_of(struct json_object *row, const char *comm, int64_t tid)
{
	struct json_object *list = json_object_object_get(row, "holders");

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *h = json_object_array_get_idx(list, i);

		if (tid ? json_number(h, "tid") == tid : !strcmp(json_text(h, "comm"), comm))
			return h;
	}
	return NULL;
}

/* More words of a test that has some. */
static void add(struct guest *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct guest *g, const char *fmt, ...)
{
	size_t at = strlen(g->why);
	va_list ap;

	if (at && at + 3 < sizeof(g->why))
		at += (size_t)snprintf(g->why + at, sizeof(g->why) - at, "; ");
	va_start(ap, fmt);
	(void)vsnprintf(g->why + at, sizeof(g->why) - at, fmt, ap); /* cut is fine */
	va_end(ap);
}

/* By its own clocks, of which a part was over before anybody waited. */
static bool as_it_says(struct json_object *h, struct json_object *said)
{
	const int64_t held = json_number(said, "held_ns"), ran = json_number(said, "ran_ns");
	const int64_t slept = held - ran - json_number(said, "queued_ns");
	int64_t room = held - json_number(h, "wait_ns");

	room = (room > 0 ? room : 0) + held * ROOM_PERCENT / 100;
	return llabs((long long)(json_number(h, "running_ns") - ran)) <= room &&
	       llabs((long long)(json_number(h, "blocked_ns") - slept)) <= room;
}

/*
 * Who has the mutex, by its own account and the mutex', was waited for, and did what it did. A
 * waiter that is not let run after the release waits for nobody.
 */
static bool of_thread(struct guest *g, struct json_object *rows, const struct held *load, size_t k)
{
	int64_t tid = json_number(load->said, "holder");
	struct json_object *row = longest_of(rows, json_number(load->first, "pid"));
	struct json_object *h = holder_of(row, NULL, tid);
	int64_t held = wait_sum(row) - json_number(holder_of(row, "(released)", 0), "wait_ns");
	int64_t ns = json_number(h, "wait_ns"), did = json_number(h, loads[k].did);

	add(g, "%s: %lld us waited for it, %lld for thread %lld, %lld of that %s", loads[k].argv[2],
	    (long long)held / 1000, (long long)ns / 1000, (long long)tid, (long long)did / 1000,
	    loads[k].did);
	if (h && tid == json_number(load->said, "owner") && ns > 0 &&
	    ns * 100 >= held * HELD_PERCENT && did * 100 >= ns * DID_PERCENT &&
	    as_it_says(h, load->said))
		return true;
	add(g, "by itself %s", json_object_to_json_string(load->said));
	add(g, "seen %s", json_object_to_json_string(json_object_object_get(row, "holders")));
	return false;
}

static int64_t of_processes(struct json_object *row, struct json_object *pids)
{
	int64_t ns = 0;

	for (size_t i = 0; i < json_object_array_length(pids); i++)
		ns += json_number(
			holder_of(row, NULL,
				  json_object_get_int64(json_object_array_get_idx(pids, i))),
			"wait_ns");
	return ns;
}

/* Some lock of the kernel's that they waited for was one of them's, known by its thread. */
static bool of_kernel(struct guest *g, struct json_object *rows, const struct held *load)
{
	struct json_object *pids = json_object_object_get(load->first, "pids"), *most = NULL;

	for (size_t i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (of_processes(row, pids) > of_processes(most, pids))
			most = row;
	}
	add(g, "file: %lld us waited for %s %s, %lld for another of four that write",
	    (long long)wait_sum(most) / 1000, json_text(most, "kind"), json_text(most, "name"),
	    (long long)of_processes(most, pids) / 1000);
	return of_processes(most, pids) > 0;
}

/* The loads that there is a source for: before 5.19 the kernel does not tell of its own locks. */
static size_t how_many(void)
{
	return older_than(5, 19) ? NLOADS - 1 : NLOADS;
}

/* Of the processes of all loads, with commas. */
static bool start_loads(struct guest *g, struct held all[NLOADS], char *ids, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < how_many(); i++) {
		struct json_object *pids;

		all[i].runs = !proc_start(&all[i].load, loads[i].argv, NULL, NULL, NULL);
		all[i].first = all[i].runs ? proc_read_json(&all[i].load) : NULL;
		if (!all[i].first)
			return say(g, FAIL, "cannot start holders %s", loads[i].argv[1]) == PASS;
		at += (size_t)snprintf(ids + at, len - at, "%s%lld", at ? "," : "",
				       (long long)json_number(all[i].first, "pid")); /* fits */
		pids = json_object_object_get(all[i].first, "pids");
		for (size_t k = 0; pids && k < json_object_array_length(pids); k++)
			at += (size_t)snprintf(ids + at, len - at, ",%s",
					       json_object_get_string(json_object_array_get_idx(
						       pids, k))); /* fits */
	}
	return true;
}

/* Each is there until the run has ended: a mutex is read where it is. */
static struct json_object *run_loads(struct guest *g, struct held all[NLOADS])
{
	char ids[256];
	const char *const more[] = {"--why", "-n", "100", "-p", ids, NULL};
	struct proc tool;

	if (!start_loads(g, all, ids, sizeof(ids)) ||
	    !tool_start(g, &tool, how_many() < NLOADS ? "futex" : "lock,futex", more))
		return NULL;
	for (size_t i = 0; i < how_many(); i++) {
		proc_poke(&all[i].load);
		all[i].said = proc_read_json(&all[i].load);
	}
	return tool_finish(g, &tool);
}

static bool judge_holders(struct guest *g, struct json_object *rows, struct held all[NLOADS])
{
	bool ok = all_add_up(g, rows);

	for (size_t i = 0; ok && i < how_many(); i++)
		ok = loads[i].did ? of_thread(g, rows, &all[i], i) : of_kernel(g, rows, &all[i]);
	return ok;
}

static int test_lock(struct guest *g)
{
	struct held all[NLOADS] = {0};
	struct json_object *report = run_loads(g, all);
	bool ok = report && judge_holders(g, contended_rows(report_line(report, "final")), all);

	for (size_t i = 0; i < NLOADS; i++) {
		if (all[i].said)
			proc_poke(&all[i].load);
		if (all[i].runs)
			(void)proc_wait(&all[i].load, all[i].said ? END_MS : 0);
		json_object_put(all[i].first);
		json_object_put(all[i].said);
	}
	json_object_put(report);
	return ok ? PASS : FAIL;
}

const struct test why_tests[] = {
	{"why-cpu", test_cpu, "waits"},
	{"why-lock", test_lock, "waits"},
	{0},
};
