// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/sys/bpf_util.h"
#include "source/sys/tracefs.h"

static const char *const usual[] = {"/sys/kernel/tracing/events",
				    "/sys/kernel/debug/tracing/events"};

/*
 * fsopen and fsmount (5.2): the mount goes with its last descriptor. Not in a locked-down kernel:
 * tracefs is empty there, so nothing of the kernel's own holds it, and 6.12 oopses when it goes
 * (tracefs_destroy_inode).
 */
static int mount_privately(void)
{
	int fs, mount, dir = -1, err;

	if (bpf_locked_down())
		return -EPERM;
	fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0)) {
		err = -errno;
		close(fs);
		return err;
	}
	mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	err = -errno;
	close(fs);
	if (mount < 0)
		return err;
	dir = openat(mount, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = -errno;
	close(mount);
	return dir < 0 ? err : dir;
}

int tracefs_events(void)
{
	int fd;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		fd = open(usual[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno == EACCES)
			return -EACCES;
	}
	return mount_privately();
}

static long read_number(int dir, const char *path)
{
	char text[32], *end;
	ssize_t n;
	long v;
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	v = -errno;
	close(fd);
	if (n < 0)
		return v;
	text[n] = '\0';
	errno = 0;
	v = strtol(text, &end, 10);
	return errno || end == text || (*end && *end != '\n') || v <= 0 ? -EINVAL : v;
}

int tracefs_perf_event(int events_fd, const char *system, const char *event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.wakeup_events = 1,
		.disabled = 1, /* until a program is attached */
	};
	char path[128];
	long id;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s/id", system, event) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	id = read_number(events_fd, path);
	if (id < 0)
		return (int)id;
	attr.config = (__u64)id;
	/* of all tasks on one CPU; its programs run on all CPUs */
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
