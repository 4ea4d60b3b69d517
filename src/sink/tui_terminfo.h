/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What terminfo knows of $TERM. */
#ifndef WS_SINK_TUI_TERMINFO_H
#define WS_SINK_TUI_TERMINFO_H

#include <stdbool.h>

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
