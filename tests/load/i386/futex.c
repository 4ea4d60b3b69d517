// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A 32-bit program without a C library: `futex32` waits for a byte on its standard input, then N
 * times (argv[1]) for a futex, each time until a time-out of 1 ms, and writes what that took by its
 * own clock: "N NS\n".
 */
/* include/uapi/linux/futex.h, time.h: the headers of another machine's kernel need a package of
 * their own. */
#define FUTEX_WAIT_PRIVATE 128
#define CLOCK_MONOTONIC 1

#define NR_EXIT 1
#define NR_READ 3
#define NR_WRITE 4
#define NR_FUTEX 240
#define NR_CLOCK_GETTIME64 403

typedef unsigned long long u64;

struct timespec32 {
	int sec, nsec;
};

struct timespec64 {
	long long sec, nsec;
};

static int word = 2; /* "locked, with waiters" */

static int call(int nr, int a, int b, int c, int d)
{
	int ret;

	asm volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return ret;
}

static u64 now_ns(void)
{
	struct timespec64 t;

	call(NR_CLOCK_GETTIME64, CLOCK_MONOTONIC, (int)&t, 0, 0);
	return (u64)t.sec * 1000000000ULL + (u64)t.nsec;
}

/* Without the division of 64 bits, which is a library's. */
static char *put(char *at, u64 v)
{
	u64 power = 1, next;
	char digit;

	while ((next = power * 10) <= v)
		power = next;
	for (; power; power = power == 1 ? 0 : next) {
		for (digit = '0'; v >= power; v -= power)
			digit++;
		*at++ = digit;
		for (next = 1; next * 10 < power;)
			next *= 10;
	}
	return at;
}

static void run(const int *stack)
{
	const char *arg = stack[0] > 1 ? (const char *)stack[2] : "1";
	struct timespec32 ms = {0, 1000000};
	char text[64], *end = text;
	u64 waited = 0, began;
	int n = 0;

	while (*arg >= '0' && *arg <= '9')
		n = n * 10 + *arg++ - '0';
	call(NR_READ, 0, (int)text, 1, 0);
	for (int i = 0; i < n; i++) {
		began = now_ns();
		call(NR_FUTEX, (int)&word, FUTEX_WAIT_PRIVATE, word, (int)&ms);
		waited += now_ns() - began;
	}
	end = put(end, (u64)n);
	*end++ = ' ';
	end = put(end, waited);
	*end++ = '\n';
	call(NR_WRITE, 1, (int)text, end - text, 0);
	call(NR_EXIT, 0, 0, 0, 0);
}

__attribute__((naked, used)) void _start(void)
{
	asm volatile("mov %%esp, %%eax; and $-16, %%esp; push %%eax; call *%0; hlt" : : "b"(run));
}
