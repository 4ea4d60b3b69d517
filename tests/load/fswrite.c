// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * COUNT writes of BYTES, one after the other, to a new file. At most one of: the file is opened
 * with O_DSYNC; each write is followed by an fsync or fdatasync. --untouched: each write is from
 * memory that was never touched, so that its copy faults. --over: all to the first BYTES, which are
 * there.
 *
 *	stdout: {"pid":P}, waits for a byte,
 *		{"writes":N,"syncs":N,"bytes":N,"write_ns":T,"sync_ns":T,"delay_ns":T}
 *
 * delay_ns: how long it was queued for a CPU meanwhile, by the kernel's account (schedstat).
 */
#include "fs.h"

#include <getopt.h>

struct job {
	const char *path;
	unsigned long count, bytes, pause_us;
	int open_flags;
	int (*sync)(int fd);
	bool untouched, over;
	uint64_t write_ns, sync_ns, delay_ns;
};

static void usage(void)
{
	fputs("usage: fswrite [--dsync|--fsync|--fdatasync] [--untouched] [--over] [--pause USEC] FILE\n"
	      "               COUNT BYTES\n"
	      "COUNT writes of BYTES each to FILE, which is made anew.\n",
	      stderr);
	exit(2);
}

static char *fresh_memory(size_t len)
{
	char *buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		err(1, "mmap");
	return buf;
}

static void run(struct job *j, int fd)
{
	char *buf = fresh_memory(j->bytes);
	uint64_t before, written;
	unsigned long i;

	if (!j->untouched)
		memset(buf, 'w', j->bytes);
	j->delay_ns = load_schedstat(load_tid()).delay_ns;
	for (i = 0; i < j->count; i++) {
		before = load_now_ns();
		fs_pwrite(fd, buf, j->bytes, j->over ? 0 : (off_t)(i * j->bytes));
		written = load_now_ns();
		j->write_ns += written - before;
		if (j->sync && j->sync(fd))
			err(1, "%s: sync", j->path);
		j->sync_ns += load_now_ns() - written;
		if (j->untouched) {
			munmap(buf, j->bytes);
			buf = fresh_memory(j->bytes);
		}
		if (j->pause_us)
			load_sleep_ns(j->pause_us * 1000);
	}
	j->delay_ns = load_schedstat(load_tid()).delay_ns - j->delay_ns;
}

static void parse(struct job *j, int argc, char **argv)
{
	static const struct option options[] = {
		{"dsync", no_argument, NULL, 'd'},
		{"fsync", no_argument, NULL, 'f'},
		{"fdatasync", no_argument, NULL, 'a'},
		{"untouched", no_argument, NULL, 'u'},
		{"over", no_argument, NULL, 'o'},
		{"pause", required_argument, NULL, 'p'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'd')
			j->open_flags = O_DSYNC;
		else if (c == 'f' || c == 'a')
			j->sync = c == 'f' ? fsync : fdatasync;
		else if (c == 'u')
			j->untouched = true;
		else if (c == 'o')
			j->over = true;
		else if (c == 'p')
			j->pause_us = load_number(optarg, 1, 1000000, "--pause");
		else
			usage();
	}
	if (argc - optind != 3 || (j->open_flags && j->sync))
		usage();
	j->path = argv[optind];
	j->count = load_number(argv[optind + 1], 1, 100000000, "COUNT");
	j->bytes = load_number(argv[optind + 2], 1, 1UL << 30, "BYTES");
}

int main(int argc, char **argv)
{
	struct job j = {0};
	int fd;

	parse(&j, argc, argv);
	close(fs_data_file(j.path, j.over ? j.bytes : 0));
	fd = fs_open(j.path, O_WRONLY | j.open_flags);
	fs_begin();
	run(&j, fd);
	printf("{\"writes\":%lu,\"syncs\":%lu,\"bytes\":%lu,\"write_ns\":%" PRIu64
	       ",\"sync_ns\":%" PRIu64 ",\"delay_ns\":%" PRIu64 "}\n",
	       j.count, j.sync || j.open_flags ? j.count : 0, j.count * j.bytes, j.write_ns,
	       j.sync_ns, j.delay_ns);
	return 0;
}
