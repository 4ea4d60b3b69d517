// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that blocks exactly COUNT times. Before and after it spins, so that nothing else ever
 * wakes it; a nap whose timer fired before the thread was off its CPU did not block, and the
 * kernel's count of voluntary switches tells: it is then taken again.
 *
 *	stdout: {"pid":P,"tid":T}	spinning; waits for a byte on stdin
 *		{"blocked":N,"naps":N}	done; spins on until stdin ends or another byte comes
 */
#include "load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

struct sleeper {
	unsigned long count;
	uint64_t period_ns;
	atomic_int tid;
	atomic_bool go, done, leave;
	unsigned long blocked, naps;
};

static unsigned long voluntary_switches(void)
{
	struct rusage ru;

	if (getrusage(RUSAGE_THREAD, &ru))
		err(1, "getrusage");
	return (unsigned long)ru.ru_nvcsw;
}

static void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;
	unsigned long first;

	(void)voluntary_switches(); /* as the next line: faults in what the loop touches */
	load_sleep_ns(1000);
	s->tid = load_tid();
	while (!s->go)
		;
	first = voluntary_switches();
	while (s->blocked < s->count) {
		load_sleep_ns(s->period_ns);
		s->naps++;
		s->blocked = voluntary_switches() - first;
	}
	s->done = true;
	while (!s->leave)
		;
	return NULL;
}

static void await(atomic_bool *flag)
{
	while (!*flag)
		load_sleep_ns(1000000);
}

int main(int argc, char **argv)
{
	static struct sleeper s;
	pthread_t thread;

	if (argc != 3) {
		fputs("usage: sleeper COUNT PERIOD_USEC\n"
		      "One thread sleeps COUNT times for PERIOD_USEC, from a byte on stdin on.\n",
		      stderr);
		return 2;
	}
	s.count = load_number(argv[1], 1, 1000000, "COUNT");
	s.period_ns = load_number(argv[2], 20, 10000000, "PERIOD_USEC") * 1000;
	errno = pthread_create(&thread, NULL, sleeper_thread, &s);
	if (errno)
		err(1, "thread");
	while (!s.tid)
		load_sleep_ns(1000000);
	printf("{\"pid\":%d,\"tid\":%d}\n", (int)getpid(), (int)s.tid);
	fflush(stdout);
	load_wait_stdin();
	s.go = true;
	await(&s.done);
	printf("{\"blocked\":%lu,\"naps\":%lu}\n", s.blocked, s.naps);
	fflush(stdout);
	load_wait_stdin();
	s.leave = true;
	pthread_join(thread, NULL);
	return 0;
}
