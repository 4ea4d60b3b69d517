// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/tui_term.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <ncurses.h>

#include "sink/tui.h"

#define ESCAPE_MS 25 /* a lone Esc is one after that long */
#define GAP 12 /* cells that are there already, and take no more bytes than to move behind them */

struct tui_term {
	int fd; /* of keys */
	bool owns_fd, color, entered, utf8;
	FILE *in;
	SCREEN *screen;
	struct tui_canvas shown; /* what is on the screen */
	attr_t attr[TUI_STYLES];
	short pair[TUI_STYLES];
	bool corner_scrolls; /* a character in the last cell of all moves the rest */
};

/* Colours of 8, and of 256; without colours the attributes alone. */
static const struct {
	attr_t plain, colored;
	short color, color256;
} looks[TUI_STYLES] = {
	[TUI_PLAIN] = {A_NORMAL, A_NORMAL, -1, -1},
	[TUI_DIM] = {A_DIM, A_DIM, -1, -1},
	[TUI_BOLD] = {A_BOLD, A_BOLD, -1, -1},
	[TUI_BAR] = {A_BOLD, A_BOLD, COLOR_CYAN, 37},
	[TUI_TAB] = {A_REVERSE | A_BOLD, A_REVERSE | A_BOLD, COLOR_CYAN, 37},
	[TUI_HEADING] = {A_BOLD, A_BOLD, COLOR_CYAN, 37},
	[TUI_HEAD] = {A_UNDERLINE, A_DIM, -1, -1},
	[TUI_SORTED] = {A_BOLD, A_BOLD, COLOR_YELLOW, 179},
	[TUI_CURSOR] = {A_REVERSE, A_REVERSE, -1, -1},
	[TUI_BAD] = {A_BOLD | A_UNDERLINE, A_BOLD, COLOR_RED, 167},
	[TUI_GRAPH] = {A_NORMAL, A_NORMAL, COLOR_GREEN, 72},
	[TUI_HEAT] = {A_DIM, A_NORMAL, COLOR_BLUE, 25},
	[TUI_HEAT + 1] = {A_NORMAL, A_NORMAL, COLOR_CYAN, 37},
	[TUI_HEAT + 2] = {A_NORMAL, A_NORMAL, COLOR_YELLOW, 179},
	[TUI_HEAT + 3] = {A_BOLD, A_NORMAL, COLOR_RED, 167},
};

/* ---- opening ---- */

static int refuse(struct err *e, const char *why, const char *hint)
{
	return err_set(e, EXIT_USAGE, -ENOTTY, "--output tui: %s (%s)", why, hint);
}

static int find_keys(struct tui_term *t, struct err *e)
{
	t->fd = STDIN_FILENO;
	if (isatty(STDIN_FILENO))
		return 0;
	t->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	t->owns_fd = t->fd >= 0;
	if (t->fd < 0)
		return refuse(e, "no terminal to read keys from", "-o table needs none");
	return 0;
}

static int check_terminal(struct err *e)
{
	static const char hint[] = "-o table needs none";
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		return refuse(e, "standard output is not a terminal", hint);
	if (!term || !*term || !strcmp(term, "dumb"))
		return refuse(e, "TERM is not set, or dumb: its cursor cannot be moved", hint);
	switch (tui_terminfo_check(STDOUT_FILENO)) {
	case TUI_TERMINFO_NONE:
		return refuse(e, "there is no terminfo database here (package ncurses-base)", hint);
	case TUI_TERMINFO_UNKNOWN:
		return err_set(
			e, EXIT_USAGE, -ENOTTY,
			"--output tui: TERM '%.40s': not a terminal that terminfo knows (%s)", term,
			hint);
	case TUI_TERMINFO_POOR:
		return refuse(e, "this terminal's cursor cannot be moved", hint);
	case TUI_TERMINFO_GOOD:
		break;
	}
	return 0;
}

int tui_term_open(struct tui_term **out, bool color, struct err *e)
{
	struct tui_term *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return err_sys(e, -ENOMEM, "output on a terminal");
	t->color = color;
	ret = check_terminal(e);
	if (!ret)
		ret = find_keys(t, e);
	if (ret) {
		free(t);
		return ret;
	}
	/* For the characters alone: numbers are written as ever. */
	t->utf8 = setlocale(LC_CTYPE, "") && !strcmp(nl_langinfo(CODESET), "UTF-8");
	*out = t;
	return 0;
}

bool tui_term_utf8(const struct tui_term *t)
{
	return t->utf8;
}

int tui_term_fd(const struct tui_term *t)
{
	return t->fd;
}

/* ---- the screen ---- */

static void set_styles(struct tui_term *t)
{
	bool colors = t->color && has_colors() && start_color() == OK;

	if (colors)
		(void)use_default_colors(); /* else black stays the background */
	for (int i = 0; i < TUI_STYLES; i++) {
		short color = COLORS >= 256 ? looks[i].color256 : looks[i].color;

		t->attr[i] = colors ? looks[i].colored : looks[i].plain;
		t->pair[i] = 0;
		if (colors && color >= 0 && init_pair((short)(i + 1), color, -1) == OK)
			t->pair[i] = (short)(i + 1);
	}
}

/* ncurses would handle signals by itself; they are the loop's. */
static SCREEN *new_screen(struct tui_term *t)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
	struct sigaction before[sizeof(signals) / sizeof(signals[0])];
	SCREEN *screen;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], NULL, &before[i]); /* these can be asked about */
	screen = newterm(NULL, stdout, t->in);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], &before[i], NULL);
	return screen;
}

static int first_enter(struct tui_term *t, struct err *e)
{
	int fd = dup(t->fd);

	t->in = fd < 0 ? NULL : fdopen(fd, "r");
	if (!t->in) {
		if (fd >= 0)
			(void)close(fd);
		return err_sys(e, -errno, "output on a terminal");
	}
	t->screen = new_screen(t);
	if (!t->screen)
		return refuse(e, "ncurses cannot drive this terminal", "-o table needs less");
	(void)cbreak(); /* none of these fails once there is a screen */
	(void)noecho();
	(void)nonl();
	(void)nodelay(stdscr, TRUE);
	(void)keypad(stdscr, TRUE);
	(void)intrflush(stdscr, FALSE);
	(void)set_escdelay(ESCAPE_MS);
	(void)mouseinterval(0);
	(void)mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	(void)curs_set(0);
	set_styles(t);
	t->corner_scrolls = tui_terminfo_corner_scrolls();
	return 0;
}

int tui_term_enter(struct tui_term *t, struct err *e)
{
	int ret = t->screen ? 0 : first_enter(t, e);

	if (ret || t->entered)
		return ret;
	t->entered = true;
	tui_term_resize(t);
	return 0;
}

/* Would a write return now? Not where Ctrl-S has stopped the terminal, or nobody reads what it
 * shows. */
static bool takes_output(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) != 0;
}

void tui_term_leave(struct tui_term *t)
{
	if (!t->entered)
		return;
	if (!takes_output())
		(void)tcflow(STDOUT_FILENO, TCOON);
	if (takes_output())
		(void)endwin();
	else
		(void)reset_shell_mode();
	(void)fflush(stdout);
	t->entered = false;
}

bool tui_term_entered(const struct tui_term *t)
{
	return t->entered;
}

void tui_term_size(const struct tui_term *t, uint32_t *lines, uint32_t *columns)
{
	*lines = (uint32_t)getmaxy(stdscr);
	*columns = (uint32_t)getmaxx(stdscr);
}

void tui_term_resize(struct tui_term *t)
{
	struct winsize size;

	if (!t->entered)
		return;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row)
		(void)resizeterm(size.ws_row, size.ws_col); /* no memory: it stays as it was */
	t->shown.lines = 0;
}

static void write_cell(const struct tui_cell *cell, mbstate_t *state)
{
	char bytes[MB_LEN_MAX];
	wchar_t c = (wchar_t)cell->c;
	size_t n;

	if (cell->c < 0x80) {
		(void)putchar((int)cell->c);
		return;
	}
	if (wcwidth(c) != cell->width)
		c = L'?';	      /* what is taken for another width would move the rest */
	n = wcrtomb(bytes, c, state); /* of UTF-8: the canvas has no others elsewhere */
	if (n != (size_t)-1)
		(void)fwrite(bytes, 1, n, stdout);
}

/* Cells from x on, in their styles; returns the column behind them. What does not arrive is found
 * out by who reads keys. */
static void write_cells(const struct tui_term *t, const struct tui_cell *now, size_t x, size_t end,
			int *style)
{
	mbstate_t state = {0};

	for (; x < end; x++) {
		if (!now[x].width) /* the right half of a character */
			continue;
		if (now[x].style != *style) {
			*style = now[x].style;
			(void)vid_puts(t->attr[*style], t->pair[*style], NULL, putchar);
		}
		write_cell(&now[x], &state);
	}
}

static bool same_cell(const struct tui_cell *before, const struct tui_cell *now)
{
	return before && !memcmp(before, now, sizeof(*now));
}

/* Where the cells end that changed, from x on, which did; a few between them go with them. */
static size_t changed_end(const struct tui_cell *before, const struct tui_cell *now, size_t x,
			  size_t columns)
{
	size_t end = x + 1;

	for (; x < columns && x < end + GAP; x++)
		if (!same_cell(before ? &before[x] : NULL, &now[x]))
			end = x + 1;
	return end;
}

/* But for the cells that are there already; `before` NULL: none is. */
static void show_line(const struct tui_term *t, const struct tui_canvas *c, size_t y,
		      const struct tui_cell *before, int *style)
{
	const struct tui_cell *now = tui_canvas_at(c, y, 0);
	size_t columns = c->columns, x = 0, end;

	if (t->corner_scrolls && y + 1 == c->lines)
		columns--;
	while (x < columns) {
		if (same_cell(before ? &before[x] : NULL, &now[x])) {
			x++;
			continue;
		}
		end = changed_end(before, now, x, columns);
		while (x && !now[x].width)
			x--;
		tui_terminfo_move((int)y, (int)x);
		write_cells(t, now, x, end, style);
		x = end;
	}
}

/*
 * What is drawn is known here, cell by cell. ncurses would find out again what changed, which takes
 * it twice as long as all that leads to it, and it writes to the terminal at each move of the
 * cursor: some 400 times for a window of 300x100. So to ncurses the screen is empty; its terminfo
 * says what to write.
 */
void tui_term_show(struct tui_term *t, const struct tui_canvas *c)
{
	size_t line = c->columns * sizeof(*c->v);
	int style = TUI_PLAIN;

	if (!t->entered || !takes_output())
		return;
	if (t->shown.lines != c->lines || t->shown.columns != c->columns) {
		(void)clearok(curscr, TRUE);
		(void)refresh();
		if (tui_canvas_begin(&t->shown, c->lines, c->columns))
			tui_canvas_free(&t->shown); /* no memory: all cells, each time */
	}
	(void)vid_puts(t->attr[style], t->pair[style], NULL, putchar);
	for (size_t y = 0; y < c->lines; y++) {
		struct tui_cell *before = tui_canvas_at(&t->shown, y, 0);
		const struct tui_cell *now = tui_canvas_at(c, y, 0);

		if (before && !memcmp(before, now, line))
			continue;
		show_line(t, c, y, before, &style);
		if (before)
			memcpy(before, now, line);
	}
	(void)vid_puts(A_NORMAL, 0, NULL, putchar);
	(void)fflush(stdout);
}

/* ---- keys ---- */

static const struct {
	wint_t from;
	uint32_t to;
} codes[] = {
	{KEY_UP, TUI_KEY_UP},	      {KEY_DOWN, TUI_KEY_DOWN},
	{KEY_LEFT, TUI_KEY_LEFT},     {KEY_RIGHT, TUI_KEY_RIGHT},
	{KEY_PPAGE, TUI_KEY_PAGE_UP}, {KEY_NPAGE, TUI_KEY_PAGE_DOWN},
	{KEY_HOME, TUI_KEY_HOME},     {KEY_END, TUI_KEY_END},
	{KEY_BTAB, TUI_KEY_BACK_TAB}, {KEY_BACKSPACE, TUI_KEY_BACKSPACE},
	{KEY_ENTER, TUI_KEY_ENTER},
};

static bool take_mouse(struct tui_input *in)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return false;
	if (event.bstate & BUTTON4_PRESSED)
		in->key = TUI_KEY_WHEEL_UP;
	else if (event.bstate & BUTTON5_PRESSED)
		in->key = TUI_KEY_WHEEL_DOWN;
	else if (!(event.bstate & BUTTON1_PRESSED) || event.x < 0 || event.y < 0)
		return false;
	in->line = (size_t)event.y;
	in->column = (size_t)event.x;
	return true;
}

static bool take_code(wint_t c, struct tui_input *in)
{
	if (c == KEY_MOUSE)
		return take_mouse(in);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].from == c) {
			in->key = codes[i].to;
			return true;
		}
	return false;
}

bool tui_term_next(struct tui_term *t, struct tui_input *in)
{
	wint_t c;
	int ret;

	for (;;) {
		*in = (struct tui_input){0};
		ret = t->entered ? get_wch(&c) : ERR;
		if (ret == ERR)
			return false;
		if (ret == KEY_CODE_YES) {
			if (take_code(c, in))
				return true;
			continue; /* one that means nothing */
		}
		in->key = c == '\r' ? TUI_KEY_ENTER : c == 0x7f ? TUI_KEY_BACKSPACE : (uint32_t)c;
		if (in->key)
			return true;
	}
}

bool tui_term_gone(const struct tui_term *t)
{
	struct pollfd p = {.fd = t->fd, .events = POLLIN};
	int n = 0;

	if (poll(&p, 1, 0) <= 0)
		return false;
	return p.revents & (POLLHUP | POLLERR | POLLNVAL) || ioctl(t->fd, FIONREAD, &n) || !n;
}

void tui_term_close(struct tui_term *t)
{
	if (!t)
		return;
	tui_term_leave(t);
	if (t->screen)
		delscreen(t->screen);
	tui_canvas_free(&t->shown);
	if (t->in)
		(void)fclose(t->in); /* only read from */
	if (t->owns_fd)
		(void)close(t->fd);
	free(t);
}
