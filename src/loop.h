/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals and time: when a run begins an epoch, reports and ends. One thread, libevent. */
#ifndef WS_LOOP_H
#define WS_LOOP_H

#include <signal.h>

#include "core/err.h"
#include "run.h"

/* What ends or reports a run: to be blocked before anything is set up, so that none comes too
 * early. */
void loop_block_signals(sigset_t *old);

/* Drives an opened run to its end. 0, or negative with words in e. */
int loop_run(struct run *r, const sigset_t *unblocked, struct err *e);

#endif
