// SPDX-License-Identifier: GPL-2.0-or-later
/* By itself: <term.h> makes macros of words such as lines and columns. */
#include "sink/tui_term.h"

#include <ncurses.h>
#include <term.h>

enum tui_terminfo tui_terminfo_check(int fd)
{
	enum tui_terminfo ret = TUI_TERMINFO_GOOD;
	const char *move;
	int known = 0;

	if (setupterm(NULL, fd, &known) != OK)
		return known < 0 ? TUI_TERMINFO_NONE : TUI_TERMINFO_UNKNOWN;
	move = tigetstr("cup");
	if (!move || move == (const char *)-1)
		ret = TUI_TERMINFO_POOR;
	(void)del_curterm(cur_term);
	return ret;
}

bool tui_terminfo_corner_scrolls(void)
{
	return auto_right_margin && !eat_newline_glitch;
}

void tui_terminfo_move(int line, int column)
{
	const char *move = tiparm(cursor_address, line, column);

	if (move)
		(void)tputs(move, 1, putchar);
}
