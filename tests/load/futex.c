// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Futex calls that are all counted by their caller: what each word's waits and wakes came back
 * with is printed at the end, one line of JSON for each word.
 *
 *	futex MODE [N]
 *
 * A first line says {"pid":...}, then it waits for a byte (or the end) of standard input.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "load.h"

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456

struct word {
	const char *name;
	uint32_t *at;
	uint64_t waits, timeouts, eintr, eagain, failed, wakes, wakers, woken, ns;
};

#define WORDS 16
static struct word words[WORDS];
static size_t nwords;
static uint32_t values[WORDS * 16]; /* a cache line each */
static unsigned long count = 100;

static struct word *word_new(const char *name, uint32_t *at)
{
	struct word *w = &words[nwords++];

	w->name = name;
	w->at = at ? at : &values[(nwords - 1) * 16];
	return w;
}

static void add(uint64_t *n, uint64_t v)
{
	__atomic_fetch_add(n, v, __ATOMIC_RELAXED);
}

/* Counts what a call that waits came back with. */
static long waited(struct word *w, long ret, uint64_t begin)
{
	int err = ret < 0 ? errno : 0;

	if (err == EAGAIN) {
		add(&w->eagain, 1);
	} else if (!err || err == ETIMEDOUT || err == EINTR) {
		add(&w->waits, 1);
		add(&w->timeouts, err == ETIMEDOUT);
		add(&w->eintr, err == EINTR);
		add(&w->ns, load_now_ns() - begin);
	} else {
		add(&w->failed, 1);
	}
	return err ? -err : ret;
}

static long fwait(struct word *w, int op, uint32_t val, const struct timespec *timeout)
{
	uint64_t begin = load_now_ns();

	return waited(w, syscall(SYS_futex, w->at, op, val, timeout, NULL, ~0U), begin);
}

static long woke(struct word *w, long ret)
{
	if (ret < 0)
		return ret;
	add(&w->wakes, 1);
	add(&w->wakers, ret > 0);
	add(&w->woken, (uint64_t)ret);
	return ret;
}

static long fwake(struct word *w, int op, int n)
{
	return woke(w, syscall(SYS_futex, w->at, op, n, NULL, NULL, ~0U));
}

static void print_words(void)
{
	size_t i;

	for (i = 0; i < nwords; i++) {
		const struct word *w = &words[i];

		printf("{\"name\":\"%s\",\"addr\":\"0x%" PRIxPTR "\",\"waits\":%" PRIu64
		       ",\"timeouts\":%" PRIu64 ",\"eintr\":%" PRIu64 ",\"eagain\":%" PRIu64
		       ",\"failed\":%" PRIu64 ",\"wakes\":%" PRIu64 ",\"wakers\":%" PRIu64
		       ",\"woken\":%" PRIu64 ",\"ns\":%" PRIu64 "}\n",
		       w->name, (uintptr_t)w->at, w->waits, w->timeouts, w->eintr, w->eagain,
		       w->failed, w->wakes, w->wakers, w->woken, w->ns);
	}
}

static void go(void)
{
	printf("{\"pid\":%d}\n", (int)getpid());
	(void)fflush(stdout);
	load_wait_stdin();
}

/* ---- a lock of the usual sort: 0 free, 1 taken, 2 taken and waited for ---- */

static uint64_t hold_ns = 200000;

static void lock(struct word *w)
{
	uint32_t zero = 0;

	if (__atomic_compare_exchange_n(w->at, &zero, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(w->at, 2, __ATOMIC_ACQUIRE))
		fwait(w, FUTEX_WAIT_PRIVATE, 2, NULL);
}

static void unlock(struct word *w)
{
	if (__atomic_exchange_n(w->at, 0, __ATOMIC_RELEASE) == 2)
		fwake(w, FUTEX_WAKE_PRIVATE, 1);
}

static void *locker(void *arg)
{
	struct word *w = arg;
	unsigned long i;

	for (i = 0; i < count; i++) {
		lock(w);
		load_sleep_ns(hold_ns);
		unlock(w);
	}
	return NULL;
}

static void run_threads(void *(*fn)(void *), void *arg, int n)
{
	pthread_t t[16];
	int i;

	for (i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, fn, arg))
			errx(1, "cannot start a thread");
	for (i = 0; i < n; i++)
		(void)pthread_join(t[i], NULL);
}

static void mode_threads(void)
{
	struct word *w = word_new("threads", NULL);

	go();
	run_threads(locker, w, 6);
}

static void *pi_locker(void *arg)
{
	struct word *w = arg;
	unsigned long i;

	for (i = 0; i < count; i++) {
		if (fwait(w, FUTEX_LOCK_PI_PRIVATE, 0, NULL))
			errx(1, "LOCK_PI");
		load_sleep_ns(hold_ns);
		if (fwake(w, FUTEX_UNLOCK_PI_PRIVATE, 0) < 0)
			err(1, "UNLOCK_PI");
	}
	return NULL;
}

static void mode_pi(void)
{
	struct word *w = word_new("pi", NULL);

	go();
	run_threads(pi_locker, w, 3);
}

/* ---- returns ---- */

static void mode_eagain(void)
{
	struct word *w = word_new("eagain", NULL);
	unsigned long i;

	*w->at = 1;
	go();
	for (i = 0; i < count; i++)
		fwait(w, FUTEX_WAIT_PRIVATE, 2, NULL);
}

static void mode_timeout(void)
{
	const struct timespec short_time = {.tv_nsec = 1000000};
	struct word *w = word_new("timeout", NULL);
	unsigned long i;

	*w->at = 2;
	go();
	for (i = 0; i < count; i++)
		fwait(w, FUTEX_WAIT_PRIVATE, 2, &short_time);
}

/* Calls that fail are neither waits nor wakes. */
static void mode_failed(void)
{
	struct word *w = word_new("failed", NULL);
	unsigned long i;

	go();
	for (i = 0; i < count; i++)
		(void)waited(w, syscall(SYS_futex, (char *)w->at + 1, FUTEX_WAIT_PRIVATE, 2, NULL),
			     load_now_ns());
}

static void on_signal(int sig)
{
}

static volatile bool signalled_enough;

static void *signal_waiter(void *arg)
{
	struct word *w = arg;

	while (w->eintr < count)
		fwait(w, FUTEX_WAIT_PRIVATE, 2, NULL);
	signalled_enough = true;
	return NULL;
}

static void mode_signal(void)
{
	struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART */
	struct word *w = word_new("signal", NULL);
	pthread_t t;

	*w->at = 2;
	if (sigaction(SIGUSR1, &action, NULL))
		err(1, "sigaction");
	go();
	if (pthread_create(&t, NULL, signal_waiter, w))
		errx(1, "cannot start a thread");
	while (!signalled_enough) {
		load_sleep_ns(1000000);
		(void)pthread_kill(t, SIGUSR1); /* it may have ended */
	}
	(void)pthread_join(t, NULL);
}

/* A wait with a time-out, stopped and continued: restart_syscall has the rest of it. */
static void *stopped_waiter(void *arg)
{
	const struct timespec long_time = {.tv_sec = 2};

	fwait(arg, FUTEX_WAIT_PRIVATE, 2, &long_time);
	return NULL;
}

static void mode_restart(void)
{
	struct word *w = word_new("restart", NULL);

	*w->at = 2;
	go();
	run_threads(stopped_waiter, w, 1);
}

/* ---- others that wait ---- */

/* The futexes of a pair of threads that take turns: `turn` says whose. */
struct pair {
	struct word *w;
	long (*wait)(struct word *w, uint32_t val);
	long (*wake)(struct word *w);
	bool odd;
};

static void *turns(void *arg)
{
	struct pair *p = arg;
	uint32_t v, i;

	for (i = p->odd; i < 2 * count; i += 2) {
		while ((v = __atomic_load_n(p->w->at, __ATOMIC_ACQUIRE)) < i)
			p->wait(p->w, v);
		__atomic_store_n(p->w->at, i + 1, __ATOMIC_RELEASE);
		p->wake(p->w);
	}
	return NULL;
}

static void take_turns(struct word *w, long (*wait)(struct word *, uint32_t),
		       long (*wake)(struct word *))
{
	struct pair odd = {w, wait, wake, true}, even = {w, wait, wake, false};
	pthread_t t;

	if (pthread_create(&t, NULL, turns, &odd))
		errx(1, "cannot start a thread");
	turns(&even);
	(void)pthread_join(t, NULL);
}

static long wait_bitset(struct word *w, uint32_t val)
{
	return fwait(w, FUTEX_WAIT_BITSET_PRIVATE, val, NULL);
}

static long wake_bitset(struct word *w)
{
	return fwake(w, FUTEX_WAKE_BITSET_PRIVATE, 1);
}

static void mode_bitset(void)
{
	const struct timespec past = {.tv_nsec = 1};
	struct word *w = word_new("bitset", NULL);

	go();
	fwait(w, FUTEX_WAIT_BITSET_PRIVATE, 0, &past); /* it begins at 0 */
	take_turns(w, wait_bitset, wake_bitset);
}

static long wait2(struct word *w, uint32_t val)
{
	uint64_t begin = load_now_ns();

	return waited(w,
		      syscall(NR_FUTEX_WAIT, w->at, (unsigned long)val, ~0U,
			      0x82U /* private u32 */, NULL, 0),
		      begin);
}

static long wake2(struct word *w)
{
	return woke(w, syscall(NR_FUTEX_WAKE, w->at, ~0U, 1, 0x82U));
}

struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, pad;
};

static struct word *vector_first; /* nobody wakes it */

/* The second of two is woken, so that is where the wait belongs. */
static long waitv(struct word *w, uint32_t val)
{
	struct waitv v[2] = {
		{.uaddr = (uintptr_t)vector_first->at, .flags = 0x82},
		{.val = val, .uaddr = (uintptr_t)w->at, .flags = 0x82},
	};
	uint64_t begin = load_now_ns();
	long ret = syscall(NR_FUTEX_WAITV, v, 2, 0, NULL, 0);

	return waited(ret < 0 ? vector_first : w, ret, begin);
}

static void mode_futex2(void)
{
	if (syscall(NR_FUTEX_WAKE, values, ~0U, 1, 0x82U) < 0 && errno == ENOSYS)
		errx(3, "this kernel has no futex_wake");
	go();
	take_turns(word_new("futex2", NULL), wait2, wake2);
}

static void mode_waitv(void)
{
	if (syscall(NR_FUTEX_WAITV, NULL, 0, 0, NULL, 0) < 0 && errno == ENOSYS)
		errx(3, "this kernel has no futex_waitv");
	vector_first = word_new("first", NULL);
	go();
	take_turns(word_new("waitv", NULL), waitv, wake_bitset);
}

/* Waiters of one word are moved to another, and woken there: the wait began, and counts, at the
 * first. */
static struct word *from, *to;

static void *requeued(void *arg)
{
	fwait(from, FUTEX_WAIT_PRIVATE, 0, NULL);
	return NULL;
}

static void mode_requeue(void)
{
	pthread_t t[4];
	long moved = 0;
	int i;

	from = word_new("from", NULL);
	to = word_new("to", NULL);
	go();
	for (i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, requeued, NULL))
			errx(1, "cannot start a thread");
	while (moved < 4) {
		load_sleep_ns(1000000);
		moved += woke(from, syscall(SYS_futex, from->at, FUTEX_CMP_REQUEUE_PRIVATE, 0, 4L,
					    to->at, 0));
	}
	fwake(to, FUTEX_WAKE_PRIVATE, 4);
	for (i = 0; i < 4; i++)
		(void)pthread_join(t[i], NULL);
}

/* ---- shared ---- */

/* A page that two processes share, at addresses of their own; both count in it. */
static void mode_shared(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t *at, *there;
	struct word *w;
	char *moved;
	pid_t child;
	int status;

	if (memory == MAP_FAILED)
		err(1, "mmap");
	w = (struct word *)memory;
	at = (uint32_t *)(memory + page + 64);
	there = (uint32_t *)(memory + page + 128);
	*w = (struct word){.name = "shared", .at = at};
	go();
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		moved = mremap(memory + page, 0, page, MREMAP_MAYMOVE); /* the same page again */
		if (moved == MAP_FAILED)
			err(1, "mremap");
		__atomic_store_n(there, 1, __ATOMIC_RELEASE);
	} else {
		moved = memory + page;
		while (!__atomic_load_n(there, __ATOMIC_ACQUIRE))
			load_sleep_ns(1000000);
	}
	/* its own copy of the record, whose counters are in the shared page */
	for (unsigned long i = 0; i < count; i++) {
		uint32_t zero = 0, *mine = (uint32_t *)(moved + 64);
		uint64_t begin;

		if (!__atomic_compare_exchange_n(mine, &zero, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			while (__atomic_exchange_n(mine, 2, __ATOMIC_ACQUIRE)) {
				begin = load_now_ns();
				(void)waited(w, syscall(SYS_futex, mine, FUTEX_WAIT, 2, NULL),
					     begin);
			}
		load_sleep_ns(hold_ns);
		if (__atomic_exchange_n(mine, 0, __ATOMIC_RELEASE) == 2)
			(void)woke(w, syscall(SYS_futex, mine, FUTEX_WAKE, 1));
	}
	if (!child) {
		load_sleep_ns(1000000000); /* to be looked at, also on a busy machine */
		_exit(0);
	}
	if (waitpid(child, &status, 0) < 0 || status)
		errx(1, "the child failed");
	words[nwords++] = *w;
}

/* ---- the ends of threads and processes ---- */

/* Waits that only the end of their process ends. */
static void *forever_waiter(void *arg)
{
	fwait(arg, FUTEX_WAIT_PRIVATE, 2, NULL);
	return NULL;
}

static void mode_killed(void)
{
	struct word *w = word_new("killed", NULL);
	pthread_t t;
	int i;

	*w->at = 2;
	go();
	for (i = 0; i < 3; i++)
		if (pthread_create(&t, NULL, forever_waiter, w))
			errx(1, "cannot start a thread");
	for (;;)
		load_sleep_ns(1000000000);
}

/* After an exec the same address is another variable's. */
static void mode_exec(void)
{
	static char *args[] = {"futex", "eagain", "5", NULL};

	go();
	(void)execv("/proc/self/exe", args);
	err(1, "exec");
}

/* ---- idle or not ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t shared_rwlock; /* between processes */
static sem_t semaphore;
static uint32_t joined; /* as a thread's word, of glibc 2.43 */
static unsigned long ready;

static void *consumer(void *arg)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		(void)pthread_mutex_lock(&mutex);
		while (ready <= i)
			(void)pthread_cond_wait(&cond, &mutex);
		(void)pthread_mutex_unlock(&mutex);
		while (sem_wait(&semaphore))
			;
	}
	return NULL;
}

static void *writer(void *lock)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		(void)pthread_rwlock_wrlock(lock);
		load_sleep_ns(hold_ns);
		(void)pthread_rwlock_unlock(lock);
	}
	return NULL;
}

/* With pauses: a writer waits for it, and is let in. */
static void *reader(void *lock)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		(void)pthread_rwlock_rdlock(lock);
		load_sleep_ns(hold_ns);
		(void)pthread_rwlock_unlock(lock);
		load_sleep_ns(hold_ns / 2);
	}
	return NULL;
}

static volatile pid_t joiner_tid;

/* pthread_join(), and what the kernel does when the thread ends (CLONE_CHILD_CLEARTID). */
static void *joiner(void *arg)
{
	joiner_tid = load_tid();
	while (__atomic_load_n(&joined, __ATOMIC_SEQ_CST) == 2)
		(void)syscall(SYS_futex, &joined, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 2, NULL,
			      NULL, FUTEX_BITSET_MATCH_ANY);
	return NULL;
}

static void *ender(void *arg)
{
	while (!joiner_tid)
		load_sleep_ns(hold_ns);
	load_await_blocked(joiner_tid);
	__atomic_store_n(&joined, 0, __ATOMIC_SEQ_CST);
	(void)syscall(SYS_futex, &joined, FUTEX_WAKE, 1);
	return NULL;
}

static void *producer(void *arg)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		load_sleep_ns(hold_ns);
		(void)pthread_mutex_lock(&mutex);
		ready++;
		(void)pthread_cond_signal(&cond);
		(void)pthread_mutex_unlock(&mutex);
		load_sleep_ns(hold_ns);
		(void)sem_post(&semaphore);
	}
	return NULL;
}

static void range(const char *name, const void *at, size_t len)
{
	printf("{\"name\":\"%s\",\"addr\":\"0x%" PRIxPTR "\",\"len\":%zu}\n", name, (uintptr_t)at,
	       len);
}

static void mode_glibc(void)
{
	const struct {
		void *(*fn)(void *);
		void *arg;
	} threads[] = {
		{consumer, NULL},	  {producer, NULL},
		{writer, &rwlock},	  {writer, &rwlock},
		{writer, &shared_rwlock}, {reader, &shared_rwlock},
		{joiner, NULL},		  {ender, NULL},
	};
	pthread_t t[sizeof(threads) / sizeof(threads[0])];
	pthread_rwlockattr_t shared;
	size_t i;

	if (sem_init(&semaphore, 0, 0))
		err(1, "sem_init");
	joined = 2;
	(void)pthread_rwlockattr_init(&shared);
	(void)pthread_rwlockattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	(void)pthread_rwlock_init(&shared_rwlock, &shared);
	go();
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (pthread_create(&t[i], NULL, threads[i].fn, threads[i].arg))
			errx(1, "cannot start a thread");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		(void)pthread_join(t[i], NULL);
	range("shared rwlock", &shared_rwlock, sizeof(shared_rwlock));
	range("join", &joined, sizeof(joined));
	range("mutex", &mutex, sizeof(mutex));
	range("cond", &cond, sizeof(cond));
	range("rwlock", &rwlock, sizeof(rwlock));
	range("semaphore", &semaphore, sizeof(semaphore));
}

/* ---- 32-bit calls, which a 64-bit program may make too ---- */

#ifdef __x86_64__
static long int80(long nr, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int32_t)ret;
}

static void mode_compat(void)
{
	void *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	uint32_t *timeout = low, at;
	struct word *w;
	unsigned long i;

	if (low == MAP_FAILED)
		err(1, "mmap");
	w = word_new("compat", (uint32_t *)low + 16);
	at = (uint32_t)(uintptr_t)w->at;
	timeout[1] = 1000000; /* a 32-bit struct timespec */
	*w->at = 2;
	if (int80(240, at, FUTEX_WAKE_PRIVATE, 1, 0) == -ENOSYS)
		errx(3, "this kernel runs no 32-bit programs");
	go();
	for (i = 0; i < count; i++) {
		uint64_t begin = load_now_ns();
		long ret = int80(240, at, FUTEX_WAIT_PRIVATE, 2, (uint32_t)(uintptr_t)low);

		errno = ret < 0 ? (int)-ret : 0;
		(void)waited(w, ret < 0 ? -1 : ret, begin);
	}
}
#else
static void mode_compat(void)
{
	errx(3, "32-bit calls are made on x86 only");
}
#endif

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"threads", mode_threads}, {"pi", mode_pi},	      {"eagain", mode_eagain},
	{"timeout", mode_timeout}, {"failed", mode_failed},   {"signal", mode_signal},
	{"restart", mode_restart}, {"bitset", mode_bitset},   {"futex2", mode_futex2},
	{"waitv", mode_waitv},	   {"requeue", mode_requeue}, {"shared", mode_shared},
	{"killed", mode_killed},   {"exec", mode_exec},	      {"glibc", mode_glibc},
	{"compat", mode_compat},
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2 || argc > 3)
		errx(2, "usage: futex MODE [N]");
	if (argc == 3)
		count = load_number(argv[2], 1, 1000000, "N");
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		modes[i].run();
		print_words();
		return 0;
	}
	errx(2, "'%s': no such mode", argv[1]);
}
