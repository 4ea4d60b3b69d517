// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that is preempted on its way to sleep, and woken while it is still queued.
 *
 * A nap sets the thread's state, arms its timer, and only then leaves the CPU. Where the kernel can
 * be preempted, a thread of a higher priority may take the CPU in between and keep it until the
 * timer has fired. The wakeup then finds the napper queued, in the state of a sleeper, and the nap
 * ends without having blocked: by the kernel's counts an involuntary switch, and no voluntary one.
 * (So does, less often, a nap that is preempted and then finds that its timer has already fired.)
 *
 *	napper		spins, sets its state and timer |           queued           | returns
 *	preempter	                                | its turn: keeps the CPU    |
 *	timer		                                |      fires                 |
 */
#include "load.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

#define TURN_NS 2000000ULL /* a turn of both */
#define NAP_NS 300000ULL   /* the napper's timer */
#define BUSY_NS 700000ULL  /* what the preempter computes in a turn: beyond the timer */
#define EARLY_NS 40000ULL  /* a nap begins up to this long before the preempter's turn, */
#define STEP_NS 370ULL	   /* each by as much later than the one before */

struct counts {
	unsigned long voluntary;
	unsigned long involuntary;
	struct load_schedstat stat;
};

struct preempted {
	unsigned long naps;
	unsigned long caught; /* naps that were preempted and never blocked */
	unsigned int cpu;
	uint64_t begin_ns;
	pid_t tid;
	sem_t here, go, done, leave;
	pthread_t napper, preempter;
};

static void wait_for(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static void become(unsigned int cpu, int priority)
{
	const struct sched_param param = {.sched_priority = priority};

	load_pin(cpu);
	errno = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	if (errno)
		err(1, "real-time priority");
}

static void sleep_until(uint64_t ns)
{
	const struct timespec ts = {(time_t)(ns / 1000000000ULL), (long)(ns % 1000000000ULL)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* One nap; true if it was preempted once and never blocked. */
static bool nap_is_caught(void)
{
	struct rusage before, after;

	(void)getrusage(RUSAGE_THREAD, &before); /* cannot fail */
	load_sleep_ns(NAP_NS);
	(void)getrusage(RUSAGE_THREAD, &after);
	return after.ru_nvcsw == before.ru_nvcsw && after.ru_nivcsw == before.ru_nivcsw + 1;
}

/* In a real-time class: its timer is the hardware's also where others' are a thread's (PREEMPT_RT).
 */
static void *nap(void *arg)
{
	struct preempted *p = arg;

	become(p->cpu, 1);
	p->tid = load_tid();
	sem_post(&p->here);
	wait_for(&p->go);
	for (unsigned long i = 0; i < p->naps; i++) {
		uint64_t turn_ns = p->begin_ns + i * TURN_NS;

		sleep_until(turn_ns - 4 * EARLY_NS);
		while (load_now_ns() < turn_ns - i * STEP_NS % EARLY_NS)
			;
		p->caught += nap_is_caught();
	}
	sem_post(&p->done);
	wait_for(&p->leave);
	return NULL;
}

static void *preempt(void *arg)
{
	const struct preempted *p = arg;

	become(p->cpu, 2);
	for (unsigned long i = 0; i < p->naps; i++) {
		sleep_until(p->begin_ns + i * TURN_NS);
		load_spin_ns(BUSY_NS);
	}
	return NULL;
}

/* The kernel's account of a thread that is blocked, and has been for a while. */
static struct counts counts_of(pid_t tid)
{
	struct counts c = {.stat = load_schedstat(tid)};
	char path[64], line[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid); /* fits */
	f = fopen(path, "re");
	if (!f)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &c.voluntary);
		(void)sscanf(line, "nonvoluntary_ctxt_switches: %lu", &c.involuntary);
	}
	(void)fclose(f); /* only read */
	return c;
}

static void start(pthread_t *thread, void *(*run)(void *), struct preempted *p)
{
	errno = pthread_create(thread, NULL, run, p);
	if (errno)
		err(1, "thread");
}

int main(int argc, char **argv)
{
	static struct preempted p;
	struct counts before, after;

	if (argc != 3) {
		fputs("usage: preempted CPU NAPS\n"
		      "From a byte on stdin on, a thread on CPU naps NAPS times beside one that preempts it;\n"
		      "prints what the kernel counted of it, and how many naps ended in the queue.\n",
		      stderr);
		return 2;
	}
	p.cpu = (unsigned int)load_number(argv[1], 0, CPU_SETSIZE - 1, "CPU");
	p.naps = load_number(argv[2], 1, 1000000, "NAPS");
	sem_init(&p.here, 0, 0);
	sem_init(&p.go, 0, 0);
	sem_init(&p.done, 0, 0);
	sem_init(&p.leave, 0, 0);
	start(&p.napper, nap, &p);
	wait_for(&p.here);
	load_await_blocked(p.tid);
	before = counts_of(p.tid);
	printf("{\"pid\":%d,\"tid\":%d}\n", (int)getpid(), (int)p.tid);
	fflush(stdout);
	load_wait_stdin();
	p.begin_ns = load_now_ns() + 50000000;
	start(&p.preempter, preempt, &p);
	sem_post(&p.go);
	wait_for(&p.done);
	load_await_blocked(p.tid);
	after = counts_of(p.tid);
	printf("{\"naps\":%lu,\"caught\":%lu,\"voluntary\":%lu,\"involuntary\":%lu,\"slices\":%" PRIu64
	       ",\"delay_ns\":%" PRIu64 "}\n",
	       p.naps, p.caught, after.voluntary - before.voluntary,
	       after.involuntary - before.involuntary, after.stat.slices - before.stat.slices,
	       after.stat.delay_ns - before.stat.delay_ns);
	fflush(stdout);
	load_wait_stdin();
	sem_post(&p.leave);
	pthread_join(p.napper, NULL);
	pthread_join(p.preempter, NULL);
	return 0;
}
