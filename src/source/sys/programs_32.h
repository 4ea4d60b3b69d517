/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_PROGRAMS_32_H
#define WS_PROGRAMS_32_H

#include <stdbool.h>

/*
 * Does a 32-bit program run, or is `command` one (an argument vector, whose program is looked for
 * as execvp(3) does; NULL: none)? Processes that we may not look at (/proc/PID/auxv) are taken for
 * none.
 */
bool programs_32_bit(char *const *command);

#endif
