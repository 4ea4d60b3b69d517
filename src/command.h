/* SPDX-License-Identifier: GPL-2.0-or-later */
/* COMMAND: forked early, so that its pid is known to the filters, held until counting has begun. */
#ifndef WS_COMMAND_H
#define WS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "core/err.h"

struct command;

/* Exit 1 with words when argv[0] cannot be found or executed. */
/* files: its RLIMIT_NOFILE. */
int command_fork(struct command **out, char **argv, const struct rlimit *files, struct err *e);
uint32_t command_pid(const struct command *c);
/* Let it go; returns once it has been executed, or with words why it could not be. */
int command_release(struct command *c, struct err *e);
bool command_released(const struct command *c);
/* Has it ended? Does not block. */
bool command_ended(struct command *c);
/*
 * What to exit with:
 *	its exit status;
 *	128 + signal, where a signal ended it;
 *	0, where the signal was the one that the end of the run has sent, or where it still runs.
 */
int command_status(const struct command *c);

/* ---- the end of a run that COMMAND outlives ---- */

/* SIGINT has ended the run. The terminal has sent it to COMMAND as well, which may end by itself
 * now. */
void command_interrupt(struct command *c);
bool command_is_interrupted(const struct command *c);
/* Waits so long for its end at most. Has it ended? */
bool command_await(struct command *c, uint64_t ns);
/* SIGTERM to COMMAND and to those of its descendants that are in its process group. */
void command_terminate(struct command *c);
/* Waits so long at most for COMMAND and all that command_terminate has sent SIGTERM. Have they
 * ended? */
bool command_await_all(struct command *c, uint64_t ns);
/* What still runs of COMMAND and its descendants, as the calls above have found them: "42 sleep, 43
 * sh", or "". */
void command_left(struct command *c, char *out, size_t len);
/* SIGKILL if it was never let go; frees. NULL is fine. */
void command_close(struct command *c);

#endif
