// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contends for kernel locks that are known by what is done.
 *
 *	locks pipe N MILLISECONDS	N writers and N readers of one pipe: its mutex
 *	locks socket N MILLISECONDS	the same of a pair of UNIX sockets: unix_sock.iolock
 *	locks mmap N MILLISECONDS	N threads map, touch and unmap: mm_struct.mmap_lock
 *	locks futex N MILLISECONDS	N threads sleep on a futex that only they use, two look
 *				through all of them: the lock of its bucket
 *	locks shared N MILLISECONDS	the same by N processes, on a futex of them all
 *	locks dir N MILLISECONDS PATH	N processes create and unlink in one directory: its i_rwsem
 *
 *	stdout: {"pid":P}		before the work; it waits for a byte on stdin
 *		{"ops":N}		after it: what all have done together
 */
#include "load.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define WORKERS_MAX 64

struct mode;
struct work;

struct worker {
	struct work *work;
	unsigned int index;
	uint64_t ops;
	pthread_t thread;
};

/* Shared memory: workers may be processes. */
struct work {
	const struct mode *mode;
	int pipe[2];
	const char *dir;
	uint32_t word; /* the futex */
	unsigned int n;
	uint64_t duration_ns, end_ns;
	pthread_barrier_t begin;
	struct worker workers[WORKERS_MAX];
};

struct mode {
	const char *name;
	void (*run)(struct worker *w);
	unsigned int roles; /* workers for each of N */
	bool processes;
	bool path;
};

static bool over(const struct worker *w)
{
	return load_now_ns() >= w->work->end_ns;
}

/* Even workers write, odd ones read. The pipe does not block: nobody is left waiting at the end. */
static void run_pipe(struct worker *w)
{
	char buf[64] = {0};
	ssize_t n;

	while (!over(w)) {
		if (w->index % 2)
			n = read(w->work->pipe[0], buf, sizeof(buf));
		else
			n = write(w->work->pipe[1], buf, sizeof(buf));
		if (n < 0 && errno != EAGAIN)
			err(1, "pipe");
		w->ops += n > 0;
	}
}

static void run_mmap(struct worker *w)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = 8 * page, at;
	char *p;

	while (!over(w)) {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			err(1, "mmap");
		for (at = 0; at < len; at += page)
			p[at] = 1;
		if (munmap(p, len))
			err(1, "munmap");
		w->ops++;
	}
}

static void run_dir(struct worker *w)
{
	char path[4096];
	int fd;

	while (!over(w)) {
		(void)snprintf(path, sizeof(path), "%s/%u-%u", w->work->dir, w->index,
			       (unsigned int)(w->ops % 16)); /* cut: open fails */
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			err(1, "%s", path);
		close(fd);
		if (unlink(path))
			err(1, "%s", path);
		w->ops++;
	}
}

#define SLEEPS 1U /* bits of whom it is for */
#define NOBODY 2U

/* Two wake whom nobody is: the kernel looks at all who sleep, under the bucket's lock. */
static void run_futex(struct worker *w)
{
	int flag = w->work->mode->processes ? 0 : FUTEX_PRIVATE_FLAG;
	uint64_t end = w->work->end_ns;
	struct timespec until = {(time_t)(end / 1000000000U), (long)(end % 1000000000U)};
	uint32_t *word = &w->work->word;

	for (; !over(w); w->ops++) {
		if (w->index > 1)
			(void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET | flag, 0, &until, NULL,
				      SLEEPS);
		else if (syscall(SYS_futex, word, FUTEX_WAKE_BITSET | flag, 1, NULL, NULL, NOBODY))
			err(1, "futex");
	}
}

static const struct mode modes[] = {
	{"pipe", run_pipe, 2, false, false},   {"mmap", run_mmap, 1, false, false},
	{"futex", run_futex, 1, false, false}, {"shared", run_futex, 1, true, false},
	{"dir", run_dir, 1, true, true},       {"socket", run_pipe, 2, false, false},
};

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&w->work->begin);
	w->work->mode->run(w);
	return NULL;
}

static void start_process(struct worker *w)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return;
	(void)work(w);
	_exit(0);
}

static void run_all(struct work *s)
{
	unsigned int i;
	int status;

	for (i = 0; i < s->n; i++) {
		s->workers[i] = (struct worker){.work = s, .index = i};
		if (s->mode->processes) {
			start_process(&s->workers[i]);
			continue;
		}
		errno = pthread_create(&s->workers[i].thread, NULL, work, &s->workers[i]);
		if (errno)
			err(1, "thread %u", i);
	}
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	load_wait_stdin();
	s->end_ns = load_now_ns() + s->duration_ns;
	pthread_barrier_wait(&s->begin);
	for (i = 0; i < s->n; i++) {
		if (!s->mode->processes)
			pthread_join(s->workers[i].thread, NULL);
		else if (wait(&status) < 0 || status)
			errx(1, "a worker failed");
	}
}

static struct work *shared_work(void)
{
	struct work *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		err(1, "shared memory");
	return s;
}

static void open_work(struct work *s)
{
	pthread_barrierattr_t attr;

	if (pthread_barrierattr_init(&attr) ||
	    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) ||
	    pthread_barrier_init(&s->begin, &attr, s->n + 1))
		errx(1, "barrier");
	if (!strcmp(s->mode->name, "socket")
		    ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s->pipe)
		    : pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK))
		err(1, "%s", s->mode->name);
}

int main(int argc, char **argv)
{
	struct work *s = shared_work();
	uint64_t ops = 0;
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			s->mode = &modes[i];
	if (!s->mode || argc != (s->mode->path ? 5 : 4))
		errx(2,
		     "usage: locks pipe|socket|mmap|futex|shared N MILLISECONDS | locks dir N MILLISECONDS PATH");
	s->n = (unsigned int)load_number(argv[2], 1, WORKERS_MAX / s->mode->roles, "N") *
	       s->mode->roles;
	s->duration_ns = load_number(argv[3], 1, 3600000, "MILLISECONDS") * 1000000ULL;
	s->dir = argv[4];
	open_work(s);
	run_all(s);
	for (i = 0; i < s->n; i++)
		ops += s->workers[i].ops;
	printf("{\"ops\":%" PRIu64 "}\n", ops);
	return 0;
}
