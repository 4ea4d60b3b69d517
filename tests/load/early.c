// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads whose naps are over before they begin: the timer fires at once, upon the thread that has
 * just said that it will sleep, and the wakeup finds it running. It computes on, and leaves its CPU
 * when it is made to.
 */
#include "crew.h"

static void nap_in_the_past(void)
{
	const struct timespec past = {1, 0};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL);
}

static void work(struct member *m, uint64_t end_ns)
{
	while (load_now_ns() < end_ns) {
		nap_in_the_past();
		load_spin_ns(200000);
	}
}

int main(int argc, char **argv)
{
	static struct crew crew = {.work = work, .wait = true};

	if (argc != 4) {
		fputs("usage: early CPU THREADS SECONDS\n"
		      "From a byte on stdin on, THREADS threads on one CPU compute for SECONDS, with naps in between\n"
		      "that are woken before they sleep. Prints each thread's schedstat; ends at another byte.\n",
		      stderr);
		return 2;
	}
	load_pin((unsigned int)load_number(argv[1], 0, CPU_SETSIZE - 1, "CPU"));
	crew.n = (unsigned int)load_number(argv[2], 1, CREW_MAX, "THREADS");
	crew.duration_ns = load_number(argv[3], 1, 600, "SECONDS") * 1000000000ULL;
	crew_run(&crew);
	return 0;
}
