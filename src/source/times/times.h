/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time went, by the kernel's own account, beside whatever sources run: of the threads
 * that the filters ask for and of the groups (bpf/times.bpf.c), or without a filter of the CPUs
 * (/proc/stat). No source: it has no waits of its own.
 *
 *	times_open -> times_start -> (times_next_epoch -> times_collect)* -> times_close
 */
#ifndef WS_TIMES_H
#define WS_TIMES_H

#include "source/source.h"

struct times_run;

/* Where the kernel cannot tell of threads, reports have no such rows. 0 or negative errno with
 * words. */
int times_open(struct times_run **out, const struct source_args *args, struct err *e);
/* Begins to count; later (after a warm-up) forgets what was counted. 0 or negative errno with
 * words, as the rest. */
int times_start(struct times_run *t, struct err *e);
/* The interval ends now; `last`: nothing is counted from here on. */
int times_next_epoch(struct times_run *t, bool last, struct err *e);
/* The rows of both views; after those of the sources, of which it takes what was waited out of CPU
 * quota. */
int times_collect(struct times_run *t, struct source_report *r, struct err *e);
/* Why threads that were asked for will have no row, after times_open; NULL: they will, if the
 * kernel has CONFIG_SCHED_INFO. */
const char *times_why(const struct times_run *t);
void times_close(struct times_run *t); /* NULL and half-open are fine */

#endif
