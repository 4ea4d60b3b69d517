/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes, threads and cgroups that filters name: do they exist, and are they still there? */
#ifndef WS_TARGETS_H
#define WS_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/err.h"
#include "source/sys/cgroup.h"

struct targets {
	struct cgroup_ref *cgroups;
	size_t ncgroups;
	int *pidfds; /* of pids or tids; -1: watch /proc instead */
	size_t npidfds;
	const struct filter *filter;
	int inotify_fd; /* cgroup directories going away, or -1 */
	int epoll_fd;	/* readable when something may be gone, or -1 */
};

/* Pids, else tids: one of them. */
const struct u32_list *targets_named(const struct filter *f);
/* Opens what the filter names; exit 2 with words that quote what does not exist. */
int targets_open(struct targets *t, const struct filter *f, const struct cgroup_mount *m,
		 struct err *e);
/* Is any of them left? If not: false, and words such as "process 42 has ended". */
bool targets_alive(struct targets *t, char *why, size_t len);
/* The i-th pid or tid of the filter. */
bool targets_id_alive(const struct targets *t, size_t i);
/* Descendants, as of now, of the filter's pids: appended to out. 0, -ENOMEM or errno of /proc. */
int targets_descendants(const struct filter *f, struct u32_list *out);
void targets_close(struct targets *t);

/* ---- texts of /proc/PID, where a task's name is whatever it chose; for tests and fuzzing ---- */

/* "Tgid:\t42" of status: false of any other line. The kernel writes a name's newlines as \n. */
bool proc_status_tgid(const char *line, uint32_t *tgid);
/* "42 (a) b) S 1 ...": the parent in stat, behind the last parenthesis. 0 or -EINVAL. */
int proc_stat_ppid(const char *stat, uint32_t *ppid);

#endif
