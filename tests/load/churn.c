// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that each create and unlink COUNT files, each with 4 KiB in it: many small handles of
 * the journal. --keep-open N: the last N files stay open after the unlinking, until the end.
 *
 *	stdout: {"pid":P}, waits for a byte, {"created":N,"unlinked":N}; with --keep-open then waits
 *	for another byte
 */
#include "fs.h"

#include <getopt.h>
#include <sys/wait.h>

#define KEEP_MAX 256

struct job {
	const char *dir;
	unsigned long procs, count, keep;
};

static void usage(void)
{
	fputs("usage: churn [--keep-open N] DIR PROCESSES COUNT\n"
	      "PROCESSES processes create, write and unlink COUNT files each in DIR.\n",
	      stderr);
	exit(2);
}

static void churn(const struct job *j, unsigned long proc)
{
	char path[4096], data[FS_PAGE];
	unsigned long i;
	int fd;

	memset(data, 'w', sizeof(data));
	for (i = 0; i < j->count; i++) {
		if (snprintf(path, sizeof(path), "%s/churn.%lu.%lu", j->dir, proc, i) >=
		    (int)sizeof(path))
			errx(1, "%s: too long", j->dir);
		fd = fs_open(path, O_RDWR | O_CREAT | O_EXCL);
		fs_pwrite(fd, data, sizeof(data), 0);
		if (unlink(path))
			err(1, "%s", path);
		if (i + j->keep < j->count)
			close(fd);
	}
}

static void run(const struct job *j)
{
	unsigned long i;
	int status, failed = 0;
	pid_t pid;

	for (i = 1; i < j->procs; i++) {
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			churn(j, i);
			_exit(0);
		}
	}
	churn(j, 0);
	while (wait(&status) > 0)
		failed += status != 0;
	if (failed)
		errx(1, "%d of the processes failed", failed);
	printf("{\"created\":%lu,\"unlinked\":%lu}\n", j->procs * j->count, j->procs * j->count);
	fflush(stdout);
	if (j->keep)
		load_wait_stdin();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"keep-open", required_argument, NULL, 'k'}, {0}};
	struct job j = {0};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'k')
			usage();
		j.keep = load_number(optarg, 1, KEEP_MAX, "--keep-open");
	}
	if (argc - optind != 3)
		usage();
	j.dir = argv[optind];
	j.procs = load_number(argv[optind + 1], 1, 256, "PROCESSES");
	j.count = load_number(argv[optind + 2], 1, 10000000, "COUNT");
	fs_begin();
	run(&j);
	return 0;
}
