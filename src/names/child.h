/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Main's side of the processes of wire.h: started, ended, never waited for. */
#ifndef WS_NAMES_CHILD_H
#define WS_NAMES_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "names/wire.h"

/* Children that were ended and may still be there: one that waits for a file system that does not
 * answer cannot even be killed. With as many left behind no other is started. */
#define CHILDREN_LEFT_MAX 16

/* How much of a busy processor the children get. */
enum children_pace {
	CHILDREN_IDLE,	  /* nice 19: nobody waits for the look-ups */
	CHILDREN_NOTED,	  /* nice 10: a process may end before it has been read */
	CHILDREN_AWAITED, /* main's own niceness: a report waits */
};

struct children {
	pid_t worker, opener; /* 0: none */
	int sock;	      /* to the worker; -1: none */
	struct mark *mark;    /* what the worker writes; NULL: none */
	int mark_fd;
	pid_t left[CHILDREN_LEFT_MAX];
	size_t nleft;
	bool debuginfod;
	enum children_pace pace; /* of both, as set last */
	bool may_hurry;		 /* a niceness can be lowered (CAP_SYS_NICE, RLIMIT_NICE) */
};

void children_init(struct children *c, bool debuginfod);
/* A worker and an opener. 0 or negative errno: -EBUSY: too many were left behind. */
int children_start(struct children *c);
/* Another opener in place of the one there is; *sock is its socket, for the worker. */
int children_another_opener(struct children *c, int *sock);
/*
 * Ends both, waits for neither. How the worker ended, if it had done so by itself: a signal's
 * number, 256 for an exit; 0: it was there, or was killed by somebody.
 */
int children_end(struct children *c);
/* How the kernel has the worker: 'R', 'S', 'D', 'T' ...; 0: not known. */
char children_state(const struct children *c);
/* Is one of them running, or on a run queue? False where it is not known. */
bool children_runnable(const struct children *c);
/* The processor time of both so far, in ns. */
uint64_t children_ran_ns(const struct children *c);
/* Sets the niceness of both. Without CAP_SYS_NICE they stay at 10. */
void children_hurry(struct children *c, enum children_pace pace);
/* Those that have ended by now are taken note of. */
void children_reap(struct children *c);
void children_close(struct children *c); /* at the end: a moment's patience, no more */

/* The worker's process: serves main_sock until it is closed. mark_fd: of a struct mark. */
int worker_main(int main_sock, int opener_sock, int mark_fd, bool debuginfod);

#endif
