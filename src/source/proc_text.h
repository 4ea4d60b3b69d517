/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of /proc/PID: a task's name in them is whatever it chose. Pure. */
#ifndef WS_PROC_TEXT_H
#define WS_PROC_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* "Tgid:\t42" of status: false of any other line. The kernel writes a name's newlines as \n. */
bool proc_status_tgid(const char *line, uint32_t *tgid);
/* "42 (a) b) S 1 ...": the parent in stat, behind the last parenthesis. 0 or -EINVAL. */
int proc_stat_ppid(const char *stat, uint32_t *ppid);

#endif
