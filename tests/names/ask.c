// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks src/names, a line for a line:
 *	hold PID		=> the status of names_process
 *	data PID ADDR		=> FOUND TAB TEXT TAB PLACE
 *	once PID ADDR		=> the same, without asking again if it is late
 *	code PID IP		=> the same, of the instruction at IP
 *	frames PID IP		=> the functions that this instruction is of: TEXT TAB PLACE, and TAB < TAB before the next
 *	calls PID IP		=> the same, of the call that returns to IP
 *	report			=> 0; a report's time for names begins
 *	trim			=> 0
 * With --as-reports names have the time that they have in reports, else 20 s.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "names/names.h"

#define INTERVAL_US 100000
#define TRIES 100

static void show(const struct name *name)
{
	static const char *const found[] = {"none", "region", "object", "member"};

	printf("%s\t%s\t%s\n", found[name->found], name->text, name->place);
}

/* A late name is there when it is asked for again: reports do so, each after an interval. */
static void ask(struct names *n, uint32_t pid, uint64_t addr, enum name_what what, uint32_t frame,
		struct name *name)
{
	int tries = TRIES;

	do {
		if (what)
			names_user_code(n, (struct name_process){pid, 0}, addr, what, frame, name);
		else
			names_user_data(n, (struct name_process){pid, 0}, addr, name);
	} while (name->late && tries-- && !usleep(INTERVAL_US));
}

static void show_frames(struct names *n, uint32_t pid, uint64_t ip, enum name_what what)
{
	struct name name;
	uint32_t frame = 0;

	do {
		ask(n, pid, ip, what, frame, &name);
		printf("%s%s\t%s", frame++ ? "\t<\t" : "", name.text, name.place);
	} while (name.inlined_in);
	putchar('\n');
}

static void answer(struct names *n, const char *line)
{
	struct name name;
	uint64_t addr;
	uint32_t pid;

	if (sscanf(line, "hold %" SCNu32, &pid) == 1) {
		printf("%d\n", names_process(n, pid));
	} else if (sscanf(line, "data %" SCNu32 " %" SCNx64, &pid, &addr) == 2) {
		ask(n, pid, addr, NAME_DATA, 0, &name);
		show(&name);
	} else if (sscanf(line, "code %" SCNu32 " %" SCNx64, &pid, &addr) == 2) {
		ask(n, pid, addr, NAME_INSN, 0, &name);
		show(&name);
	} else if (sscanf(line, "frames %" SCNu32 " %" SCNx64, &pid, &addr) == 2) {
		show_frames(n, pid, addr, NAME_INSN);
	} else if (sscanf(line, "calls %" SCNu32 " %" SCNx64, &pid, &addr) == 2) {
		show_frames(n, pid, addr, NAME_CALL);
	} else if (sscanf(line, "once %" SCNu32 " %" SCNx64, &pid, &addr) == 2) {
		names_user_data(n, (struct name_process){pid, 0}, addr, &name);
		show(&name);
	} else if (!strcmp(line, "report\n")) {
		names_report_begin(n);
		puts("0");
	} else if (!strcmp(line, "trim\n")) {
		names_trim(n);
		puts("0");
	} else {
		errx(2, "not a request: %s", line);
	}
}

int main(int argc, char **argv)
{
	bool as_reports = argc > 1 && !strcmp(argv[1], "--as-reports");
	struct names_args args = {.debuginfod = argc > 1 && !strcmp(argv[1], "--debuginfod"),
				  .patience_ns = as_reports ? 0 : 20000000000ULL};
	struct err e = {0};
	struct names *n;
	char line[256];
	int ret = names_child_main(argc, argv);

	if (ret >= 0)
		return ret;
	if (names_open(&n, &args, &e))
		errx(1, "%s", e.text);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin))
		answer(n, line);
	names_close(n);
	return 0;
}
