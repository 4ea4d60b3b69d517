// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Until its input ends it waits: for that, or with an argument on a futex again and again, by its
 * name. tests/names/hostile.py makes files of it that are hostile to read.
 */
#include <linux/futex.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t hostile_lock[64];

__attribute__((noinline)) void hostile_wait(uint32_t *word)
{
	struct timespec ms = {0, 2000000};

	syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, *word, &ms, NULL, 0);
	__asm__ volatile("" ::: "memory"); /* no tail call: who waits is this */
}

int main(int argc, char **argv)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	printf("lock %lx\nready\n", (unsigned long)(uintptr_t)hostile_lock);
	fflush(stdout);
	while (argc > 1 ? poll(&in, 1, 0) == 0 : getchar() != EOF)
		if (argc > 1)
			hostile_wait(&hostile_lock[0]);
	return (int)hostile_lock[0];
}
