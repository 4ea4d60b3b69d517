// SPDX-License-Identifier: GPL-2.0-or-later
/* What keys do. */
#include <string.h>

#include "sink/tui.h"

#define WHEEL 3
#define SCREEN 0 /* of rows: as many as are on it, but one */

static struct tui_place *place(struct tui *t)
{
	return &t->place[t->page];
}

/* ---- which report ---- */

static void show_report(struct tui *t, uint64_t number)
{
	uint64_t end = tui_keep_end(&t->keep);

	if (number < t->keep.gone)
		number = t->keep.gone;
	if (number >= end && end)
		number = end - 1;
	t->number = number;
	t->follow = false;
}

static void step(struct tui *t, uint64_t n, bool back)
{
	uint64_t end = tui_keep_end(&t->keep), from = t->number;

	if (!end)
		return;
	show_report(t, back ? (from > n ? from - n : 0) : from + n);
	if (t->number == from && back && n)
		tui_say(t, t->keep.gone ? "this is the oldest report that is kept"
					: "this is the first report");
	if (!back && t->number + 1 == end && from == t->number)
		t->follow = true; /* a step beyond the newest one */
}

static void pause_or_follow(struct tui *t, size_t n, bool back)
{
	t->follow = !t->follow;
	if (t->follow && tui_keep_end(&t->keep))
		t->number = tui_keep_end(&t->keep) - 1;
}

/* The oldest that is kept, or the newest. */
static void step_to_end(struct tui *t, size_t n, bool oldest)
{
	t->follow = false;
	if (oldest)
		show_report(t, 0);
	else
		pause_or_follow(t, n, false);
}

/* ---- which row ---- */

static void move_to(struct tui *t, size_t row)
{
	struct tui_place *p = place(t);

	if (!t->rows.n)
		return;
	p->cursor = row < t->rows.n ? row : t->rows.n - 1;
	p->id = t->rows.v[p->cursor].id;
}

/* A title leads somewhere on the overview alone. */
static void pass_title(struct tui *t, bool up)
{
	size_t at = place(t)->cursor;

	if (t->page == TUI_OVERVIEW || at >= t->rows.n || t->rows.v[at].kind != TUI_ROW_HEADING)
		return;
	move_to(t, up && at ? at - 1 : at + 1);
}

static void move(struct tui *t, size_t n, bool up)
{
	size_t *top = t->help ? &t->help_top : &t->detail_top, at = place(t)->cursor;

	if (n == SCREEN)
		n = t->body > 1 ? t->body - 1 : 1;
	if (t->help || t->detail) { /* drawing bounds it */
		*top = up ? (*top > n ? *top - n : 0) : *top + n;
		return;
	}
	move_to(t, up ? (at > n ? at - n : 0) : at + n);
	pass_title(t, up);
}

static void move_to_end(struct tui *t, size_t n, bool first)
{
	if (t->help || t->detail)
		move(t, SIZE_MAX / 2, first);
	else
		move_to(t, first ? 0 : SIZE_MAX);
	pass_title(t, false);
}

static void enter(struct tui *t, size_t n, bool back)
{
	const struct tui_row *r;

	if (t->help || t->detail) {
		t->help = t->detail = false;
		return;
	}
	if (place(t)->cursor >= t->rows.n)
		return;
	r = &t->rows.v[place(t)->cursor];
	if (r->kind != TUI_ROW_HEADING && r->kind != TUI_ROW_REST)
		t->detail = tui_detail_choose(t, r);
	else
		t->page = r->page;
	t->detail_top = 0;
}

/* ---- which page ---- */

static void open_page(struct tui *t, size_t index)
{
	if (index >= t->npages)
		return;
	t->page = t->pages[index];
	t->help = t->detail = false;
}

static void turn_page(struct tui *t, size_t n, bool back)
{
	size_t i = 0;

	while (i + 1 < t->npages && t->pages[i] != t->page)
		i++;
	open_page(t, (i + (back ? t->npages - 1 : 1)) % t->npages);
}

/* ---- order ---- */

static void sort_by(struct tui *t, uint32_t sort)
{
	struct tui_place *p = place(t);

	p->reversed = p->sort == sort && sort ? !p->reversed : false;
	p->sort = sort;
}

/* To the next column that is there: the first is the report's own order. */
static void sort_step(struct tui *t, size_t step, bool left)
{
	struct tui_place *p = place(t);
	size_t at = 0, n = t->ncolumns;

	while (n && (t->column[n - 1].kind == TUI_COLUMN_SPARK ||
		     t->column[n - 1].kind == TUI_COLUMN_WHO))
		n--;
	for (size_t i = 0; i < n; i++)
		if (p->sort && t->column[i].number + 1 == p->sort)
			at = i + 1;
	if (left ? !at : at == n)
		return;
	at = left ? at - 1 : at + 1;
	p->sort = at ? t->column[at - 1].number + 1 : 0;
	p->reversed = false;
}

static void sort_reversed(struct tui *t, size_t n, bool back)
{
	place(t)->reversed = !place(t)->reversed;
}

/* ---- the filter ---- */

static void filter_back(struct tui *t)
{
	size_t len = strlen(t->filter);

	while (len && ((unsigned char)t->filter[--len] & 0xc0) == 0x80)
		;
	t->filter[len] = '\0';
}

static void filter_add(struct tui *t, uint32_t c)
{
	size_t at = strlen(t->filter);
	char bytes[4];
	size_t n = tui_utf8(bytes, c);

	if (at + n >= sizeof(t->filter))
		return;
	memcpy(t->filter + at, bytes, n);
	t->filter[at + n] = '\0';
}

/* True: the key was the filter's. */
static bool filter_key(struct tui *t, uint32_t key)
{
	if (key == TUI_KEY_ENTER || key == TUI_KEY_ESCAPE) {
		t->typing = false;
		if (key == TUI_KEY_ESCAPE)
			t->filter[0] = '\0';
	} else if (key == TUI_KEY_BACKSPACE) {
		filter_back(t);
	} else if (key == TUI_KEY_ERASE) {
		t->filter[0] = '\0';
	} else if (key >= ' ' && key < TUI_KEY_UP && key != 0x7f) {
		filter_add(t, key);
	} else {
		return false;
	}
	return true;
}

/* One thing at a time: the window in front, then the filter. */
static void escape(struct tui *t, size_t n, bool back)
{
	if (t->help)
		t->help = false;
	else if (t->detail)
		t->detail = false;
	else
		t->filter[0] = '\0';
}

/* ---- keys ---- */

static void begin_filter(struct tui *t, size_t n, bool back)
{
	t->typing = true;
	t->help = t->detail = false;
}

static void show_help(struct tui *t, size_t n, bool back)
{
	t->help = !t->help;
	t->help_top = 0;
}

static const struct {
	uint32_t key;
	void (*does)(struct tui *t, size_t n, bool back);
	size_t n;
	bool back;
} keys[] = {
	{TUI_KEY_UP, move, 1, true},
	{'k', move, 1, true},
	{TUI_KEY_DOWN, move, 1, false},
	{'j', move, 1, false},
	{TUI_KEY_PAGE_UP, move, SCREEN, true},
	{TUI_KEY_PAGE_DOWN, move, SCREEN, false},
	{TUI_KEY_WHEEL_UP, move, WHEEL, true},
	{TUI_KEY_WHEEL_DOWN, move, WHEEL, false},
	{TUI_KEY_HOME, move_to_end, 0, true},
	{TUI_KEY_END, move_to_end, 0, false},
	{'[', step, 1, true},
	{']', step, 1, false},
	{'{', step, 10, true},
	{'}', step, 10, false},
	{'<', step_to_end, 0, true},
	{'>', step_to_end, 0, false},
	{' ', pause_or_follow},
	{TUI_KEY_TAB, turn_page, 0, false},
	{TUI_KEY_BACK_TAB, turn_page, 0, true},
	{TUI_KEY_LEFT, sort_step, 1, true},
	{TUI_KEY_RIGHT, sort_step, 1, false},
	{'r', sort_reversed},
	{'/', begin_filter},
	{'?', show_help},
	{'h', show_help},
	{TUI_KEY_ENTER, enter},
	{TUI_KEY_ESCAPE, escape},
	{TUI_KEY_BACKSPACE, escape},
};

enum tui_ask tui_key(struct tui *t, uint32_t key)
{
	t->message[0] = '\0';
	if (key == TUI_KEY_REDRAW)
		return TUI_ASK_REPAINT;
	if (t->typing && filter_key(t, key))
		return TUI_ASK_NOTHING;
	if (key == 'q' || key == 'Q')
		return TUI_ASK_QUIT;
	if (key == 's')
		return TUI_ASK_SAVE;
	if (key >= '1' && key <= '9')
		open_page(t, key - '1');
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].key == key)
			keys[i].does(t, keys[i].n, keys[i].back);
	return TUI_ASK_NOTHING;
}

/* ---- the mouse ---- */

static void click_tab(struct tui *t, size_t column)
{
	for (size_t i = 0; i < t->npages; i++)
		if (column >= t->tab[i] && column < t->tab[i + 1])
			open_page(t, i);
}

static void click_head(struct tui *t, size_t column)
{
	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct tui_column *c = &t->column[i];

		if (column >= c->x && column < c->x + c->width && c->kind != TUI_COLUMN_SPARK &&
		    c->kind != TUI_COLUMN_WHO)
			sort_by(t, c->number + 1);
	}
}

enum tui_ask tui_click(struct tui *t, size_t line, size_t column)
{
	size_t row;

	t->message[0] = '\0';
	if (line == TUI_LINE_TABS)
		click_tab(t, column);
	if (line == TUI_LINE_TABS || t->help || t->detail)
		return TUI_ASK_NOTHING;
	if (line == TUI_LINE_HEAD)
		click_head(t, column);
	row = place(t)->top + line - TUI_LINE_ROWS;
	if (line < TUI_LINE_ROWS || line >= TUI_LINE_ROWS + t->body || row >= t->rows.n)
		return TUI_ASK_NOTHING;
	if (row == place(t)->cursor)
		enter(t, 0, false);
	else
		move_to(t, row);
	return TUI_ASK_NOTHING;
}
