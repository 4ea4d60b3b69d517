// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * COUNT times a write and an fsync of a file by io_uring, by its worker threads: the kernel makes
 * these in this process, without a fork. --thread: a second thread asks for it, not the first.
 *
 *	stdout: {"pid":P,"tid":T}, T the thread that asks; waits for a byte,
 *		{"fsyncs":N,"workers":[TID,...]}
 */
#include "fs.h"

#include <dirent.h>
#include <linux/io_uring.h>
#include <pthread.h>

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

struct job {
	const char *path;
	unsigned long count;
	struct ring ring;
	int file;
};

static void *ring_map(int fd, size_t len, off_t at)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	if (p == MAP_FAILED)
		err(1, "io_uring: mmap");
	return p;
}

static void ring_open(struct ring *r)
{
	struct io_uring_params p = {0};
	char *sq, *cq;

	r->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (r->fd < 0)
		err(77, "io_uring");
	sq = ring_map(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned int),
		      IORING_OFF_SQ_RING);
	cq = ring_map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	r->sqes = ring_map(r->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	r->sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	r->sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	r->sq_array = (unsigned int *)(sq + p.sq_off.array);
	r->cq_head = (unsigned int *)(cq + p.cq_off.head);
	r->cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	r->cq_mask = (unsigned int *)(cq + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

/* One operation, done by a worker; returns when it is complete. */
static void ring_do(struct ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, at = tail & *r->sq_mask, head = *r->cq_head;

	r->sqes[at] = *sqe;
	r->sqes[at].flags = IOSQE_ASYNC;
	r->sq_array[at] = at;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		err(1, "io_uring_enter");
	while (__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) == head)
		if (syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
		    errno != EINTR)
			err(1, "io_uring_enter");
	if (r->cqes[head & *r->cq_mask].res < 0)
		errx(1, "io_uring: %s", strerror(-r->cqes[head & *r->cq_mask].res));
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
}

static void print_workers(void)
{
	char path[64], comm[32];
	const char *comma = "";
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;
	FILE *f;

	if (!dir)
		err(1, "/proc/self/task");
	while ((d = readdir(dir))) {
		(void)snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", d->d_name);
		f = *d->d_name == '.' ? NULL : fopen(path, "re");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) && !strncmp(comm, "iou-wrk", 7)) {
			printf("%s%s", comma, d->d_name);
			comma = ",";
		}
		fclose(f);
	}
	closedir(dir);
}

static void *run(void *arg)
{
	static char block[FS_PAGE];
	struct job *j = arg;

	printf("{\"pid\":%d,\"tid\":%d}\n", (int)getpid(), (int)load_tid());
	fflush(stdout);
	load_wait_stdin();
	for (unsigned long i = 0; i < j->count; i++) {
		ring_do(&j->ring, &(struct io_uring_sqe){.opcode = IORING_OP_WRITE,
							 .fd = j->file,
							 .addr = (uintptr_t)block,
							 .len = FS_PAGE,
							 .off = i * FS_PAGE});
		ring_do(&j->ring, &(struct io_uring_sqe){.opcode = IORING_OP_FSYNC, .fd = j->file});
	}
	printf("{\"fsyncs\":%lu,\"workers\":[", j->count);
	print_workers();
	puts("]}");
	return NULL;
}

int main(int argc, char **argv)
{
	bool thread = argc == 4 && !strcmp(argv[1], "--thread");
	struct job j = {0};
	pthread_t t;

	if (argc != 3 + thread) {
		fputs("usage: uring [--thread] FILE COUNT\n"
		      "COUNT writes and fsyncs of FILE by io_uring's workers.\n",
		      stderr);
		return 2;
	}
	j.path = argv[1 + thread];
	j.count = load_number(argv[2 + thread], 1, 100000, "COUNT");
	j.file = fs_open(j.path, O_CREAT | O_TRUNC | O_WRONLY);
	ring_open(&j.ring);
	if (!thread) {
		run(&j);
		return 0;
	}
	errno = pthread_create(&t, NULL, run, &j);
	if (errno)
		err(1, "thread");
	pthread_join(t, NULL);
	return 0;
}
