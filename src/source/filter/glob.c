// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "source/filter/glob.h"

/* "[...]" after the bracket: sets bit for its bytes; returns what follows, NULL if it never closes.
 */
static const unsigned char *compile_class(const unsigned char *p, struct abi_glob *g, __u64 bit)
{
	bool in[256] = {false}, negate = false;
	unsigned int c, hi;
	bool first = true;

	if (*p == '!' || *p == '^') {
		negate = true;
		p++;
	}
	for (; *p && (*p != ']' || first); first = false) {
		if (*p == '\\' && p[1])
			p++;
		c = *p++;
		hi = c;
		if (p[0] == '-' && p[1] && p[1] != ']') {
			hi = p[1];
			p += 2;
		}
		for (; c <= hi; c++)
			in[c] = true;
	}
	if (*p != ']')
		return NULL;
	for (c = 1; c < 256; c++)
		if (in[c] != negate)
			g->match[c] |= bit;
	return p + 1;
}

static const unsigned char *compile_token(const unsigned char *p, struct abi_glob *g, __u64 bit)
{
	unsigned int c;

	switch (*p) {
	case '*':
		g->star |= bit;
		while (*p == '*')
			p++;
		return p;
	case '?':
		for (c = 1; c < 256; c++)
			g->match[c] |= bit;
		return p + 1;
	case '[':
		return compile_class(p + 1, g, bit);
	case '\\':
		if (p[1])
			p++;
		/* fall through */
	default:
		g->match[*p] |= bit;
		return p + 1;
	}
}

int glob_compile(const char *pattern, struct abi_glob *g, struct err *e)
{
	const unsigned char *p = (const unsigned char *)pattern;
	uint32_t n = 0;

	memset(g, 0, sizeof(*g));
	if (!*p)
		return err_set(e, EXIT_USAGE, -EINVAL, "--comm '': expected a name or a pattern");
	while (*p) {
		if (n == ABI_GLOB_TOKENS_MAX)
			return err_set(
				e, EXIT_USAGE, -EINVAL,
				"--comm '%s': too long, expected at most %d characters (names "
				"have 15)",
				pattern, ABI_GLOB_TOKENS_MAX);
		p = compile_token(p, g, 1ULL << n++);
		if (!p)
			return err_set(e, EXIT_USAGE, -EINVAL,
				       "--comm '%s': '[' without ']', expected a pattern such as "
				       "'worker[0-9]*'",
				       pattern);
	}
	g->accept = 1ULL << n;
	return 0;
}

bool glob_match(const struct abi_glob *g, const char *text, uint32_t len)
{
	uint64_t state = 1;

	for (uint32_t i = 0; i < len && text[i]; i++) {
		state |= (state & g->star) << 1;
		state = (state & g->match[(unsigned char)text[i]]) << 1 | (state & g->star);
	}
	state |= (state & g->star) << 1;
	return state & g->accept;
}
