/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A JSON text (RFC 8259) as a tree. Strict, with whole numbers of 64 bits exact; made for lines of
 * records, which are buckets for the most part: an array of whole numbers is one piece. json-c
 * makes an object of each, and took five times as long.
 */
#ifndef WS_JSON_H
#define WS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"

enum json_kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_WHOLE,    /* 0 and above, below 2^64 */
	JSON_NEGATIVE, /* whole, from -2^63 on */
	JSON_DECIMAL,  /* all other numbers */
	JSON_TEXT,     /* UTF-8; `n` bytes, of which a NUL may be one */
	JSON_ARRAY,    /* of n values, from `first` on */
	JSON_NUMBERS,  /* one of n > 0 whole numbers alone, in `numbers` */
	JSON_OBJECT,   /* as an array; its members have keys, the first of a name counts */
};

struct json {
	const char *key; /* of a member, else NULL */
	const struct json *next;
	enum json_kind type;
	uint32_t n;
	union {
		bool truth;
		uint64_t whole;
		int64_t negative;
		double decimal;
		const char *text;
		const struct json *first;
		const uint64_t *numbers;
	};
};

/*
 * Reads a text of `len` bytes, in place: it is not the same afterwards, and is to live as long as
 * the tree; text[len] is a NUL. 0; -EINVAL with words: the byte at which it is no JSON; -ENOMEM.
 */
int json_read(const struct json **out, char *text, size_t len, struct arena *memory, struct err *e);

/* A member, or NULL. Of what is no object, NULL. */
const struct json *json_member(const struct json *object, const char *key);

#endif
