/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the load programs share: strict arguments, the clock, schedstat, the start signal. */
#ifndef WS_LOAD_H
#define WS_LOAD_H

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline unsigned long load_number(const char *text, unsigned long min, unsigned long max,
					const char *what)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || v < min || v > max)
		errx(2, "%s: '%s': expected a number from %lu to %lu", what, text, min, max);
	return v;
}

static inline uint64_t load_clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		err(1, "clock %d", (int)clock);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static inline uint64_t load_now_ns(void)
{
	return load_clock_ns(CLOCK_MONOTONIC);
}

/* What this thread has run. */
static inline uint64_t load_cpu_ns(void)
{
	return load_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline pid_t load_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* The moment that is so far ahead, as calls with a deadline want it. */
static inline struct timespec load_deadline(uint64_t ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ns += (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000ULL),
		.tv_nsec = (long)(ns % 1000000000ULL),
	};
}

/* Keeps the CPU busy in user space. */
static inline void load_spin_ns(uint64_t ns)
{
	uint64_t end = load_now_ns() + ns;

	while (load_now_ns() < end)
		;
}

static inline void load_sleep_ns(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / 1000000000ULL),
		.tv_nsec = (long)(ns % 1000000000ULL),
	};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static inline void load_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "cannot run on CPU %u", cpu);
}

/* The same for a load that does without: on a machine of one CPU both of its threads run there, and
 * say so. */
static inline void load_try_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* Blocks until the driver writes a byte or closes the pipe. */
static inline void load_wait_stdin(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
		;
}

/*
 * Returns once a thread of ours that is about to block has done so. On a busy machine it may not
 * have had a CPU for long. Where the kernel can be preempted it may have the state of a sleeper and
 * still be queued, hence the pause.
 */
static inline void load_await_blocked(pid_t tid)
{
	char path[64], text[256], *name_end;
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid); /* fits */
	for (;;) {
		f = fopen(path, "re");
		if (!f)
			err(1, "%s", path);
		n = fread(text, 1, sizeof(text) - 1, f);
		(void)fclose(f); /* only read */
		text[n] = 0;
		name_end = strrchr(text, ')');
		load_sleep_ns(20000000);
		if (name_end && name_end[2] == 'S')
			return;
	}
}

struct load_schedstat {
	uint64_t run_ns;
	uint64_t delay_ns;
	uint64_t slices;
};

static inline struct load_schedstat load_schedstat(pid_t tid)
{
	struct load_schedstat s;
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)tid); /* fits */
	f = fopen(path, "re");
	if (!f)
		err(1, "%s", path);
	if (fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &s.run_ns, &s.delay_ns, &s.slices) != 3)
		errx(1, "%s: expected three numbers", path);
	(void)fclose(f); /* only read */
	return s;
}

/* What passed, and of that what the calling thread, `tid`, ran and was queued. */
struct load_account {
	uint64_t wall_ns, ran_ns, queued_ns;
};

/* All of one moment: again, if it was queued between the first look and the last. */
static inline struct load_account load_account(pid_t tid)
{
	struct load_account a;

	do {
		a.queued_ns = load_schedstat(tid).delay_ns;
		a.wall_ns = load_now_ns();
		a.ran_ns = load_cpu_ns();
	} while (load_schedstat(tid).delay_ns != a.queued_ns);
	return a;
}

static inline struct load_account load_account_since(const struct load_account *then, pid_t tid)
{
	struct load_account now = load_account(tid);

	return (struct load_account){now.wall_ns - then->wall_ns, now.ran_ns - then->ran_ns,
				     now.queued_ns - then->queued_ns};
}

/*
 * The rest it slept, or a host or an interrupt took its CPU. The two clocks may differ by some ns.
 */
static inline uint64_t load_account_rest(const struct load_account *a)
{
	uint64_t known = a->ran_ns + a->queued_ns;

	return a->wall_ns > known ? a->wall_ns - known : 0;
}

#endif
