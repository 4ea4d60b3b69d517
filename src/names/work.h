/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time that one look-up may take. Whoever walks through a foreign file asks at each step, and
 * stops where it is over; the bytes choose how long a step is, but then the kernel ends the worker
 * (sandbox.h). NULL everywhere: no limit, nobody watches (tests, fuzz targets).
 */
#ifndef WS_NAMES_WORK_H
#define WS_NAMES_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "names/wire.h"

#define REFUSED_MAX 256 /* then the oldest is asked again */

/* Files, and processes of which no file was to blame, that are not looked at any more. */
struct refused {
	struct {
		struct file_id file; /* ino 0: the process */
		uint32_t pid;
	} v[REFUSED_MAX];
	size_t n; /* ever */
};

void refused_add(struct refused *r, const struct file_id *file, uint32_t pid);
/* The file, or the process where there is none (NULL, ino 0). */
bool refused_has(const struct refused *r, const struct file_id *file, uint32_t pid);

struct work {
	uint64_t until_ns;  /* of CLOCK_MONOTONIC */
	uint64_t polled_ns; /* when wake_fd was looked at */
	int wake_fd;	    /* -1; else it is also over when something lies there to be read */
	uint32_t seq;	    /* 0; else also when nobody waits for this question any more */
	bool over;	    /* a step has been told so */
	bool woken;	    /* ... because of wake_fd */
	struct mark *mark;  /* where it is said what is being looked at */
	struct refused *refused;
};

void work_begin(struct work *w, uint64_t ns, int wake_fd);
/* Does main wait for this question, or has not come to it yet? */
bool work_is_awaited(const struct work *w, uint32_t seq);
/* Is it over? Once over it stays that. About 30 ns. */
bool work_over(struct work *w);
void work_on_process(struct work *w, uint32_t pid); /* and no file of it yet */
/* False: it is refused. */
bool work_on_file(struct work *w, const struct file_id *file);

#endif
