// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two processes, each on its own CPU, that fight over a line of memory they share at different
 * addresses, or only seem to:
 *
 *	shmlines MODE SECONDS
 *
 *	memfd	a file in memory, mapped by each
 *	anon	anonymous shared memory, moved by one
 *	map	an array of BPF's (as root): the mapping of an anonymous inode
 *	two	a file in memory each: nothing is shared
 *	private	a private mapping of one file, copied when it was written: nothing is shared
 *
 *	stdout: {"pids":[P,P]}, waits for a byte, {"cpu_ns":[N,N]}
 */
#include "load.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096
#define AT 1024 /* in the page */
#define STEP 1000

struct shared { /* of the load itself, on another page */
	uint64_t cpu_ns[2];
};

static void *map(int fd, int flags)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

static int memory_file(void)
{
	int fd = memfd_create("shmlines", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, PAGE))
		err(1, "memfd");
	return fd;
}

static int bpf_array(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = 4,
			       .value_size = PAGE,
			       .max_entries = 1,
			       .map_flags = BPF_F_MMAPABLE};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		err(1, "BPF map");
	return fd;
}

/* Elsewhere than it was. */
static void *moved(void *old)
{
	void *to = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED ||
	    mremap(old, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
		err(1, "mremap");
	return to;
}

/* The page as process `id` sees it; `fd` and `anon` are from before the fork. */
static char *page_of(const char *mode, int id, int fd, void *anon)
{
	if (id) /* the next mapping lies elsewhere than in the other process */
		(void)map(-1, MAP_PRIVATE | MAP_ANONYMOUS);
	if (!strcmp(mode, "anon"))
		return id ? moved(anon) : anon;
	if (!strcmp(mode, "two"))
		return map(memory_file(), MAP_SHARED);
	return map(fd, strcmp(mode, "private") ? MAP_SHARED : MAP_PRIVATE);
}

static void work(char *page, int id, struct shared *s, uint64_t seconds)
{
	volatile uint64_t *mine = (volatile uint64_t *)(page + AT) + id;
	uint64_t end;

	load_pin((unsigned int)id);
	end = load_now_ns() + seconds * 1000000000;
	while (load_now_ns() < end)
		for (int k = 0; k < STEP; k++)
			++*mine;
	s->cpu_ns[id] = load_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int main(int argc, char **argv)
{
	static const char modes[] = " memfd anon map two private ";
	unsigned long seconds;
	char word[16];
	struct shared *s;
	void *anon;
	int fd, go[2], status;
	pid_t child;

	if (argc != 3 || snprintf(word, sizeof(word), " %s ", argv[1]) >= (int)sizeof(word) ||
	    !strstr(modes, word)) {
		fputs("usage: shmlines memfd|anon|map|two|private SECONDS\n", stderr);
		return 2;
	}
	seconds = load_number(argv[2], 1, 600, "SECONDS");
	s = map(-1, MAP_SHARED | MAP_ANONYMOUS);
	anon = map(-1, MAP_SHARED | MAP_ANONYMOUS);
	fd = strcmp(argv[1], "map") ? memory_file() : bpf_array();
	if (pipe(go))
		err(1, "pipe");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		char *page = page_of(argv[1], 1, fd, anon), byte;

		close(go[1]);
		while (read(go[0], &byte, 1) < 0 && errno == EINTR)
			;
		work(page, 1, s, seconds);
		_exit(0);
	}
	printf("{\"pids\":[%d,%d]}\n", (int)getpid(), (int)child);
	fflush(stdout);
	load_wait_stdin();
	close(go[1]);
	work(page_of(argv[1], 0, fd, anon), 0, s, seconds);
	if (waitpid(child, &status, 0) != child || status)
		errx(1, "the other process failed");
	printf("{\"cpu_ns\":[%" PRIu64 ",%" PRIu64 "]}\n", s->cpu_ns[0], s->cpu_ns[1]);
	return 0;
}
