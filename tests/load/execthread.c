// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exec from a thread that is not the leader: the thread takes over the leader's id, so a task's tid
 * changes while it runs, and what the dead leader left must not be taken for its own.
 */
#include "load.h"

#include <pthread.h>
#include <string.h>

static char **self_argv;

static void *exec_next(void *arg)
{
	char rounds[24], done[24];

	/* Compute and block a little, so that there are waits under both ids. */
	load_spin_ns(300000);
	load_sleep_ns(200000);
	load_spin_ns(300000);
	(void)snprintf(rounds, sizeof(rounds), "%s", self_argv[1]); /* a checked number: fits */
	(void)snprintf(done, sizeof(done), "%lu", (unsigned long)(uintptr_t)arg + 1);
	execl("/proc/self/exe", self_argv[0], rounds, done, (char *)NULL);
	err(1, "exec");
}

static void *busy(void *arg)
{
	for (;;)
		load_spin_ns(1000000);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long rounds, done;
	pthread_t thread;

	if (argc < 2 || argc > 3) {
		fputs("usage: execthread ROUNDS [ROUNDS_DONE]\n"
		      "Executes itself ROUNDS times, each time from a thread that is not the leader,\n"
		      "with another thread busy. Begins at a byte on stdin or its end.\n",
		      stderr);
		return 2;
	}
	rounds = load_number(argv[1], 1, 10000, "ROUNDS");
	done = argc == 3 ? load_number(argv[2], 0, 10000, "ROUNDS_DONE") : 0;
	if (!done) {
		printf("{\"pid\":%d}\n", (int)getpid());
		fflush(stdout);
		load_wait_stdin();
	}
	if (done >= rounds) {
		printf("{\"execs\":%lu}\n", done);
		return 0;
	}
	load_spin_ns(4000000); /* long enough to be preempted, if there is competition */
	self_argv = argv;
	errno = pthread_create(&thread, NULL, busy, NULL);
	if (!errno)
		errno = pthread_create(&thread, NULL, exec_next, (void *)(uintptr_t)done);
	if (errno)
		err(1, "thread");
	for (;;) /* the exec ends it, between two naps or in one */
		load_sleep_ns(100000);
}
