// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that touch variables a known number of times.
 *
 *	accesses N [two|fast]	after a byte on stdin, or its end:
 *
 *	(none)	one thread on CPU 0 loads `loaded`, stores `stored`, adds to `locked` with a
 *		lock prefix and swaps `swapped`, N times each, and reads `followed` through a
 *		register that the load overwrites
 *	two	two threads, on CPUs 0 and 1: each adds to its half of `halves`, N times
 *	fast	adds to `stored` until the end of stdin comes, and says how fast every 0.1 s
 *
 *	stdout: {"pid":P,"tid":T,"loaded":"0x...","stored":...}, then {"done":N} or {"ops":N,"ns":N}
 */
#include "load.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

struct two_halves {
	uint64_t first, second;
} __attribute__((aligned(64)));

uint64_t loaded __attribute__((aligned(64)));
uint64_t stored __attribute__((aligned(64)));
uint64_t locked __attribute__((aligned(64)));
uint64_t swapped __attribute__((aligned(64)));
void *followed __attribute__((aligned(64)));
uint32_t narrow[2] __attribute__((aligned(64)));
struct two_halves halves;

static unsigned long n;

/* One instruction each, and no other touches them. */
static __attribute__((noinline)) void touch(void)
{
	uint64_t v = 1;
	void *at = &followed;

	__asm__ volatile("mov %1, %0" : "=r"(v) : "m"(loaded));
	__asm__ volatile("mov %1, %0" : "=m"(stored) : "r"(v));
	__asm__ volatile("lock addq $1, %0" : "+m"(locked));
	__asm__ volatile("xchg %0, %1" : "+r"(v), "+m"(swapped));
	__asm__ volatile("mov (%0), %0" : "+r"(at) : : "memory");
	__asm__ volatile("movl $7, %0" : "=m"(narrow[1]));
}

static void *half(void *arg)
{
	uint64_t *mine = arg;

	load_pin(mine == &halves.second);
	for (unsigned long k = 0; k < n; k++)
		__asm__ volatile("addq $1, %0" : "+m"(*mine));
	return NULL;
}

static void two(void)
{
	pthread_t t[2];

	if (pthread_create(&t[0], NULL, half, &halves.first) ||
	    pthread_create(&t[1], NULL, half, &halves.second))
		errx(1, "cannot make threads");
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

static void fast(void)
{
	struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t ops = 0, since = load_now_ns(), now;

	while (!poll(&end, 1, 0)) {
		for (int k = 0; k < 100; k++)
			__asm__ volatile("addq $1, %0" : "+m"(stored));
		ops += 100;
		now = load_now_ns();
		if (now - since < 100000000)
			continue;
		printf("{\"ops\":%" PRIu64 ",\"ns\":%" PRIu64 "}\n", ops, now - since);
		fflush(stdout);
		ops = 0;
		since = load_now_ns();
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[2] : "";

	if (argc < 2 || argc > 3 || (*mode && strcmp(mode, "two") && strcmp(mode, "fast")))
		errx(2, "usage: accesses N [two|fast]");
	n = load_number(argv[1], 1, 1000000, "N");
	load_pin(0);
	printf("{\"pid\":%d,\"tid\":%d,\"loaded\":\"%p\",\"stored\":\"%p\",\"narrow\":\"%p\",\"halves\":\"%p\"}\n",
	       (int)getpid(), (int)load_tid(), (void *)&loaded, (void *)&stored, (void *)narrow,
	       (void *)&halves);
	fflush(stdout);
	load_wait_stdin();
	if (!strcmp(mode, "two"))
		two();
	else if (!strcmp(mode, "fast"))
		fast();
	else
		for (unsigned long k = 0; k < n; k++)
			touch();
	printf("{\"done\":%lu}\n", n);
	return 0;
}
