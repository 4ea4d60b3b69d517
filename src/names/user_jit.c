// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that a run-time compiler wrote down: /tmp/perf-PID.map. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names/user_proc.h"

#define LINE_MAX_BYTES 4096
#define FILE_MAX_BYTES (64 << 20) /* read for one name; compilers append, so the start is older */

static bool hex(const char **p, uint64_t *out)
{
	uint64_t v = 0;
	size_t digits = 0;

	if (!strncmp(*p, "0x", 2))
		*p += 2;
	for (; **p; (*p)++, digits++) {
		char c = **p;
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			break;
		v = v << 4 | (uint64_t)digit;
	}
	*out = v;
	return digits && digits <= 16;
}

bool jit_line(const char *line, uint64_t ip, const char **name, uint64_t *offset)
{
	uint64_t start, size;

	if (!hex(&line, &start) || *line++ != ' ' || !hex(&line, &size) || *line++ != ' ' ||
	    !*line || *line == '\n')
		return false;
	*name = line;
	*offset = ip - start;
	return *offset < size;
}

/* The last word counts: code is written over. True: found. */
static bool search(FILE *f, uint64_t ip, char *out, size_t len, uint64_t *offset)
{
	char line[LINE_MAX_BYTES];
	bool found = false, partial = false;
	const char *name;
	uint64_t at;

	while (fgets(line, sizeof(line), f)) {
		bool rest = partial;
		char *end = strchr(line, '\n');

		partial = !end;
		if (end)
			*end = '\0';
		if (rest || partial || !jit_line(line, ip, &name, &at))
			continue; /* not of the format; a last line may still be being written */
		(void)snprintf(out, len, "%s", name); /* cut is fine */
		*offset = at;
		found = true;
	}
	return found && !ferror(f);
}

/* Its number in its own PID namespace, by which it names the file; 0: it has ended. */
static uint32_t own_pid(uint32_t pid)
{
	char path[64], line[256], *last;
	uint32_t own = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid); /* fits */
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		last = strrchr(line, '\t');
		own = last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
		break;
	}
	fclose(f);
	return own;
}

/* Anybody may write to /tmp: only the process itself, root and we say what its code is. */
static bool trusted(int fd, uint32_t pid)
{
	char path[64];
	struct stat file, proc;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32, pid); /* fits */
	return !fstat(fd, &file) && !stat(path, &proc) &&
	       (!file.st_uid || file.st_uid == geteuid() || file.st_uid == proc.st_uid);
}

static int open_map(uint32_t pid)
{
	char path[64];
	int root, fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid); /* fits */
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", own_pid(pid)); /* fits */
	fd = elf_open_below(root, path);
	close(root);
	if (fd >= 0 && !trusted(fd, pid)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool jit_find(uint32_t pid, uint64_t ip, char *out, size_t len, uint64_t *offset)
{
	int fd = open_map(pid);
	struct stat st;
	bool found;
	FILE *f;

	if (fd < 0)
		return false;
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return false;
	}
	if (!fstat(fd, &st) && st.st_size > FILE_MAX_BYTES)
		(void)fseeko(f, st.st_size - FILE_MAX_BYTES, SEEK_SET); /* else from the start */
	found = search(f, ip, out, len, offset);
	fclose(f);
	return found;
}
