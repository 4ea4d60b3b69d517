// SPDX-License-Identifier: GPL-2.0-or-later
/* Short-lived tasks, processes and threads by turns, a bounded number at a time. */
#include "load.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>

static sem_t slots;

static void usage(void)
{
	fputs("usage: spawn COUNT AT_A_TIME\n"
	      "COUNT short-lived tasks, AT_A_TIME at once: every second one is a thread.\n"
	      "Begins at a byte on stdin or its end. Prints how many of each it made.\n",
	      stderr);
	exit(2);
}

/* One in four blocks once, so that wakeups are among the waits. */
static void live(unsigned long i)
{
	if (i % 4 < 2)
		load_spin_ns(20000);
	else
		load_sleep_ns(50000);
}

static void *thread_life(void *arg)
{
	live((unsigned long)(uintptr_t)arg);
	sem_post(&slots);
	return NULL;
}

static void start_thread(unsigned long i)
{
	pthread_attr_t attr;
	pthread_t thread;

	while (sem_wait(&slots) && errno == EINTR)
		;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 65536);
	errno = pthread_create(&thread, &attr, thread_life, (void *)(uintptr_t)i);
	if (errno)
		err(1, "thread %lu", i);
	pthread_attr_destroy(&attr);
}

static void start_process(unsigned long i)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork %lu", i);
	if (!pid) {
		live(i);
		_exit(0);
	}
}

static void reap(void)
{
	int status;

	if (wait(&status) < 0)
		err(1, "wait");
	if (status)
		errx(1, "a child ended with status %d", status);
}

int main(int argc, char **argv)
{
	unsigned long i, count, limit, running = 0, forks = 0, threads = 0;

	if (argc != 3)
		usage();
	count = load_number(argv[1], 1, 1000000, "COUNT");
	limit = load_number(argv[2], 1, 1000, "AT_A_TIME");
	sem_init(&slots, 0, (unsigned int)limit);
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	load_wait_stdin();
	for (i = 0; i < count; i++) {
		if (i % 2) {
			start_thread(i);
			threads++;
			continue;
		}
		if (running == limit) {
			reap();
			running--;
		}
		start_process(i);
		running++;
		forks++;
	}
	for (; running; running--)
		reap();
	for (i = 0; i < limit; i++)
		while (sem_wait(&slots) && errno == EINTR)
			;
	printf("{\"forks\":%lu,\"threads\":%lu}\n", forks, threads);
	return 0;
}
