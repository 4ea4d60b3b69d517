// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two processes pass a byte to and fro through pipes, each pinned to its CPU: what `perf bench
 * sched pipe` does, which cannot put its ends on two CPUs. A line for each of SLICES times ROUNDS
 * round trips: nanoseconds per round trip by the clock, and of CPU time of both, which leaves out
 * other tasks' turns. Many short slices, because a disturbed one can then be told from the others.
 */
#include "load/load.h"

#include <sys/wait.h>

static void pass(int fd)
{
	if (write(fd, "x", 1) != 1)
		err(1, "write");
}

/* false: the other end is gone */
static bool await(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

static void echo(int from, int to)
{
	while (await(from))
		pass(to);
	_exit(0);
}

static void trips(int to, int from, unsigned long n)
{
	while (n--) {
		pass(to);
		if (!await(from))
			errx(1, "the other end is gone");
	}
}

static uint64_t cpu_of_both(clockid_t other)
{
	return load_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + load_clock_ns(other);
}

static void measure(int to, int from, unsigned long n, clockid_t other)
{
	uint64_t cpu = cpu_of_both(other), start_ns = load_now_ns(), wall_ns;

	trips(to, from, n);
	wall_ns = load_now_ns() - start_ns;
	printf("%.1f %.1f\n", (double)wall_ns / (double)n,
	       (double)(cpu_of_both(other) - cpu) / (double)n);
}

int main(int argc, char **argv)
{
	unsigned long cpu_a, cpu_b, n, slices;
	int there[2], back[2], status;
	clockid_t clock;
	pid_t other;

	if (argc != 5) {
		fputs("usage: pipe CPU CPU ROUNDS SLICES\n", stderr);
		return 2;
	}
	cpu_a = load_number(argv[1], 0, CPU_SETSIZE - 1, "CPU");
	cpu_b = load_number(argv[2], 0, CPU_SETSIZE - 1, "CPU");
	n = load_number(argv[3], 1, 1000000000, "ROUNDS");
	slices = load_number(argv[4], 1, 1000000, "SLICES");
	if (pipe(there) || pipe(back))
		err(1, "pipe");
	other = fork();
	if (other < 0)
		err(1, "fork");
	if (!other) {
		close(there[1]);
		load_pin((unsigned int)cpu_b);
		echo(there[0], back[1]);
	}
	close(there[0]);
	load_pin((unsigned int)cpu_a);
	errno = clock_getcpuclockid(other, &clock);
	if (errno)
		err(1, "CPU clock");
	trips(there[1], back[0], n); /* warm */
	while (slices--)
		measure(there[1], back[0], n, clock);
	close(there[1]);
	waitpid(other, &status, 0);
	return 0;
}
