// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One file: readers of its holes, a writer that fills them at random, another that flushes, and a
 * truncation whenever it is full. They meet at the inode's locks: every read that the page cache
 * does not answer looks into the extent status tree, every new block changes it.
 *
 *	stdout: {"pid":P}, waits for a byte, {"reads":N,"writes":N,"flushes":N}
 */
#include "fs.h"

#include <pthread.h>
#include <stdatomic.h>

#define READERS_MAX 64

struct shared {
	const char *path;
	unsigned long pages, readers;
	uint64_t end_ns;
	atomic_ulong reads, writes, flushes;
};

static void *reader(void *arg)
{
	struct shared *s = arg;
	int fd = fs_open(s->path, O_RDONLY);
	char buf[FS_PAGE];
	unsigned long page;

	while (load_now_ns() < s->end_ns) {
		fs_drop_cache(fd);
		for (page = 0; page < s->pages && load_now_ns() < s->end_ns; page++) {
			if (pread(fd, buf, sizeof(buf), (off_t)(page * FS_PAGE)) < 0)
				err(1, "pread");
			s->reads++;
		}
	}
	close(fd);
	return NULL;
}

static void *writer(void *arg)
{
	struct shared *s = arg;
	int fd = fs_open(s->path, O_RDWR);
	uint64_t seed = 88172645463325252ULL;
	char buf[FS_PAGE];

	memset(buf, 'w', sizeof(buf));
	while (load_now_ns() < s->end_ns) {
		fs_pwrite(fd, buf, sizeof(buf), (off_t)(fs_random(&seed) % s->pages * FS_PAGE));
		if (++s->writes % s->pages)
			continue;
		if (ftruncate(fd, 0) || ftruncate(fd, (off_t)(s->pages * FS_PAGE)))
			err(1, "ftruncate");
	}
	close(fd);
	return NULL;
}

static void *flusher(void *arg)
{
	struct shared *s = arg;
	int fd = fs_open(s->path, O_RDWR);

	while (load_now_ns() < s->end_ns) {
		if (fdatasync(fd))
			err(1, "fdatasync");
		s->flushes++;
		load_sleep_ns(1000000);
	}
	close(fd);
	return NULL;
}

static pthread_t begin(void *(*work)(void *), struct shared *s)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, work, s);
	if (errno)
		err(1, "thread");
	return thread;
}

int main(int argc, char **argv)
{
	static struct shared s;
	pthread_t threads[READERS_MAX + 2];
	unsigned long seconds, i;

	if (argc != 5) {
		fputs("usage: sharedinode FILE MIB READERS SECONDS\n"
		      "READERS readers, a random writer and a flusher of one file, for SECONDS.\n",
		      stderr);
		return 2;
	}
	s.path = argv[1];
	s.pages = (load_number(argv[2], 1, 1024, "MIB") << 20) / FS_PAGE;
	s.readers = load_number(argv[3], 1, READERS_MAX, "READERS");
	seconds = load_number(argv[4], 1, 600, "SECONDS");
	close(fs_sparse_file(s.path, s.pages * FS_PAGE));
	fs_begin();
	s.end_ns = load_now_ns() + seconds * 1000000000ULL;
	threads[0] = begin(writer, &s);
	threads[1] = begin(flusher, &s);
	for (i = 0; i < s.readers; i++)
		threads[2 + i] = begin(reader, &s);
	for (i = 0; i < s.readers + 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"reads\":%lu,\"writes\":%lu,\"flushes\":%lu}\n", s.reads, s.writes, s.flushes);
	return 0;
}
