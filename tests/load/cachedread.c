// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * COUNT preads of 4 KiB that the page cache answers: the file system is not asked. Without access
 * times: relatime writes one where the last write and the last read share a clock tick (a handle).
 *
 *	stdout: {"pid":P}, waits for a byte, {"preads":N}
 */
#include <fcntl.h>

#include "fs.h"

#define FILE_PAGES 256

static void read_page(int fd, unsigned long page)
{
	static char buf[FS_PAGE];

	if (pread(fd, buf, sizeof(buf), (off_t)(page * FS_PAGE)) != (ssize_t)sizeof(buf))
		err(1, "pread");
}

int main(int argc, char **argv)
{
	unsigned long count, i;
	int fd;

	if (argc != 3) {
		fputs("usage: cachedread FILE COUNT\n"
		      "Makes FILE, 1 MiB long, reads it once and then COUNT pages of it.\n",
		      stderr);
		return 2;
	}
	count = load_number(argv[2], 1, 100000000, "COUNT");
	fd = fs_data_file(argv[1], FILE_PAGES * FS_PAGE);
	if (fcntl(fd, F_SETFL, O_NOATIME))
		err(1, "%s: O_NOATIME", argv[1]);
	for (i = 0; i < FILE_PAGES; i++)
		read_page(fd, i);
	fs_begin();
	for (i = 0; i < count; i++)
		read_page(fd, i % FILE_PAGES);
	printf("{\"preads\":%lu}\n", count);
	return 0;
}
