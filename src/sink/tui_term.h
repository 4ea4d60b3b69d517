/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A canvas on a terminal, and keys from it: all that knows ncurses. */
#ifndef WS_SINK_TUI_TERM_H
#define WS_SINK_TUI_TERM_H

#include "core/err.h"
#include "sink/tui_canvas.h"

struct tui_term;

struct tui_input {
	uint32_t key; /* enum tui_key; TUI_KEY_NONE: a click */
	size_t line, column;
};

/* Looks whether stdout is a terminal that can do it and where keys come from; changes nothing yet.
 * Exit 2 with words. */
int tui_term_open(struct tui_term **out, bool color, struct err *e);
bool tui_term_utf8(const struct tui_term *t);
int tui_term_fd(const struct tui_term *t); /* readable: there are keys */
/* The screen is ours, until it is given back as it was; both are fine twice. */
int tui_term_enter(struct tui_term *t, struct err *e);
void tui_term_leave(struct tui_term *t);
bool tui_term_entered(const struct tui_term *t);
void tui_term_size(const struct tui_term *t, uint32_t *lines, uint32_t *columns);
void tui_term_resize(struct tui_term *t); /* whatever is on the screen is drawn over */
/*
 * Writes what has changed since it last did; nothing while the terminal takes no output (Ctrl-S).
 */
void tui_term_show(struct tui_term *t, const struct tui_canvas *c);
/* The next key, never waiting for one: false: none. */
bool tui_term_next(struct tui_term *t, struct tui_input *in);
/* Readable, and yet no key: the terminal has gone. */
bool tui_term_gone(const struct tui_term *t);
void tui_term_close(struct tui_term *t); /* leaves; NULL is fine */

/* ---- tui_terminfo.c: what terminfo knows of $TERM ---- */

enum tui_terminfo {
	TUI_TERMINFO_GOOD,
	TUI_TERMINFO_NONE,    /* no database on this machine */
	TUI_TERMINFO_UNKNOWN, /* no such terminal */
	TUI_TERMINFO_POOR,    /* its cursor cannot be moved */
};

enum tui_terminfo tui_terminfo_check(int fd);
/* Of the terminal that ncurses has: */
bool tui_terminfo_corner_scrolls(void);	      /* by a character in the last cell of all */
void tui_terminfo_move(int line, int column); /* the cursor; to stdout's buffer */

#endif
