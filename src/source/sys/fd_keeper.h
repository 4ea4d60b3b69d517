/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process that holds copies of file descriptors, for as long as this process lives.
 *
 * The last close(2) of a tracepoint's perf event, or of a private mount, waits for RCU grace
 * periods: 40 ms each on an idle machine, seconds on a busy one. With a keeper that last close is
 * the keeper's, so this process ends at once, however it ends (also by SIGKILL). The keeper then
 * reads the end of its pipe, exits, and the kernel closes the descriptors.
 *
 *	waitscope ----pipe----> keeper
 *	   \--links, mounts----/
 */
#ifndef WS_FD_KEEPER_H
#define WS_FD_KEEPER_H

#include <stddef.h>
#include <sys/types.h>

struct fd_keeper {
	pid_t pid;  /* 0: no keeper */
	int end_fd; /* the keeper exits when the last copy of this is closed */
};

/*
 * Starts a keeper of these descriptors; the caller closes its own as usual. Returns 0, or negative
 * errno: then there is no keeper, and the caller's closes take their time.
 */
int fd_keeper_start(struct fd_keeper *k, const int *fds, size_t n);
/* Lets the keeper go, if there is one, and does not wait for it. */
void fd_keeper_end(struct fd_keeper *k);

/*
 * To be called first in main: what the process is to exit with if it was started as a keeper, else
 * -1.
 */
int fd_keeper_main(int argc, char **argv);

#endif
