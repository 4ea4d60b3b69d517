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
 * Its auxiliary vector begins with an entry's type: of a 32-bit process the entry's value, which is not 0, is in the upper
 * half of the first 64 bits. Nothing of the file system that the program is on is read, which may never answer.
 */
static bool process_is_32_bit(int proc, const char *pid)
{
	uint64_t type = 0;
	char path[32];
	bool read_it;
	int fd;

	(void)snprintf(path, sizeof(path), "%.15s/auxv", pid); /* fits */
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	read_it = read(fd, &type, sizeof(type)) == sizeof(type);
	close(fd);
	return read_it && type > UINT32_MAX;
}

bool programs_32_bit(char *const *command)
{
	bool found = command && command_is_32_bit(command[0]);
	DIR *proc = opendir("/proc");
	const struct dirent *d;

	while (!found && proc && (d = readdir(proc)))
		found = isdigit((unsigned char)d->d_name[0]) &&
			process_is_32_bit(dirfd(proc), d->d_name);
	if (proc)
		(void)closedir(proc); /* only read */
	return found;
}
