/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key `s`: what is kept, as a record. */
#ifndef WS_SINK_TUI_SAVE_H
#define WS_SINK_TUI_SAVE_H

#include "core/record.h"
#include "sink/sink.h"
#include "sink/tui.h"

/* A copy of what a record says of its run. */
int tui_save_meta(struct record *out, const struct sink_args *args, const struct meta *m,
		  struct err *e);
/* Into a new file of the working directory; where, or why not, is a message. */
void tui_save(struct tui *t, const struct sink_args *args, const struct meta *m);

#endif
