// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads, each on its own CPU, whose system calls meet in the kernel's memory:
 *
 *	klines MODE DIR SECONDS
 *
 *	pwrite	write one file: ext4_inode_info.vfs_inode.i_rwsem
 *	create	create and unlink files in one directory: its i_rwsem
 *	dup	duplicate and close one descriptor: file.f_ref, files_struct.file_lock
 *	stat	look at one file by its path: dentry.d_lockref
 *
 *	stdout: {"pid":P}, waits for a byte, {"ops":[N,N],"cpu_ns":[N,N]}
 */
#include "fs.h"

#include <pthread.h>
#include <string.h>

struct shared {
	const char *dir;
	char path[4096];
	int fd;
	uint64_t end_ns;
	void (*op)(const struct shared *s, int id);
};

struct worker {
	pthread_t thread;
	const struct shared *s;
	int id;
	uint64_t ops, cpu_ns;
} __attribute__((aligned(64)));

static void op_pwrite(const struct shared *s, int id)
{
	char data[64] = "";

	fs_pwrite(s->fd, data, sizeof(data), 0);
}

static void op_create(const struct shared *s, int id)
{
	char path[4200];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/new.%d", s->dir, id); /* fits */
	fd = fs_open(path, O_RDWR | O_CREAT | O_EXCL);
	if (unlink(path))
		err(1, "%s", path);
	close(fd);
}

static void op_dup(const struct shared *s, int id)
{
	int fd = dup(s->fd);

	if (fd < 0)
		err(1, "dup");
	close(fd);
}

static void op_stat(const struct shared *s, int id)
{
	struct stat st;

	if (stat(s->path, &st))
		err(1, "%s", s->path);
}

static const struct {
	const char *name;
	void (*op)(const struct shared *s, int id);
} modes[] = {{"pwrite", op_pwrite}, {"create", op_create}, {"dup", op_dup}, {"stat", op_stat}};

static void *work(void *arg)
{
	struct worker *w = arg;

	load_pin((unsigned int)w->id);
	while (load_now_ns() < w->s->end_ns) {
		w->s->op(w->s, w->id);
		w->ops++;
	}
	w->cpu_ns = load_cpu_ns();
	return NULL;
}

static void run(struct shared *s)
{
	struct worker w[2] = {{.id = 0}, {.id = 1}};
	int k;

	for (k = 0; k < 2; k++) {
		w[k].s = s;
		errno = pthread_create(&w[k].thread, NULL, work, &w[k]);
		if (errno)
			err(1, "thread");
	}
	for (k = 0; k < 2; k++)
		pthread_join(w[k].thread, NULL);
	printf("{\"ops\":[%" PRIu64 ",%" PRIu64 "],\"cpu_ns\":[%" PRIu64 ",%" PRIu64 "]}\n",
	       w[0].ops, w[1].ops, w[0].cpu_ns, w[1].cpu_ns);
}

int main(int argc, char **argv)
{
	static struct shared s;
	unsigned long seconds;
	size_t k;

	for (k = 0; argc == 4 && k < sizeof(modes) / sizeof(modes[0]); k++)
		if (!strcmp(argv[1], modes[k].name))
			s.op = modes[k].op;
	if (!s.op) {
		fputs("usage: klines pwrite|create|dup|stat DIR SECONDS\n", stderr);
		return 2;
	}
	s.dir = argv[2];
	seconds = load_number(argv[3], 1, 600, "SECONDS");
	if (snprintf(s.path, sizeof(s.path), "%s/one", s.dir) >= (int)sizeof(s.path))
		errx(1, "%s: too long", s.dir);
	s.fd = fs_open(s.path, O_RDWR | O_CREAT);
	fs_begin();
	s.end_ns = load_now_ns() + seconds * 1000000000ULL;
	run(&s);
	return 0;
}
