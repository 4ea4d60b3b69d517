// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks src/names, a line for a line:
 *	hold PID		=> the status of names_process
 *	data PID ADDR		=> FOUND TAB TEXT TAB PLACE
 *	code PID IP		=> the same
 *	trim			=> 0
 *	fds			=> how many file descriptors are open
 */
#include <dirent.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names/names.h"

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -3; /* ".", "..", the directory itself */

	if (!d)
		err(1, "/proc/self/fd");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void show(const struct name *name)
{
	static const char *const found[] = {"none", "region", "object", "member"};

	printf("%s\t%s\t%s\n", found[name->found], name->text, name->place);
}

static void answer(struct names *n, const char *line)
{
	struct name name;
	uint64_t addr;
	uint32_t pid;

	if (sscanf(line, "hold %" SCNu32, &pid) == 1) {
		printf("%d\n", names_process(n, pid));
	} else if (sscanf(line, "data %" SCNu32 " %" SCNx64, &pid, &addr) == 2) {
		names_user_data(n, pid, addr, &name);
		show(&name);
	} else if (sscanf(line, "code %" SCNu32 " %" SCNx64, &pid, &addr) == 2) {
		names_user_code(n, pid, addr, &name);
		show(&name);
	} else if (!strcmp(line, "trim\n")) {
		names_trim(n);
		puts("0");
	} else if (!strcmp(line, "fds\n")) {
		printf("%d\n", open_fds());
	} else {
		errx(2, "not a request: %s", line);
	}
}

int main(int argc, char **argv)
{
	struct names_args args = {.debuginfod = argc > 1 && !strcmp(argv[1], "--debuginfod")};
	struct err e = {0};
	struct names *n;
	char line[256];

	if (names_open(&n, &args, &e))
		errx(1, "%s", e.text);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin))
		answer(n, line);
	names_close(n);
	return 0;
}
