// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One operation again and again, by one thread:
 *
 *	lookup	FIBMAP on FILE: exactly one look-up in its extent status tree
 *	pwrite	4 KiB over the first page of FILE, which is cached: one write segment
 *	futex	a wait for a value that is not there: one system call that fails at once
 *	loop	arithmetic in registers
 *	walk	arithmetic in 512 KiB of private memory
 *
 * A line for each of SLICES times ROUNDS operations: nanoseconds per operation by the clock, and of
 * CPU time, which leaves out other tasks' turns.
 */
#include "load/fs.h"

#include <linux/fs.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/ioctl.h>

#define WORDS (1U << 16)
#define STEPS 64 /* of loop and walk: an operation */

struct state {
	int fd;
	uint64_t x;
	uint32_t word;
	char page[FS_PAGE];
	uint64_t words[WORDS];
};

static void op_lookup(struct state *s)
{
	int block = 0;

	if (ioctl(s->fd, FIBMAP, &block))
		err(1, "FIBMAP");
}

static void op_pwrite(struct state *s)
{
	fs_pwrite(s->fd, s->page, sizeof(s->page), 0);
}

static void op_futex(struct state *s)
{
	if (syscall(SYS_futex, &s->word, FUTEX_WAIT_PRIVATE, s->word + 1, NULL, NULL, 0) != -1 ||
	    errno != EAGAIN)
		err(1, "futex");
}

static uint64_t next(uint64_t x)
{
	return x * 6364136223846793005ULL + 1442695040888963407ULL;
}

static void op_loop(struct state *s)
{
	uint64_t x = s->x;
	int i;

	for (i = 0; i < STEPS; i++)
		x = next(x);
	s->x = x;
}

static void op_walk(struct state *s)
{
	uint64_t x = s->x;
	int i;

	for (i = 0; i < STEPS; i++) {
		x = next(x);
		s->words[x >> 48] += x;
	}
	s->x = x;
}

static const struct {
	const char *name;
	void (*op)(struct state *s);
	bool file;
} modes[] = {
	{"lookup", op_lookup, true}, {"pwrite", op_pwrite, true}, {"futex", op_futex, false},
	{"loop", op_loop, false},    {"walk", op_walk, false},
};

#define MODES (sizeof(modes) / sizeof(modes[0]))

static void repeat(struct state *s, void (*op)(struct state *s), unsigned long n)
{
	while (n--)
		op(s);
}

static void measure(struct state *s, void (*op)(struct state *s), unsigned long n)
{
	uint64_t cpu = load_cpu_ns(), start_ns = load_now_ns(), wall_ns;

	repeat(s, op, n);
	wall_ns = load_now_ns() - start_ns;
	printf("%.2f %.2f\n", (double)wall_ns / (double)n,
	       (double)(load_cpu_ns() - cpu) / (double)n);
}

int main(int argc, char **argv)
{
	static struct state s = {.fd = -1, .x = 1};
	unsigned long n, slices;
	size_t m;

	for (m = 0; argc > 1 && m < MODES; m++)
		if (!strcmp(argv[1], modes[m].name))
			break;
	if (argc < 2 || m == MODES || argc != (modes[m].file ? 5 : 4))
		errx(2,
		     "usage: calls lookup|pwrite ROUNDS SLICES FILE | calls futex|loop|walk ROUNDS SLICES");
	n = load_number(argv[2], 1, 1000000000, "ROUNDS");
	slices = load_number(argv[3], 1, 1000000000, "SLICES");
	if (modes[m].file)
		s.fd = fs_data_file(argv[4], FS_PAGE);
	repeat(&s, modes[m].op, n); /* warm */
	while (slices--)
		measure(&s, modes[m].op, n);
	return 0;
}
