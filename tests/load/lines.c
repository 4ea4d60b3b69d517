// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that fight over cache lines, or just do not, and say where.
 *
 *	lines MODE SECONDS
 *
 *	plain store lock	two counters side by side: read and written, written, locked
 *	true			one atomic for both
 *	heap			the same as plain, allocated
 *	rw			one writes what the other reads
 *	spin			a spinlock and the data it guards, on two lines
 *	many			32 lines, each touched at one operation in 16
 *	sb			the 2012 super block: random private loads, then one of two shared
 *				statistics counters
 *	phase			as plain, but the threads take turns of 50 ms
 *
 * and of these nothing is contended:
 *
 *	padded padlock		a line for each counter
 *	ro			both only read
 *	private			each its own memory, and much of it
 *	migrate			one thread that hops between the CPUs
 *
 *	stdout: {"pid":P,"mode":M,"lines":["0x..."],"names":["..."],"sharing":"false"}
 *		{"ops":[N,N],"cpu_ns":[N,N]}	at the end
 */
#include "load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define LINE 64
#define MANY 32
#define PRIVATE_WORDS (1U << 16)
#define TURN_NS 50000000ULL

struct pair {
	uint64_t a, b;
} __attribute__((aligned(LINE)));

struct super_block {
	char name[40];
	uint64_t hits, misses;
	char tail[8];
} __attribute__((aligned(LINE)));

struct padded {
	uint64_t v;
	char pad[LINE - 8];
} __attribute__((aligned(LINE)));

static volatile struct pair plain_pair, store_pair, phase_pair, readonly_pair = {1, 2};
static struct pair lock_pair;
static volatile struct pair rw_pair;
static struct pair true_pair;
static volatile struct super_block super_block;
static struct {
	atomic_int lock;
	char pad[LINE - sizeof(atomic_int)];
} __attribute__((aligned(LINE))) spin_lock;
static volatile struct padded spin_data;
static volatile struct pair many[MANY];
static volatile struct padded padded[2];
static struct padded padded_lock[2];
static uint64_t private_words[2][PRIVATE_WORDS] __attribute__((aligned(LINE)));
static volatile struct pair *heap_pair;

static uint64_t end_ns;

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* Which counter is mine, without telling the compiler that it is fixed. */
static volatile uint64_t *mine(volatile struct pair *p, int id)
{
	return id ? &p->b : &p->a;
}

static void op_plain(int id, uint64_t *x)
{
	++*mine(&plain_pair, id);
}

static void op_store(int id, uint64_t *x)
{
	*mine(&store_pair, id) = *x;
}

static void op_lock(int id, uint64_t *x)
{
	__atomic_fetch_add(id ? &lock_pair.b : &lock_pair.a, 1, __ATOMIC_SEQ_CST);
}

static void op_true(int id, uint64_t *x)
{
	__atomic_fetch_add(&true_pair.a, 1, __ATOMIC_SEQ_CST);
}

static void op_heap(int id, uint64_t *x)
{
	++*mine(heap_pair, id);
}

/* The sum stays in a register: the load's consumer touches no memory of its own. */
static void op_rw(int id, uint64_t *x)
{
	uint64_t sum = 0;

	for (int k = 0; k < 16; k++) {
		if (id)
			sum += rw_pair.a;
		else
			rw_pair.a = *x;
	}
	*x += sum;
}

static void op_spin(int id, uint64_t *x)
{
	while (atomic_exchange_explicit(&spin_lock.lock, 1, memory_order_acquire))
		while (atomic_load_explicit(&spin_lock.lock, memory_order_relaxed))
			;
	spin_data.v++;
	atomic_store_explicit(&spin_lock.lock, 0, memory_order_release);
}

static uint64_t private_work(int id, uint64_t *x, int n)
{
	uint64_t sum = 0;

	while (n--)
		sum += private_words[id][next_random(x) % PRIVATE_WORDS];
	return sum;
}

static void op_many(int id, uint64_t *x)
{
	*x += private_work(id, x, 15) & 1;
	++*mine(&many[next_random(x) % MANY], id);
}

static void op_sb(int id, uint64_t *x)
{
	uint64_t sum = private_work(id, x, 8);

	if (sum & 1)
		super_block.hits++;
	else
		super_block.misses++;
}

static void op_phase(int id, uint64_t *x)
{
	while ((load_now_ns() / TURN_NS & 1) != (uint64_t)id && load_now_ns() < end_ns)
		*x += private_work(id, x, 64);
	for (int k = 0; k < 1000; k++)
		++*mine(&phase_pair, id);
}

static void op_padded(int id, uint64_t *x)
{
	padded[id].v++;
}

static void op_padlock(int id, uint64_t *x)
{
	__atomic_fetch_add(&padded_lock[id].v, 1, __ATOMIC_SEQ_CST);
}

static void op_ro(int id, uint64_t *x)
{
	*x += readonly_pair.a + readonly_pair.b;
}

static void op_private(int id, uint64_t *x)
{
	*x += private_work(id, x, 16);
	private_words[id][next_random(x) % PRIVATE_WORDS] = *x;
}

static struct {
	const char *name;
	void (*op)(int id, uint64_t *x);
	volatile void *at[2];
	const char *names[2];
	const char *sharing;
	int threads;
} modes[] = {
	{"plain", op_plain, {&plain_pair}, {"plain_pair"}, "false", 2},
	{"store", op_store, {&store_pair}, {"store_pair"}, "false", 2},
	{"lock", op_lock, {&lock_pair}, {"lock_pair"}, "false", 2},
	{"true", op_true, {&true_pair}, {"true_pair.a"}, "true", 2},
	{"heap", op_heap, {NULL}, {NULL}, "false", 2},
	{"rw", op_rw, {&rw_pair}, {"rw_pair.a"}, "true", 2},
	{"spin", op_spin, {&spin_lock, &spin_data}, {"spin_lock.lock", "spin_data.v"}, "true", 2},
	{"many", op_many, {&many[0], &many[MANY - 1]}, {"many"}, "false", 2},
	{"sb", op_sb, {&super_block}, {"super_block"}, "true", 2},
	{"phase", op_phase, {&phase_pair}, {"phase_pair"}, "false", 2},
	{"padded", op_padded, {NULL}, {NULL}, NULL, 2},
	{"padlock", op_padlock, {NULL}, {NULL}, NULL, 2},
	{"ro", op_ro, {NULL}, {NULL}, NULL, 2},
	{"private", op_private, {NULL}, {NULL}, NULL, 2},
	{"migrate", op_plain, {NULL}, {NULL}, NULL, 1},
};

struct worker {
	pthread_t thread;
	int id, mode;
	uint64_t ops, cpu_ns;
} __attribute__((aligned(LINE))); /* or their counts would be what is found */

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t x = 88172645463325252ULL + (uint64_t)w->id;
	uint64_t round = 0;

	load_try_pin((unsigned int)w->id);
	while (load_now_ns() < end_ns) {
		for (int k = 0; k < 1000; k++)
			modes[w->mode].op(w->id, &x);
		w->ops += 1000;
		if (modes[w->mode].threads == 1 && !(++round % 1000))
			load_try_pin((unsigned int)(round / 1000 & 1));
	}
	w->cpu_ns = load_cpu_ns();
	return NULL;
}

static void say(int mode)
{
	printf("{\"pid\":%d,\"mode\":\"%s\",\"lines\":[", (int)getpid(), modes[mode].name);
	for (int k = 0; k < 2 && modes[mode].at[k]; k++)
		printf("%s\"%p\"", k ? "," : "", (void *)modes[mode].at[k]);
	printf("],\"names\":[");
	for (int k = 0; k < 2 && modes[mode].names[k]; k++)
		printf("%s\"%s\"", k ? "," : "", modes[mode].names[k]);
	printf("],\"sharing\":%s%s%s}\n", modes[mode].sharing ? "\"" : "",
	       modes[mode].sharing ? modes[mode].sharing : "null", modes[mode].sharing ? "\"" : "");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct worker w[2] = {{.id = 0}, {.id = 1}};
	int mode, n = (int)(sizeof(modes) / sizeof(modes[0]));

	for (mode = 0; argc == 3 && mode < n; mode++)
		if (!strcmp(argv[1], modes[mode].name))
			break;
	if (argc != 3 || mode == n) {
		fprintf(stderr, "usage: lines MODE SECONDS\n");
		return 2;
	}
	heap_pair = aligned_alloc(LINE, LINE);
	if (!heap_pair)
		return 1;
	heap_pair->a = heap_pair->b = 0;
	if (!strcmp(modes[mode].name, "heap"))
		modes[mode].at[0] = heap_pair;
	say(mode);
	end_ns = load_now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
	for (int k = 0; k < modes[mode].threads; k++) {
		w[k].mode = mode;
		if (pthread_create(&w[k].thread, NULL, work, &w[k]))
			return 1;
	}
	for (int k = 0; k < modes[mode].threads; k++)
		pthread_join(w[k].thread, NULL);
	printf("{\"ops\":[%" PRIu64 ",%" PRIu64 "],\"cpu_ns\":[%" PRIu64 ",%" PRIu64 "]}\n",
	       w[0].ops, w[1].ops, w[0].cpu_ns, w[1].cpu_ns);
	return 0;
}
