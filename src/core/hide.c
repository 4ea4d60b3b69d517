// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/hide.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KERNEL_BIT (1ULL << 63)
#define LINE_BITS 6
#define DIGITS 16 /* of an address whose highest bit is set */

static bool is_kernel(uint64_t addr)
{
	return addr & KERNEL_BIT;
}

/* ---- addresses ---- */

static uint64_t word_of(const uint8_t *bytes)
{
	uint64_t v = 0;
	int i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | bytes[i];
	return v;
}

static uint64_t turn(uint64_t v, int bits)
{
	return v << bits | v >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = turn(v[1], 13) ^ v[0];
		v[3] = turn(v[3], 16) ^ v[2];
		v[0] = turn(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = turn(v[1], 17) ^ v[2];
		v[3] = turn(v[3], 21) ^ v[0];
		v[2] = turn(v[2], 32);
	}
}

static void sip_take(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

uint64_t hide_hash(const struct hide *h, uint64_t value)
{
	uint64_t v[4] = {
		h->key[0] ^ 0x736f6d6570736575,
		h->key[1] ^ 0x646f72616e646f6d,
		h->key[0] ^ 0x6c7967656e657261,
		h->key[1] ^ 0x7465646279746573,
	};

	sip_take(v, value);
	sip_take(v, (uint64_t)sizeof(value) << 56); /* the last block: nothing but the length */
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void hide_begin(struct hide *h, const uint8_t key[HIDE_KEY_BYTES])
{
	h->key[0] = word_of(key);
	h->key[1] = word_of(key + 8);
	h->on = true;
}

uint64_t hide_addr(const struct hide *h, uint64_t addr)
{
	uint64_t on_line = addr & ((1ULL << LINE_BITS) - 1);

	if (!is_kernel(addr))
		return addr;
	return KERNEL_BIT | hide_hash(h, addr >> LINE_BITS) << LINE_BITS | on_line;
}

/* ---- words ---- */

/* The first address of the kernel's in a text, and its length in characters; or NULL. */
static const char *find_address(const char *s, size_t *len)
{
	size_t n;

	while ((s = strstr(s, "0x"))) {
		s += 2;
		for (n = 0; isxdigit((unsigned char)s[n]);)
			n++;
		*len = 2 + n;
		if (n == DIGITS && strchr("89abcdefABCDEF", *s))
			return s - 2;
	}
	return NULL;
}

static const char hidden[] = "(hidden)"; /* shorter than what it stands for */

const char *hide_text(struct hide *h, uint64_t addr, const char *text)
{
	char own[2 + DIGITS + 1];
	char *copy, *to;
	const char *at;
	size_t len;

	if (!find_address(text, &len))
		return text;
	(void)snprintf(own, sizeof(own), "0x%" PRIx64, addr); /* fits */
	if (!strcmp(text, own)) {
		(void)snprintf(own, sizeof(own), "0x%" PRIx64, hide_addr(h, addr)); /* fits */
		return arena_text(&h->arena, own);
	}
	copy = to = arena_take(&h->arena, strlen(text) + 1);
	if (!copy)
		return NULL;
	while ((at = find_address(text, &len))) {
		to = mempcpy(to, text, (size_t)(at - text));
		to = mempcpy(to, hidden, sizeof(hidden) - 1);
		text = at + len;
	}
	memcpy(to, text, strlen(text) + 1);
	return copy;
}

/* ---- rows ---- */

/* A copy of what a row points to; NULL: no memory. */
static void *copy_of(struct hide *h, const void *v, size_t n, size_t size)
{
	void *copy = arena_take(&h->arena, n * size);

	return copy && n ? memcpy(copy, v, n * size) : copy;
}

/* Of a text that may be missing. False: no memory. */
static bool replace_text(struct hide *h, uint64_t addr, const char **text)
{
	if (!*text)
		return true;
	*text = hide_text(h, addr, *text);
	return *text;
}

/* An instruction: its text is about the kernel only if it is there. */
static bool replace_code(struct hide *h, uint64_t *ip, const char **sym)
{
	bool ok = !is_kernel(*ip) || replace_text(h, *ip, sym);

	*ip = hide_addr(h, *ip);
	return ok;
}

/* Who touches which place on the line: the names of places are about the row's line. */
static bool replace_accesses(struct hide *h, struct contended *c)
{
	struct line_accesses *a = copy_of(h, c->accesses, 1, sizeof(*a));
	struct line_spot *v = a ? copy_of(h, a->uses, a->nuses, sizeof(*v)) : NULL;
	bool kernel = is_kernel(c->addr), ok = v;

	for (size_t i = 0; ok && i < a->nuses; i++)
		ok = replace_code(h, &v[i].ip, &v[i].sym) &&
		     (!kernel || replace_text(h, c->line + v[i].offset, &v[i].name));
	if (!ok)
		return false;
	a->uses = v;
	c->accesses = a;
	return !kernel || replace_text(h, c->addr, &a->unconfirmed);
}

static bool replace_row(struct hide *h, struct contended *c)
{
	struct site *v = copy_of(h, c->sites, c->nsites, sizeof(*v));
	bool ok = v;

	for (size_t i = 0; ok && i < c->nsites; i++)
		ok = replace_code(h, &v[i].ip, &v[i].sym);
	if (c->nsites)
		c->sites = v;
	if (ok && c->accesses)
		ok = replace_accesses(h, c);
	if (ok && is_kernel(c->addr))
		ok = replace_text(h, c->addr, &c->name) && replace_text(h, c->addr, &c->place);
	c->addr = hide_addr(h, c->addr);
	c->line = hide_addr(h, c->line);
	return ok;
}

int hide_rows(struct hide *h, struct contended *rows, size_t n)
{
	for (size_t i = 0; h->on && i < n; i++)
		if (!replace_row(h, &rows[i]))
			return -ENOMEM;
	return 0;
}

int hide_held(struct hide *h, struct slow_held *held)
{
	struct slow_link *v;
	bool ok;

	if (!h->on)
		return 0;
	v = copy_of(h, held->behind, held->nbehind, sizeof(*v));
	ok = v && replace_text(h, held->addr, &held->name) &&
	     replace_text(h, held->addr, &held->place);
	for (size_t i = 0; ok && i < held->nbehind; i++) {
		ok = replace_text(h, v[i].addr, &v[i].name);
		v[i].addr = hide_addr(h, v[i].addr);
	}
	held->addr = hide_addr(h, held->addr);
	held->behind = v;
	return ok ? 0 : -ENOMEM;
}

void hide_forget(struct hide *h)
{
	arena_reset(&h->arena);
}

void hide_end(struct hide *h)
{
	arena_free(&h->arena);
	memset(h, 0, sizeof(*h));
}
