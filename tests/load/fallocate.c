// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * COUNT rounds on one file: 64 KiB allocated, a page in the middle punched out, another zeroed, the
 * first page collapsed, and the file truncated to nothing.
 *
 *	stdout: {"pid":P}, waits for a byte,
 *		{"fallocate":N,"punch":N,"zero":N,"collapse":N,"truncate":N}
 */
#include "fs.h"

#define LEN (64 * 1024)

static const struct {
	int mode;
	off_t at, len;
} steps[] = {
	{0, 0, LEN},
	{FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4 * FS_PAGE, FS_PAGE},
	{FALLOC_FL_ZERO_RANGE, 8 * FS_PAGE, FS_PAGE},
	{FALLOC_FL_COLLAPSE_RANGE, 0, FS_PAGE},
};

int main(int argc, char **argv)
{
	unsigned long count, i;
	size_t k;
	int fd;

	if (argc != 3) {
		fputs("usage: fallocate FILE COUNT\n"
		      "COUNT times: allocate, punch, zero, collapse and truncate FILE.\n",
		      stderr);
		return 2;
	}
	count = load_number(argv[2], 1, 1000000, "COUNT");
	fd = fs_sparse_file(argv[1], 0);
	fs_begin();
	for (i = 0; i < count; i++) {
		for (k = 0; k < sizeof(steps) / sizeof(steps[0]); k++)
			if (fallocate(fd, steps[k].mode, steps[k].at, steps[k].len))
				err(1, "fallocate: mode %d", steps[k].mode);
		if (ftruncate(fd, 0))
			err(1, "ftruncate");
	}
	printf("{\"fallocate\":%lu,\"punch\":%lu,\"zero\":%lu,\"collapse\":%lu,\"truncate\":%lu}\n",
	       count, count, count, count, count);
	return 0;
}
