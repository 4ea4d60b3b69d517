// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sys/programs_32.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_32_bit(const char *path)
{
	unsigned char head[EI_NIDENT];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is;

	if (fd < 0)
		return false;
	is = read(fd, head, sizeof(head)) == sizeof(head) && !memcmp(head, ELFMAG, SELFMAG) &&
	     head[EI_CLASS] == ELFCLASS32;
	close(fd);
	return is;
}

static bool command_is_32_bit(const char *name)
{
	const char *dirs = getenv("PATH"), *end;
	char path[4096];

	if (strchr(name, '/'))
		return is_32_bit(name);
	for (; dirs && *dirs; dirs = *end ? end + 1 : end) {
		end = strchrnul(dirs, ':');
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)(end - dirs), dirs, name) >=
		    (int)sizeof(path))
			continue;
		if (!access(path, X_OK))
			return is_32_bit(path);
	}
	return false;
}

/*
 * An auxiliary vector begins with an entry's type: of a 32-bit process the entry's value, which is
 * not 0, is in the upper half of the first 64 bits. Nothing of the file system that the program is
 * on is read, which may never answer. 1, 0, or -1: the thread has no memory (a kernel thread, one
 * that ends) or may not be looked at.
 */
static int thread_is_32_bit(int dir, const char *id)
{
	uint64_t type = 0;
	char path[32];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%.15s/auxv", id); /* fits */
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, &type, sizeof(type));
	close(fd);
	return n == sizeof(type) ? type > UINT32_MAX : -1;
}

static bool is_number(const struct dirent *d)
{
	return isdigit((unsigned char)d->d_name[0]);
}

/* A process whose main thread has ended has its memory still: by another thread. */
static bool process_is_32_bit(int proc, const char *pid)
{
	int is = thread_is_32_bit(proc, pid), fd;
	const struct dirent *d;
	char path[32];
	DIR *tasks;

	if (is >= 0)
		return is;
	(void)snprintf(path, sizeof(path), "%.15s/task", pid); /* fits */
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	tasks = fd < 0 ? NULL : fdopendir(fd);
	if (!tasks) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (is < 0 && (d = readdir(tasks)))
		if (is_number(d))
			is = thread_is_32_bit(fd, d->d_name);
	(void)closedir(tasks); /* only read */
	return is > 0;
}

bool programs_32_bit(char *const *command)
{
	bool found = command && command_is_32_bit(command[0]);
	DIR *proc = opendir("/proc");
	const struct dirent *d;

	while (!found && proc && (d = readdir(proc)))
		found = is_number(d) && process_is_32_bit(dirfd(proc), d->d_name);
	if (proc)
		(void)closedir(proc); /* only read */
	return found;
}
