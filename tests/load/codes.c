// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code of one kind, for who samples it; x86-64.
 *
 *	codes MODE SECONDS [THREADS]
 *
 *	arith		touches no memory
 *	chase		loads that overwrite the register they are addressed by
 *	nonsense	an instruction behind bytes that are none
 *	code32		a 32-bit code segment
 *	own		a counter of each thread's own
 *	scatter		writes all over 64 MiB
 *	storm		code at addresses that never ran before, all the time
 *
 *	stdout: {"pid":P}	then, at the end, {"cpu_ns":N,"fresh":N}
 *
 * fresh: instructions of the storm. cpu_ns is of all threads.
 */
#include "load.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS_MAX 8

static uint64_t end_ns;

struct worker {
	pthread_t thread;
	void (*run)(struct worker *w);
	uint8_t *page; /* of code, or to write to */
	uint64_t own, cpu_ns, fresh;
	int id;
} __attribute__((aligned(128)));

#ifdef __x86_64__

#define ROUNDS 1000000 /* between two looks at the clock */
#define SCATTER_BYTES (64UL << 20)
#define STORM_CHUNK (256UL << 10)
#define STORM_SPACE (64UL << 30) /* of addresses, for each thread */
#define STORM_RUNS 16
#define STORM_DATA 4096
#define NONSENSE 0x06 /* no instruction in 64-bit mode */

static void *map(size_t size, int prot, int flags)
{
	void *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

static uint8_t *code_page(int flags)
{
	return map(4096, PROT_READ | PROT_WRITE | PROT_EXEC, flags);
}

static void run_arith(struct worker *w)
{
	uint64_t n = ROUNDS, x = n;

	asm volatile("1:\n"
		     ".rept 16\n"
		     "imul $3, %1, %1\n"
		     "add $7, %1\n"
		     ".endr\n"
		     "dec %0\n"
		     "jnz 1b"
		     : "+r"(n), "+r"(x));
}

static void run_chase(struct worker *w)
{
	void *self = &self;
	uint64_t n = ROUNDS / 10;

	asm volatile("1:\n"
		     ".rept 64\n"
		     "mov (%1), %1\n"
		     ".endr\n"
		     "dec %0\n"
		     "jnz 1b"
		     : "+r"(n), "+r"(self)
		     :
		     : "memory");
}

static void run_own(struct worker *w)
{
	uint64_t n = ROUNDS;

	asm volatile("1:\n"
		     ".rept 16\n"
		     "addq $1, %1\n"
		     ".endr\n"
		     "dec %0\n"
		     "jnz 1b"
		     : "+r"(n), "+m"(w->own));
}

/* mov %rdi, %rcx; jmp on; (nothing that could be code) on: loop on; ret */
static void run_nonsense(struct worker *w)
{
	static const uint8_t before[] = {0x48, 0x89, 0xf9, 0xeb, 100}, after[] = {0xe2, 0xfe, 0xc3};
	void (*code)(uint64_t n);

	if (!w->page) {
		w->page = code_page(0);
		memset(w->page, NONSENSE, 4096);
		memcpy(w->page, before, sizeof(before));
		memcpy(w->page + sizeof(before) + 100, after, sizeof(after));
	}
	memcpy(&code, &w->page, sizeof(code));
	code(ROUNDS);
}

static uint8_t *put(uint8_t *at, const char *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}

static uint8_t *put_address(uint8_t *at, const uint8_t *address)
{
	uint32_t low = (uint32_t)(uintptr_t)address; /* the page lies below 4 GiB */

	memcpy(at, &low, sizeof(low));
	return at + sizeof(low);
}

#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

/*
 * Far return into the 32-bit segment, its loop, far jump back. The stack pointer's upper half is
 * not told to survive that: it is kept in the page.
 */
static void make_code32(uint8_t *page)
{
	uint8_t *at = page, *kept = page + 2048, *there = page + 512, *back = page + 1024;

	at = put_address(PUT(at, "\x48\x89\x24\x25"), kept);	 /* mov %rsp, kept */
	at = put_address(PUT(at, "\x48\x89\x2c\x25"), kept + 8); /* mov %rbp, kept + 8 */
	at = put_address(PUT(at, "\x6a\x23\x68"), there);	 /* push $0x23; push $there */
	PUT(at, "\x48\xcb");					 /* lretq */
	at = PUT(there, "\x4f\x75\xfd");			 /* 1: dec %edi; jnz 1b */
	at = put_address(PUT(at, "\xea"), back);		 /* ljmp $0x33, $back */
	PUT(at, "\x33\x00");
	at = put_address(PUT(back, "\x48\x8b\x24\x25"), kept);
	at = put_address(PUT(at, "\x48\x8b\x2c\x25"), kept + 8);
	PUT(at, "\xc3");
}

static void run_code32(struct worker *w)
{
	uint64_t n = ROUNDS;

	if (!w->page) {
		w->page = code_page(MAP_32BIT);
		make_code32(w->page);
	}
	asm volatile("sub $128, %%rsp\n" /* past the red zone */
		     "call *%1\n"
		     "add $128, %%rsp"
		     : "+D"(n)
		     : "a"(w->page)
		     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
		       "r15", "memory", "cc");
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

static void run_scatter(struct worker *w)
{
	uint64_t x = 88172645463325252ULL + load_now_ns() + (uint64_t)w->id;
	volatile uint8_t *at;

	if (!w->page)
		w->page = map(SCATTER_BYTES, PROT_READ | PROT_WRITE, 0);
	at = w->page;
	for (int k = 0; k < ROUNDS; k++)
		at[next_random(&x) % SCATTER_BYTES]++;
}

/* mov disp(%rdi), %eax, all over it; ret at its end. How many. */
static uint64_t make_storm(uint8_t *chunk)
{
	uint64_t n, x = 88172645463325252ULL;
	uint8_t *at = chunk;
	uint32_t offset;

	for (n = 0; at + 7 < chunk + STORM_CHUNK; n++) {
		offset = (uint32_t)(next_random(&x) % (STORM_DATA / 4)) * 4;
		at = PUT(at, "\x8b\x87");
		memcpy(at, &offset, sizeof(offset));
		at += sizeof(offset);
	}
	*at = 0xc3;
	return n;
}

/* The same bytes at other addresses: no page has to be cleared or copied, so that it is mostly code
 * that runs. */
static void run_storm(struct worker *w)
{
	static __thread uint64_t round, instructions;
	static __thread uint8_t data[STORM_DATA];
	static __thread int fd;
	uint8_t *chunk;
	void (*code)(void *data);

	if (!w->page) {
		fd = memfd_create("storm", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, STORM_CHUNK))
			err(1, "memfd");
		w->page = map(STORM_SPACE, PROT_NONE, MAP_NORESERVE);
		instructions = make_storm(mmap(NULL, STORM_CHUNK, PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_POPULATE, fd, 0));
	}
	chunk = w->page + round++ * STORM_CHUNK % STORM_SPACE;
	if (mmap(chunk, STORM_CHUNK, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
		 fd, 0) == MAP_FAILED)
		err(1, "mmap");
	memcpy(&code, &chunk, sizeof(code));
	for (int k = 0; k < STORM_RUNS; k++)
		code(data);
	w->fresh += instructions;
	if (mmap(chunk, STORM_CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		err(1, "mmap");
}

static const struct {
	const char *name;
	void (*run)(struct worker *w);
} modes[] = {
	{"arith", run_arith},	{"chase", run_chase}, {"nonsense", run_nonsense},
	{"code32", run_code32}, {"own", run_own},     {"scatter", run_scatter},
	{"storm", run_storm},
};

#else

static const struct {
	const char *name;
	void (*run)(struct worker *w);
} modes[] = {{"none", NULL}};

#endif

static void *work(void *arg)
{
	struct worker *w = arg;

	while (load_now_ns() < end_ns)
		w->run(w);
	w->cpu_ns = load_cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker w[THREADS_MAX];
	size_t mode, n = sizeof(modes) / sizeof(modes[0]);
	int k, threads = argc > 3 ? atoi(argv[3]) : 1;
	uint64_t cpu_ns = 0, fresh = 0;

	for (mode = 0; argc > 2 && mode < n; mode++)
		if (modes[mode].run && !strcmp(argv[1], modes[mode].name))
			break;
	if (argc < 3 || mode == n || threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: codes MODE SECONDS [THREADS], on x86-64\n");
		return 2;
	}
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	end_ns = load_now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
	for (k = 0; k < threads; k++) {
		w[k].run = modes[mode].run;
		w[k].id = k;
		if (pthread_create(&w[k].thread, NULL, work, &w[k]))
			return 1;
	}
	for (k = 0; k < threads; k++) {
		pthread_join(w[k].thread, NULL);
		cpu_ns += w[k].cpu_ns;
		fresh += w[k].fresh;
	}
	printf("{\"cpu_ns\":%" PRIu64 ",\"fresh\":%" PRIu64 "}\n", cpu_ns, fresh);
	return 0;
}
