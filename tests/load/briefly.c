// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that wait briefly and do nothing else: each for a futex that nobody wakes, a millisecond
 * at a time.
 *
 *	briefly THREADS
 *	stdout: {"pid":P}, and when its standard input has ended
 *		{"waits":N,"longest_ns":L}: from the end of a wait to the end of the thread's next one, by its own clock
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>

#include "load.h"

#define THREADS_MAX 64

static atomic_bool over;

struct waiter {
	uint32_t word;
	uint64_t waits, longest_ns;
	pthread_t thread;
};

static void *wait_briefly(void *arg)
{
	const struct timespec soon = {.tv_nsec = 1000000};
	uint64_t then = load_now_ns(), now;
	struct waiter *w = arg;

	while (!over) {
		if (!syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0) ||
		    errno != ETIMEDOUT)
			err(1, "futex");
		now = load_now_ns();
		if (now - then > w->longest_ns)
			w->longest_ns = now - then;
		then = now;
		w->waits++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct waiter v[THREADS_MAX];
	uint64_t waits = 0, longest_ns = 0;
	unsigned long n, i;

	if (argc != 2)
		errx(2, "usage: briefly THREADS");
	n = load_number(argv[1], 1, THREADS_MAX, "THREADS");
	for (i = 0; i < n; i++)
		if (pthread_create(&v[i].thread, NULL, wait_briefly, &v[i]))
			errx(1, "pthread_create");
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	while (getchar() != EOF)
		;
	over = true;
	for (i = 0; i < n; i++) {
		pthread_join(v[i].thread, NULL);
		waits += v[i].waits;
		if (v[i].longest_ns > longest_ns)
			longest_ns = v[i].longest_ns;
	}
	printf("{\"waits\":%lu,\"longest_ns\":%lu}\n", (unsigned long)waits,
	       (unsigned long)longest_ns);
	return 0;
}
