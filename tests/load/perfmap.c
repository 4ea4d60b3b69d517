// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A run-time compiler that wrote down too much: SITES places in code of no file wait on a futex of
 * their own, again and again, and /tmp/perf-PID.map has MB million bytes before what names them.
 *
 *	perfmap SITES MB
 *
 *	stdout: {"pid":P}	then it waits until standard input ends
 */
#include "load.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>

#define SITE 64 /* bytes of code */
#define WAIT_NS 1000

/* wait(uaddr, op, value, timeout), with a frame, so that its caller is found. */
#if defined(__x86_64__)
/* push rbp; mov rbp, rsp; mov r10, rcx; mov eax, 202; syscall; pop rbp; ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x49, 0x89, 0xca, 0xb8,
			       202,  0,	   0,	 0,    0x0f, 0x05, 0x5d, 0xc3};
#elif defined(__aarch64__)
/* stp x29, x30, [sp, #-16]!; mov x29, sp; mov x8, #98; svc #0; ldp x29, x30, [sp], #16; ret */
static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd2800c48,
				0xd4000001, 0xa8c17bfd, 0xd65f03c0};
#else
#error "code of this architecture"
#endif

typedef long (*wait_fn)(uint32_t *word, int op, uint32_t value, const struct timespec *timeout);

static void *map(size_t size, int prot)
{
	void *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

static void write_map(const char *path, const uint8_t *sites, unsigned long n, unsigned long mb)
{
	FILE *f = fopen(path, "w");

	if (!f)
		err(1, "%s", path);
	for (unsigned long i = 0; i < (mb << 20) / 64; i++)
		fprintf(f, "%016lx 10 %045lu\n", 0x1000 + i * 16, i);
	for (unsigned long i = 0; i < n; i++)
		fprintf(f, "%lx %x site%lu\x1b[31m\n", (unsigned long)(sites + i * SITE), SITE, i);
	if (fclose(f))
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec little = {0, WAIT_NS};
	unsigned long n, mb;
	uint32_t *words;
	uint8_t *sites;
	char path[64];

	if (argc != 3)
		errx(2, "usage: perfmap SITES MB");
	n = load_number(argv[1], 1, 100000, "SITES");
	mb = load_number(argv[2], 0, 1000, "MB");
	sites = map(n * SITE, PROT_READ | PROT_WRITE | PROT_EXEC);
	words = map(n * SITE, PROT_READ | PROT_WRITE);
	for (unsigned long i = 0; i < n; i++)
		memcpy(sites + i * SITE, code, sizeof(code));
	__builtin___clear_cache((char *)sites, (char *)sites + n * SITE);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid()); /* fits */
	write_map(path, sites, n, mb);
	printf("{\"pid\":%d}\n", getpid());
	fflush(stdout);
	while (poll(&in, 1, 0) == 0)
		for (unsigned long i = 0; i < n; i++)
			((wait_fn)(void *)(sites + i * SITE))(
				words + i * SITE / 4, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &little);
	return unlink(path) ? 1 : 0;
}
