/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What it costs to keep and to draw 1,000 groups on the largest terminal. */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"
#include "sink/tui.h"
#include "sink/tui_term.h"
#include "tui_frames.h"

#define LINES 100
#define COLUMNS 300

#if defined(WS_SANITIZED) || !defined(__OPTIMIZE__)
#define SLOWER 40 /* no measure, but an end */
#else
#define SLOWER 1
#endif

/* ncurses 6.6 keeps a screen's table of line-drawing characters when the screen is deleted. */
const char *__lsan_default_suppressions(void); /* of the sanitizer */
const char *__lsan_default_suppressions(void)
{
	return "leak:libncursesw";
}

static double cpu_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

#define KEEP_SHARE 0.45 /* of those 5 ms, for a report that comes: half of it was measured */
#define SHOW_SHARE 0.5	/* and from a key to the last byte */

/*
 * What 5 ms are on a machine that is as fast as this one is now: numbers are formatted and texts
 * hashed, which takes 5 ms on a Xeon at 2.5 GHz. A slower one, or a busy one, has as much longer.
 */
static double limit_ms(void)
{
	double best = 1e9, from, took;
	uint64_t h = 0;
	char text[64];

	for (int i = 0; i < 5; i++) {
		from = cpu_ms();
		for (int k = 0; k < 11000; k++) {
			int n = snprintf(text, sizeof(text), "%.1f %s", (double)k / 7,
					 "calibration");

			h += text_hash(text, (size_t)n);
		}
		took = cpu_ms() - from;
		best = took < best ? took : best;
	}
	assert_true(h != 0);
	return best > 5 ? best : 5;
}

enum redraw { REDRAW_SAME, REDRAW_SORTED, REDRAW_OTHER_PAGE };

/* The fastest of some: what others do on the machine is not ours. */
static double redraw_ms(struct tui *t, enum redraw how)
{
	double best = 1e9, from, took;

	for (int i = 0; i < 10; i++) {
		if (how == REDRAW_SORTED)
			tui_rows_drop(t); /* as a key for another order does */
		if (how == REDRAW_OTHER_PAGE) {
			tui_rows_drop(t);
			free(t->sparks);
			t->sparks = NULL;
		}
		from = cpu_ms();
		assert_int_equal(tui_draw(t, LINES, COLUMNS), 0);
		took = cpu_ms() - from;
		best = took < best ? took : best;
	}
	return best;
}

static void assert_fast(struct tui *t, const char *what, size_t which, enum redraw how)
{
	double took = redraw_ms(t, how), limit = limit_ms() * SLOWER;

	print_message("# page %zu, %s %zu: %.2f ms of %.2f\n", (size_t)t->page, what, which, took,
		      limit);
	assert_true(took < limit);
}

static void keep_a_minute_of_groups(struct tui *t)
{
	double best = 1e9, from, took, limit;

	for (uint64_t i = 1; i <= 60; i++) {
		struct made *m = groups(i, GROUPS);

		from = cpu_ms();
		assert_int_equal(tui_add(t, &m->f, NULL), 0);
		assert_int_equal(tui_draw(t, LINES, COLUMNS), 0);
		took = cpu_ms() - from;
		best = took < best && i > 50 ? took : best;
		drop(m);
	}
	limit = KEEP_SHARE * limit_ms() * SLOWER;
	print_message("# %.2f ms of %.2f to keep and draw a report\n", best, limit);
	assert_true(best < limit);
}

static struct quantile quantiles[] = {
	{500000000, "50"}, {900000000, "90"}, {990000000, "99"}, {999000000, "99.9"}};
static const struct config cfg = {.quantiles = quantiles,
				  .nquantiles = ROWS(quantiles),
				  .by = BY_COMM,
				  .interval_ns = 1000000000};

/* 1,000 groups: 5 ms for each redraw, and for a report that is kept and drawn what leaves most of 1
 * % of a CPU, at an interval of a second, for those who count. */
TEST(test_cost)
{
	struct tui t;

	tui_open(&t, &cfg, true, false);
	keep_a_minute_of_groups(&t);
	for (size_t page = 0; page < t.npages; page++) {
		t.page = t.pages[page];
		t.detail = false;
		assert_fast(&t, "just opened", 0, REDRAW_OTHER_PAGE);
		assert_fast(&t, "as it was", 0, REDRAW_SAME);
		for (uint32_t sort = 0; sort <= t.ncolumns; sort++) {
			t.place[t.page].sort = sort;
			assert_fast(&t, "sorted", sort, REDRAW_SORTED);
		}
		assert_int_equal(tui_key(&t, TUI_KEY_ENTER), TUI_ASK_NOTHING);
		assert_int_equal(tui_draw(&t, LINES, COLUMNS), 0);
		assert_true(t.detail);
		assert_fast(&t, "detail", 0, REDRAW_SAME);
	}
	tui_close(&t);
}

/* ---- with ncurses, onto a terminal ---- */

struct terminal {
	int out, in; /* ours, as they were */
	pid_t reader;
	struct tui_term *term;
};

/* Standard input and output are a terminal of that size, and someone reads what comes. */
static void open_terminal(struct terminal *x)
{
	const struct winsize size = {.ws_row = LINES, .ws_col = COLUMNS};
	char bytes[65536];
	int master, slave;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
	(void)fflush(stdout);
	x->reader = fork();
	assert_true(x->reader >= 0);
	if (!x->reader) {
		(void)close(slave);
		while (read(master, bytes, sizeof(bytes)) > 0)
			;
		_exit(0);
	}
	(void)close(master);
	x->out = dup(STDOUT_FILENO);
	x->in = dup(STDIN_FILENO);
	assert_true(dup2(slave, STDIN_FILENO) == STDIN_FILENO);
	assert_true(dup2(slave, STDOUT_FILENO) == STDOUT_FILENO);
	(void)close(slave);
	(void)setenv("TERM", "xterm-256color", 1);
	(void)setenv("LC_ALL", "C.UTF-8", 1);
	assert_int_equal(tui_term_open(&x->term, true, NULL), 0);
	assert_int_equal(tui_term_enter(x->term, NULL), 0);
}

static void close_terminal(struct terminal *x)
{
	tui_term_close(x->term);
	(void)fflush(stdout);
	(void)dup2(x->out, STDOUT_FILENO);
	(void)dup2(x->in, STDIN_FILENO);
	(void)close(x->out);
	(void)close(x->in);
	assert_int_equal(waitpid(x->reader, NULL, 0), x->reader);
}

/* From a key to the last byte: the slower one of there and back. */
static double shown_ms(struct tui *t, struct tui_term *term, const uint32_t keys[2])
{
	double best[2] = {1e9, 1e9}, from, took;

	for (int i = 0; i < 20; i++) {
		from = cpu_ms();
		(void)tui_key(t, keys[i % 2]);
		if (tui_draw(t, LINES, COLUMNS))
			return 1e9;
		tui_term_show(term, &t->canvas);
		took = cpu_ms() - from;
		best[i % 2] = took < best[i % 2] ? took : best[i % 2];
	}
	return best[0] > best[1] ? best[0] : best[1];
}

TEST(test_cost_shown)
{
	static const struct {
		const char *what;
		uint32_t keys[2]; /* there and back */
	} keys[] = {
		{"another page", {'2', '3'}},
		{"another row", {TUI_KEY_DOWN, TUI_KEY_UP}},
		{"other rows", {TUI_KEY_END, TUI_KEY_HOME}},
		{"another order", {'r', 'r'}},
		{"the report before", {'[', ']'}},
		{"detail", {TUI_KEY_ENTER, TUI_KEY_ENTER}},
	};
	double took[ROWS(keys)];
	struct terminal x;
	struct tui t;

	tui_open(&t, &cfg, true, false);
	keep_a_minute_of_groups(&t);
	open_terminal(&x); /* nothing is to be printed from here on */
	for (size_t i = 0; i < ROWS(keys); i++)
		took[i] = shown_ms(&t, x.term, keys[i].keys);
	close_terminal(&x);
	for (size_t i = 0; i < ROWS(keys); i++) {
		double limit = SHOW_SHARE * limit_ms() * SLOWER;

		print_message("# %s, on a terminal: %.2f ms of %.2f\n", keys[i].what, took[i],
			      limit);
		assert_true(took[i] < limit);
	}
	tui_close(&t);
}

static int set_up(void **state)
{
	(void)usual; /* the other tests' */
	return bucket_table_init(&table, 5);
}

int main(void)
{
	return unit_main(set_up, NULL);
}
