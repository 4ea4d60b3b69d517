// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks whose holder is known, and what it does while another waits: taken from its own account.
 *
 *	holders hold starved|asleep|computing normal|pi|pshared|robust ROUNDS
 *	holders exit ROUNDS	the holder ends with the lock held; who waits gives up
 *	holders dies ROUNDS	the same of robust mutexes: the kernel hands them on
 *	holders raw ROUNDS	a futex without an owner; what lies behind it looks a little like one
 *	holders odd ROUNDS	it looks like one but for the kind of mutex, of which there is none such
 *	holders woken ROUNDS	who waits is woken by a thread that never had the lock
 *	holders nested ROUNDS	the holder waits for another lock, which a third thread has
 *	holders takes queued|late|again KIND ROUNDS	the holder has waited for it itself, and is waited for: by one that
 *						waited all along, comes later, or comes when it has taken it anew
 *	holders file DIR ROUNDS	processes that write to the same file: its inode's semaphore
 *	holders names DIR ROUNDS	... that make and rename files in the same directory
 *	holders stress SECONDS ROUNDS	eight threads and a lock that is never free for long, until either is over
 *
 *	stdout: {"pid":P}, then after a byte on stdin what was done, in one line
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "load.h"

#define HOGS 4
#define WRITERS 4
#define BLOCK (16U << 20)
#define STRESS 8

enum what { STARVED, ASLEEP, COMPUTING };

/* Shared by parent and child. */
struct stage {
	pthread_mutex_t lock;
	sem_t held, done;
	volatile bool end;
	uint64_t waits, waited_ns;
	struct load_account did; /* of the holder, while it held */
	pid_t holder, waiter, owner;
	enum what what;
	unsigned long rounds;
	unsigned int cpu, other_cpu;
	uint32_t raw[8];
};

static struct stage *stage_new(void)
{
	struct stage *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cpu_set_t set;
	unsigned int cpu, n = 0;

	if (s == MAP_FAILED || sched_getaffinity(0, sizeof(set), &set))
		err(1, "stage");
	sem_init(&s->held, 1, 0);
	sem_init(&s->done, 1, 0);
	for (cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		s->other_cpu = cpu;
		if (!n++)
			s->cpu = cpu;
	}
	return s;
}

static void lock_init(pthread_mutex_t *m, const char *kind)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	if (!strcmp(kind, "pi"))
		pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	else if (!strcmp(kind, "pshared"))
		pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	else if (!strcmp(kind, "robust"))
		pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	else if (strcmp(kind, "normal"))
		errx(2, "lock: '%s': expected normal, pi, pshared or robust", kind);
	pthread_mutex_init(m, &a);
}

static void sem_take(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static void compute(uint64_t ns)
{
	uint64_t end = load_cpu_ns() + ns;

	while (load_cpu_ns() < end)
		;
}

static void *hog(void *arg)
{
	struct stage *s = arg;

	load_pin(s->cpu);
	while (!s->end)
		;
	return NULL;
}

/* The code that has it: tests know it by this name. */
static __attribute__((noinline)) void take_and_hold(struct stage *s)
{
	struct load_account then, took;

	(void)pthread_mutex_lock(&s->lock);
	s->owner = s->lock.__data.__owner;
	then = load_account(s->holder);
	sem_post(&s->held);
	if (s->what == ASLEEP)
		load_sleep_ns(50000000);
	else
		compute(s->what == STARVED ? 15000000 : 40000000);
	took = load_account_since(&then, s->holder);
	(void)pthread_mutex_unlock(&s->lock);
	s->did.wall_ns += took.wall_ns;
	s->did.ran_ns += took.ran_ns;
	s->did.queued_ns += took.queued_ns;
}

static void *holder(void *arg)
{
	struct stage *s = arg;

	s->holder = load_tid();
	if (s->what == STARVED)
		load_pin(s->cpu);
	for (unsigned long i = 0; i < s->rounds; i++) {
		take_and_hold(s);
		sem_take(&s->done);
	}
	return NULL;
}

/* How often this thread has gone to sleep. */
static long sleeps(void)
{
	struct rusage r;

	(void)getrusage(RUSAGE_THREAD, &r); /* cannot fail */
	return r.ru_nvcsw;
}

static void *waiter(void *arg)
{
	struct stage *s = arg;
	uint64_t begin;
	long slept;

	s->waiter = load_tid();
	if (s->what == STARVED)
		load_pin(s->other_cpu);
	for (unsigned long i = 0; i < s->rounds; i++) {
		sem_take(&s->held);
		slept = sleeps();
		begin = load_now_ns();
		(void)pthread_mutex_lock(&s->lock);
		s->waited_ns += load_now_ns() - begin;
		(void)pthread_mutex_unlock(&s->lock);
		/* Or it came to its CPU only when the lock was free again. */
		s->waits += sleeps() > slept;
		sem_post(&s->done);
	}
	return NULL;
}

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t t;

	errno = pthread_create(&t, NULL, run, arg);
	if (errno)
		err(1, "thread");
	return t;
}

static void begin(void)
{
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	load_wait_stdin();
}

static void print(const struct stage *s)
{
	printf("{\"holder\":%d,\"owner\":%d,\"waiter\":%d,\"cpus\":%d,\"waits\":%" PRIu64
	       ",\"waited_ns\":%" PRIu64 ",\"held_ns\":%" PRIu64 ",\"ran_ns\":%" PRIu64
	       ",\"queued_ns\":%" PRIu64 "}\n",
	       (int)s->holder, (int)s->owner, (int)s->waiter, 1 + (s->cpu != s->other_cpu),
	       s->waits, s->waited_ns, s->did.wall_ns, s->did.ran_ns, s->did.queued_ns);
	fflush(stdout);
	load_wait_stdin();
}

static void hold(struct stage *s, const char *kind)
{
	bool child = !strcmp(kind, "pshared");
	pthread_t h, w, hogs[HOGS];
	pid_t pid = 0;
	int i;

	lock_init(&s->lock, kind);
	begin();
	if (child) {
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* of ours */
			waiter(s);
			_exit(0);
		}
	}
	for (i = 0; s->what == STARVED && i < HOGS; i++)
		hogs[i] = start(hog, s);
	h = start(holder, s);
	if (child) {
		waitpid(pid, NULL, 0);
	} else {
		w = start(waiter, s);
		pthread_join(w, NULL);
	}
	pthread_join(h, NULL);
	s->end = true;
	for (i = 0; s->what == STARVED && i < HOGS; i++)
		pthread_join(hogs[i], NULL);
	print(s);
}

/* ---- a holder that waits ---- */

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static sem_t inner_held, both_held;

static void *third(void *arg)
{
	struct stage *s = arg;

	s->owner = load_tid();
	for (unsigned long i = 0; i < s->rounds; i++) {
		(void)pthread_mutex_lock(&inner);
		sem_post(&inner_held);
		sem_take(&both_held);
		load_sleep_ns(40000000);
		(void)pthread_mutex_unlock(&inner);
		sem_take(&both_held); /* of the next round */
	}
	return NULL;
}

static void *second(void *arg)
{
	struct stage *s = arg;

	s->holder = load_tid();
	for (unsigned long i = 0; i < s->rounds; i++) {
		sem_take(&inner_held);
		(void)pthread_mutex_lock(&s->lock);
		sem_post(&s->held);
		while (__atomic_load_n(&s->lock.__data.__lock, __ATOMIC_SEQ_CST) != 2)
			load_sleep_ns(1000000); /* until there is a waiter, however late */
		load_sleep_ns(10000000);
		sem_post(&both_held);
		(void)pthread_mutex_lock(&inner);
		(void)pthread_mutex_unlock(&inner);
		(void)pthread_mutex_unlock(&s->lock);
		sem_take(&s->done);
		sem_post(&both_held);
	}
	return NULL;
}

static void nested(struct stage *s)
{
	pthread_t a, b, c;

	lock_init(&s->lock, "normal");
	sem_init(&inner_held, 0, 0);
	sem_init(&both_held, 0, 0);
	begin();
	a = start(third, s);
	b = start(second, s);
	c = start(waiter, s);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_join(c, NULL);
	printf("{\"holder\":%d,\"owner\":%d,\"waiter\":%d,\"waits\":%" PRIu64
	       ",\"inner\":\"%p\"}\n",
	       (int)s->holder, (int)s->owner, (int)s->waiter, s->waits, (void *)&inner);
	fflush(stdout);
	load_wait_stdin();
}

/* ---- a holder that ends ---- */

static void *ends(void *arg)
{
	struct stage *s = arg;

	s->holder = load_tid();
	(void)pthread_mutex_lock(&s->lock);
	sem_post(&s->held);
	if (s->what == ASLEEP)
		load_sleep_ns(30000000);
	return NULL;
}

static void give_up(struct stage *s)
{
	struct timespec ts = load_deadline(20000000);
	long slept = sleeps();

	if (pthread_mutex_timedlock(&s->lock, &ts) == ETIMEDOUT)
		s->waits += sleeps() > slept;
}

static void abandoned(struct stage *s, bool robust)
{
	begin();
	s->what = robust ? ASLEEP : COMPUTING;
	for (unsigned long i = 0; i < s->rounds; i++) {
		pthread_t t;
		long slept;

		lock_init(&s->lock, robust ? "robust" : "normal");
		t = start(ends, s);
		sem_take(&s->held);
		if (!robust) {
			pthread_join(t, NULL);
			load_sleep_ns(2000000); /* until the kernel has done with it */
			give_up(s);
			continue;
		}
		slept = sleeps();
		if (pthread_mutex_lock(&s->lock) == EOWNERDEAD)
			s->waits += sleeps() > slept;
		(void)pthread_mutex_consistent(&s->lock);
		(void)pthread_mutex_unlock(&s->lock);
		pthread_join(t, NULL);
	}
	print(s);
}

/* ---- no owner ---- */

static void *wakes(void *arg)
{
	struct stage *s = arg;

	s->holder = load_tid();
	s->raw[2] = (uint32_t)s->holder; /* a pthread_mutex_t has users then */
	for (unsigned long i = 0; i < s->rounds; i++) {
		__atomic_store_n(&s->raw[0], 2, __ATOMIC_SEQ_CST);
		sem_post(&s->held);
		load_sleep_ns(10000000);
		__atomic_store_n(&s->raw[0], 0, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &s->raw[0], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		sem_take(&s->done);
	}
	return NULL;
}

static void raw(struct stage *s)
{
	pthread_t t;

	begin();
	t = start(wakes, s);
	for (unsigned long i = 0; i < s->rounds; i++) {
		sem_take(&s->held);
		if (!syscall(SYS_futex, &s->raw[0], FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0))
			s->waits++;
		sem_post(&s->done);
	}
	pthread_join(t, NULL);
	print(s);
}

/* ---- woken by another than the holder ---- */

static void *keeps(void *arg)
{
	struct stage *s = arg;

	s->holder = load_tid();
	for (unsigned long i = 0; i < s->rounds; i++) {
		(void)pthread_mutex_lock(&s->lock);
		s->owner = s->lock.__data.__owner;
		sem_post(&s->held);
		sem_take(&s->done);
		(void)pthread_mutex_unlock(&s->lock);
		sem_post(&both_held);
	}
	return NULL;
}

/*
 * It computes until then: if that were taken for what the holder did, who sleeps, it would be seen.
 */
static void *meddles(void *arg)
{
	struct stage *s = arg;

	for (unsigned long i = 0; i < s->rounds; i++) {
		sem_take(&inner_held);
		compute(10000000);
		while (!syscall(SYS_futex, &s->lock.__data.__lock, FUTEX_WAKE_PRIVATE, 1, NULL,
				NULL, 0))
			;
	}
	return NULL;
}

static void woken(struct stage *s)
{
	pthread_t h, m;

	lock_init(&s->lock, "normal");
	sem_init(&inner_held, 0, 0);
	sem_init(&both_held, 0, 0);
	begin();
	s->waiter = load_tid();
	h = start(keeps, s);
	m = start(meddles, s);
	for (unsigned long i = 0; i < s->rounds; i++) {
		sem_take(&s->held);
		__atomic_store_n(&s->lock.__data.__lock, 2, __ATOMIC_SEQ_CST); /* it has waiters */
		sem_post(&inner_held);
		while (syscall(SYS_futex, &s->lock.__data.__lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL,
			       0))
			;
		s->waits++;
		sem_post(&s->done);
		sem_take(&both_held); /* it is free again */
	}
	pthread_join(h, NULL);
	pthread_join(m, NULL);
	print(s);
}

/* ---- a holder that had to wait for it ---- */

enum takes { QUEUED, LATE, AGAIN };

#define MEMBERS 3

struct member {
	struct stage *s;
	pid_t tid;
	volatile unsigned long tries; /* to take the lock */
	sem_t go, on, here, done;
	enum takes takes;
	int at; /* its turn */
};

/* Tests know these by their names. */
static __attribute__((noinline)) void take_free(struct member *m)
{
	(void)pthread_mutex_lock(&m->s->lock);
	m->s->owner = m->tid;
}

static __attribute__((noinline)) void take_behind(struct member *m)
{
	m->tries++;
	(void)pthread_mutex_lock(&m->s->lock);
	m->s->owner = m->tid;
}

static __attribute__((noinline)) void hand_on(struct member *m)
{
	m->s->owner = 0;
	(void)pthread_mutex_unlock(&m->s->lock);
	m->s->waits++;
}

/*
 * The first finds it free, the others wait for it; who is followed by another keeps it until told.
 */
static void *goes(void *arg)
{
	struct member *m = arg;

	m->tid = load_tid();
	for (unsigned long i = 0; i < m->s->rounds; i++) {
		sem_take(&m->go);
		if (m->at == 0)
			take_free(m);
		else
			take_behind(m);
		if (m->at == 1 && m->takes == AGAIN) {
			hand_on(m);
			take_free(m);
		}
		if (m->at < MEMBERS - 1) {
			sem_post(&m->here);
			sem_take(&m->on);
		}
		hand_on(m);
		sem_post(&m->done);
	}
	return NULL;
}

/* Until it waits for the lock. */
static void sent(struct member *m)
{
	unsigned long before = m->tries;

	sem_post(&m->go);
	while (m->tries == before)
		load_sleep_ns(100000);
	load_await_blocked(m->tid);
}

static enum takes takes_of(const char *text)
{
	if (!strcmp(text, "queued"))
		return QUEUED;
	if (!strcmp(text, "late"))
		return LATE;
	if (strcmp(text, "again"))
		errx(2, "'%s': expected queued, late or again", text);
	return AGAIN;
}

static void takes(struct stage *s, enum takes how, const char *kind)
{
	struct member m[MEMBERS] = {{.s = s}};
	pthread_t t[MEMBERS];

	lock_init(&s->lock, kind);
	begin();
	for (int i = 0; i < MEMBERS; i++) {
		m[i].s = s;
		m[i].at = i;
		m[i].takes = how;
		sem_init(&m[i].go, 0, 0);
		sem_init(&m[i].on, 0, 0);
		sem_init(&m[i].here, 0, 0);
		sem_init(&m[i].done, 0, 0);
		t[i] = start(goes, &m[i]);
	}
	for (unsigned long i = 0; i < s->rounds; i++) {
		sem_post(&m[0].go);
		sem_take(&m[0].here);
		sent(&m[1]);
		if (how == QUEUED)
			sent(&m[2]);
		load_sleep_ns(5000000);
		sem_post(&m[0].on);
		sem_take(&m[1].here);
		if (how != QUEUED)
			sent(&m[2]);
		load_sleep_ns(10000000);
		sem_post(&m[1].on);
		for (int k = 0; k < MEMBERS; k++)
			sem_take(&m[k].done);
	}
	for (int i = 0; i < MEMBERS; i++)
		pthread_join(t[i], NULL);
	printf("{\"tids\":[%d,%d,%d],\"waits\":%lu}\n", (int)m[0].tid, (int)m[1].tid, (int)m[2].tid,
	       2 * s->rounds);
	fflush(stdout);
	load_wait_stdin();
}

/* ---- kernel locks ---- */

static void write_file(const char *path, unsigned long rounds)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char *block = calloc(1, BLOCK);

	if (fd < 0 || !block)
		err(1, "%s", path);
	while (rounds--)
		if (pwrite(fd, block, BLOCK, 0) < 0)
			err(1, "%s", path);
	free(block);
	close(fd);
}

static void make_names(const char *path, unsigned long rounds)
{
	char one[300], two[300];
	int fd;

	(void)snprintf(one, sizeof(one), "%s.%d", path, (int)getpid());	 /* fits */
	(void)snprintf(two, sizeof(two), "%s.%d.", path, (int)getpid()); /* fits */
	while (rounds--) {
		fd = open(one, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || close(fd) || rename(one, two) || unlink(two))
			err(1, "%s", one);
	}
}

static void writers(const char *dir, unsigned long rounds,
		    void (*work)(const char *path, unsigned long rounds))
{
	pid_t pids[WRITERS];
	char path[256];
	int go[2], i;

	if ((size_t)snprintf(path, sizeof(path), "%s/holders", dir) >= sizeof(path) || pipe(go))
		errx(2, "%s: too long", dir);
	for (i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* of ours */
		close(go[1]);
		(void)!read(go[0], path + sizeof(path) - 1, 1); /* until it is closed */
		work(path, rounds);
		_exit(0);
	}
	printf("{\"pid\":%d,\"pids\":[%d", (int)getpid(), (int)pids[0]);
	for (i = 1; i < WRITERS; i++)
		printf(",%d", (int)pids[i]);
	printf("]}\n");
	fflush(stdout);
	load_wait_stdin();
	close(go[0]);
	close(go[1]);
	for (i = 0; i < WRITERS; i++)
		waitpid(pids[i], NULL, 0);
	(void)unlink(path); /* of names there is none */
	printf("{\"done\":true}\n");
	fflush(stdout);
	load_wait_stdin();
}

static void *contends(void *arg)
{
	struct stage *s = arg;

	for (unsigned long i = 0; i < s->rounds && !s->end; i++) {
		(void)pthread_mutex_lock(&s->lock);
		sched_yield();
		s->waits++;
		(void)pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

/*
 * Each yield gives the CPU to whoever else wants it: on a busy machine that takes minutes. And
 * pthread_join() waits for a futex, too, which would be out of the histograms' range by then.
 */
static void stress(struct stage *s, uint64_t ns)
{
	pthread_t t[STRESS];
	uint64_t end;
	int i;

	lock_init(&s->lock, "normal");
	begin();
	end = load_now_ns() + ns;
	for (i = 0; i < STRESS; i++)
		t[i] = start(contends, s);
	for (i = 0; i < STRESS; i++)
		while (pthread_tryjoin_np(t[i], NULL)) {
			s->end = load_now_ns() >= end;
			load_sleep_ns(10000000);
		}
	print(s);
}

static enum what what_of(const char *text)
{
	if (!strcmp(text, "starved"))
		return STARVED;
	if (!strcmp(text, "asleep"))
		return ASLEEP;
	if (strcmp(text, "computing"))
		errx(2, "'%s': expected starved, asleep or computing", text);
	return COMPUTING;
}

int main(int argc, char **argv)
{
	struct stage *s = stage_new();
	const char *mode = argc > 2 ? argv[1] : "";

	s->rounds = argc > 2 ? load_number(argv[argc - 1], 1, 100000000, "ROUNDS") : 0;
	if (!strcmp(mode, "hold") && argc == 5) {
		s->what = what_of(argv[2]);
		hold(s, argv[3]);
	} else if (!strcmp(mode, "takes") && argc == 5) {
		takes(s, takes_of(argv[2]), argv[3]);
	} else if (!strcmp(mode, "nested")) {
		nested(s);
	} else if (!strcmp(mode, "woken")) {
		woken(s);
	} else if (!strcmp(mode, "exit")) {
		abandoned(s, false);
	} else if (!strcmp(mode, "dies")) {
		abandoned(s, true);
	} else if (!strcmp(mode, "raw") || !strcmp(mode, "odd")) {
		if (*mode == 'o') {
			s->raw[3] = 1;
			s->raw[4] = 64;
		}
		raw(s);
	} else if (!strcmp(mode, "file") && argc == 4) {
		writers(argv[2], s->rounds, write_file);
	} else if (!strcmp(mode, "names") && argc == 4) {
		writers(argv[2], s->rounds, make_names);
	} else if (!strcmp(mode, "stress") && argc == 4) {
		stress(s, load_number(argv[2], 1, 86400, "SECONDS") * 1000000000ULL);
	} else {
		errx(2, "usage: see the top of %s", __FILE__);
	}
	return 0;
}
