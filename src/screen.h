/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stdout is: a terminal of which size, coloured or not, redrawn or not. */
#ifndef WS_SCREEN_H
#define WS_SCREEN_H

#include "sink/sink.h"

/* Fills tty, color, redraw, columns and lines from args->cfg, args->path and the environment. */
void screen_args(struct sink_args *args);

/* Does the locale say that it shows more than ASCII? */
bool screen_utf8(void);

#endif
