// SPDX-License-Identifier: GPL-2.0-or-later
/* What waitscope --check says of this kernel: a TAP line for each source in each way. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define NO " no: "
#define SOURCES "sched,ext4,lock,futex,line"

/* "sched --by pid" to "source-sched-by-pid". */
static void test_name(char *name, size_t len, const char *label, size_t n)
{
	size_t at = (size_t)snprintf(name, len, "source-");

	for (size_t i = 0; i < n && at + 1 < len; i++) {
		if (isalnum((unsigned char)label[i]))
			name[at++] = (char)tolower((unsigned char)label[i]);
		else if (name[at - 1] != '-')
			name[at++] = '-';
	}
	while (at && name[at - 1] == '-')
		at--;
	name[at] = 0;
}

static void print_way(struct guest *g, const char *label, size_t n, const char *yes, const char *no)
{
	char name[64];

	printf("# source %.*s%s\n", (int)n, label, no ? no : yes);
	test_name(name, sizeof(name), label, n);
	print_result(g, say(g, no ? SKIP : PASS, "%s", no ? no + strlen(NO) : "loads and attaches"),
		     name);
}

/*
 * "LABEL   yes", or "LABEL[, LABEL...]   no: WHY": a pass, or a skip of each; the line itself for
 * the table of kernels. How many there were.
 */
static int print_source(struct guest *g, const char *line)
{
	const char *yes = strstr(line, " yes"), *no = strstr(line, NO), *next;
	const char *end = no ? no : yes;
	int n = 0;

	if (!end)
		return 0;
	while (end > line && end[-1] == ' ')
		end--;
	for (; line < end; line = next, n++) {
		next = no ? memmem(line, (size_t)(end - line), ", ", 2) : NULL;
		print_way(g, line, (size_t)((next ? next : end) - line), yes, no);
		next = next ? next + 2 : end;
	}
	return n;
}

static void print_lack(const char *line)
{
	static const char but[] = " but for ";
	const char *what = strstr(line, but);

	if (what)
		printf("# lacks %s\n", what + strlen(but));
}

/* The lines after the facts are sources in their ways. What one lacks stands below it, without a
 * name. */
static int print_sources(struct guest *g, char *text)
{
	char *line = strstr(text, "\ncgroup v2"), *next;
	int n = 0;

	line = line ? strchr(line + 1, '\n') : NULL;
	for (; line && line[1]; line = next) {
		next = strchr(++line, '\n');
		if (next)
			*next = 0;
		if (*line == ' ')
			print_lack(line);
		else
			n += print_source(g, line);
		if (!next)
			break;
	}
	return n;
}

/* Its exit status; the sources that it told of are added to *sources. */
static int check(struct guest *g, const char *const argv[], int *sources)
{
	struct proc tool;
	char text[8192];
	ssize_t n = 0;

	if (tool_run(&tool, argv, NULL, NULL))
		return -1;
	for (ssize_t got; n < (ssize_t)sizeof(text) - 1; n += got) {
		got = read(tool.out, text + n, sizeof(text) - 1 - (size_t)n);
		if (got <= 0)
			break;
	}
	text[n] = 0;
	*sources += print_sources(g, text);
	return proc_wait(&tool, END_MS);
}

/* yes (0) or no (3) to each */
static bool answered(int status)
{
	return status == 0 || status == 3;
}

static int test_check(struct guest *g)
{
	const char *const argv[] = {TOOL, "--check", "-s", SOURCES, NULL};
	int sources = 0, status = check(g, argv, &sources);

	return say(g, answered(status) && sources >= 5 ? PASS : FAIL,
		   "exit %d, %d sources in their ways %s", status, sources, stderr_line());
}

/* Some variable, of ours. */
static int test_check_watch(struct guest *g)
{
	static uint64_t variable;
	char pid[16], addr[24];
	const char *const argv[] = {TOOL, "--check", "-s", "watch", "-p",
				    pid,  "--watch", addr, NULL};
	int sources = 0, status;

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)snprintf(addr, sizeof(addr), "%p", (void *)&variable);
	status = check(g, argv, &sources);
	return say(g, answered(status) && sources > 0 ? PASS : FAIL, "exit %d %s", status,
		   stderr_line());
}

static int test_check_line(struct guest *g)
{
	const char *const argv[] = {TOOL, "--check", "-s", "line", NULL};
	int sources = 0, status = check(g, argv, &sources);

	return say(g, status == 0 && sources > 0 ? PASS : FAIL, "exit %d %s", status,
		   stderr_line());
}

/* Without the kernel's own types the scheduler's is the only source. */
static int test_check_sched(struct guest *g)
{
	const char *const argv[] = {TOOL, "--check", "-s", "sched", NULL};
	int sources = 0, status = check(g, argv, &sources);

	return say(g, status == 0 && sources >= 4 ? PASS : FAIL, "exit %d %s", status,
		   stderr_line());
}

const struct test check_tests[] = {
	{"check", test_check, "btf"},
	{"check-watch", test_check_watch, "btf"},
	{"check", test_check, "lockdown"},
	{"check-line", test_check_line, "line"},
	{"check-sched", test_check_sched, "nobtf"},
	{0},
};
