// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each round a thread that nobody ever waited for holds a lock and does one thing all the time;
 * another waits for the lock in the midst of it, and gives up.
 *
 *	firstwait asleep|computing|queued|comes|wakes|comes-sleeps|wakes-sleeps|renamed ROUNDS
 *
 * queued: on its CPU another runs with a real-time priority. comes: the same until a byte comes on
 * stdin, then it computes a little and gives the lock up. wakes: the same, but it slept before.
 * comes-sleeps, wakes-sleeps: it computes until a second byte comes, and sleeps a little before it
 * gives the lock up; comes-sleeps: the other takes the CPU from it once more, before the line {}
 * asks for that byte. renamed: it sleeps, and has its process's number, by an exec.
 *
 *	stdout: {"pid":P}, then after a byte on stdin {"tids":[holders],"waits":N,"queued_ns":...,"behind_ns":...,
 *		"late_ns":...,"ran_ns":...,"taken_ns":...,"preempted":N}
 *
 * behind_ns: from the beginning of the wait until the first byte came. late_ns: from that byte
 * until the last holder had come to its CPU. ran_ns: of that one since then. taken_ns: what a host
 * or interrupts took of that time before it slept. preempted: holders, while they held it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

#include "load.h"

#define MAX_ROUNDS 1000
#define BEFORE_NS 20000000 /* the wait */
#define WAIT_NS 60000000
#define HOLD_NS 150000000
#define COME_NS 20000000 /* how long it computes, if it could not until then */
#define LONGER 16	 /* times as long, if it has to come to its CPU meanwhile */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *does;
static sem_t held;
static volatile bool stop, leave;
static volatile pid_t holder_tid;
static uint64_t queued_ns; /* holders, while they held it */
static uint64_t came_ns, ran_ns, taken_ns;
static long preempted;
static pid_t holders[MAX_ROUNDS];
static volatile uint64_t wait_ns, stop_ns;
static int cpu, other_cpu;

static void *hog(void *arg)
{
	struct sched_param p = {.sched_priority = 1};

	load_pin((unsigned int)cpu);
	errno = pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
	if (errno)
		err(1, "SCHED_FIFO");
	while (!stop)
		;
	return arg;
}

static bool is(const char *what)
{
	return !strcmp(does, what);
}

/* It sleeps, and another has its CPU when it wakes. */
static bool wakes(void)
{
	return is("wakes") || is("wakes-sleeps");
}

/* It sleeps before it gives the lock up. */
static bool sleeps(void)
{
	return is("comes-sleeps") || is("wakes-sleeps");
}

/* A byte tells when the one that has its CPU stops. */
static bool told(void)
{
	return is("comes") || wakes() || sleeps();
}

/* Another has its CPU. */
static bool behind(void)
{
	return is("queued") || told();
}

static uint64_t longer(uint64_t ns)
{
	return told() ? LONGER * ns : ns;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t t;

	errno = pthread_create(&t, NULL, run, NULL);
	if (errno)
		err(1, "thread");
	return t;
}

static void *stops(void *arg)
{
	pthread_t t;

	load_wait_stdin();
	stop_ns = load_now_ns();
	stop = true;
	if (!sleeps())
		return arg;
	load_sleep_ns(COME_NS);
	if (is("comes-sleeps")) {
		stop = false;
		t = start(hog);
		load_sleep_ns(COME_NS);
		stop = true;
		pthread_join(t, NULL);
		load_sleep_ns(COME_NS);
	}
	printf("{}\n");
	fflush(stdout);
	load_wait_stdin();
	leave = true;
	return arg;
}

static void *holds(void *arg)
{
	uint64_t end = load_now_ns() + longer(HOLD_NS), before;
	struct load_account came, did;
	struct rusage r;
	pthread_t t = 0;

	holder_tid = load_tid();
	if (behind())
		load_pin((unsigned int)cpu);
	(void)pthread_mutex_lock(&lock);
	sem_post(&held);
	before = load_schedstat(holder_tid).delay_ns;
	if (behind() && !wakes())
		t = start(hog); /* on the same CPU: it does not run until that one stops */
	if (is("asleep") || wakes())
		load_sleep_ns(wakes() ? 2 * HOLD_NS : HOLD_NS);
	while (told() && !stop)
		;
	came = load_account(holder_tid);
	came_ns = came.wall_ns;
	if (told())
		end = load_now_ns() + COME_NS;
	while (sleeps() ? !leave : !is("asleep") && load_now_ns() < end)
		;
	did = load_account_since(&came, holder_tid);
	if (sleeps())
		load_sleep_ns(COME_NS);
	ran_ns = load_cpu_ns() - came.ran_ns;
	taken_ns = load_account_rest(&did);
	queued_ns += load_schedstat(holder_tid).delay_ns - before;
	(void)getrusage(RUSAGE_THREAD, &r); /* cannot fail */
	preempted += r.ru_nivcsw;
	(void)pthread_mutex_unlock(&lock);
	if (t)
		pthread_join(t, NULL);
	return arg;
}

/* It wants the lock for a while. Whether in vain. */
static unsigned long waits(void)
{
	struct timespec ts;
	pthread_t t = 0;
	int e;

	sem_wait(&held);
	load_sleep_ns(BEFORE_NS);
	if (wakes())
		t = start(hog);
	ts = load_deadline(longer(WAIT_NS));
	wait_ns = load_now_ns();
	e = pthread_mutex_timedlock(&lock, &ts);
	if (!e)
		(void)pthread_mutex_unlock(&lock);
	if (t)
		pthread_join(t, NULL);
	return e == ETIMEDOUT;
}

static void *waits_once(void *arg)
{
	*(unsigned long *)arg += waits();
	return arg;
}

static void rounds(unsigned long n)
{
	unsigned long waited = 0, i;

	if (behind())
		load_pin((unsigned int)other_cpu);
	for (i = 0; i < n; i++) {
		pthread_t t, stopper = 0;

		stop = leave = false;
		t = start(holds);
		if (told())
			stopper = start(stops);
		waited += waits();
		stop = true;
		pthread_join(t, NULL);
		if (told())
			pthread_join(stopper, NULL);
		holders[i] = holder_tid;
	}
	printf("{\"tids\":[");
	for (i = 0; i < n; i++)
		printf("%s%d", i ? "," : "", (int)holders[i]);
	printf("],\"waits\":%lu,\"queued_ns\":%" PRIu64 ",\"behind_ns\":%" PRIu64
	       ",\"late_ns\":%" PRIu64 ",\"ran_ns\":%" PRIu64 ",\"taken_ns\":%" PRIu64
	       ",\"preempted\":%ld}\n",
	       waited, queued_ns, stop_ns > wait_ns ? stop_ns - wait_ns : 0,
	       came_ns > stop_ns ? came_ns - stop_ns : 0, ran_ns, taken_ns, preempted);
}

/* After the exec: who is asleep with the lock is the first thread, which another had been. */
static void renamed(void)
{
	unsigned long waited = 0;
	pthread_t t;

	does = "asleep";
	errno = pthread_create(&t, NULL, waits_once, &waited);
	if (errno)
		err(1, "thread");
	holds(NULL);
	pthread_join(t, NULL);
	printf("{\"tids\":[%d],\"waits\":%lu}\n", (int)load_tid(), waited);
}

static void *execs(void *arg)
{
	execl("/proc/self/exe", "firstwait", "again", "1", (char *)NULL);
	err(1, "exec");
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? load_number(argv[2], 1, MAX_ROUNDS, "ROUNDS") : 0;
	cpu_set_t set;

	does = argc == 3 ? argv[1] : "";
	if (sem_init(&held, 0, 0) || sched_getaffinity(0, sizeof(set), &set))
		err(1, "start");
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	for (other_cpu = cpu + 1; other_cpu < CPU_SETSIZE && !CPU_ISSET(other_cpu, &set);
	     other_cpu++)
		;
	if (is("again")) {
		renamed();
	} else if (is("asleep") || is("computing") || behind() || is("renamed")) {
		printf("{\"pid\":%d}\n", (int)getpid());
		fflush(stdout);
		load_wait_stdin();
		if (is("renamed"))
			pthread_join(start(execs), NULL);
		rounds(n);
	} else {
		errx(2, "usage: see the top of %s", __FILE__);
	}
	fflush(stdout);
	load_wait_stdin();
	return 0;
}
