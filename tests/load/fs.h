/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the load programs for file systems share. All of them first make what they need, print
 * {"pid":P} and wait for a byte on stdin: what comes after it is what they count and print.
 */
#ifndef WS_LOAD_FS_H
#define WS_LOAD_FS_H

#include "load.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FS_PAGE 4096UL

static inline void fs_begin(void)
{
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	load_wait_stdin();
}

static inline int fs_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static inline void fs_pwrite(int fd, const void *buf, size_t len, off_t at)
{
	ssize_t n = pwrite(fd, buf, len, at);

	if (n < 0)
		err(1, "pwrite");
	if ((size_t)n != len)
		errx(1, "pwrite: %zd of %zu bytes", n, len);
}

/* Data on the disk and out of the page cache: the next read asks the file system. */
static inline void fs_drop_cache(int fd)
{
	errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (errno)
		err(1, "posix_fadvise");
}

/* A file of `len` bytes of data, on the disk. */
static inline int fs_data_file(const char *path, size_t len)
{
	static char block[64 * 1024];
	int fd = fs_open(path, O_RDWR | O_CREAT | O_TRUNC);
	size_t at, n;

	memset(block, 'w', sizeof(block));
	for (at = 0; at < len; at += n) {
		n = len - at < sizeof(block) ? len - at : sizeof(block);
		fs_pwrite(fd, block, n, (off_t)at);
	}
	if (fsync(fd))
		err(1, "%s: fsync", path);
	return fd;
}

/* A file of `len` bytes that is one hole. */
static inline int fs_sparse_file(const char *path, size_t len)
{
	int fd = fs_open(path, O_RDWR | O_CREAT | O_TRUNC);

	if (ftruncate(fd, (off_t)len) || fsync(fd))
		err(1, "%s: ftruncate", path);
	return fd;
}

/* Cheap, and the same numbers in each run. */
static inline uint64_t fs_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
