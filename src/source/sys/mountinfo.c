// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/sys/mountinfo.h"

#define MAJOR_MAX 4095U /* the kernel's dev_t: 12 bits and 20 */
#define MINOR_MAX 1048575U

static bool octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The byte that the \ooo at s stands for; 0: none does. */
static char escaped(const char *s)
{
	if (s[0] != '\\' || s[1] < '0' || s[1] > '3' || !octal(s[2]) || !octal(s[3]))
		return 0;
	return (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
}

static void unescape(char *s)
{
	char *w = s, byte;

	for (; *s; s++) {
		byte = escaped(s);
		*w++ = byte ? byte : *s;
		s += byte ? 3 : 0;
	}
	*w = '\0';
}

/* Decimal digits up to `end`, which is passed; false unless there are some, and at most `max`. */
static bool number(const char **text, char end, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;
	const char *s = *text;

	if (*s == end)
		return false;
	for (; *s != end; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
		if (v > max)
			return false;
	}
	*out = (uint32_t)v;
	*text = s + (end != '\0');
	return true;
}

bool mountinfo_dev(const char *text, uint32_t *major, uint32_t *minor)
{
	return number(&text, ':', MAJOR_MAX, major) && number(&text, '\0', MINOR_MAX, minor);
}

/* Behind the optional fields, whose number is not known, stands a "-". */
static bool skip_optional(char **line)
{
	char *field;

	while ((field = strsep(line, " ")))
		if (!strcmp(field, "-"))
			return true;
	return false;
}

static bool parse_line(char *line, struct mount_entry *m)
{
	char *field[6], *fstype, *source;
	const char *id;

	for (size_t i = 0; i < 6; i++) {
		field[i] = strsep(&line, " ");
		if (!field[i] || !*field[i])
			return false;
	}
	id = field[0];
	if (!number(&id, '\0', INT32_MAX, &m->id) ||
	    !mountinfo_dev(field[2], &m->major, &m->minor) || !skip_optional(&line))
		return false;
	fstype = strsep(&line, " ");
	source = strsep(&line, " "); /* empty where mount(2) was given "" */
	if (!fstype || !*fstype || !source || !line)
		return false;
	unescape(field[3]);
	unescape(field[4]);
	unescape(source);
	m->root = field[3];
	m->path = field[4];
	m->fstype = fstype;
	m->source = source;
	return true;
}

bool mountinfo_next(char **text, struct mount_entry *out)
{
	char *line;

	while ((line = strsep(text, "\n")))
		if (parse_line(line, out))
			return true;
	return false;
}

static int read_link(const char *link, char *out, size_t len)
{
	ssize_t n = readlink(link, out, len);

	if (n < 0)
		return -errno;
	if ((size_t)n >= len)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return 0;
}

int fd_path(int fd, char *out, size_t len)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return read_link(link, out, len);
}

bool block_device_name(uint32_t major, uint32_t minor, char *out, size_t len)
{
	char link[64], target[PATH_MAX], *name;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major, minor);
	if (read_link(link, target, sizeof(target)))
		return false;
	name = strrchr(target, '/');
	return snprintf(out, len, "%s", name ? name + 1 : target) < (int)len;
}

char *mountinfo_read(const char *path)
{
	char *text = NULL;
	size_t cap = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return NULL;
	errno = 0;
	if (getdelim(&text, &cap, '\0', f) < 0) {
		free(text);
		text = errno ? NULL : strdup(""); /* a task that has left its namespace has none */
	}
	fclose(f);
	return text;
}
