/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code in a header: its lines are of another file. */
#ifndef CODE_H
#define CODE_H

static inline __attribute__((always_inline)) void count(long *counter)
{
	*(volatile long *)counter += 1;
	if (*counter > 1000)
		*counter = 0;
}

#endif
