/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which rows a report has, in what order, and which addresses are about the same memory. */
#include <stdio.h>
#include <string.h>

#include "core/view.h"
#include "unit.h"

#define TEXT 512

static const struct metric_desc head = {"wakeup", "Wakeup", METRIC_HEADLINE};
static const struct metric_desc leg = {"leg", "leg", METRIC_LEG};
static const struct metric_desc side = {"side", "side", METRIC_SIDE};
static const struct metric_desc delay = {"delay", "delay", METRIC_SIDE, .ranks = true};
static const struct metric_desc quota = {"quota", "quota", METRIC_SIDE, .ranks_as = "out"};
static const struct metric_desc ops = {"ops", "Operations", METRIC_ROWS};
static const struct metric_desc joined = {"jbd", "Operations", METRIC_ROWS, .joins = "ops"};
static const struct metric_desc lookups = {"lookups", "Lookups", METRIC_COUNTS, .counter = true,
					   .pivot = "result"};
static const struct metric_desc hits = {"hits",		 "Hits",	  METRIC_COUNTS,
					.counter = true, .pivot = "kind", .joins = "lookups"};
static const struct metric_desc note = {"note", "note", METRIC_NOTE, .counter = true};

/* Histograms of a count, a sum and a maximum; quantiles are not asked for. */
#define H(n, sum, max) (&(const struct hist){.count = (n), .sum_ns = (sum), .max_ns = (max)})
#define PID(p) {{"pid", (p)}, {"comm", "x"}}, 2
#define CPU(c) {{"cpu", (c)}}, 1

static void name_row(char *out, const struct view_row *row)
{
	size_t at = strlen(out);

	if (row->c)
		(void)snprintf(out + at, TEXT - at, " %s", row->c->name);
	else
		(void)snprintf(out + at, TEXT - at, " %s=%s", row->s->desc->name,
			       row->first->nlabels ? row->first->labels[0].value : "");
}

/* "ops: ops=a jbd=b | groups": a section's tables. */
static void write_view(struct view *v, char *out)
{
	out[0] = '\0';
	for (size_t i = 0; i < v->nsections; i++) {
		const struct view_section *s = &v->sections[i];
		const struct view_table *const tables[] = {&s->legs, &s->sides, &s->rows,
							   &s->groups};
		size_t at = strlen(out);

		(void)snprintf(out + at, TEXT - at, "%s[%s]", i ? " " : "",
			       s->desc			   ? s->desc->name
			       : s->kind == VIEW_CONTENDED ? "contended"
			       : s->kind == VIEW_LINES	   ? "lines"
							   : "");
		for (size_t k = 0; k < ROWS(tables); k++) {
			const struct view_row *rows = view_first(v, tables[k], tables[k]->n);

			if (tables[k]->n)
				strcat(out, k == 3 ? " |" : k == 2 ? " :" : " -");
			for (size_t n = 0; n < tables[k]->n; n++)
				name_row(out, &rows[n]);
		}
	}
}

static const struct series sched[] = {
	{&head, {{0}}, 0, H(30, 300, 90)},
	{&leg, {{0}}, 0, H(30, 200, 80)},
	{&side, {{0}}, 0, H(3, 30, 20)},
	{&note, {{0}}, 0, .value = 7},
	{&head, CPU("9"), H(10, 100, 10)},
	{&head, CPU("10"), H(20, 200, 90)},
	{&head, PID("9"), H(5, 50, 90)},
	{&leg, PID("9"), H(5, 40, 80)},
	{&delay, PID("9"), H(5, 10, 5)},
	{&head, PID("10"), H(5, 90, 40)},
	{&delay, PID("10"), H(2, 700, 500)},
	{&delay, PID("8"), H(2, 20, 20)}, /* waited, never for a wakeup */
	{&head, PID("7"), H(0, 0, 0)},	  /* neither */
	{&delay, PID("7"), H(0, 0, 0)},
	{&head, PID("9"), H(1, 1, 1)}, /* the pid again: another process */
};

/* A group that was out of quota for most of the time, and hardly waited for a CPU. */
static const struct series throttled[] = {
	{&head, {{0}}, 0, H(30, 300, 90)},    {&head, PID("1"), H(5, 90, 40)},
	{&delay, PID("1"), H(7, 700, 500)},   {&head, PID("2"), H(5, 50, 10)},
	{&quota, PID("2"), H(3, 3000, 1000)}, {&delay, PID("2"), H(5, 50, 10)},
	{&quota, PID("3"), H(1, 800, 800)}, /* nothing but that */
	{&delay, PID("4"), H(9, 100, 60)},
};

static const struct series files[] = {
	{&joined, {{"op", "commit"}}, 1, H(1, 900, 900)},
	{&ops, {{"op", "fsync"}}, 1, H(9, 90, 10)},
	{&ops, {{"op", "idle"}}, 1, H(0, 0, 0)},
	{&ops, {{"pid", "5"}, {"op", "fsync"}}, 2, H(9, 90, 10)},
	{&hits, {{"dev", "a"}, {"kind", "hole"}}, 2, .value = 4},
	{&lookups, {{"dev", "b"}, {"result", "hit"}}, 2, .value = 50},
	{&lookups, {{"dev", "a"}, {"result", "hit"}}, 2, .value = 6},
	{&lookups, {{"dev", "a"}, {"result", "miss"}}, 2, .value = 1},
};

static const struct series names[] = {
	{&ops, {{"op", "9a"}}, 1, H(1, 1, 1)},	{&ops, {{"op", "10"}}, 1, H(1, 1, 1)},
	{&ops, {{"op", "9"}}, 1, H(1, 1, 1)},	{&ops, {{"op", "1a"}}, 1, H(1, 1, 1)},
	{&ops, {{"op", "far"}}, 1, H(1, 2, 1)},
};

static const struct futex_counts idle = {.idle = true};
static const struct line_accesses sampled = {.sampler = "clock", .rank = 9, .share = 0.25};
static const struct line_accesses hotter = {.sampler = "clock", .rank = 10, .share = -1};
static const struct line_accesses watched = {.sampler = "breakpoint", .exact = true};

static const struct contended addresses[] = {
	{"lock", "other", true, .name = "others", .count = 9, .wait = H(9, 9999, 9)},
	{"futex", "futex", false, 0x9000, 7, .name = "idle", .count = 9, .wait = H(9, 9000, 9),
	 .futex = &idle},
	{"lock", "mutex", false, 0x1040, 0, .name = "b", .count = 5, .wait = H(5, 50, 9)},
	{"lock", "mutex", false, 0x1000, 0, .name = "a", .count = 5, .wait = H(5, 50, 9)},
	{"lock", "mutex", false, 0x2000, 0, .name = "none", .count = 0, .wait = H(0, 0, 0)},
	{"line", "line", false, 0x5040, 0, .name = "cold", .count = 4, .accesses = &sampled},
	{"line", "line", false, 0x6040, 0, .name = "hot", .count = 3, .accesses = &hotter},
	{"watch", "watch", false, 0x7040, 0, .name = "watch", .count = 0, .accesses = &watched},
};

static const struct contended classes[] = {
	{"futex", "futex", false, 0x1, 7, .name = "work", .class = "work", .count = 9,
	 .wait = H(9, 9000, 9)},
	{"futex", "futex", false, 0x2, 7, .name = "both", .class = "lock or work", .count = 4,
	 .wait = H(4, 400, 9)},
	{"futex", "futex", false, 0x3, 7, .name = "new", .class = "from tomorrow", .count = 1,
	 .wait = H(1, 7, 9)},
	{"futex", "futex", false, 0x4, 7, .name = "lock", .class = "lock", .count = 5,
	 .wait = H(5, 50, 9)},
	{"futex", "other", true, .name = "others", .class = "lock or work", .count = 2,
	 .wait = H(2, 2, 9)},
};

#define SERIES(v) .series = (v), .nseries = ROWS(v)

/* Each class has its sum, whatever -n leaves of the rows. */
TEST(class_sums)
{
	const struct frame f = {.contended = classes, .ncontended = ROWS(classes)};
	const struct config cfg = {.list_rows = 1};
	struct view v = {0};

	assert_int_equal(view_make(&v, &f, &cfg), 0);
	assert_int_equal(v.sections[0].count, 5);
	assert_int_equal(v.sections[0].sum_ns, 50);
	assert_int_equal(v.sections[0].unsure.count, 7);
	assert_int_equal(v.sections[0].unsure.sum_ns, 409);
	assert_int_equal(v.sections[0].work.count, 9);
	assert_int_equal(v.sections[0].work.sum_ns, 9000);
	assert_int_equal(frame_waited(&f, "futex", CLASS_UNSURE).sum_ns, 409);
	assert_int_equal(frame_waited(&f, NULL, CLASS_LOCK).count, 5);
	assert_int_equal(frame_waited(&f, "lock", CLASS_LOCK).count, 0);
	view_free(&v);
}

TEST(sections)
{
	static const struct {
		struct frame f;
		struct config cfg;
		const char *rows, *why;
	} rows[] = {
		{{.seq = 0}, {.rows = 0}, "", "nothing"},
		{{SERIES(sched)},
		 {.rows = 0},
		 "[wakeup] - leg= - side= : wakeup=9 wakeup=10",
		 "CPUs stand in their order; a note is no section"},
		{{SERIES(sched)},
		 {.by = BY_PID},
		 "[wakeup] - leg= - side= : delay=10 delay=8 delay=9 wakeup=9",
		 "who waits most first; who neither waited nor ran has no row"},
		{{SERIES(throttled)},
		 {.by = BY_PID},
		 "[wakeup] : delay=2 quota=3 delay=1 delay=4",
		 "what was waited besides counts in the order"},
		{{SERIES(throttled)},
		 {.by = BY_PID, .sort = SORT_MAX},
		 "[wakeup] : delay=1 delay=4 delay=2 quota=3",
		 "and in no other order"},
		{{.series = throttled, .nseries = 2},
		 {.by = BY_PID, .sort = SORT_MAX},
		 "[wakeup] : wakeup=1",
		 "nothing ranks them"},
		{{SERIES(sched)},
		 {.by = BY_PID, .sort = SORT_MAX},
		 "[wakeup] - leg= - side= : delay=10 delay=8 delay=9 wakeup=9",
		 "another order is of the same metric"},
		{{SERIES(sched)},
		 {.by = BY_CPU, .sort = SORT_COUNT},
		 "[wakeup] - leg= - side= : wakeup=10 wakeup=9",
		 "--by cpu sorts CPUs"},
		{{.series = sched + 1, .nseries = 2},
		 {.rows = 0},
		 "[] - leg= - side=",
		 "no headline"},
		{{SERIES(files)},
		 {.rows = 0},
		 "[jbd] : jbd=commit ops=fsync [lookups] : lookups=b hits=a",
		 "metrics that join are one table, by sum; what pivots is no row of its own"},
		{{SERIES(files)},
		 {.by = BY_PID},
		 "[jbd] : jbd=commit ops=fsync | ops=5 [lookups] : lookups=b hits=a",
		 "groups are a table of their own"},
		{{SERIES(files)},
		 {.sort = SORT_NAME},
		 "[jbd] : jbd=commit ops=fsync [lookups] : hits=a lookups=b",
		 "by name"},
		{{SERIES(names)},
		 {.rows = 0},
		 "[ops] : ops=far ops=9 ops=10 ops=1a ops=9a",
		 "of the same weight numbers come first, as numbers"},
		{{.contended = addresses, .ncontended = ROWS(addresses)},
		 {.rows = 0},
		 "[contended] : a b idle others [lines] : watch hot cold",
		 "locks, what waits for work, others; watches were asked for"},
		{{.contended = addresses, .ncontended = ROWS(addresses)},
		 {.sort = SORT_COUNT},
		 "[contended] : a b idle others [lines] : watch cold hot",
		 "lines by samples"},
		{{.contended = classes, .ncontended = ROWS(classes)},
		 {.rows = 0},
		 "[contended] : both lock new work others",
		 "what may be a lock is among the locks"},
		{{.contends = true, .lines = true},
		 {.rows = 0},
		 "[contended] [lines]",
		 "a source that found none is worth a word"},
	};
	struct view v = {0};
	char text[TEXT];

	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(view_make(&v, &rows[i].f, &rows[i].cfg), 0);
		write_view(&v, text);
		if (strcmp(text, rows[i].rows))
			print_error("%s\n", rows[i].why);
		assert_string_equal(text, rows[i].rows);
	}
	view_free(&v);
}

static const struct split half = {.blocked_ns = 30, .run_queue_ns = 20};
static const struct series mixed[] = {
	{&head, {{0}}, 0, H(30, 300, 90)},
	{&side, {{0}}, 0, H(3, 30, 20)},
	{&quota, {{0}}, 0, H(1, 5000, 5000)},
	{&delay, {{0}}, 0, H(40, 700, 90)},
	{&ops, {{"op", "fsync"}}, 1, H(9, 90, 10), .split = &half},
	{&ops, {{"op", "read"}}, 1, H(1, 7, 7)},
	{&joined, {{"op", "commit"}}, 1, H(1, 900, 900)}, /* a part of fsync */
	{&lookups, {{"dev", "b"}, {"result", "hit"}}, 2, .value = 50},
};

/* Which section gives way first. */
TEST(waited)
{
	static const struct frame f = {SERIES(mixed), .dur_ns = 1000, .contended = addresses,
				       .ncontended = ROWS(addresses)};
	static const struct frame plain = {.series = mixed, .nseries = 2};
	static const struct frame sums = {.series = mixed + 1, .nseries = 1};
	static const uint64_t want[] = {5700, 57, 0, 10099, 250};
	static const struct config cfg = {0};
	struct view v = {0};

	assert_int_equal(view_make(&v, &f, &cfg), 0);
	assert_int_equal(v.nsections, ROWS(want));
	for (size_t i = 0; i < ROWS(want); i++)
		assert_int_equal(v.sections[i].waited_ns, want[i]);
	assert_int_equal(view_make(&v, &plain, &cfg), 0);
	assert_int_equal(v.sections[0].waited_ns, 300);
	assert_int_equal(view_make(&v, &sums, &cfg), 0);
	assert_int_equal(v.sections[0].waited_ns, 30);
	view_free(&v);
}

/* A choice of CPUs is of the worst. */
TEST(first_rows)
{
	static const struct frame f = {SERIES(sched)};
	static const struct config cfg = {.sort = SORT_MAX, .rows = 1};
	const struct view_table *t;
	struct view v = {0};

	assert_int_equal(view_make(&v, &f, &cfg), 0);
	t = &v.sections[0].rows;
	assert_true(t->cpus && t->in_place);
	assert_int_equal(t->limit, 1);
	assert_string_equal(view_first(&v, t, 2)[0].first->labels[0].value, "9");
	assert_string_equal(view_first(&v, t, 1)[0].first->labels[0].value, "10");
	view_free(&v);
}

TEST(sums)
{
	static const struct frame f = {SERIES(files)};
	static const struct frame locks = {.contended = addresses, .ncontended = ROWS(addresses)};
	static const struct config cfg = {0};
	const struct view_section *s;
	const struct view_row *row;
	struct view v = {0};

	assert_int_equal(view_make(&v, &f, &cfg), 0);
	s = &v.sections[0];
	assert_int_equal(s->count, 10);
	assert_int_equal(s->sum_ns, 990);
	s = &v.sections[1];
	assert_int_equal(s->count, 57); /* the hits' kinds are counted with them already */
	assert_int_equal(s->ncolumns, 3);
	assert_string_equal(s->columns[0].value, "hit");
	assert_string_equal(s->columns[2].value, "hole");
	row = view_first(&v, &s->rows, 2);
	assert_int_equal(view_sum(&v, s, &row[1], &lookups), 7);
	assert_int_equal(view_sum(&v, s, &row[1], &hits), 4);
	assert_int_equal(v.values[row[1].values + 1], 1);
	assert_int_equal(view_make(&v, &locks, &cfg), 0);
	s = &v.sections[0];
	assert_true(s->timed);
	assert_int_equal(s->count, 19); /* not what waits for work */
	assert_int_equal(s->sum_ns, 10099);
	assert_int_equal(s->rows.others, 1);
	s = &v.sections[1];
	assert_true(s->sampled);
	assert_int_equal(s->count, 7);
	assert_true(s->share == 0.25);
	view_free(&v);
}

/* What a row shows, of which table. */
TEST(ranked)
{
	static const struct frame f = {SERIES(throttled)},
				  woken = {.series = throttled, .nseries = 2};
	static const struct config cfg = {.by = BY_PID}, none = {.by = BY_NONE};
	const struct view_table *t;
	const struct view_row *row;
	struct view v = {0};

	assert_int_equal(view_make(&v, &f, &cfg), 0);
	t = &v.sections[0].rows;
	row = view_first(&v, t, t->n);
	assert_ptr_equal(t->ranked, &delay);
	assert_ptr_equal(t->besides, &quota);
	assert_ptr_equal(row[0].s, &throttled[5]);
	assert_ptr_equal(row[0].besides, &throttled[4]);
	assert_ptr_equal(row[0].head, &throttled[3]);
	assert_int_equal(view_waited_ns(&row[0]), 3050);
	assert_null(row[1].wait);
	assert_ptr_equal(row[1].s, row[1].besides);
	assert_int_equal(view_waited_ns(&row[1]), 800);
	assert_int_equal(view_make(&v, &woken, &cfg), 0);
	t = &v.sections[0].rows;
	assert_null(t->ranked);
	assert_null(t->besides);
	assert_ptr_equal(view_first(&v, t, t->n)->s, &throttled[1]);
	/* Without --by a CPU's row is the headline's. */
	assert_int_equal(view_make(&v, &(const struct frame){SERIES(sched)}, &none), 0);
	t = &v.sections[0].rows;
	assert_null(t->ranked);
	assert_ptr_equal(view_first(&v, t, t->n)->s->desc, &head);
	view_free(&v);
}

/* CSV has all groups, with all their series. */
TEST(groups)
{
	static const struct frame f = {SERIES(sched)}, none = {.series = sched, .nseries = 6};
	static const struct frame out = {SERIES(throttled)};
	static const struct config cfg = {.by = BY_PID};
	const struct view_row *row;
	struct view_table t;
	struct view v = {0};

	assert_int_equal(view_groups(&v, &f, &cfg, &t), 0);
	assert_int_equal(t.n, 5);
	row = view_first(&v, &t, t.n);
	assert_ptr_equal(row[0].first, &sched[9]);
	assert_int_equal(row[0].n, 2);
	assert_ptr_equal(row[2].first, &sched[6]);
	assert_int_equal(row[2].n, 3);
	assert_int_equal(view_groups(&v, &out, &cfg, &t), 0);
	assert_string_equal(view_first(&v, &t, t.n)->first->labels[0].value, "2");
	assert_int_equal(view_groups(&v, &none, &cfg, &t), 0);
	assert_int_equal(t.n, 0);
	view_free(&v);
}

static const struct contended same[] = {
	{"lock", "rwsem:w", false, 0x1040, 0, .count = 1, .wait = H(1, 1, 1)},
	{"lock", "rwsem:r", false, 0x1040, 0, .count = 1, .wait = H(1, 1, 1)},
	{"lock", "mutex", false, 0x107f, 0, .count = 1, .wait = H(1, 1, 1)},
	{"lock", "mutex", false, 0x1080, 0, .count = 1, .wait = H(1, 1, 1)},
	{"lock", "mutex", false, 0x1048, 0, .count = 0, .wait = H(0, 0, 0)},
	{"lock", "other", true, 0x1040, 0, .count = 1, .wait = H(1, 1, 1)},
	{"futex", "futex", false, 0x1050, 7, .count = 1, .wait = H(1, 1, 1)},
	{"line", "line", false, 0x1050, 0, .count = 4, .accesses = &sampled},
	{"line", "line", false, 0x1048, 7, .count = 4, .accesses = &sampled},
	{"line", "line", false, 0x1050, 8, .count = 4, .accesses = &sampled},
	{"watch", "watch", false, 0x1060, 0, .count = 0, .accesses = &watched},
};

TEST(joins)
{
	static const struct {
		size_t row;
		size_t with[4], n;
		const char *why;
	} rows[] = {
		{0, {7, 10}, 2, "a lock, and what was sampled and watched of its line"},
		{1, {7, 10}, 2, "the other kind of waits for it"},
		{2, {7, 10}, 2, "the line's last byte"},
		{3, {0}, 0, "the next line"},
		{4, {0}, 0, "nobody waited"},
		{5, {0}, 0, "others have no address"},
		{6, {8}, 1, "of the same process"},
		{7, {1, 0, 2}, 3, "by address, then by kind"},
		{8, {6}, 1, "of the same process"},
		{9, {0}, 0, "another process"},
		{10, {1, 0, 2}, 3, "a watch that saw nothing is where it is"},
	};
	static const struct frame f = {.contended = same, .ncontended = ROWS(same)};
	static const struct frame locks = {.contended = same, .ncontended = 7};
	const struct view_join *j;
	struct view v = {0};
	size_t n;

	assert_int_equal(view_join(&v, &f), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		j = view_joined(&v, &same[rows[i].row], &n);
		if (n != rows[i].n)
			print_error("%s\n", rows[i].why);
		assert_int_equal(n, rows[i].n);
		for (size_t k = 0; k < n; k++)
			assert_ptr_equal(j[k].with, &same[rows[i].with[k]]);
	}
	assert_int_equal(view_join(&v, &locks), 0);
	(void)view_joined(&v, &same[0], &n); /* the number is what is looked at */
	assert_int_equal(n, 0);
	view_free(&v);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
