// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs of threads that wake each other, through pipes or futexes: wakeups and little else. */
#include "load.h"

#include <getopt.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>

#define PAIRS_MAX 32

static bool use_futex;
static unsigned long rounds;

struct pair {
	int there[2], back[2]; /* pipes */
	atomic_int turn;       /* futex: whose */
	pthread_t threads[2];
};

static void usage(void)
{
	fputs("usage: pingpong [--futex] [--cpu N] PAIRS ROUNDS\n"
	      "PAIRS pairs of threads wake each other ROUNDS times, through pipes or futexes.\n"
	      "Begins at a byte on stdin or its end.\n",
	      stderr);
	exit(2);
}

static void futex_pass(struct pair *p, int me)
{
	p->turn = !me;
	syscall(SYS_futex, &p->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(struct pair *p, int me)
{
	while (p->turn != me)
		syscall(SYS_futex, &p->turn, FUTEX_WAIT_PRIVATE, !me, NULL, NULL, 0);
}

static void pipe_pass(int fd)
{
	if (write(fd, "x", 1) != 1)
		err(1, "write");
}

static void pipe_await(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		err(1, "read");
}

static void *ping(void *arg)
{
	struct pair *p = arg;
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		if (use_futex) {
			futex_await(p, 0);
			futex_pass(p, 0);
		} else {
			pipe_pass(p->there[1]);
			pipe_await(p->back[0]);
		}
	}
	return NULL;
}

static void *pong(void *arg)
{
	struct pair *p = arg;
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		if (use_futex) {
			futex_await(p, 1);
			futex_pass(p, 1);
		} else {
			pipe_await(p->there[0]);
			pipe_pass(p->back[1]);
		}
	}
	return NULL;
}

static void pair_start(struct pair *p)
{
	if (pipe(p->there) || pipe(p->back))
		err(1, "pipe");
	errno = pthread_create(&p->threads[0], NULL, ping, p);
	if (!errno)
		errno = pthread_create(&p->threads[1], NULL, pong, p);
	if (errno)
		err(1, "thread");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"futex", no_argument, NULL, 'f'},
		{"cpu", required_argument, NULL, 'c'},
		{0},
	};
	static struct pair pairs[PAIRS_MAX];
	unsigned long i, n;
	uint64_t start_ns;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'c')
			load_pin((unsigned int)load_number(optarg, 0, CPU_SETSIZE - 1, "--cpu"));
		else if (c == 'f')
			use_futex = true;
		else
			usage();
	}
	if (argc - optind != 2)
		usage();
	n = load_number(argv[optind], 1, PAIRS_MAX, "PAIRS");
	rounds = load_number(argv[optind + 1], 1, 100000000, "ROUNDS");
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	load_wait_stdin();
	start_ns = load_now_ns();
	for (i = 0; i < n; i++)
		pair_start(&pairs[i]);
	for (i = 0; i < n; i++) {
		pthread_join(pairs[i].threads[0], NULL);
		pthread_join(pairs[i].threads[1], NULL);
	}
	printf("{\"rounds\":%lu,\"ns\":%" PRIu64 "}\n", n * rounds, load_now_ns() - start_ns);
	return 0;
}
