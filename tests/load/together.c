// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of one CPU that read one timer, and are woken by one interrupt of it, all at once.
 *
 *	together COUNT CPU	stdout: {"pid":P,"tids":[...]} once all sleep, then after a byte on stdin, and when all have
 *				been woken and sleep again, {}
 */
#include "load.h"

#include <pthread.h>
#include <sys/timerfd.h>

#define COUNT_MAX 1024
#define AHEAD_NS 1000000

static int timer_fd;
static pid_t tids[COUNT_MAX];

/* One of them reads how often the timer has fired; there is nothing left for the others, who sleep
 * again. */
static void *reader(void *arg)
{
	uint64_t fired;

	*(volatile pid_t *)arg = load_tid();
	for (;;)
		if (read(timer_fd, &fired, sizeof(fired)) != sizeof(fired))
			err(1, "read the timer");
}

static void start(unsigned long i)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, reader, &tids[i]);
	if (errno)
		err(1, "thread %lu", i);
	while (!*(volatile pid_t *)&tids[i])
		load_sleep_ns(10000);
}

static void await_all(unsigned long count)
{
	unsigned long i;

	for (i = 0; i < count; i++)
		load_await_blocked(tids[i]);
}

int main(int argc, char **argv)
{
	const struct itimerspec once = {.it_value.tv_nsec = AHEAD_NS};
	unsigned long count, i;
	uint64_t until_ns;

	if (argc != 3) {
		fputs("usage: together COUNT CPU\n", stderr);
		return 2;
	}
	count = load_number(argv[1], 1, COUNT_MAX, "COUNT");
	load_pin((unsigned int)load_number(argv[2], 0, 100000, "CPU"));
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (timer_fd < 0)
		err(1, "timerfd_create");
	for (i = 0; i < count; i++)
		start(i);
	await_all(count);
	printf("{\"pid\":%d,\"tids\":[", (int)getpid());
	for (i = 0; i < count; i++)
		printf("%s%d", i ? "," : "", (int)tids[i]);
	printf("]}\n");
	fflush(stdout);
	load_wait_stdin();
	if (timerfd_settime(timer_fd, 0, &once, NULL))
		err(1, "timerfd_settime");
	until_ns = load_now_ns() + 2 * AHEAD_NS;
	while (load_now_ns() < until_ns) /* the timer stays on a CPU that is not idle */
		;
	await_all(count);
	puts("{}");
	fflush(stdout);
	load_wait_stdin();
	return 0;
}
