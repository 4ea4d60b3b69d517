// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads in code whose arms meet again: one arm works on a line of both, the other on one of
 * the thread's own.
 *
 *	arms hot|cold|maybe SECONDS
 *
 *	hot	each thread goes through the shared arms only
 *	cold	none does: what stands before the place where the arms meet never ran
 *
 *	maybe	the shared arm, which no register tells from the other: its line is the first one
 *
 *	stdout: {"pid":P,"shapes":["merge",...],"lines":["0x...",...]}	shared lines, one a shape
 *		{"ops":[N,N],"cpu_ns":[N,N]}	at the end
 *
 * Built by several compilers at several levels (load.mk): where an arm lies is theirs to decide.
 */
#include "load.h"

#include <pthread.h>
#include <string.h>

#define LINE 64
#define ROUNDS 400 /* of one shape: short beside the clock's interval */

enum { MERGE, ONLY, STORE, ATOMIC, SWITCH, LOOP, CHAIN, NESTED, SHAPES };

static const char *const names[SHAPES] = {"merge",  "only", "store", "atomic",
					  "switch", "loop", "chain", "nested"};

struct counter {
	uint64_t v;
	char pad[2 * LINE - 8]; /* nor the line beside it */
} __attribute__((aligned(2 * LINE)));

static struct counter shared[SHAPES], own[2][SHAPES];
static uint64_t end_ns;

/* What the thread's own arm waits for: its interrupt comes near where the arms meet. */
static inline uint64_t slow(uint64_t v, uint64_t d)
{
	return v / d + d;
}

#define SHAPE static __attribute__((noinline)) void
#define MEET asm volatile("" : : : "memory")

SHAPE merge(int which, uint64_t d, struct counter *mine, uint64_t n)
{
	while (n--) {
		if (which)
			shared[MERGE].v++;
		else
			mine->v = slow(mine->v, d);
		MEET;
	}
}

SHAPE only(int which, uint64_t d, struct counter *mine, uint64_t n)
{
	while (n--) {
		d = d * 5 + 3;
		if (which)
			shared[ONLY].v++;
		MEET;
		d ^= n & 1;
	}
	mine->v = d;
}

SHAPE store(int which, uint64_t d, struct counter *mine, uint64_t n)
{
	while (n--) {
		if (which)
			*(volatile uint64_t *)&shared[STORE].v = n;
		else
			*(volatile uint64_t *)&mine->v = slow(n, d);
		MEET;
	}
}

SHAPE atomic(int which, uint64_t d, struct counter *mine, uint64_t n)
{
	while (n--) {
		if (which)
			__atomic_fetch_add(&shared[ATOMIC].v, d, __ATOMIC_RELAXED);
		else
			__atomic_fetch_add(&mine->v, d, __ATOMIC_RELAXED);
		MEET;
	}
}

SHAPE choose(int which, uint64_t d, struct counter *mine, uint64_t n)
{
	while (n--) {
		switch (which) {
		case 1:
			shared[SWITCH].v++;
			break;
		case 0:
			mine->v = slow(mine->v, d);
			break;
		case 7:
			mine->v -= 3;
			break;
		default:
			mine->v = 7;
		}
		MEET;
	}
}

SHAPE loop(int which, uint64_t d, struct counter *mine, uint64_t n)
{
	do {
		if (which) {
			shared[LOOP].v += n;
			MEET;
			continue;
		}
		mine->v = slow(mine->v, d);
	} while (--n);
}

SHAPE chain(int which, uint64_t d, struct counter *mine, uint64_t n)
{
	while (n--) {
		if (which == 2)
			mine->v--;
		else if (which == 1)
			shared[CHAIN].v++;
		else
			mine->v = slow(mine->v, d);
		MEET;
	}
}

SHAPE nested(int which, uint64_t d, struct counter *mine, uint64_t n)
{
	while (n--) {
		if (which) {
			if (n & 1)
				shared[NESTED].v += d;
			else
				shared[NESTED].v ^= n;
		} else {
			mine->v = slow(mine->v, d);
		}
		MEET;
	}
}

/* Asked is which is greater, which is not looked at; where compilers do not move the arms. */
SHAPE maybe(int which, uint64_t d, struct counter *mine, uint64_t n)
{
#ifdef __x86_64__
	asm volatile("1: cmp $0, %k1\n"
		     "jg 2f\n"
		     "addq $3, (%2)\n"
		     "jmp 3f\n"
		     "2: incq %3\n"
		     "3: dec %0\n"
		     "jne 1b"
		     : "+r"(n)
		     : "r"(which), "r"(mine), "m"(shared[MERGE].v)
		     : "memory", "cc");
#endif
}

static void (*const shapes[SHAPES])(int which, uint64_t d, struct counter *mine, uint64_t n) = {
	merge, only, store, atomic, choose, loop, chain, nested};

struct worker {
	pthread_t thread;
	int id, which, unsure;
	uint64_t ops, cpu_ns;
} __attribute__((aligned(2 * LINE)));

/* Both are in the same shape at the same time, by the clock. */
static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t now;

	load_try_pin((unsigned int)w->id);
	while ((now = load_now_ns()) < end_ns) {
		int shape = (int)(now / 20000000 % SHAPES);

		(w->unsure ? maybe : shapes[shape])(w->which, 3, &own[w->id][shape], ROUNDS);
		w->ops += ROUNDS;
	}
	w->cpu_ns = load_cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker w[2] = {{.id = 0}, {.id = 1}};
	int unsure = argc == 3 && !strcmp(argv[1], "maybe"), k;
	int hot = argc == 3 && (unsure || !strcmp(argv[1], "hot"));

	if (argc != 3 || (!hot && strcmp(argv[1], "cold"))) {
		fprintf(stderr, "usage: arms hot|cold|maybe SECONDS\n");
		return 2;
	}
	printf("{\"pid\":%d,\"shapes\":[", (int)getpid());
	for (k = 0; k < SHAPES; k++)
		printf("%s\"%s\"", k ? "," : "", names[k]);
	printf("],\"lines\":[");
	for (k = 0; k < SHAPES; k++)
		printf("%s\"%p\"", k ? "," : "", (void *)&shared[k]);
	printf("]}\n");
	fflush(stdout);
	end_ns = load_now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
	for (k = 0; k < 2; k++) {
		w[k].which = hot;
		w[k].unsure = unsure;
		if (pthread_create(&w[k].thread, NULL, work, &w[k]))
			return 1;
	}
	for (k = 0; k < 2; k++)
		pthread_join(w[k].thread, NULL);
	printf("{\"ops\":[%" PRIu64 ",%" PRIu64 "],\"cpu_ns\":[%" PRIu64 ",%" PRIu64 "]}\n",
	       w[0].ops, w[1].ops, w[0].cpu_ns, w[1].cpu_ns);
	return 0;
}
