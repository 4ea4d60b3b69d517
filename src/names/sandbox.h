/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the children of wire.h give up, each in its own process, before it sees a foreign byte.
 * Limits that cannot be had are an error: then there are no names of processes.
 */
#ifndef WS_NAMES_SANDBOX_H
#define WS_NAMES_SANDBOX_H

#include <stdint.h>

#define WORKER_MEMORY (248ULL << 20)   /* address space of the worker */
#define WORKER_FILES 1024	       /* descriptors, most of them of files that processes map */
#define WORKER_CPU_S 3600	       /* of its whole life; then it is made anew */
#define WORKER_REQUEST_CPU_US 1000000  /* of one request: then SIGPROF ends it */
#define FETCHER_MEMORY (1024ULL << 20) /* libraries for TLS and HTTP, and no file is read whole */

/*
 * Of the worker, for good: capabilities, other users' rights, new privileges, the network, new
 * files, new processes; then a filter of system calls of which any other ends it. 0, or a negative
 * errno and none of this is certain.
 */
int sandbox_worker(void);
/* Before and after each of its requests: the processor time that it may take. */
void sandbox_request_begin(void);
void sandbox_request_end(void);

/* The opener keeps its capabilities. It gets no new ones, and leaves no core. */
int sandbox_opener(void);
/* Who talks to debuginfod's servers: no capabilities, and an end after `seconds` and one more. */
int sandbox_fetcher(unsigned int seconds);

/* For the process between fork and exec: so that no capability is left to a child that execs. */
int sandbox_drop_caps(void);

#endif
