/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `waitscope diff --run`: the records that are compared are made first. */
#ifndef WS_DIFF_RUN_H
#define WS_DIFF_RUN_H

#include "diff_opts.h"

/*
 * Runs both commands of `o` by turns, traced by this binary, once for warm-up and then o->runs times, and
 * makes the records the files of its sides. SIGINT and SIGTERM end it early: with a run of each side that
 * was finished all is well. 0, or negative with words. `notes`: progress, if it is a terminal, and where the
 * records lie; nothing with o->quiet.
 */
int diff_run(struct diff_opts *o, FILE *notes, struct err *e);

#endif
