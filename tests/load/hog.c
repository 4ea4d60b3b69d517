// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that only compute: all their waits are preemptions. */
#include "crew.h"

#include <getopt.h>

static void usage(void)
{
	fputs("usage: hog [--cpu N] [--wait] THREADS SECONDS\n"
	      "THREADS busy threads for SECONDS, all on CPU N if given. Prints each thread's schedstat.\n"
	      "--wait: begin at a byte on stdin, end at another (or at its end).\n",
	      stderr);
	exit(2);
}

static void work(struct member *m, uint64_t end_ns)
{
	while (load_now_ns() < end_ns)
		;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"cpu", required_argument, NULL, 'c'},
		{"wait", no_argument, NULL, 'w'},
		{0},
	};
	static struct crew crew = {.work = work};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'c')
			load_pin((unsigned int)load_number(optarg, 0, CPU_SETSIZE - 1, "--cpu"));
		else if (c == 'w')
			crew.wait = true;
		else
			usage();
	}
	if (argc - optind != 2)
		usage();
	crew.n = (unsigned int)load_number(argv[optind], 1, CREW_MAX, "THREADS");
	crew.duration_ns = load_number(argv[optind + 1], 1, 600, "SECONDS") * 1000000000ULL;
	crew_run(&crew);
	return 0;
}
