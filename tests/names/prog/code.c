// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions that compilers put into one another, for the lines of code: test_names.py asks
 * addr2line, too. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "code.h"

struct table {
	long rows[4];
	pthread_mutex_t lock;
};

static struct table table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline __attribute__((always_inline)) void take(struct table *t)
{
	pthread_mutex_lock(&t->lock);
	count(&t->rows[0]);
}

static inline __attribute__((always_inline)) void give(struct table *t)
{
	t->rows[1]++;
	pthread_mutex_unlock(&t->lock);
}

static inline __attribute__((always_inline)) long insert(struct table *t, long value)
{
	long was;

	take(t);
	was = t->rows[2];
	if (value > was)
		t->rows[2] = value;
	give(t);
	return was;
}

static long sum(const struct table *t)
{
	long all = 0;

	for (int i = 0; i < 4; i++)
		all += t->rows[i];
	return all;
}

__attribute__((noinline)) void work(struct table *t, int turns)
{
	for (int i = 0; i < turns; i++) {
		if (i % 3)
			(void)insert(t, i);
		else
			t->rows[3] += insert(t, -i);
	}
}

__attribute__((noinline, noreturn)) void leave(int status)
{
	_exit(status);
}

/* The call is the last instruction of it: where it returns to is the next function. */
__attribute__((noinline, noreturn)) void give_up(void)
{
	leave(3);
}

int main(int argc, char **argv)
{
	char c;

	work(&table, argc * 10);
	printf("ready\n");
	fflush(stdout);
	if (read(0, &c, 1) > 0)
		give_up();
	return sum(&table) < 0;
}
