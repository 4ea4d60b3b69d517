// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sys/programs_32.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_32_bit(int dir, const char *path)
{
	unsigned char head[EI_NIDENT];
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
		return is_32_bit(AT_FDCWD, name);
	for (; dirs && *dirs; dirs = *end ? end + 1 : end) {
		end = strchrnul(dirs, ':');
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)(end - dirs), dirs, name) >=
		    (int)sizeof(path))
			continue;
		if (!access(path, X_OK))
			return is_32_bit(AT_FDCWD, path);
	}
	return false;
}

bool programs_32_bit(char *const *command)
{
	DIR *proc = opendir("/proc");
	bool found = command && command_is_32_bit(command[0]);
	const struct dirent *d;
	char path[32];

	while (!found && proc && (d = readdir(proc))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "%.15s/exe", d->d_name); /* fits */
		found = is_32_bit(dirfd(proc), path);
	}
	if (proc)
		(void)closedir(proc); /* only read */
	return found;
}
