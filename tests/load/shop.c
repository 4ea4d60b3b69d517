// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs of docs/TUTORIAL.md, one a mode, after which the process is called (shop-orders).
 *
 *	shop orders DIR		a service: two workers, each on a CPU of its own, take a request
 *				every 5 ms and count what they did in one struct, each its own
 *				counter; a third thread appends to DIR/orders.log and fsyncs it
 *	shop batch		a computation: two busy threads on each of these CPUs
 *	shop archive DIR	writes 64 KB to DIR/archive and fsyncs, again and again
 *
 * All keep to the first two CPUs that they may use, and run until they are killed. stdout: a line
 * when all of their threads run.
 */
#include "load.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>

#define CPUS 2
#define REQUEST_NS 5000000ULL
#define WORK_NS 1500000ULL
#define LOG_NS 40000000ULL
#define LOG_BYTES 4096
#define ARCHIVE_BYTES 65536
#define ARCHIVE_MOST (64L << 20)

/* Two counters of two threads, on one cache line: the second problem. */
static volatile struct {
	char name[32];
	uint64_t accepted;
	uint64_t rejected;
} __attribute__((aligned(64))) stats;

static unsigned int cpus[CPUS];

static void find_cpus(void)
{
	unsigned int found = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		err(1, "sched_getaffinity");
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE && found < CPUS; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[found++] = cpu;
	if (found < CPUS)
		errx(3, "one CPU only: nobody to fight with");
}

/* ---- orders ---- */

static void sleep_until(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void handle(volatile uint64_t *mine)
{
	uint64_t end = load_now_ns() + WORK_NS;

	while (load_now_ns() < end)
		for (int i = 0; i < 1000; i++)
			++*mine;
}

static void *worker(void *arg)
{
	const size_t id = (size_t)arg;
	uint64_t next = load_now_ns();

	load_pin(cpus[id]);
	for (;;) {
		next += REQUEST_NS;
		if (next < load_now_ns()) /* it could not keep up: those requests are lost */
			next = load_now_ns();
		sleep_until(next);
		handle(id ? &stats.rejected : &stats.accepted);
	}
	return NULL;
}

static int open_in(const char *dir, const char *name, int flags)
{
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		errx(2, "'%s': too long", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void write_synced(int fd, const char *data, size_t len, off_t at)
{
	if (pwrite(fd, data, len, at) != (ssize_t)len || fsync(fd))
		err(1, "write");
}

static void orders(const char *dir)
{
	static char line[LOG_BYTES];
	int fd = open_in(dir, "orders.log", O_TRUNC);
	pthread_t t;

	for (size_t i = 0; i < CPUS; i++)
		if (pthread_create(&t, NULL, worker, (void *)i))
			errx(1, "no thread");
	memset(line, '\n', sizeof(line));
	puts("orders");
	for (off_t at = 0;; at = (at + LOG_BYTES) % ARCHIVE_MOST) {
		write_synced(fd, line, sizeof(line), at);
		load_sleep_ns(LOG_NS);
	}
}

/* ---- batch ---- */

static void *compute(void *arg)
{
	load_pin(cpus[(size_t)arg]);
	for (volatile uint64_t sum = 0;; sum++)
		;
	return NULL;
}

static void batch(void)
{
	pthread_t t;

	for (size_t i = 1; i < 2 * CPUS; i++)
		if (pthread_create(&t, NULL, compute, (void *)(i % CPUS)))
			errx(1, "no thread");
	puts("batch");
	compute(NULL);
}

/* ---- archive ---- */

static void archive(const char *dir)
{
	static char data[ARCHIVE_BYTES];
	int fd = open_in(dir, "archive", O_TRUNC);

	memset(data, 'a', sizeof(data));
	puts("archive");
	for (off_t at = 0;; at = (at + ARCHIVE_BYTES) % ARCHIVE_MOST)
		write_synced(fd, data, sizeof(data), at);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char name[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	find_cpus();
	(void)snprintf(name, sizeof(name), "shop-%s", mode); /* as much of it as the kernel keeps */
	if (prctl(PR_SET_NAME, name))
		err(1, "prctl");
	if (!strcmp(mode, "orders") && argc == 3)
		orders(argv[2]);
	else if (!strcmp(mode, "batch") && argc == 2)
		batch();
	else if (!strcmp(mode, "archive") && argc == 3)
		archive(argv[2]);
	fputs("usage: shop orders DIR | batch | archive DIR\n", stderr);
	return 2;
}
