/* SPDX-License-Identifier: GPL-2.0-or-later */
/* COMMAND: forked early, so that its pid is known to the filters, held until counting has begun. */
#ifndef WS_COMMAND_H
#define WS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

struct command;

/* Exit 1 with words when argv[0] cannot be found or executed. */
int command_fork(struct command **out, char **argv, struct err *e);
uint32_t command_pid(const struct command *c);
/* Let it go; returns once it has been executed, or with words why it could not be. */
int command_release(struct command *c, struct err *e);
/* Has it ended? Then *status is what to exit with: its own, or 128 + signal. Does not block. */
bool command_ended(struct command *c, int *status);
/* Ends what still runs (SIGTERM; SIGKILL if it was never let go) and frees. NULL is fine. */
void command_close(struct command *c);

#endif
