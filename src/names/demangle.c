// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/demangle.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h> /* Fedora */
#endif

#define MANGLED_MAX 4096
#define PARTS_MAX 65536 /* of a C++ name with packs, each counted as often as it is referred to */
#define PRINTS_MAX (1 << 22) /* pieces of a Rust name that is printed to its end */

struct piece {
	char *out;
	size_t len, at;
	bool to_the_end; /* what does not fit is dropped, and the work goes on */
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
	if (n > room && !p->to_the_end)
		longjmp(p->full, 1);
}

/* ---- C++ ---- */

/* Takes the parts that c is made of from *left. False: there are more. */
static bool count_parts(const struct demangle_component *c, size_t *left)
{
	while (c) {
		if (!*left)
			return false;
		--*left;
		switch (c->type) {
		case DEMANGLE_COMPONENT_NAME:
		case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
		case DEMANGLE_COMPONENT_FUNCTION_PARAM:
		case DEMANGLE_COMPONENT_SUB_STD:
		case DEMANGLE_COMPONENT_OPERATOR:
		case DEMANGLE_COMPONENT_BUILTIN_TYPE:
		case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
		case DEMANGLE_COMPONENT_CHARACTER:
		case DEMANGLE_COMPONENT_NUMBER:
		case DEMANGLE_COMPONENT_UNNAMED_TYPE:
			return true;
		case DEMANGLE_COMPONENT_LAMBDA:
		case DEMANGLE_COMPONENT_DEFAULT_ARG:
			c = c->u.s_unary_num.sub;
			break;
		case DEMANGLE_COMPONENT_FIXED_TYPE:
			c = c->u.s_fixed.length;
			break;
		case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
			c = c->u.s_extended_operator.name;
			break;
		case DEMANGLE_COMPONENT_CTOR:
			c = c->u.s_ctor.name;
			break;
		case DEMANGLE_COMPONENT_DTOR:
			c = c->u.s_dtor.name;
			break;
		default:
			if (!count_parts(c->u.s_binary.left, left))
				return false;
			c = c->u.s_binary.right;
		}
	}
	return true;
}

/*
 * For each pack the library goes through all that the name is made of, and through what is referred
 * to as often as it is: with nested packs that doubles with each, and nothing is printed meanwhile.
 */
static bool is_bounded(const char *symbol, const struct demangle_component *tree)
{
	size_t left = PARTS_MAX;

	return !strstr(symbol, "Dp") || count_parts(tree, &left);
}

static bool from_cpp(struct piece *p, const char *symbol)
{
	void *parts = NULL; /* that the tree is made of */
	struct demangle_component *tree;
	volatile bool done = false;

	tree = cplus_demangle_v3_components(symbol, DMGL_ANSI, &parts);
	if (tree && is_bounded(symbol, tree)) {
		if (setjmp(p->full))
			done = true; /* as much as there is room for */
		else
			done = cplus_demangle_print_callback(DMGL_ANSI, tree, take, p) && p->at;
	}
	free(parts);
	return done;
}

/* ---- Rust ---- */

#define BASE_62 "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/*
 * "u8_gdel_5qa", an identifier with other letters than ASCII's: a "u", how many bytes follow, an
 * underscore that may be missing, ASCII letters and an underscore if there are any, and the code of
 * the others, of small letters and digits.
 */
static bool is_punycode(const char *at)
{
	unsigned long len;
	const char *from;
	char *end;

	if (at[0] != 'u' || !isdigit((unsigned char)at[1]))
		return false;
	len = strtoul(at + 1, &end, 10);
	from = end + (*end == '_');
	if (strnlen(from, len) < len)
		return false;
	while (len && from[len - 1] != '_') {
		if (!islower((unsigned char)from[len - 1]) &&
		    !isdigit((unsigned char)from[len - 1]))
			return false;
		len--;
	}
	return true;
}

/* The library decodes such identifiers into memory that only its own way out frees. Names that have
 * one are printed to their end, if that is near. */
static bool has_punycode(const char *symbol)
{
	for (; *symbol; symbol++)
		if (is_punycode(symbol))
			return true;
	return false;
}

/*
 * How many pieces the library prints at most: one for each byte, one for each lifetime of a binder
 * ("for<'a, 'b>" is "G0_": the number, in base 62, is one less), all of them again for each
 * reference back ("B3_"). Letters of identifiers are counted as if they were such; a binder of more
 * than 63 is too many.
 */
static bool ends_soon(const char *symbol)
{
	uint64_t pieces = 0;
	unsigned int back = 0;

	for (const char *c = symbol; *c; c++) {
		size_t digits = *c == 'G' ? strspn(c + 1, BASE_62) : 0;

		pieces += 1;
		if (digits && c[1 + digits] == '_') {
			if (digits > 1)
				return false;
			pieces += 63;
		}
		back += *c == 'B';
	}
	return back < 22 && pieces << back <= PRINTS_MAX;
}

static bool from_rust(struct piece *p, const char *symbol)
{
	p->to_the_end = !strncmp(symbol, "_R", 2) && has_punycode(symbol);
	if (p->to_the_end && !ends_soon(symbol))
		return false;
	if (setjmp(p->full))
		return true; /* as much as there is room for */
	return rust_demangle_callback(symbol, DMGL_ANSI, take, p) && p->at;
}

bool demangle(char *out, size_t len, const char *symbol)
{
	struct piece p = {.out = out, .len = len};
	bool mangled = !strncmp(symbol, "_Z", 2) || !strncmp(symbol, "_R", 2);

	if (mangled && strnlen(symbol, MANGLED_MAX) < MANGLED_MAX) {
		if (from_rust(&p, symbol))
			return true;
		p.at = 0;
		p.to_the_end = false;
		if (from_cpp(&p, symbol))
			return true;
	}
	(void)snprintf(out, len, "%s", symbol); /* cut is fine */
	return false;
}
