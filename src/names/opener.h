/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening for the worker. opener_main is the process that opens (wire.h has the picture); the rest
 * is how the worker asks it. It may hang in any open, on a file system that does not answer: the
 * worker waits OPENER_WAIT_NS, and from then on does without until main has given it another.
 */
#ifndef WS_NAMES_OPENER_H
#define WS_NAMES_OPENER_H

#include "names/wire.h"

#define OPENER_WAIT_NS 1000000000ULL
#define HUNG_MAX \
	64 /* devices and processes of which nothing is opened any more; then the oldest \
	    */

/* The worker's end. */
struct opener {
	int sock;	/* -1: none now */
	bool lost;	/* it did not answer: main is to be told */
	uint32_t nhung; /* ever; the last HUNG_MAX are known */
	struct {
		uint32_t pid;
		uint64_t dev; /* of maps; 0: not known */
	} hung[HUNG_MAX];
};

struct opened_process {
	uint64_t start, space;
	int maps_fd;
	int root_fd; /* -1: ours */
	char prefix[PATH_MAX];
};

/* All of them with o NULL too, which opens nothing. */

/* 0, or negative errno: -ESRCH, -EACCES ..., -ETIMEDOUT: the opener hangs or has hung for it. */
int opener_process(struct opener *o, uint32_t pid, struct opened_process *out);
uint64_t opener_start(struct opener *o, uint32_t pid); /* 0: it has ended */
/* Is the process with that number the one that started then, and in that address space? */
bool opener_is(struct opener *o, uint32_t pid, uint64_t start, uint64_t space);
/* Was there no answer once that this process was asked about? */
bool opener_has_hung(const struct opener *o, uint32_t pid);
/* A descriptor or negative errno: OPEN_MAPPED, with the mapping and its device as maps has it, or
 * OPEN_PERF_MAP, with none of these. */
int opener_of_process(struct opener *o, enum open_type type, uint32_t pid, uint64_t dev,
		      uint64_t start, uint64_t end);
/* The same: OPEN_BUILD_ID, of the root root_fd or ours (-1), or OPEN_FETCH (-1). */
int opener_by_id(struct opener *o, enum open_type type, int root_fd, const uint8_t *id, size_t len);
/* dir: the program's. Our root: only where program_fd, the program, really is in it. */
int opener_link(struct opener *o, int root_fd, int program_fd, uint32_t which, const char *dir,
		const char *name);
int opener_alt(struct opener *o, int root_fd, const char *path);
/* A .dwo file of the program; only if the program's owner, root or we own it. */
int opener_split(struct opener *o, int root_fd, int program_fd, const char *path);

/* A path in maps as the process would write it: without the prefix. */
const char *opener_path_within(const char *prefix, const char *path);

/* ---- the process ---- */

/* Serves the socket until it is closed; the process's exit status. */
int opener_main(int sock);

/* What it does for one request: an answer, and descriptors that are the caller's. */
struct fetches;
void opener_serve(struct fetches *f, const struct open_ask *ask, const struct wire_fds *with,
		  struct open_tell *tell, struct wire_fds *fds);
/* The debug file of a build-id, by a process of its own: -EAGAIN until it has come. */
int fetch_get(struct fetches *f, const uint8_t *id, size_t len);

#endif
