// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that each read a sparse file of their own, in one directory, through a mapping. Every
 * page of a hole that is not in the page cache is one look-up in the file's extent status tree.
 *
 *	stdout: {"pid":P}, waits for a byte, {"pids":[...],"pages":N}
 */
#include "fs.h"

#include <getopt.h>
#include <sys/wait.h>

#define PROCS_MAX 256

struct job {
	const char *dir;
	unsigned long procs, mib, rounds;
	bool random; /* MADV_RANDOM: no read-ahead, one fault for each page */
};

static void usage(void)
{
	fputs("usage: mmapread [--random] DIR PROCESSES MIB ROUNDS\n"
	      "PROCESSES processes read every page of a sparse file of MIB MiB each, ROUNDS times.\n",
	      stderr);
	exit(2);
}

static void read_pages(const struct job *j, int fd)
{
	size_t len = j->mib << 20, at;
	volatile unsigned char *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	unsigned int sum = 0;

	if (map == MAP_FAILED)
		err(1, "mmap");
	if (j->random && madvise((void *)map, len, MADV_RANDOM))
		err(1, "madvise");
	for (at = 0; at < len; at += FS_PAGE)
		sum += map[at];
	if (sum)
		errx(1, "a hole that is not zero");
	if (munmap((void *)map, len))
		err(1, "munmap");
}

static void reader(const struct job *j, unsigned long index)
{
	char path[4096];
	unsigned long r;
	int fd;

	if (snprintf(path, sizeof(path), "%s/sparse.%lu", j->dir, index) >= (int)sizeof(path))
		errx(1, "%s: too long", j->dir);
	fd = fs_open(path, O_RDONLY);
	for (r = 0; r < j->rounds; r++) {
		fs_drop_cache(fd);
		read_pages(j, fd);
	}
	exit(0);
}

static void make_files(const struct job *j)
{
	char path[4096];
	unsigned long i;

	for (i = 0; i < j->procs; i++) {
		if (snprintf(path, sizeof(path), "%s/sparse.%lu", j->dir, i) >= (int)sizeof(path))
			errx(1, "%s: too long", j->dir);
		close(fs_sparse_file(path, j->mib << 20));
	}
}

static void run(const struct job *j)
{
	pid_t pids[PROCS_MAX];
	unsigned long i;
	int status, failed = 0;

	for (i = 0; i < j->procs; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			err(1, "fork");
		if (!pids[i])
			reader(j, i);
	}
	for (i = 0; i < j->procs; i++)
		failed += waitpid(pids[i], &status, 0) < 0 || status;
	if (failed)
		errx(1, "%d of the readers failed", failed);
	printf("{\"pids\":[");
	for (i = 0; i < j->procs; i++)
		printf("%s%d", i ? "," : "", (int)pids[i]);
	printf("],\"pages\":%lu}\n", j->procs * j->rounds * (j->mib << 20) / FS_PAGE);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"random", no_argument, NULL, 'r'}, {0}};
	struct job j = {0};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'r')
			usage();
		j.random = true;
	}
	if (argc - optind != 4)
		usage();
	j.dir = argv[optind];
	j.procs = load_number(argv[optind + 1], 1, PROCS_MAX, "PROCESSES");
	j.mib = load_number(argv[optind + 2], 1, 1024, "MIB");
	j.rounds = load_number(argv[optind + 3], 1, 100000, "ROUNDS");
	make_files(&j);
	fs_begin();
	run(&j);
	return 0;
}
