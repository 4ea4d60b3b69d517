// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/map_line.h"

#include <string.h>

struct cursor {
	const char *p, *end;
};

static bool number(struct cursor *c, unsigned int base, uint64_t *out)
{
	const char *from = c->p;
	uint64_t v = 0;

	for (; c->p < c->end; c->p++) {
		char ch = *c->p;
		unsigned int digit = ch >= '0' && ch <= '9'   ? (unsigned int)(ch - '0')
				     : ch >= 'a' && ch <= 'f' ? (unsigned int)(ch - 'a') + 10
							      : 16;

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*out = v;
	return c->p > from;
}

static bool literal(struct cursor *c, char ch)
{
	if (c->p == c->end || *c->p != ch)
		return false;
	c->p++;
	return true;
}

/* "rw-p" */
static bool permissions(struct cursor *c, uint32_t *out)
{
	static const char letters[] = "rwx";

	if (c->end - c->p < 4)
		return false;
	*out = 0;
	for (size_t i = 0; i < 3; i++) {
		if (c->p[i] == letters[i])
			*out |= 1U << i;
		else if (c->p[i] != '-')
			return false;
	}
	if (c->p[3] == 's')
		*out |= MAP_SHARED_MEM;
	else if (c->p[3] != 'p')
		return false;
	c->p += 4;
	return true;
}

/* "fe:01" */
static bool device(struct cursor *c, uint64_t *out)
{
	uint64_t major, minor;

	if (!number(c, 16, &major) || !literal(c, ':') || !number(c, 16, &minor) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	*out = major << 32 | minor;
	return true;
}

bool map_line_parse(const char *line, size_t len, struct map_line *out)
{
	struct cursor c = {line, line + len};

	if (len && line[len - 1] == '\n')
		c.end--;
	if (memchr(line, '\0', len) || !number(&c, 16, &out->start) || !literal(&c, '-') ||
	    !number(&c, 16, &out->end) || !literal(&c, ' ') || !permissions(&c, &out->perms) ||
	    !literal(&c, ' ') || !number(&c, 16, &out->offset) || !literal(&c, ' ') ||
	    !device(&c, &out->dev) || !literal(&c, ' ') || !number(&c, 10, &out->inode))
		return false;
	if (c.p < c.end && *c.p != ' ')
		return false;
	while (c.p < c.end && *c.p == ' ')
		c.p++;
	out->path = c.p;
	out->path_len = (size_t)(c.end - c.p);
	return out->start < out->end;
}

bool map_line_anon_inode(const struct map_line *l)
{
	static const char name[] = "anon_inode:";

	return l->path_len >= sizeof(name) - 1 && !memcmp(l->path, name, sizeof(name) - 1);
}
