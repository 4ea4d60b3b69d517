/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup v2: ids to paths and back. The id of a cgroup is its directory's inode number and its
 * kernfs file handle, so an id is opened without walking the tree (exportfs support in kernfs:
 * aa8188253474, 4.13; ids as handles: 67c0496e87d1, 5.5). Hybrid v1/v2 hosts: the mount is found by
 * its type.
 */
#ifndef WS_CGROUP_H
#define WS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct cgroup_mount {
	char path[4096]; /* "/sys/fs/cgroup" */
	bool whole;	 /* not of a part of the hierarchy (a bind mount) */
	int fd;
};

struct cgroup_ref {
	uint64_t id;
	char path[4096]; /* "/a/b", as seen below the mount */
	char dir[4096];	 /* in the file system */
};

/*
 * Returns whether controllers of cgroup v1 are mounted by a text of mountinfo. The text is changed.
 */
bool cgroup_v1_parse(char *mountinfo);
/* The same of /proc/self/mountinfo. */
bool cgroup_v1_mounted(void);
/* First cgroup2 mount of /proc/self/mountinfo; exit 3 with words when there is none. */
int cgroup_mount_find(struct cgroup_mount *m, struct err *e);
void cgroup_mount_close(struct cgroup_mount *m); /* NULL and unopened (fd 0 or -1) are fine */
/* Text of a mountinfo -> mount; 0 or -ENOENT. For tests and fuzzing. */
int cgroup_mount_parse(char *mountinfo, struct cgroup_mount *m);
/* Path of a directory below the mount, "/" for the mount itself; -ENOENT: it is elsewhere,
 * -ENAMETOOLONG. */
int cgroup_path_below(const char *mount, const char *dir, char *out, size_t len);

/*
 * `text`: a decimal id, a path in the file system, or a path below the mount ("/a/b", "a/b"). Exit
 * 2 with words that quote it when it does not exist, is no cgroup, or is a v1 cgroup.
 */
int cgroup_resolve(const struct cgroup_mount *m, const char *text, struct cgroup_ref *out,
		   struct err *e);

/*
 * Returns the number of levels from the root of the hierarchy, which is the first, to the deepest
 * of these cgroups. Returns ABI_CGROUP_LEVELS where paths do not tell the level: in a cgroup
 * namespace and below a bind mount they begin at any level.
 */
uint32_t cgroup_levels(const struct cgroup_mount *m, const struct cgroup_ref *v, size_t n);

/* Paths by id, some of them remembered: a cgroup that is gone keeps the name it had when first
 * seen.
 */
struct cgroup_names;
struct cgroup_names *cgroup_names_new(struct cgroup_mount *m); /* m outlives it; may be NULL */
/* Where there is no such directory any more, `path` is asked: 0, or -ENOENT. ctx outlives n. */
void cgroup_names_fall_back(struct cgroup_names *n,
			    int (*path)(void *ctx, uint64_t id, char *out, size_t len), void *ctx);
/* Never NULL; "id:N" if unknown. Valid until the next call. */
const char *cgroup_name(struct cgroup_names *n, uint64_t id);
void cgroup_names_free(struct cgroup_names *n);

#endif
