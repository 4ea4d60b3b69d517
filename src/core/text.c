/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Foreign bytes made safe to print. Independent of the locale. */
#include <stdio.h>
#include <string.h>

#include "core/text.h"

#define BAD_BYTES UINT32_MAX /* not a character */
#define REPLACEMENT "\xef\xbf\xbd"
#define CHAR_BYTES 4 /* the longest text one character becomes: UTF-8, or \xNN */

struct range {
	uint32_t first, last;
};

/*
 * What nobody sees, or what makes text read in another order than it is written, or ends a line:
 * Unicode's controls, format characters (Cf), line and paragraph separators. Two names that differ
 * in these only would look the same.
 */
static const struct range unseen[] = {
	{0x0000, 0x001f},   {0x007f, 0x009f},	{0x00ad, 0x00ad},   {0x0600, 0x0605},
	{0x061c, 0x061c},   {0x06dd, 0x06dd},	{0x070f, 0x070f},   {0x0890, 0x0891},
	{0x08e2, 0x08e2},   {0x180e, 0x180e},	{0x200b, 0x200f},   {0x2028, 0x202e},
	{0x2060, 0x206f},   {0xfeff, 0xfeff},	{0xfff9, 0xfffb},   {0x110bd, 0x110bd},
	{0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	{0xe0001, 0xe0001}, {0xe0020, 0xe007f},
};

static const struct range no_columns[] = {
	{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
	{0x093c, 0x093c}, {0x094d, 0x094d}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},
	{0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x2060, 0x2064}, {0x20d0, 0x20f0},
	{0x302a, 0x302d}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

static const struct range two_columns[] = {
	{0x1100, 0x115f},   {0x231a, 0x231b},	{0x2329, 0x232a},   {0x23e9, 0x23ec},
	{0x2614, 0x2615},   {0x2e80, 0x303e},	{0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
	{0xa960, 0xa97c},   {0xac00, 0xd7a3},	{0xf900, 0xfaff},   {0xfe10, 0xfe19},
	{0xfe30, 0xfe6f},   {0xff01, 0xff60},	{0xffe0, 0xffe6},   {0x17000, 0x18cff},
	{0x1b000, 0x1b2ff}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
	{0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

#define IN(table, c) in_ranges(table, sizeof(table) / sizeof((table)[0]), c)

static bool in_ranges(const struct range *r, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].first && c <= r[i].last)
			return true;
	return false;
}

/* How many bytes a character with this first byte has, and what may follow; 0 if it begins none. */
static size_t lead_byte(uint8_t b, uint8_t *low, uint8_t *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (b < 0x80)
		return 1;
	if (b < 0xc2 || b > 0xf4) /* continuation, overlong, past U+10FFFF */
		return 0;
	if (b == 0xe0)
		*low = 0xa0; /* else overlong */
	if (b == 0xed)
		*high = 0x9f; /* else a surrogate */
	if (b == 0xf0)
		*low = 0x90;
	if (b == 0xf4)
		*high = 0x8f;
	return b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
}

/*
 * The character at p of n > 0 bytes, or BAD_BYTES; returns the bytes it takes. Of a broken one that
 * is what could have begun a character, so that what follows is read afresh.
 */
static size_t next_char(const uint8_t *p, size_t n, uint32_t *c)
{
	uint8_t low, high;
	size_t i, len = lead_byte(p[0], &low, &high);

	*c = BAD_BYTES;
	if (len < 2) {
		if (len)
			*c = p[0];
		return 1;
	}
	for (i = 1; i < len; i++) {
		if (i == n || p[i] < low || p[i] > high)
			return i;
		low = 0x80;
		high = 0xbf;
	}
	*c = p[0] & (0x7fU >> len);
	for (i = 1; i < len; i++)
		*c = *c << 6 | (p[i] & 0x3f);
	return len;
}

/* What a character of `n` bytes at p becomes in UTF-8, or (`clean`) on a terminal: its length. */
static size_t convert_char(char out[CHAR_BYTES + 1], const uint8_t *p, size_t n, uint32_t c,
			   bool clean)
{
	bool plain = c >= ' ' && c < 0x7f; /* nearly all there are: no table is asked */

	if (c == BAD_BYTES || (clean && c > 0x7f && IN(unseen, c))) {
		memcpy(out, REPLACEMENT, 3);
		return 3;
	}
	if (clean && !plain && c <= 0x7f) {
		(void)snprintf(out, CHAR_BYTES + 1, "\\x%02x", c); /* four bytes, always */
		return 4;
	}
	memcpy(out, p, n);
	return n;
}

static char *copy_chars(char *out, size_t outlen, const char *in, size_t len, bool clean)
{
	const uint8_t *p = (const uint8_t *)in;
	const uint8_t *end = p + strnlen(in, len);
	size_t at = 0, taken, made;
	char one[CHAR_BYTES + 1];
	uint32_t c;

	if (!outlen)
		return out;
	for (; p < end; p += taken) {
		taken = next_char(p, (size_t)(end - p), &c);
		made = convert_char(one, p, taken, c, clean);
		if (made >= outlen - at)
			break;
		memcpy(out + at, one, made);
		at += made;
	}
	out[at] = '\0';
	return out;
}

char *text_clean(char *out, size_t outlen, const char *in, size_t len)
{
	return copy_chars(out, outlen, in, len, true);
}

size_t text_unseen(const char *s, uint32_t *c)
{
	size_t n = strnlen(s, CHAR_BYTES), taken;

	if (!n)
		return 0;
	taken = next_char((const uint8_t *)s, n, c);
	return *c != BAD_BYTES && IN(unseen, *c) ? taken : 0;
}

char *text_utf8(char *out, size_t outlen, const char *in, size_t len)
{
	return copy_chars(out, outlen, in, len, false);
}

size_t text_char(const char *s, size_t n)
{
	uint32_t c;
	size_t taken = n ? next_char((const uint8_t *)s, n, &c) : 0;

	return taken && c != BAD_BYTES ? taken : 0;
}

size_t text_width(const char *s)
{
	const uint8_t *p = (const uint8_t *)s;
	size_t n = strlen(s), width = 0;
	uint32_t c;

	while (n) {
		size_t taken = next_char(p, n, &c);

		if (c < no_columns[0].first) /* before the first of either table */
			width++;
		else if (IN(two_columns, c))
			width += 2;
		else if (!IN(no_columns, c))
			width++;
		p += taken;
		n -= taken;
	}
	return width;
}

bool text_is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

uint64_t text_hash(const char *bytes, size_t len)
{
	uint64_t h = 14695981039346656037ULL; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)bytes[i]) * 1099511628211ULL;
	return h ^ h >> 29;
}
