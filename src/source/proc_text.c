// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/proc_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A whole number, and a blank or the end behind it. */
static bool take_pid(const char *s, uint32_t *out)
{
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno || v > INT32_MAX || (*end && !isspace((unsigned char)*end)))
		return false;
	*out = (uint32_t)v;
	return true;
}

bool proc_status_tgid(const char *line, uint32_t *tgid)
{
	static const char key[] = "Tgid:\t";

	return !strncmp(line, key, sizeof(key) - 1) && take_pid(line + sizeof(key) - 1, tgid);
}

int proc_stat_ppid(const char *stat, uint32_t *ppid)
{
	const char *p = strrchr(stat, ')'); /* the name may hold anything */

	if (!p || p[1] != ' ' || !isalpha((unsigned char)p[2]) || p[3] != ' ')
		return -EINVAL;
	return take_pid(p + 4, ppid) ? 0 : -EINVAL;
}
