/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal that one can drive, without a terminal: what is kept, what is drawn, what keys do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/text.h"
#include "sink/tui.h"
#include "tui_seen.h"

/* ---- what is kept ---- */

TEST(test_keep)
{
	struct tui_keep k = {.most = 5, .most_bytes = SIZE_MAX};
	struct made *m;

	for (uint64_t i = 1; i <= 200; i++) {
		m = usual(i);
		assert_int_equal(tui_keep_add(&k, &m->f), 0);
		drop(m);
		assert_int_equal(k.n, i < 5 ? i : 5);
		assert_int_equal(tui_keep_end(&k), i);
		assert_int_equal(tui_keep_get(&k, i - 1)->seq, i);
		assert_int_equal(tui_keep_get(&k, k.gone)->seq, k.gone + 1);
		assert_null(tui_keep_get(&k, i));
		assert_true(!k.gone || !tui_keep_get(&k, k.gone - 1));
	}
	tui_keep_free(&k);
	k.most_bytes = 1; /* one stays, whatever it takes */
	for (uint64_t i = 1; i <= 3; i++) {
		m = usual(i);
		assert_int_equal(tui_keep_add(&k, &m->f), 0);
		drop(m);
		assert_int_equal(k.n, 1);
	}
	tui_keep_free(&k);
}

/*
 * The same series is found in a report that has them in another order, and none that is not there.
 */
TEST(test_find)
{
	struct tui_keep k = {.most = 5, .most_bytes = SIZE_MAX};
	struct made *m = usual(1), *other = new_frame(2);
	struct view_row row = {0}, got;
	struct series described;

	add_series(other, "ext4_op_latency", "op", "write", 1, 1);
	add_series(other, "sched_wakeup_latency", "comm", "0", 1, 1);
	add_series(other, "sched_wakeup_latency", NULL, NULL, 1, 1);
	assert_int_equal(tui_keep_add(&k, &m->f) | tui_keep_add(&k, &other->f), 0);
	for (size_t i = 0; i < m->n; i++) {
		row.s = &m->s[i];
		assert_true(tui_keep_row(&k, 0, &row, i, &got));
		assert_ptr_equal(got.s, &tui_keep_get(&k, 0)->series[i]);
		assert_true(tui_keep_row(&k, 0, &row, SIZE_MAX, &got));
		assert_ptr_equal(got.s, &tui_keep_get(&k, 0)->series[i]);
		assert_int_equal(tui_keep_row(&k, 1, &row, i, &got), i == 0 || i == 5);
		if (i == 0 || i == 5)
			assert_ptr_equal(got.s, &tui_keep_get(&k, 1)->series[i ? 0 : 2]);
	}
	described = m->s[5];
	described.labels[described.nlabels++] = (struct label){"dev", "8:1"};
	row.s = &described;
	assert_false(tui_keep_row(&k, 1, &row, 5, &got));
	row.s = &m->s[0];
	assert_false(tui_keep_row(&k, 2, &row, 0, &got));
	tui_keep_free(&k);
	drop(m);
	drop(other);
}

/* ---- pages ---- */

TEST(test_overview)
{
	struct seen *s = open_seen(BY_NONE);
	struct quantile_value p99;
	char want[64];
	struct made *m;

	assert_shows(s, "The first report comes at the end of the interval.");
	m = usual(3);
	p99 = hist_quantile(&m->h[0], &quantiles[2]);
	add(s, m);
	assert_shows(s, "1 overview  2 sched  3 ext4");
	assert_shows(s, "interval 3, 1.0 s  live");
	assert_true(line_of(s, "Wakeup latency") < line_of(s, "run-delay"));
	assert_true(line_of(s, "fsync") < line_of(s, "write")); /* the worst first */
	assert_hides(s, "CPU 0");
	(void)snprintf(want, sizeof(want), " %s~ ",
		       format_time((char[32]){0}, 32, p99.ns, UNIT_US));
	assert_shows(s, want);
	assert_shows(s, "  100 ");  /* a second */
	assert_shows(s, "   30.0"); /* the maximum is exact */
	assert_shows(s, "quality: complete");
	press(s, "2");
	assert_shows(s, "all tasks and CPUs");
	assert_shows(s, "Wakeup latency by cpu");
	assert_true(line_of(s, "CPU 0") < line_of(s, "CPU 1"));
	assert_shows(s, "waited 35.6 ms/s in ext4 (fsync), 330 us/s for a CPU (99 %: 15.0 us)");
	assert_hides(s, "  fsync");
	press_key(s, TUI_KEY_TAB);
	assert_shows(s, "  fsync");
	press_key(s, TUI_KEY_TAB);
	assert_shows(s, "run-delay"); /* round again */
	press_key(s, TUI_KEY_BACK_TAB);
	assert_hides(s, "run-delay");
	press(s, "9"); /* there is none */
	assert_hides(s, "run-delay");
	close_seen(s);
}

/* What is too long for its column has a unit of its own, and is never cut. */
TEST(test_long_times)
{
	struct seen *s = open_seen(BY_NONE);
	struct made *m = new_frame(1);

	add_series(m, "sched_wakeup_latency", NULL, NULL, 187000000, 1);
	add_series(m, "sched_run_delay", NULL, NULL, 2345000000, 1);
	add_series(m, "ext4_op_latency", "op", "fsync", 123400000000, 1);
	add(s, m);
	assert_shows(s, " 187 ms~ 187 ms~ 187 ms~ 187,000 ");
	assert_shows(s, " 2.35 s~ 2.35 s~ 2.35 s~  2.35 s ");
	assert_shows(s, "  123 s~  123 s~  123 s~ 123.4 s ");
	close_seen(s);
}

TEST(test_sort)
{
	struct seen *s = open_seen(BY_NONE);

	add(s, usual(1));
	press(s, "2");
	press_key(s, TUI_KEY_RIGHT); /* by name */
	assert_shows(s, "usec ▲");
	press_key(s, TUI_KEY_RIGHT); /* by rate */
	assert_shows(s, "▼/s");
	assert_true(line_of(s, "CPU 1") < line_of(s, "CPU 0"));
	press(s, "r");
	assert_shows(s, "▲/s");
	assert_true(line_of(s, "CPU 0") < line_of(s, "CPU 1"));
	assert_true(line_of(s, "all tasks") < line_of(s, "by cpu")); /* titles stay */
	press_key(s, TUI_KEY_LEFT);
	press_key(s, TUI_KEY_LEFT);
	press_key(s, TUI_KEY_LEFT);
	assert_hides(s, "▲");
	for (int i = 0; i < 30; i++)
		press_key(s, TUI_KEY_RIGHT);
	assert_shows(s, "▼max"); /* the last that can be sorted by */
	(void)tui_click(&s->t, TUI_LINE_HEAD, s->t.column[1].x);
	assert_shows(s, "▼/s");
	(void)tui_click(&s->t, TUI_LINE_HEAD, s->t.column[1].x);
	assert_shows(s, "▲/s");
	close_seen(s);
}

TEST(test_filter)
{
	struct seen *s = open_seen(BY_NONE);

	add(s, usual(1));
	press(s, "/FSYN");
	assert_shows(s, "filter: FSYN_");
	assert_shows(s, "fsync");
	assert_hides(s, "write");
	assert_hides(s, "Wakeup latency");
	press(s, "q"); /* a letter here, not the end */
	assert_shows(s, "No row is left by the filter.");
	press_key(s, TUI_KEY_BACKSPACE);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "filter: FSYN ");
	add(s, usual(2));
	assert_hides(s, "write");
	press_key(s, TUI_KEY_ESCAPE);
	assert_shows(s, "write");
	press(s, "/");
	press_key(s, 0xe9);
	press_key(s, 0x5b57);
	press_key(s, 0x1f600);
	assert_shows(s, "filter: \xc3\xa9\xe5\xad\x97\xf0\x9f\x98\x80_");
	press_key(s, TUI_KEY_BACKSPACE);
	assert_shows(s, "filter: \xc3\xa9\xe5\xad\x97_");
	for (int i = 0; i < 500; i++)
		(void)tui_key(&s->t, 0x5b57);
	press_key(s, TUI_KEY_ERASE);
	assert_shows(s, "filter: _");
	close_seen(s);
}

/* ---- time ---- */

TEST(test_time)
{
	struct seen *s = open_seen(BY_NONE);

	for (uint64_t i = 1; i <= 15; i++)
		add(s, usual(i));
	press(s, "[[");
	assert_shows(s, "interval 13, 1.0 s  paused, 2 back");
	add(s, usual(16));
	assert_shows(s, "interval 13, 1.0 s  paused, 3 back");
	press(s, "{");
	assert_shows(s, "interval 3, ");
	press(s, "{");
	assert_shows(s, "interval 1, ");
	press(s, "[");
	assert_shows(s, "this is the first report");
	press(s, "}]");
	assert_shows(s, "interval 12, ");
	press(s, ">");
	assert_shows(s, "interval 16, 1.0 s  live");
	press(s, "<");
	assert_shows(s, "interval 1, ");
	press(s, " ");
	assert_shows(s, "interval 16, 1.0 s  live");
	press(s, " ");
	add(s, usual(17));
	assert_shows(s, "interval 16, 1.0 s  paused, 1 back");
	press(s, "]");
	assert_shows(s, "interval 17, 1.0 s  paused");
	press(s, "]"); /* beyond the newest: it follows again */
	add(s, usual(18));
	assert_shows(s, "interval 18, 1.0 s  live");
	close_seen(s);
}

/* What is looked at goes: the oldest that is left is shown, and that is said. */
TEST(test_oldest_goes)
{
	struct seen *s = open_seen(BY_NONE);

	s->t.keep.most = 3;
	for (uint64_t i = 1; i <= 3; i++)
		add(s, usual(i));
	press(s, "<");
	press_key(s, TUI_KEY_ENTER);
	add(s, usual(4));
	assert_shows(s, "interval 2, ");
	assert_shows(s, "older reports are no longer kept");
	assert_shows(s, "percentiles, the tail stretched");
	close_seen(s);
}

/* The rows of a report that is no longer kept are none to be chosen, though nothing was drawn
 * since. */
TEST(test_small_window)
{
	struct seen *s = open_seen(BY_NONE);

	s->t.keep.most = 1;
	add(s, usual(1));
	(void)look(s);
	s->lines = 10;
	assert_shows(s, "80x10: at least 80x24, please");
	add(s, usual(2));
	press_key(s, TUI_KEY_ENTER);
	assert_false(s->t.detail);
	s->lines = 24;
	assert_shows(s, "interval 2, ");
	close_seen(s);
}

/* ---- rows ---- */

TEST(test_cursor_stays_on_its_row)
{
	struct seen *s = open_seen(BY_COMM);
	uint64_t id;

	add(s, groups(1, 50));
	press_key(s, TUI_KEY_BACK_TAB); /* the last page */
	assert_shows(s, "3 comm");
	assert_true(line_of(s, "task39 ") < line_of(s, "task38 ")); /* the longest sum first */
	press_key(s, TUI_KEY_END);
	assert_int_equal(s->t.place[TUI_GROUPS].cursor, 49);
	id = s->t.place[TUI_GROUPS].id;
	press(s, "r"); /* the last is the first now */
	assert_int_equal(s->t.place[TUI_GROUPS].cursor, 0);
	assert_true(s->t.place[TUI_GROUPS].id == id);
	press_key(s, TUI_KEY_PAGE_DOWN);
	assert_int_equal(s->t.place[TUI_GROUPS].cursor, s->t.body - 1);
	press_key(s, TUI_KEY_HOME);
	press_key(s, TUI_KEY_WHEEL_DOWN);
	press_key(s, TUI_KEY_DOWN);
	press(s, "k");
	press_key(s, TUI_KEY_UP);
	assert_int_equal(s->t.place[TUI_GROUPS].cursor, 2);
	(void)tui_click(&s->t, TUI_LINE_ROWS + 7, 5);
	assert_int_equal(s->t.place[TUI_GROUPS].cursor, 7);
	assert_false(s->t.detail);
	(void)tui_click(&s->t, TUI_LINE_ROWS + 7, 5); /* again */
	assert_shows(s, "All that was measured of it");
	(void)tui_click(&s->t, TUI_LINE_TABS, 2);
	assert_shows(s, "run-delay");
	assert_hides(s, "All that was measured of it");
	close_seen(s);
}

TEST(test_detail)
{
	struct seen *s = open_seen(BY_NONE);

	for (uint64_t i = 1; i <= 4; i++)
		add(s, usual(i));
	(void)look(s);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "Wakeup latency");
	assert_shows(s, "100, 100/s   min 4.0, mean 22.0, max 40.0 usec   2.2 ms/s waited");
	assert_shows(s, "p99.9");
	assert_shows(s, "│");
	assert_shows(s,
		     "the last 4 intervals"); /* there were no more, whatever there is room for */
	press(s, "[");
	assert_shows(s, "min 3.0, mean 16.5, max 30.0");
	press(s, ">");
	add(s, new_frame(5));
	assert_shows(s, "not in this report");
	add(s, usual(6));
	assert_shows(s, "min 6.0");
	press_key(s, TUI_KEY_ESCAPE);
	assert_hides(s, "mean 33");
	press_key(s, TUI_KEY_HOME);
	press_key(s, TUI_KEY_ENTER); /* of a title: its page */
	assert_shows(s, "all tasks and CPUs");
	close_seen(s);
}

/* A picture says over how many intervals it goes: as many as there are, or as it has columns. */
TEST(test_detail_intervals)
{
	struct seen *s = open_seen(BY_NONE);

	add(s, usual(1));
	(void)look(s);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "the last 1 interval");
	assert_hides(s, "the last 1 intervals");
	for (uint64_t i = 2; i <= 29; i++)
		add(s, usual(i));
	assert_shows(s, "the last 29 intervals");
	for (uint64_t i = 1; i <= 9; i++)
		add(s, usual(i));
	assert_shows(s, "the last 29 intervals");
	close_seen(s);
}

static const struct line_thread threads[] = {
	{.pid = 7, .tid = 71, .comm = "left", .samples = 9, .writes = 9, .write_bytes = 0xff},
	{.pid = 7, .tid = 72, .comm = "right", .samples = 9, .read_bytes = 0xf0f00},
};
static const struct line_accesses line = {.sampler = "clock",
					  .sharing = "false",
					  .reads = 9,
					  .writes = 9,
					  .threads = threads,
					  .nthreads = 2};
static const struct site sites[] = {{.ip = 1, .sym = "app`one+0x1", .count = 3},
				    {.ip = 2, .sym = "app`two+0x2", .count = 1}};

TEST(test_addresses)
{
	struct seen *s = open_seen(BY_NONE);
	struct made *m = new_frame(1);
	uint32_t cpus[] = {0, 1, 2, 5};

	add_series(m, "sched_wakeup_latency", NULL, NULL, 1000, 100); /* its histogram is lent */
	m->c[0] = (struct contended){.source = "lock",
				     .kind = "mutex",
				     .addr = 0xffff888000001000,
				     .name = "inode.i_rwsem",
				     .count = 100,
				     .wait = &m->h[0],
				     .cpus = cpus,
				     .ncpus = 4,
				     .sites = sites,
				     .nsites = 2};
	m->c[1] = (struct contended){.source = "line",
				     .kind = "line",
				     .addr = 0x7f0000000040,
				     .pid = 7,
				     .owner = "app",
				     .count = 18,
				     .accesses = &line};
	m->f.contended = m->c;
	m->f.ncontended = 2;
	m->f.contends = m->f.lines = true;
	add(s, m);
	assert_shows(s, "2 sched  3 lock  4 line");
	press(s, "3");
	assert_shows(s, "inode.i_rwsem");
	press_key(s, TUI_KEY_DOWN);
	press_key(s, TUI_KEY_ENTER);
	s->lines = 50;
	assert_shows(s, "lock  mutex  0xffff888000001000");
	assert_shows(s, "75 %  app`one+0x1");
	assert_shows(s, "CPUs 0-2,5");
	press(s, "4");
	assert_shows(s, "0x7f0000000040  (false) ");
	press_key(s, TUI_KEY_DOWN);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "Who touches which of its 64 bytes: false sharing");
	assert_shows(s, "left 71        wwwwwwww····");
	assert_shows(s, "right 72       ········rrrr····rrrr····");
	s->columns = 200;
	s->lines = 24;
	press_key(s, TUI_KEY_ESCAPE);
	assert_shows(s, "9 reads, 9 writes");
	close_seen(s);
}

/* --why: each holder with its share of the wait, and what cannot be told in the table's words. */
TEST(test_holders)
{
	struct seen *s = open_seen(BY_NONE);
	struct made *m = new_frame(1);
	uint64_t sum;

	add_series(m, "sched_wakeup_latency", NULL, NULL, 1000, 100); /* its histogram is lent */
	sum = m->h[0].sum_ns;
	assert_int_equal(sum % 100, 0);
	{
		const struct holder holders[] = {
			{.pid = 30,
			 .tid = 31,
			 .comm = "db",
			 .count = 60,
			 .wait_ns = sum / 2,
			 .running_ns = sum / 8,
			 .runnable_ns = sum / 8,
			 .throttled_ns = sum / 20,
			 .blocked_ns = sum / 5},
			{.pid = 30,
			 .tid = 32,
			 .comm = "d\033b",
			 .count = 20,
			 .wait_ns = sum / 4,
			 .blocked_ns = sum / 4},
			{.comm = "(released)", .count = 10, .wait_ns = sum / 5},
			{.count = 10, .wait_ns = sum / 20},
		};

		m->c[0] = (struct contended){.source = "lock",
					     .kind = "mutex",
					     .addr = 0xffff888000001000,
					     .count = 100,
					     .wait = &m->h[0],
					     .holders = holders,
					     .nholders = ROWS(holders)};
		m->f.contended = m->c;
		m->f.ncontended = 1;
		m->f.contends = m->f.why = true;
		add(s, m); /* a copy: the array ends here */
	}
	press(s, "3");
	press_key(s, TUI_KEY_DOWN);
	press_key(s, TUI_KEY_ENTER);
	s->lines = 50;
	assert_shows(s, "Who held it, and what that thread did meanwhile");
	assert_shows(s, "50 %  db/31  running 25 %, runnable 25 %, throttled 10 %, blocked 40 %\n");
	assert_shows(s, "25 %  d\\x1bb/32  blocked 100 %\n");
	assert_shows(s, "20 %  (released)\n");
	assert_shows(s, " 5 %  holder not known\n");
	close_seen(s);
}

/* --why: the worst first; sorted and filtered as other rows; the same one in the next report. */
TEST(test_culprits)
{
	static const struct culprit rows[] = {
		{.kind = "softirq", .count = 30, .wait_ns = 1000000},
		{.kind = "task", .comm = "c\033c1", .count = 20, .wait_ns = 6000000},
		{.kind = "task", .comm = "make", .count = 40, .wait_ns = 3000000},
	};
	struct seen *s = open_seen(BY_NONE);

	for (uint64_t i = 1; i <= 3; i++) {
		struct made *m = usual(i);

		m->f.why = true;
		m->f.culprits = rows;
		m->f.nculprits = i == 2 ? 1 : ROWS(rows);
		add(s, m);
	}
	assert_shows(s, "waited for c\\x1bc1");
	assert_true(line_of(s, "waited for c") > line_of(s, "run-delay"));
	press(s, "2");
	assert_shows(s, "60.0 %   6.0 ms in 20 waits  task");
	assert_shows(s, "30.0 %   3.0 ms in 40 waits");
	assert_shows(s, "10.0 %   1.0 ms in 30 waits  softirq");
	assert_true(line_of(s, "c\\x1bc1  ") < line_of(s, "make  "));
	assert_true(line_of(s, "make  ") < line_of(s, "(soft interrupts)"));
	press_key(s, TUI_KEY_RIGHT);
	press_key(s, TUI_KEY_RIGHT); /* by rate */
	assert_true(line_of(s, "make  ") < line_of(s, "(soft interrupts)"));
	assert_true(line_of(s, "(soft interrupts)") < line_of(s, "c\\x1bc1  "));
	press(s, "/mak");
	assert_shows(s, "make");
	assert_hides(s, "c\\x1bc1");
	press_key(s, TUI_KEY_ENTER);
	press_key(s, TUI_KEY_END);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "40, 40/s");
	assert_shows(s, "30.0 %   3.0 ms in 40 waits");
	assert_shows(s, "75.0 us of each of these waits");
	press(s, "[");
	assert_shows(s, "not in this report");
	press(s, "[");
	assert_shows(s, "40, 40/s");
	close_seen(s);
}

/* With --by the rows are pairs: in a group's detail its own, in a culprit's who waited for it. */
TEST(test_pairs)
{
	static const struct culprit rows[] = {
		{{{"comm", "task1"}}, 1, "task", 0, 0, "cc1", NULL, 5, 3000000},
		{{{"comm", "task1"}}, 1, "irq", 0, 0, NULL, NULL, 9, 1000000},
		{{{"comm", "task2"}}, 1, "task", 0, 0, "cc1", NULL, 7, 6000000},
	};
	struct seen *s = open_seen(BY_COMM);
	struct made *m = groups(1, 3);

	m->f.why = true;
	m->f.culprits = rows;
	m->f.nculprits = ROWS(rows);
	add(s, m);
	s->lines = 60;
	s->columns = 100;
	press(s, "2");
	assert_true(line_of(s, "task2 for cc1") < line_of(s, "task1 for cc1"));
	assert_shows(s, "60.0 %   6.0 ms in 7 waits");
	press(s, "/task1 for cc1");
	press_key(s, TUI_KEY_ENTER);
	press_key(s, TUI_KEY_END);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "Who waited for it");
	assert_shows(s, "66.7 %   6.0 ms in 7 waits   task2\n");
	assert_shows(s, "33.3 %   3.0 ms in 5 waits   task1\n");
	press_key(s, TUI_KEY_ESCAPE);
	press_key(s, TUI_KEY_ESCAPE);
	press(s, "3/task1");
	press_key(s, TUI_KEY_ENTER);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "What it waited for");
	assert_shows(s, "75.0 %   3.0 ms in 5 waits   cc1\n");
	assert_shows(s, "25.0 %   1.0 ms in 9 waits   (hard interrupts)\n");
	assert_hides(s, "6.0 ms in 7");
	close_seen(s);
}

/* ---- windows ---- */

TEST(test_sizes)
{
	static const uint32_t sizes[][2] = {{24, 80},  {25, 81},   {40, 120},
					    {60, 200}, {100, 300}, {24, 300}};
	struct seen *s = open_seen(BY_COMM);
	char text[2048];

	for (uint64_t i = 1; i <= 30; i++)
		add(s, groups(i, 200));
	for (size_t i = 0; i < ROWS(sizes); i++)
		for (int page = 0; page < 3; page++)
			for (int what = 0; what < 3; what++) {
				s->lines = sizes[i][0];
				s->columns = sizes[i][1];
				s->t.page = s->t.pages[page];
				s->t.help = what == 1;
				s->t.detail = false;
				(void)look(s);
				if (what == 2)
					press_key(s, TUI_KEY_ENTER);
				assert_shows(s, "waitscope");
				assert_shows(s, "q quit");
				for (size_t y = 0; y < s->lines; y++)
					assert_true(text_width(tui_line_text(&s->t.canvas, y, text,
									     sizeof(text))) <=
						    s->columns);
			}
	s->lines = 23;
	assert_shows(s, "at least 80x24");
	s->lines = 1;
	s->columns = 1;
	(void)look(s);
	close_seen(s);
}

TEST(test_ascii)
{
	struct seen *s = open_seen(BY_NONE);

	s->t.canvas.utf8 = false;
	for (uint64_t i = 1; i <= 5; i++)
		add(s, usual(i));
	for (int what = 0; what < 3; what++) {
		press(s, what == 1 ? "?" : "");
		if (what == 2)
			press_key(s, TUI_KEY_ESCAPE);
		if (what == 2)
			press_key(s, TUI_KEY_ENTER);
		for (const char *p = look(s); *p; p++)
			assert_true((unsigned char)*p < 0x80);
	}
	close_seen(s);
}

static int set_up(void **state)
{
	return bucket_table_init(&table, 5);
}

int main(void)
{
	return unit_main(set_up, NULL);
}
