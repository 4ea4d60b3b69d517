// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that come and go, as in days of a busy machine: each has a name of its own, two threads
 * that wait for each other's locks (private and shared futexes, the kernel's mmap_lock) and fight
 * over a line of shared memory. With DIR it makes and unlinks a file there, with CGROUP a cgroup of
 * its own below that.
 *
 *	generations COUNT [DIR [CGROUP]]
 *	stdout: {"pid":P}, waits for a byte, {"processes":N}
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "load.h"

#define AT_A_TIME 4
#define ROUNDS 2
#define HOLD_NS 100000
#define FIGHT_NS 400000

struct common {
	pthread_mutex_t lock;
	volatile uint64_t words[2] __attribute__((aligned(64)));
};

struct life {
	pthread_mutex_t lock;
	struct common *shared;
	pthread_barrier_t together;
};

static void usage(void)
{
	fputs("usage: generations COUNT [DIR [CGROUP]]\n"
	      "COUNT short-lived processes with threads that contend, some at a time.\n",
	      stderr);
	exit(2);
}

/* Who comes second waits. */
static void hold(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	load_sleep_ns(HOLD_NS);
	pthread_mutex_unlock(lock);
}

static void fight(volatile uint64_t *word)
{
	uint64_t end = load_now_ns() + FIGHT_NS;
	int i;

	while (load_now_ns() < end)
		for (i = 0; i < 256; i++)
			(*word)++;
}

/* Mapping takes the address space for itself. */
static void map_pages(void)
{
	void *p;
	int i;

	for (i = 0; i < 16; i++) {
		p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			err(1, "mmap");
		*(volatile char *)p = 1;
		munmap(p, 65536);
	}
}

static void live(struct life *l, int who)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&l->together);
		hold(&l->lock);
		hold(&l->shared->lock);
		map_pages();
	}
	fight(&l->shared->words[who]);
}

static void *second(void *arg)
{
	live(arg, 1);
	return NULL;
}

static void two_threads(void)
{
	struct life l;
	pthread_mutexattr_t attr;
	pthread_t thread;

	l.shared = mmap(NULL, sizeof(*l.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (l.shared == MAP_FAILED)
		err(1, "mmap");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&l.shared->lock, &attr);
	pthread_mutex_init(&l.lock, NULL);
	pthread_barrier_init(&l.together, NULL, 2);
	errno = pthread_create(&thread, NULL, second, &l);
	if (errno)
		err(1, "thread");
	live(&l, 0);
	pthread_join(thread, NULL);
}

static void use_file(const char *dir)
{
	char path[4096], data[4096] = "generations";
	int fd;

	if (snprintf(path, sizeof(path), "%s/%d", dir, (int)getpid()) >= (int)sizeof(path))
		errx(1, "%s: too long", dir);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, data, sizeof(data)) != (ssize_t)sizeof(data) || close(fd) ||
	    unlink(path))
		err(1, "%s", path);
}

/* "CGROUP/PID": made by its process, removed by who reaps it. */
static void cgroup_path(char *path, size_t len, const char *cgroup, pid_t pid)
{
	if (snprintf(path, len, "%s/%d", cgroup, (int)pid) >= (int)len)
		errx(1, "%s: too long", cgroup);
}

static void join_cgroup(const char *cgroup)
{
	char path[4096], procs[4200];
	int fd;

	cgroup_path(path, sizeof(path), cgroup, getpid());
	if (mkdir(path, 0700))
		err(1, "%s", path);
	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", path); /* fits */
	fd = open(procs, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1 || close(fd))
		err(1, "%s", procs);
}

static void start(const char *dir, const char *cgroup)
{
	char name[16];
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return;
	(void)snprintf(name, sizeof(name), "gen-%d", (int)getpid()); /* fits */
	prctl(PR_SET_NAME, name);
	if (cgroup)
		join_cgroup(cgroup);
	if (dir)
		use_file(dir);
	two_threads();
	_exit(0);
}

static void reap(const char *cgroup)
{
	char path[4096];
	int status;
	pid_t pid = wait(&status);

	if (pid < 0)
		err(1, "wait");
	if (status)
		errx(1, "a process ended with status %d", status);
	if (!cgroup)
		return;
	cgroup_path(path, sizeof(path), cgroup, pid);
	if (rmdir(path))
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	const char *dir = argc > 2 ? argv[2] : NULL, *cgroup = argc > 3 ? argv[3] : NULL;
	unsigned long i, count, running = 0;

	if (argc < 2 || argc > 4)
		usage();
	count = load_number(argv[1], 1, 10000000, "COUNT");
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	load_wait_stdin();
	for (i = 0; i < count; i++) {
		if (running == AT_A_TIME) {
			reap(cgroup);
			running--;
		}
		start(dir, cgroup);
		running++;
	}
	for (; running; running--)
		reap(cgroup);
	printf("{\"processes\":%lu}\n", count);
	return 0;
}
