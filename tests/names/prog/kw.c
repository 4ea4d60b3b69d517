// SPDX-License-Identifier: GPL-2.0-or-later
/* Variables of C in every shape that an address can fall into. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "truth.h"

struct bucket {
	char tag; /* 7 bytes of padding follow */
	uint64_t n;
	pthread_mutex_t lock;
};

struct table {
	int count; /* 4 bytes of padding follow */
	struct bucket buckets[4];
	union {
		uint32_t small;
		struct {
			uint64_t first, second;
		} large;
	} either;
	struct {
		int x, y;
	}; /* no name */
	unsigned int low : 3, high : 20, far : 9, next : 8;
	int grid[3][5];
	const char *text;
	pthread_cond_t cond;
	sem_t sem;
	void *(*fn)(void *);
};

struct tail {
	uint64_t len;
	uint16_t more[];
};

DECLARED(table);
struct table table; /* .bss */
DECLARED(ready_made);
static struct table ready_made = {.count = 1}; /* .data */
DECLARED(numbers);
static volatile int numbers[7] = {1};
DECLARED(plain);
uint64_t plain = 3;
DECLARED(tail);
static struct tail tail = {.len = 3, .more = {1, 2, 3}};
union overlaid {
	int i;
	char bytes[16];
};
DECLARED(raw_union);
static union overlaid raw_union;
DECLARED(mutexes);
pthread_mutex_t mutexes[2];
DECLARED(big);
char big[3 << 20]; /* .bss of many pages */
typedef struct table my_table_t;
DECLARED(qualified);
static const volatile my_table_t qualified = {.count = 2};
static __thread int per_thread;

int real_one = 1;
extern int other_name __attribute__((alias("real_one")));

static int *in_function(void)
{
	static struct {
		int a, b;
	} hidden;
	enum { hidden_line = __LINE__ - 1 };

	TRUTH_AS(&hidden.b, hidden, "hidden", "hidden.0", ".b", hidden_line);
	return &hidden.a;
}

static void members(void)
{
	char *inside = (char *)&table, path[32];
	size_t bits = offsetof(struct table, y) + sizeof(int);

	TRUTH(&table, table, ".count");
	TRUTH(inside + 4, table, "+0x4");
	TRUTH(&table.buckets[3].lock, table, ".buckets[3].lock");
	TRUTH((char *)&table.buckets[3].lock + 8, table, ".buckets[3].lock+0x8");
	TRUTH(&table.buckets[2].tag, table, ".buckets[2].tag");
	TRUTH(&table.buckets[2].tag + 1, table, ".buckets[2]+0x1");
	TRUTH((char *)&table.buckets[0].n + 3, table, ".buckets[0].n+0x3");
	TRUTH(&table.either, table, ".either");
	TRUTH((char *)&table.either + 4, table, ".either.large.first+0x4");
	TRUTH(&table.either.large.second, table, ".either.large.second");
	TRUTH(&table.y, table, ".y");
	(void)snprintf(path, sizeof(path), "+0x%zx", bits);
	TRUTH(inside + bits, table, path); /* two share this byte */
	TRUTH(inside + bits + 1, table, ".high");
	TRUTH(inside + bits + 4, table, ".next");
	TRUTH(&table.grid[2][4], table, ".grid[2][4]");
	TRUTH(&table.text, table, ".text");
	TRUTH(&table.cond, table, ".cond");
	TRUTH((char *)&table.cond + 0x28, table, ".cond+0x28");
	TRUTH(&table.sem, table, ".sem");
	TRUTH(&table.fn, table, ".fn");
}

int main(void)
{
	members();
	TRUTH(&ready_made.buckets[1].n, ready_made, ".buckets[1].n");
	TRUTH(&numbers[6], numbers, "[6]");
	TRUTH(&plain, plain, "");
	TRUTH((char *)&plain + 2, plain, "+0x2");
	TRUTH(&tail.len, tail, ".len");
	TRUTH(&raw_union, raw_union, "");
	TRUTH(raw_union.bytes + 5, raw_union, ".bytes[5]");
	TRUTH(&mutexes[1], mutexes, "[1]");
	TRUTH(big + sizeof(big) - 1, big, "[3145727]");
	TRUTH(&qualified.grid[1][0], qualified, ".grid[1][0]");
	in_function();
	per_thread = plain > 1;
	printf("tls %p\n", (void *)&per_thread);
	printf("alias %p\n", (void *)&real_one);
	printf("heap %p\n", malloc(64));
	printf("stack %p\n", (void *)&(int){0});
	printf("code %p members\n", (void *)members);
	printf("flexible %p %p\n", (void *)&tail.more[1], (void *)&tail);
	truth_end();
	return per_thread - 1 + *in_function() + other_name - 1;
}
