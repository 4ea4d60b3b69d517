// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/demangle.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h> /* Fedora */
#endif

#define MANGLED_MAX 4096

struct piece {
	char *out;
	size_t len, at;
	jmp_buf full;
};

/*
 * A few hundred mangled bytes can stand for 2^50 readable ones (substitutions of substitutions):
 * what no longer fits must end the work, and the library has no other way to be told.
 */
static void take(const char *text, size_t n, void *ctx)
{
	struct piece *p = ctx;
	size_t room = p->len - 1 - p->at;

	if (!n)
		return; /* text may be NULL then */
	memcpy(p->out + p->at, text, n < room ? n : room);
	p->at += n < room ? n : room;
	p->out[p->at] = '\0';
	if (n > room)
		longjmp(p->full, 1);
}

bool demangle(char *out, size_t len, const char *symbol)
{
	int options = DMGL_ANSI; /* no DMGL_NO_RECURSE_LIMIT: the limit is on */
	struct piece p = {.out = out, .len = len};
	bool mangled = !strncmp(symbol, "_Z", 2) || !strncmp(symbol, "_R", 2);

	if (mangled && strnlen(symbol, MANGLED_MAX) < MANGLED_MAX) {
		if (setjmp(p.full))
			return true; /* as much as there is room for */
		if (rust_demangle_callback(symbol, options, take, &p) && p.at)
			return true;
		p.at = 0;
		if (cplus_demangle_v3_callback(symbol, options, take, &p) && p.at)
			return true;
	}
	(void)snprintf(out, len, "%s", symbol); /* cut is fine */
	return false;
}
