// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache lines in a guest whose interrupts come between any two instructions (guests.list: icount):
 * the line that a load says its threads fight over is found, named, and rightly called; of a load
 * whose threads do not fight, none is. Then the shapes of tests/load/shapes.c that waitscope once
 * missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest.h"

/* How long a load runs: the names worker, at nice 10 beside two busy threads, once needed more than
 * 4 s to read the first program. */
#define NAMED_SECONDS "8"
/* The shapes' names are not asked for. A shape that was missed runs again for longer: threads that
 * wait for each other find little to do. */
#define SHAPE_SECONDS "4"
#define MISSED_SECONDS "12"
#define LINE_BYTES 64

struct seen {
	struct json_object *report;
	struct json_object *said; /* by the load: its pid, the line, the variable, the sharing */
	struct json_object *rows;
	int64_t pending;
};

static void forget(struct seen *s)
{
	json_object_put(s->said);
	json_object_put(s->report);
}

/* A load as waitscope's own command: it is not traced late, nor is it in waitscope's way. mode:
 * NULL, or `shape`'s. */
static bool sample(struct guest *g, const char *load, const char *shape, const char *mode,
		   const char *seconds, struct seen *s)
{
	const char *const more[] = {"--", load, shape, mode ?: seconds, mode ? seconds : NULL,
				    NULL};
	struct json_object *final;
	struct proc tool;

	memset(s, 0, sizeof(*s));
	if (!tool_start(g, &tool, "line", more))
		return false;
	s->said = proc_read_json(&tool);
	json_object_put(proc_read_json(&tool)); /* at its end */
	s->report = tool_finish(g, &tool);
	if (!s->report) {
		forget(s);
		return false;
	}
	final = report_line(s->report, "final");
	s->rows = contended_rows(final);
	s->pending = quality_of(final, "pending");
	return true;
}

static const char *first(struct json_object *said, const char *key)
{
	struct json_object *list = json_object_object_get(said, key), *text;

	text = list ? json_object_array_get_idx(list, 0) : NULL;
	return text ? json_object_get_string(text) : "";
}

/* Of `lines` the first of a list, of `shapes` the one there is. */
static const char *said_line(struct json_object *said)
{
	const char *one = json_text(said, "line");

	return *one ? one : first(said, "lines");
}

static unsigned long long line_of(const char *addr)
{
	return strtoull(addr, NULL, 16) / LINE_BYTES;
}

/* The load's own line among the rows, or NULL; how many rows are the load's. */
static struct json_object *row_of(const struct seen *s, size_t *all)
{
	int64_t pid = json_number(s->said, "pid");
	struct json_object *found = NULL;

	*all = 0;
	for (size_t i = 0; s->rows && i < json_object_array_length(s->rows); i++) {
		struct json_object *row = json_object_array_get_idx(s->rows, i);

		if (json_number(row, "pid") != pid)
			continue;
		(*all)++;
		if (line_of(json_text(row, "addr")) == line_of(said_line(s->said)))
			found = row;
	}
	return found;
}

static bool fits(struct json_object *row, struct json_object *said)
{
	char name[64];
	int n = snprintf(name, sizeof(name), "lines`%s", first(said, "names"));

	return !strncmp(json_text(row, "name"), name, (size_t)n) &&
	       !strncmp(json_text(row, "place"), "lines.c:", strlen("lines.c:")) &&
	       !strcmp(json_text(row, "sharing"), json_text(said, "sharing")) &&
	       json_number(row, "threads") == 2 && json_number(row, "cores") == 2 &&
	       json_number(row, "writes") > 0;
}

static int found(struct guest *g, const char *mode, bool locked)
{
	struct json_object *row;
	struct seen s;
	size_t all;
	bool ok;

	if (!sample(g, "/bin/lines", mode, NULL, NAMED_SECONDS, &s))
		return FAIL;
	row = row_of(&s, &all);
	ok = row && all == 1 && fits(row, s.said) && locked == (json_number(row, "locked") > 0);
	(void)say(g, PASS,
		  "%s: %zu lines of it, %s %s at %s, %lld samples, %lld writes, %lld locked; "
		  "%lld pending",
		  mode, all, row ? json_text(row, "sharing") : "not",
		  row ? json_text(row, "name") : "", row ? json_text(row, "place") : "",
		  (long long)json_number(row, "count"), (long long)json_number(row, "writes"),
		  (long long)json_number(row, "locked"), (long long)s.pending);
	forget(&s);
	return ok ? PASS : FAIL;
}

static int test_plain(struct guest *g)
{
	return found(g, "plain", false);
}

static int test_locked(struct guest *g)
{
	return found(g, "lock", true);
}

static int test_reader(struct guest *g)
{
	return found(g, "rw", false);
}

/* Samples came, and were decoded, as in the tests above. */
static int test_padded(struct guest *g)
{
	struct seen s;
	size_t all;

	if (!sample(g, "/bin/lines", "padded", NULL, SHAPE_SECONDS, &s))
		return FAIL;
	(void)row_of(&s, &all);
	(void)say(g, PASS, "%zu lines, %lld samples pending", all, (long long)s.pending);
	forget(&s);
	return all ? FAIL : PASS;
}

#define TRIES 4

enum verdict { RIGHT, MISSED, BLAMED };

/* RIGHT: "hot" has the load's line as a row in one of four runs, "control" has none. BLAMED:
 * another line of the load is a row. */
static enum verdict look_at(struct guest *g, const char *shape, const char *mode)
{
	bool hot = !strcmp(mode, "hot"), found = false;
	struct seen s;
	size_t all;

	for (int i = 0; i < (hot ? TRIES : 1) && !found; i++) {
		if (!sample(g, "/bin/shapes", shape, mode, i ? MISSED_SECONDS : SHAPE_SECONDS, &s))
			return BLAMED;
		found = row_of(&s, &all) != NULL;
		forget(&s);
		if (all != (hot && found ? 1 : 0))
			return BLAMED;
	}
	return hot && !found ? MISSED : RIGHT;
}

/*
 * Shapes of code with join points, with a thread that only reads, and with registers of doubtful
 * value. A run takes 8 s of the host's time.
 */
static int test_shapes(struct guest *g)
{
	static const char *const cells[][2] = {
		{"arms", "hot"},      {"two_arms", "hot"},  {"flag", "hot"},
		{"handshake", "hot"}, {"ticket", "hot"},    {"choose", "hot"},
		{"count", "hot"},     {"call", "hot"},	    {"queue", "hot"},
		{"seq", "hot"},	      {"nest", "hot"},	    {"arms", "control"},
		{"flag", "control"},  {"queue", "control"}, {"nest", "control"},
	};
	const size_t n = sizeof(cells) / sizeof(cells[0]);
	size_t missed = 0, blamed = 0, used = 0;
	char wrong[256] = "";

	for (size_t i = 0; i < n; i++) {
		enum verdict v = look_at(g, cells[i][0], cells[i][1]);

		missed += v == MISSED;
		blamed += v == BLAMED;
		if (v != RIGHT && used < sizeof(wrong))
			used += (size_t)snprintf(wrong + used, sizeof(wrong) - used, " %s %s",
						 cells[i][0], cells[i][1]);
	}
	(void)say(g, PASS, "%zu shapes, %zu missed, %zu blamed:%s", n, missed, blamed, wrong);
	return blamed || missed ? FAIL : PASS;
}

const struct test line_tests[] = {
	{"line-plain", test_plain, "line"},   {"line-locked", test_locked, "line"},
	{"line-reader", test_reader, "line"}, {"line-padded", test_padded, "line"},
	{"line-shapes", test_shapes, "line"}, {0},
};
