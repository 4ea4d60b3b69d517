// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shapes of code in which two threads work on one cache line: the same shapes in C (shapes.c), Rust
 * (shapes.rs) and Go (shapes.go), each built by its compilers at all levels
 * (tests/kernel/shapes.py). What differs between the builds is where a sample of the line falls:
 * behind the access, at a place where arms meet, at a loop's head, behind a call.
 *
 *	shapes SHAPE hot|control SECONDS
 *
 *	hot	both threads work on the line that is printed
 *	control	each works on a line of its own; the same code, but for the address
 *
 *	stdout: {"pid":P,"line":"0x..."}
 *		{"ops":[N,N],"cpu_ns":[N,N]}	at the end
 */
#include "load.h"

#include <pthread.h>
#include <string.h>

#define ROUNDS 2000 /* of a shape between two looks at the clock */
#define FAR 128	    /* bytes: not the line beside it either */

/* Memory of one thread's (control), or of both. */
struct area {
	uint64_t hits, misses, flag, word;
	char pad[FAR - 32];
} __attribute__((aligned(FAR)));

struct hand {
	struct area *shared; /* what the shape is about: in control of this thread alone */
	struct area *own;
	uint64_t seed, sum;
	int id;
} __attribute__((aligned(FAR)));

static struct area shared, own[2], control[2];
static uint64_t end_ns;

#define SHAPE static __attribute__((noinline)) void
#define MEET asm volatile("" : : : "memory")

static inline uint64_t next_random(struct hand *h)
{
	h->seed = h->seed * 6364136223846793005UL + 1442695040888963407UL;
	return h->seed >> 33;
}

/* The counters of 2012: two arms count on the line, a third one does not; one of them runs in a
 * thread. */
SHAPE arms(struct hand *h, uint64_t n)
{
	int which = h->shared == &shared ? h->id : 2;

	while (n--) {
		h->sum += next_random(h);
		if (which == 1)
			shared.misses += h->sum | 1;
		else if (which == 0)
			shared.hits += h->sum | 1;
		else
			h->own->word += h->sum | 1;
		MEET;
	}
}

SHAPE two_arms(struct hand *h, uint64_t n)
{
	struct area *s = h->shared;

	while (n--) {
		if (next_random(h) & 1)
			s->misses++;
		else
			s->hits++;
		MEET;
	}
}

/* One thread writes a flag that the other reads. */
SHAPE flag(struct hand *h, uint64_t n)
{
	volatile uint64_t *f = &h->shared->flag;

	if (h->id) {
		while (n--)
			*f = n;
	} else {
		while (n--)
			if (*f == 77777777)
				h->sum++;
	}
}

/* A reader that waits for what the writer sets, and the writer for the reader; each gives up after
 * a while. */
SHAPE handshake(struct hand *h, uint64_t n)
{
	volatile uint64_t *f = &h->shared->flag;

	while (n--) {
		for (int k = 0; k < 50 && (*f & 1) != (uint64_t)h->id; k++)
			;
		*f = *f + 1;
	}
}

SHAPE add(struct hand *h, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		__atomic_fetch_add(&h->shared->word, 1, __ATOMIC_SEQ_CST);
}

/* The value is used: xadd, not add. */
SHAPE ticket(struct hand *h, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		h->sum ^= __atomic_fetch_add(&h->shared->word, 1, __ATOMIC_SEQ_CST);
}

SHAPE swap(struct hand *h, uint64_t n)
{
	uint64_t *p = &h->shared->word;

	while (n--) {
		uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

		while (!__atomic_compare_exchange_n(p, &old, old + 3, 0, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED))
			;
	}
}

/* A lock with a counter on its line. */
SHAPE spin(struct hand *h, uint64_t n)
{
	struct area *s = h->shared;

	while (n--) {
		while (__atomic_exchange_n(&s->flag, 1, __ATOMIC_ACQUIRE))
			while (__atomic_load_n(&s->flag, __ATOMIC_RELAXED))
				;
		s->word++;
		__atomic_store_n(&s->flag, 0, __ATOMIC_RELEASE);
	}
}

SHAPE choose(struct hand *h, uint64_t n)
{
	struct area *s = h->shared;

	while (n--) {
		switch (next_random(h) % 5) {
		case 0:
			s->hits++;
			break;
		case 1:
			s->misses += 2;
			break;
		case 2:
			s->flag ^= n;
			break;
		case 3:
			h->own->word++;
			break;
		default:
			s->word -= 3;
		}
		MEET;
	}
}

SHAPE count(struct hand *h, uint64_t n)
{
	uint64_t *mine = h->id ? &h->shared->misses : &h->shared->hits;

	for (uint64_t i = 0; i < n; i++) {
		++*mine;
		MEET;
	}
}

/* Only now and then: most of the loop is the thread's own. */
SHAPE rare(struct hand *h, uint64_t n)
{
	while (n--) {
		h->own->word += next_random(h);
		if (!(n & 7))
			h->shared->hits++;
		MEET;
	}
}

static __attribute__((noinline)) void bump(uint64_t *p)
{
	++*p;
}

SHAPE call(struct hand *h, uint64_t n)
{
	while (n--) {
		bump(h->id ? &h->shared->misses : &h->shared->hits);
		MEET;
	}
}

static __attribute__((noinline)) int look_up(struct area *s, uint64_t at)
{
	if (at & 1) {
		s->hits++;
		return 1;
	}
	s->misses++;
	return 0;
}

/* Two ways out of a function. */
SHAPE leave(struct hand *h, uint64_t n)
{
	while (n--)
		h->sum += (uint64_t)look_up(h->shared, next_random(h));
}

SHAPE refs(struct hand *h, uint64_t n)
{
	uint64_t *p = &h->shared->word;

	while (n--) {
		__atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
		if (!__atomic_sub_fetch(p, 1, __ATOMIC_ACQ_REL))
			h->sum++;
	}
}

/* What one puts in, the other takes out: two indices on one line. */
SHAPE queue(struct hand *h, uint64_t n)
{
	volatile uint64_t *head = &h->shared->hits, *tail = &h->shared->misses;

	while (n--) {
		if (h->id) {
			if (*head - *tail < 16)
				++*head;
		} else if (*tail != *head) {
			++*tail;
		}
	}
}

SHAPE seq(struct hand *h, uint64_t n)
{
	struct area *s = h->shared;
	uint64_t before;

	while (n--) {
		if (h->id) {
			__atomic_fetch_add(&s->flag, 1, __ATOMIC_RELEASE);
			*(volatile uint64_t *)&s->word = n;
			__atomic_fetch_add(&s->flag, 1, __ATOMIC_RELEASE);
			continue;
		}
		do {
			before = __atomic_load_n(&s->flag, __ATOMIC_ACQUIRE);
			h->sum += *(volatile uint64_t *)&s->word;
		} while (before != __atomic_load_n(&s->flag, __ATOMIC_ACQUIRE) && h->sum & 15);
	}
}

/* Loops in loops: the inner one's head is come to in two ways. */
SHAPE nest(struct hand *h, uint64_t n)
{
	while (n--)
		for (uint64_t k = next_random(h) & 3; k; k--) {
			h->shared->hits += k;
			MEET;
		}
}

static const struct {
	const char *name;
	void (*run)(struct hand *h, uint64_t n);
} shapes[] = {
	{"arms", arms},	    {"two_arms", two_arms}, {"flag", flag},   {"handshake", handshake},
	{"add", add},	    {"ticket", ticket},	    {"swap", swap},   {"spin", spin},
	{"choose", choose}, {"count", count},	    {"rare", rare},   {"call", call},
	{"leave", leave},   {"refs", refs},	    {"queue", queue}, {"seq", seq},
	{"nest", nest},
};

struct worker {
	pthread_t thread;
	int id, shape, hot;
	uint64_t ops, cpu_ns;
} __attribute__((aligned(FAR)));

static void *work(void *arg)
{
	struct worker *w = arg;
	struct hand h = {
		.shared = w->hot ? &shared : &control[w->id],
		.own = &own[w->id],
		.seed = 12345 + (uint64_t)w->id,
		.id = w->id,
	};

	load_try_pin((unsigned int)w->id);
	while (load_now_ns() < end_ns) {
		shapes[w->shape].run(&h, ROUNDS);
		w->ops += ROUNDS;
	}
	w->cpu_ns = load_cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	int n = (int)(sizeof(shapes) / sizeof(shapes[0])), shape = 0, k;
	struct worker w[2] = {{.id = 0}, {.id = 1}};

	while (argc == 4 && shape < n && strcmp(argv[1], shapes[shape].name))
		shape++;
	if (argc != 4 || shape == n || (strcmp(argv[2], "hot") && strcmp(argv[2], "control"))) {
		fprintf(stderr, "usage: shapes SHAPE hot|control SECONDS\n");
		return 2;
	}
	printf("{\"pid\":%d,\"line\":\"%p\"}\n", (int)getpid(), (void *)&shared);
	fflush(stdout);
	end_ns = load_now_ns() + (uint64_t)(atof(argv[3]) * 1e9);
	for (k = 0; k < 2; k++) {
		w[k].shape = shape;
		w[k].hot = !strcmp(argv[2], "hot");
		if (pthread_create(&w[k].thread, NULL, work, &w[k]))
			return 1;
	}
	for (k = 0; k < 2; k++)
		pthread_join(w[k].thread, NULL);
	printf("{\"ops\":[%" PRIu64 ",%" PRIu64 "],\"cpu_ns\":[%" PRIu64 ",%" PRIu64 "]}\n",
	       w[0].ops, w[1].ops, w[0].cpu_ns, w[1].cpu_ns);
	return 0;
}
