/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracepoints that have no BTF: they go by the number that tracefs gives them. */
#ifndef WS_TRACEFS_H
#define WS_TRACEFS_H

/*
 * The directory of the events, or negative errno: -EACCES where only root may look, -ENOENT where
 * there is none. Where tracefs is not mounted it is mounted for us alone, nowhere in the tree.
 */
int tracefs_events(void);
/* A perf event for a tracepoint, which runs its programs on all CPUs; or negative errno. */
int tracefs_perf_event(int events_fd, const char *system, const char *event);

#endif
