// SPDX-License-Identifier: GPL-2.0-or-later
/* Something to look at, for `make run`: sleepers, a pair that wakes each other, and hogs in bursts.
 */
#include "load.h"

#include <pthread.h>
#include <string.h>

#define SLEEPERS 4
#define HOGS_MAX 64
#define SECONDS_MAX 3600

/* A byte goes round through two pipes. */
struct end {
	int from, to;
};

static void start(const char *name, void *(*run)(void *), void *arg)
{
	pthread_t t;
	int ret = pthread_create(&t, NULL, run, arg);

	if (ret)
		errx(1, "thread '%s': %s", name, strerror(ret));
	(void)pthread_setname_np(t, name); /* only for the eye */
	(void)pthread_detach(t);	   /* they end with the process */
}

/* Woken by a timer, works for a moment. */
static void *sleeper(void *arg)
{
	const uint64_t *period_ns = arg;

	for (;;) {
		load_sleep_ns(*period_ns);
		load_spin_ns(50000);
	}
	return NULL;
}

/* Woken by the other one, works for less. */
static void *pass(void *arg)
{
	const struct end *e = arg;
	char byte;

	while (read(e->from, &byte, 1) == 1) {
		load_spin_ns(20000);
		if (write(e->to, &byte, 1) != 1)
			err(1, "pipe");
	}
	return NULL;
}

/* More of these than CPUs: for a while everybody has to wait. */
static void *hog(void *arg)
{
	for (;;) {
		load_spin_ns(20000000);
		load_sleep_ns(60000000);
	}
	return NULL;
}

static void start_pair(struct end ends[2])
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	ends[0] = (struct end){back[0], there[1]};
	ends[1] = (struct end){there[0], back[1]};
	start("ping", pass, &ends[0]);
	start("pong", pass, &ends[1]);
	if (write(there[1], "", 1) != 1)
		err(1, "pipe");
}

int main(int argc, char **argv)
{
	static const uint64_t periods_ns[SLEEPERS] = {1000000, 1700000, 2300000, 5100000};
	static struct end ends[2];
	long hogs = sysconf(_SC_NPROCESSORS_ONLN) + 1;
	unsigned long seconds;
	long i;

	if (argc != 2)
		errx(2, "usage: demo SECONDS");
	seconds = load_number(argv[1], 1, SECONDS_MAX, "SECONDS");
	for (i = 0; i < SLEEPERS; i++)
		start("sleeper", sleeper, (void *)&periods_ns[i]);
	for (i = 0; i < hogs && i < HOGS_MAX; i++)
		start("hog", hog, NULL);
	start_pair(ends);
	load_sleep_ns(seconds * 1000000000ULL);
	return 0;
}
