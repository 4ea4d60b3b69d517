// SPDX-License-Identifier: GPL-2.0-or-later
/* What keys do. */
#include <string.h>

#include "core/text.h"
#include "sink/tui.h"

#define WHEEL 3

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

static void pause_or_follow(struct tui *t)
{
	t->follow = !t->follow;
	if (t->follow && tui_keep_end(&t->keep))
		t->number = tui_keep_end(&t->keep) - 1;
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

	if (t->help || t->detail) { /* drawing bounds it */
		*top = up ? (*top > n ? *top - n : 0) : *top + n;
		return;
	}
	move_to(t, up ? (at > n ? at - n : 0) : at + n);
	pass_title(t, up);
}

static void move_end(struct tui *t, bool first)
{
	if (t->help || t->detail)
		move(t, SIZE_MAX / 2, first);
	else
		move_to(t, first ? 0 : SIZE_MAX);
	pass_title(t, false);
}

static void enter(struct tui *t)
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

static size_t page_index(const struct tui *t)
{
	size_t i = 0;

	while (i + 1 < t->npages && t->pages[i] != t->page)
		i++;
	return i;
}

static void open_page(struct tui *t, size_t index)
{
	if (index >= t->npages)
		return;
	t->page = t->pages[index];
	t->help = t->detail = false;
}

/* ---- order ---- */

static void sort_by(struct tui *t, uint32_t sort)
{
	struct tui_place *p = place(t);

	p->reversed = p->sort == sort && sort ? !p->reversed : false;
	p->sort = sort;
}

/* To the next column that is there: the first is the report's own order. */
static void sort_step(struct tui *t, bool left)
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
	size_t at = strlen(t->filter), n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	unsigned int shift = (unsigned int)(6 * (n - 1));

	if (at + n >= sizeof(t->filter))
		return;
	t->filter[at++] = (char)(n == 1 ? c : (0xf00U >> n & 0xf0) | c >> shift);
	for (size_t i = 1; i < n; i++) {
		shift -= 6;
		t->filter[at++] = (char)(0x80 | (c >> shift & 0x3f));
	}
	t->filter[at] = '\0';
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
static void escape(struct tui *t)
{
	if (t->help)
		t->help = false;
	else if (t->detail)
		t->detail = false;
	else
		t->filter[0] = '\0';
}

/* ---- keys ---- */

static bool move_key(struct tui *t, uint32_t key)
{
	size_t page = t->body > 1 ? t->body - 1 : 1;

	switch (key) {
	case TUI_KEY_UP:
	case 'k':
		move(t, 1, true);
		break;
	case TUI_KEY_DOWN:
	case 'j':
		move(t, 1, false);
		break;
	case TUI_KEY_PAGE_UP:
		move(t, page, true);
		break;
	case TUI_KEY_PAGE_DOWN:
		move(t, page, false);
		break;
	case TUI_KEY_HOME:
	case TUI_KEY_END:
		move_end(t, key == TUI_KEY_HOME);
		break;
	case TUI_KEY_WHEEL_UP:
	case TUI_KEY_WHEEL_DOWN:
		move(t, WHEEL, key == TUI_KEY_WHEEL_UP);
		break;
	default:
		return false;
	}
	return true;
}

static bool time_key(struct tui *t, uint32_t key)
{
	switch (key) {
	case ' ':
		pause_or_follow(t);
		break;
	case '[':
	case ']':
		step(t, 1, key == '[');
		break;
	case '{':
	case '}':
		step(t, 10, key == '{');
		break;
	case '<':
		show_report(t, 0);
		break;
	case '>':
		t->follow = false;
		pause_or_follow(t);
		break;
	default:
		return false;
	}
	return true;
}

static bool page_key(struct tui *t, uint32_t key)
{
	if (key == TUI_KEY_TAB)
		open_page(t, (page_index(t) + 1) % t->npages);
	else if (key == TUI_KEY_BACK_TAB)
		open_page(t, (page_index(t) + t->npages - 1) % t->npages);
	else if (key >= '1' && key <= '9')
		open_page(t, key - '1');
	else
		return false;
	return true;
}

enum tui_ask tui_key(struct tui *t, uint32_t key)
{
	t->message[0] = '\0';
	if (key == TUI_KEY_REDRAW)
		return TUI_ASK_REPAINT;
	if ((t->typing && filter_key(t, key)) || move_key(t, key) || time_key(t, key) ||
	    page_key(t, key))
		return TUI_ASK_NOTHING;
	switch (key) {
	case 'q':
	case 'Q':
		return TUI_ASK_QUIT;
	case 's':
		return TUI_ASK_SAVE;
	case '?':
	case 'h':
		t->help = !t->help;
		t->help_top = 0;
		break;
	case '/':
		t->typing = true;
		t->help = t->detail = false;
		break;
	case 'r':
		place(t)->reversed = !place(t)->reversed;
		break;
	case TUI_KEY_LEFT:
	case TUI_KEY_RIGHT:
		sort_step(t, key == TUI_KEY_LEFT);
		break;
	case TUI_KEY_ENTER:
		enter(t);
		break;
	case TUI_KEY_ESCAPE:
	case TUI_KEY_BACKSPACE:
		escape(t);
		break;
	}
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
		enter(t);
	else
		move_to(t, row);
	return TUI_ASK_NOTHING;
}
