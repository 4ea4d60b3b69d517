// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "screen.h"

#define COLUMNS_DEFAULT 80

/* NO_COLOR (set and not empty) wins over a guess, not over --color=always. */
static bool want_color(const struct sink_args *a, bool dumb)
{
	const char *no = getenv("NO_COLOR");

	if (a->cfg->color != COLOR_AUTO)
		return a->cfg->color == COLOR_ALWAYS;
	return a->tty && !dumb && !(no && *no);
}

void screen_args(struct sink_args *args)
{
	const char *term = getenv("TERM");
	bool dumb = !term || !*term || !strcmp(term, "dumb");
	struct winsize size;

	args->tty = !args->path && isatty(STDOUT_FILENO);
	args->color = want_color(args, dumb);
	args->redraw = args->tty && !dumb && !args->cfg->no_clear;
	args->columns = COLUMNS_DEFAULT;
	args->lines = 0;
	if (args->tty && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col) {
		args->columns = size.ws_col;
		args->lines = size.ws_row;
	}
}

bool screen_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *locale = NULL;

	for (size_t i = 0; (!locale || !*locale) && i < sizeof(names) / sizeof(names[0]); i++)
		locale = getenv(names[i]);
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}
