// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits until its input ends. tests/names/hostile.py makes files of it that are hostile to read. */
#include <stdint.h>
#include <stdio.h>

uint32_t hostile_lock[64];

int main(void)
{
	printf("lock %lx\nready\n", (unsigned long)(uintptr_t)hostile_lock);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return (int)hostile_lock[0];
}
