// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that sleep, and wake once in PERIOD ms. Ends with its standard input, and they with it.
 *
 *	naps COUNT PERIOD	stdout: {"naps":N}, once all sleep
 */
#include "load.h"

#include <signal.h>
#include <sys/prctl.h>

static void nap(uint64_t period_ns)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		load_sleep_ns(period_ns);
}

int main(int argc, char **argv)
{
	unsigned long count, i;
	uint64_t period_ns;
	char byte;
	pid_t pid;

	if (argc != 3) {
		fputs("usage: naps COUNT PERIOD\n", stderr);
		return 2;
	}
	count = load_number(argv[1], 1, 100000, "COUNT");
	period_ns = load_number(argv[2], 1, 100000, "PERIOD") * 1000000;
	for (i = 0; i < count; i++) {
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid)
			nap(period_ns);
	}
	printf("{\"naps\":%lu}\n", count);
	fflush(stdout);
	if (read(0, &byte, 1) < 0)
		err(1, "read");
	return 0;
}
