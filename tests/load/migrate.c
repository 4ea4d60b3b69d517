// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that compute, sleep and change CPU: waits of all kinds and many lengths, on moving
 * threads. The lengths come from a fixed seed.
 */
#include "crew.h"

#include <getopt.h>

static unsigned int cpus[2];

static void usage(void)
{
	fputs("usage: migrate [--wait] THREADS MSEC CPU CPU\n"
	      "THREADS threads compute for 0.1 to 3 ms, sleep for 0.2 to 2 ms, and move between the two\n"
	      "CPUs. Prints each thread's schedstat.\n"
	      "--wait: begin at a byte on stdin, end at another (or at its end).\n",
	      stderr);
	exit(2);
}

static uint64_t random_below(unsigned int *seed, uint64_t n)
{
	return (uint64_t)rand_r(seed) % n;
}

static void work(struct member *m, uint64_t end_ns)
{
	unsigned int seed = m->index + 1, round = m->index;

	while (load_now_ns() < end_ns) {
		if (round++ % 8 == 0)
			load_pin(cpus[random_below(&seed, 2)]);
		load_spin_ns(100000 + random_below(&seed, 2900000));
		load_sleep_ns(200000 + random_below(&seed, 1800000));
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"wait", no_argument, NULL, 'w'},
		{0},
	};
	static struct crew crew = {.work = work};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'w')
			usage();
		crew.wait = true;
	}
	if (argc - optind != 4)
		usage();
	crew.n = (unsigned int)load_number(argv[optind], 1, CREW_MAX, "THREADS");
	crew.duration_ns = load_number(argv[optind + 1], 1, 600000, "MSEC") * 1000000ULL;
	cpus[0] = (unsigned int)load_number(argv[optind + 2], 0, CPU_SETSIZE - 1, "CPU");
	cpus[1] = (unsigned int)load_number(argv[optind + 3], 0, CPU_SETSIZE - 1, "CPU");
	crew_run(&crew);
	return 0;
}
