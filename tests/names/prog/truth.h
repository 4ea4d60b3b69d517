/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program tells what its own addresses are called, one a line:
 *	data ADDRESS OBJECT-ADDRESS OBJECT SYMBOL PATH LINE	(tabs between)
 * OBJECT: with DWARF; SYMBOL: without; PATH: within the object, with DWARF, "-" for none; LINE: of
 * its declaration. Then "ready"; it ends when stdin does.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRUTH_AS(address, object, name, symbol, path, line)                                  \
	printf("data\t%p\t%p\t%s\t%s\t%s\t%d\n", (void *)(address), (void *)&(object), name, \
	       symbol, *(path) ? (path) : "-", line)
#define TRUTH(address, object, path) \
	TRUTH_AS(address, object, #object, #object, path, object##_line)
/* In front of a declaration on the next line. */
#define DECLARED(object) enum { object##_line = __LINE__ + 1 }

static inline void truth_end(void)
{
	char c;

	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

#endif
