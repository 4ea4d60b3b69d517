// SPDX-License-Identifier: GPL-2.0-or-later
/* The window of the key `?`. */
#include <string.h>

#include "sink/tui.h"

#define KEYS 2
#define WORDS 24

/* A line without words is a title. */
static const struct {
	const char *key, *does;
} help[] = {
	{"Where", NULL},
	{"Tab, Shift-Tab, 1 to 9", "next page, page before, a page by its number"},
	{"↑ ↓  or  k j", "row above, below"},
	{"PgUp PgDn Home End", "a screen up or down, first row, last row"},
	{"Enter", "the row's detail, or a title's page; Esc: back"},
	{"mouse", "click pages, columns, rows (twice: detail); wheel"},
	{"When", NULL},
	{"Space", "pause, or follow the newest report again"},
	{"[ ]  and  { }", "a report back or forward; ten"},
	{"< >", "the oldest report that is kept; the newest"},
	{"What", NULL},
	{"← →", "sort by the next column; leftmost: worst first"},
	{"r", "turn the order round"},
	{"/", "filter names and places; Esc drops it"},
	{"s", "save what is kept, for waitscope report"},
	{"Ctrl-L", "draw all of it anew"},
	{"q, Ctrl-C", "end, with the final report"},
	{"Columns", NULL},
	{"/s, count", "waits (or samples) a second; in the interval"},
	{"p50 to p99.9, max", "of their times; ~ fewer than 10 samples lie beyond"},
	{"wait/s, of time", "waited in each second, by all together; as a share"},
	{"p99 over time, trend", "a bar an interval, on a scale of its own"},
};

#define HELP_LINES (sizeof(help) / sizeof(help[0]))

void tui_draw_help(struct tui *t, size_t from)
{
	struct tui_canvas *c = &t->canvas;
	size_t room = c->lines - TUI_LINES_FOOT - from;
	size_t most = HELP_LINES > room ? HELP_LINES - room : 0;

	if (t->help_top > most)
		t->help_top = most;
	for (size_t i = 0; i < room && t->help_top + i < HELP_LINES; i++) {
		size_t at = t->help_top + i;

		if (!help[at].does) {
			(void)tui_text(c, from + i, 0, c->columns, TUI_HEADING, help[at].key);
			continue;
		}
		(void)tui_text(c, from + i, KEYS, WORDS, TUI_BAR, help[at].key);
		(void)tui_text(c, from + i, KEYS + WORDS, c->columns - KEYS - WORDS, TUI_PLAIN,
			       help[at].does);
	}
}
