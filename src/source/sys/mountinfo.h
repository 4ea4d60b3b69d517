/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/PID/mountinfo, one line at a time:
 *
 *	36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue
 *
 * Others choose the names in it: space, tab, newline and backslash are written as \ooo.
 */
#ifndef WS_MOUNTINFO_H
#define WS_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mount_entry {
	uint32_t id; /* also in /proc/PID/fdinfo, as mnt_id */
	uint32_t major, minor;
	const char *root;   /* what of the file system is mounted: "/" unless it is a bind mount */
	const char *path;   /* where */
	const char *fstype; /* "ext4" */
	const char *source; /* "/dev/sda1"; may be empty */
};

/*
 * The next line, which is cut up: `out` points into it. Returns false at the end of the text. A
 * line of another shape is left out.
 */
bool mountinfo_next(char **text, struct mount_entry *out);

/* "8:1" and nothing else, in the range of the kernel's dev_t. */
bool mountinfo_dev(const char *text, uint32_t *major, uint32_t *minor);

/* The path of what is open, as /proc/self/fd tells it. 0, -ENAMETOOLONG or negative errno. */
int fd_path(int fd, char *out, size_t len);
/* What the kernel calls a block device: "sda1", "dm-0". */
bool block_device_name(uint32_t major, uint32_t minor, char *out, size_t len);

/* The file's text, to be freed; NULL with errno. */
char *mountinfo_read(const char *path);

#endif
