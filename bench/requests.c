// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Request loops, as schbench has them: a messenger posts a request to each worker in turn and waits
 * for all answers, then pauses if told to; a worker sleeps, wakes, computes a while, answers.
 * Prints nanoseconds per request.
 */
#include "load/load.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>

#define WORKERS_MAX 256
#define WORK_STEPS 2000 /* a few microseconds, and the same work whatever is traced */

/* Each on its own line: this measures wakeups, not shared lines. */
struct worker {
	_Alignas(64) atomic_uint posted; /* requests so far; the worker sleeps on it */
	atomic_uint *answered;
	pthread_t thread;
	unsigned long requests;
	uint64_t sum;
};

static void futex_wait(atomic_uint *word, unsigned int seen)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static uint64_t compute(uint64_t x)
{
	int i;

	for (i = 0; i < WORK_STEPS; i++)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	return x;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int seen = 0;

	while (seen < w->requests) {
		while (atomic_load(&w->posted) == seen)
			futex_wait(&w->posted, seen);
		seen++;
		w->sum = compute(w->sum);
		atomic_fetch_add(w->answered, 1);
		futex_wake(w->answered);
	}
	return NULL;
}

static void post_all(struct worker *workers, unsigned long n, atomic_uint *answered)
{
	unsigned int want = atomic_load(answered) + (unsigned int)n, have;
	unsigned long i;

	for (i = 0; i < n; i++) {
		atomic_fetch_add(&workers[i].posted, 1);
		futex_wake(&workers[i].posted);
	}
	while ((have = atomic_load(answered)) != want)
		futex_wait(answered, have);
}

int main(int argc, char **argv)
{
	static struct worker workers[WORKERS_MAX];
	static atomic_uint answered;
	unsigned long n, rounds, i, pause_us = 0;
	uint64_t start_ns;

	if (argc != 3 && argc != 4) {
		fputs("usage: requests WORKERS ROUNDS [PAUSE_US]\n", stderr);
		return 2;
	}
	n = load_number(argv[1], 1, WORKERS_MAX, "WORKERS");
	rounds = load_number(argv[2], 1, 10000000, "ROUNDS");
	if (argc == 4)
		pause_us = load_number(argv[3], 1, 1000000, "PAUSE_US");
	for (i = 0; i < n; i++) {
		workers[i].answered = &answered;
		workers[i].requests = rounds;
		errno = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		if (errno)
			err(1, "thread");
	}
	start_ns = load_now_ns();
	for (i = 0; i < rounds; i++) {
		post_all(workers, n, &answered);
		if (pause_us)
			load_sleep_ns(1000 * pause_us);
	}
	printf("%.1f\n", (double)(load_now_ns() - start_ns) / (double)(n * rounds));
	for (i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
