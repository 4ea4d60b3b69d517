// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many futexes: KEPT words of a process that lives on, and EACH of every process that it starts,
 * one after another, until its standard input ends. Each word is waited for once, in vain.
 *
 *	futexes KEPT EACH
 *	stdout: {"pid":P,"waits":N}, and at its end {"processes":P,"waits":N}
 */
#include <linux/futex.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "load.h"

#define WORDS_MAX 100000

static uint32_t words[WORDS_MAX];

/* How many of them were waits. */
static unsigned long wait_for(unsigned long n)
{
	const struct timespec soon = {.tv_nsec = 1};
	unsigned long i;

	for (i = 0; i < n; i++)
		if (!syscall(SYS_futex, &words[i], FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0) ||
		    errno != ETIMEDOUT)
			err(1, "futex");
	return n;
}

static bool goes_on(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	return !poll(&in, 1, 0);
}

static void live(unsigned long n)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		wait_for(n);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a process did not end as it should");
}

int main(int argc, char **argv)
{
	unsigned long kept, each, processes = 0;

	if (argc != 3)
		errx(2, "usage: futexes KEPT EACH");
	kept = load_number(argv[1], 0, WORDS_MAX, "KEPT");
	each = load_number(argv[2], 1, WORDS_MAX, "EACH");
	if (prctl(PR_SET_TIMERSLACK, 1)) /* as short as they can be; of a child, too */
		err(1, "timer slack");
	printf("{\"pid\":%d,\"waits\":%lu}\n", (int)getpid(), wait_for(kept));
	fflush(stdout);
	for (; goes_on(); processes++)
		live(each);
	printf("{\"processes\":%lu,\"waits\":%lu}\n", processes, processes * each);
	return 0;
}
