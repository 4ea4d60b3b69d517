/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first line of a report, and of a group's detail: where the time went, and what was waited
 * for.
 *
 *	12 threads: on CPU 18 %, waiting for a CPU 7 %, asleep 75 %; waited 812 ms/s for a CPU (99 %: 3.9 ms),
 *	172 ms/s in ext4 (fsync), 17 us/s for kernel locks
 */
#ifndef WS_SUMMARY_H
#define WS_SUMMARY_H

#include "core/frame.h"

#define SUMMARY_BYTES 512

/* Of all, or of the group (--by) whose label is `group`, which may be NULL. "" where nothing is
 * known. Returns out. */
char *summary_text(char out[SUMMARY_BYTES], const struct frame *f, const struct label *group);
/* Its first part alone: "12 threads: on CPU 18 %, waiting for a CPU 7 %, asleep 75 %". */
char *summary_times(char out[SUMMARY_BYTES], const struct frame *f, const struct label *group);
/* What waits were not looked at: "futex: not traced (-s futex)", or the reason for which it cannot
 * be; "" if all were. Returns out. */
char *summary_untraced(char out[SUMMARY_BYTES], const struct meta *m);
/* Where the time went of all threads that the filters ask for, of a group, or of the CPUs; NULL:
 * not known. */
const struct times *summary_find_times(const struct frame *f, const struct label *group);
uint64_t times_all_ns(const struct times *t); /* the sum of its parts */

#endif
