// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks COUNT times on which block of the device the first block of a file lies. Each is exactly one
 * look-up in the extent status tree, and nothing else.
 *
 *	stdout: {"pid":P}, waits for a byte, {"lookups":N,"cpu_ns":T}
 */
#include "fs.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

static void ask(int fd, unsigned long times)
{
	unsigned long i;
	int block;

	for (i = 0; i < times; i++) {
		block = 0;
		if (ioctl(fd, FIBMAP, &block))
			err(1, "FIBMAP");
		if (!block)
			errx(1, "FIBMAP: the file has no first block");
	}
}

int main(int argc, char **argv)
{
	unsigned long count;
	uint64_t before;
	int fd;

	if (argc != 3) {
		fputs("usage: fibmap FILE COUNT\n"
		      "Makes FILE, one block long, and asks COUNT times where it lies.\n",
		      stderr);
		return 2;
	}
	count = load_number(argv[2], 1, 100000000, "COUNT");
	fd = fs_data_file(argv[1], FS_PAGE);
	ask(fd, 1); /* from now on the extent is in the tree */
	fs_begin();
	before = load_cpu_ns();
	ask(fd, count);
	printf("{\"lookups\":%lu,\"cpu_ns\":%" PRIu64 "}\n", count, load_cpu_ns() - before);
	return 0;
}
