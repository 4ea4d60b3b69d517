// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stretch of code: where instructions begin, and which of them jump where. All bytes that look
 * like a jump are noted by where it goes; which of them are jumps is found out for those that
 * matter.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "insn/insn_flow.h"

#define TRIES 16   /* to fall into step with the code */
#define PREFIXES 4 /* before a jump's own bytes */

/* ---- decoding ---- */

size_t insn_code_step(const struct insn_code *c, size_t at)
{
	if (c->len[at] == INSN_UNKNOWN) {
		struct insn_step s = c->machine->step(c->code + at, c->bytes - at);

		c->len[at] = s.len;
		c->way[at] = s.way;
	}
	return c->len[at];
}

static void link_jumps(struct insn_code *c)
{
	size_t at, bytes = c->bytes;
	int64_t to;

	memset(c->first, 0xff, bytes * sizeof(*c->first));
	for (at = 0; at < bytes; at += c->machine->align) {
		if (!c->machine->jump(c->code + at, bytes - at, &to))
			continue;
		to += (int64_t)at;
		if (to < 0 || to >= (int64_t)bytes)
			continue;
		c->next[at] = c->first[to];
		c->first[to] = (uint16_t)at;
	}
}

int insn_code_open_as(struct insn_code **out, const struct insn_machine *m, const uint8_t *code,
		      size_t bytes)
{
	struct insn_code *c;

	*out = NULL;
	if (!m->step || bytes > INSN_CODE_MAX)
		return -EINVAL;
	c = malloc(sizeof(*c) + bytes * (2 * sizeof(uint16_t) + 4));
	if (!c)
		return -ENOMEM;
	c->machine = m;
	c->bytes = bytes;
	c->first = (uint16_t *)(c + 1);
	c->next = c->first + bytes;
	c->len = (uint8_t *)(c->next + bytes);
	c->way = c->len + bytes;
	c->begins = c->way + bytes;
	c->code = c->begins + bytes;
	memset(c->len, INSN_UNKNOWN, 3 * bytes);
	if (bytes)
		memcpy(c->code, code, bytes);
	link_jumps(c);
	*out = c;
	return 0;
}

void insn_code_close(struct insn_code *c)
{
	free(c);
}

int insn_code_is(const struct insn_code *c, const uint8_t *code, size_t bytes)
{
	return c->bytes == bytes && !memcmp(c->code, code, bytes);
}

/* ---- where instructions begin ---- */

/* Follows the code to `at`: the last instruction before it; INSN_NOWHERE where the code passes over
 * it, or *lost. */
static size_t follow(const struct insn_code *c, size_t from, size_t at, bool *lost)
{
	size_t last = INSN_NOWHERE;

	while (from < at) {
		last = from;
		from += insn_code_step(c, from);
		if (from == last) {
			*lost = true;
			return INSN_NOWHERE;
		}
	}
	return from == at ? last : INSN_NOWHERE;
}

/*
 * Code falls into step after a few instructions whatever byte one starts at: most tries agree. The
 * instruction that ends at `at`, or INSN_NOWHERE; how many tries come to `at`, and how many come
 * by.
 */
static size_t vote(const struct insn_code *c, size_t at, unsigned int *come, unsigned int *all)
{
	size_t align = c->machine->align, start = 0, last, most = INSN_NOWHERE, k;
	unsigned int votes[INSN_LEN_MAX + 1] = {0}, best = 0;

	*come = *all = 0;
	if (at > INSN_BEFORE)
		start = (at - INSN_BEFORE + align - 1) / align * align;
	for (k = 0; k < TRIES && start < at; k++, start += align) {
		bool lost = false;

		last = follow(c, start, at, &lost);
		*all += !lost;
		if (last == INSN_NOWHERE)
			continue;
		++*come;
		if (++votes[at - last] > best) {
			best = votes[at - last];
			most = last;
		}
	}
	return most;
}

size_t insn_code_previous(const struct insn_code *c, size_t at)
{
	unsigned int come, all;
	size_t last = vote(c, at, &come, &all);

	return last == INSN_NOWHERE ? 0 : at - last;
}

/* Does the code come by? Nobody knows where nothing before it can be decoded: then it may. */
static bool begins(const struct insn_code *c, size_t at)
{
	if (c->begins[at] == INSN_UNKNOWN) {
		unsigned int come, all;

		(void)vote(c, at, &come, &all);
		c->begins[at] = 2 * come >= all;
	}
	return c->begins[at];
}

/* Has it a target? */
static bool leads_away(uint8_t way)
{
	return way == INSN_JUMPS || way == INSN_BRANCHES || way == INSN_CALLS;
}

/*
 * Bytes at `at` look like a jump: is it one? With the prefixes that it may have, its first byte,
 * or INSN_NOWHERE. Not all that ends where the jump would is the jump with a prefix: shl $17,%rbx
 * ends like jrcxz.
 */
size_t insn_code_jump(const struct insn_code *c, size_t at)
{
	size_t end = at + insn_code_step(c, at), k;

	for (k = 0; end > at && k <= PREFIXES && k <= at; k += c->machine->align)
		if (at - k + insn_code_step(c, at - k) == end && leads_away(c->way[at - k]) &&
		    begins(c, at - k))
			return at - k;
	return INSN_NOWHERE;
}

enum insn_found insn_recipe_as(const struct insn_machine *m, const uint8_t *code, size_t before,
			       size_t after, struct abi_recipe *out)
{
	struct insn_answer answer;
	enum insn_found found;
	struct insn_code *c;

	if (insn_code_open_as(&c, m, code, before + after))
		return INSN_UNDECODED;
	found = insn_code_recipe(c, before, &answer);
	if (found == INSN_RECIPE)
		*out = answer.r[0];
	insn_code_close(c);
	return found;
}
