// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define NESTED_MAX 12 /* a record of ours has 9 */

struct reader {
	const char *text;
	char *at, *end; /* *end is a NUL, which is part of no JSON: reading stops there */
	uint32_t nested;
	struct arena *memory;
	struct err *e;
};

/* ---- what is wrong ---- */

static int bad(struct reader *r, const char *expected)
{
	if (r->at == r->end)
		return err_set(r->e, EXIT_FAILED, -EINVAL, "the line ends too early");
	return err_set(r->e, EXIT_FAILED, -EINVAL, "no JSON at byte %zu: expected %s",
		       (size_t)(r->at - r->text), expected);
}

static int no_memory(struct reader *r)
{
	return err_sys(r->e, -ENOMEM, "JSON");
}

/* ---- words ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char *after_blanks(char *p)
{
	while (is_blank(*p))
		p++;
	return p;
}

static void skip_blanks(struct reader *r)
{
	r->at = after_blanks(r->at);
}

static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int read_word(struct reader *r, const char *word)
{
	for (; *word && *r->at == *word; word++)
		r->at++;
	return *word ? bad(r, "true, false or null") : 0;
}

/* ---- texts ---- */

static bool hex4(const char *p, uint32_t *out)
{
	uint32_t i;

	*out = 0;
	for (i = 0; i < 4; i++) {
		char c = p[i];
		char lower = (char)(c | 0x20);

		if (!is_digit(c) && (lower < 'a' || lower > 'f'))
			return false;
		*out = *out << 4 | (uint32_t)(is_digit(c) ? c - '0' : lower - 'a' + 10);
	}
	return true;
}

/* In UTF-8, which is never longer than what it was written as: "\uXXXX". */
static char *put_char(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xe0 | c >> 12);
		} else {
			*to++ = (char)(0xf0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* "\uXXXX", two of which may be the halves of one character; half of one alone is U+FFFD. */
static int read_unicode(struct reader *r, char **to)
{
	uint32_t c, low;

	if (!hex4(r->at, &c)) {
		r->at += strspn(r->at, "0123456789abcdefABCDEF");
		return bad(r, "four hexadecimal digits");
	}
	r->at += 4;
	if (c >= 0xd800 && c < 0xdc00 && r->at[0] == '\\' && r->at[1] == 'u' &&
	    hex4(r->at + 2, &low) && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		r->at += 6;
	}
	*to = put_char(*to, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return 0;
}

static int read_escape(struct reader *r, char **to)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name;

	r->at++; /* the backslash */
	if (*r->at == 'u') {
		r->at++;
		return read_unicode(r, to);
	}
	name = *r->at ? strchr(names, *r->at) : NULL;
	if (!name)
		return bad(r, "an escape such as \\n");
	r->at++;
	*(*to)++ = values[name - names];
	return 0;
}

/* From after its first quote; a NUL stands in place of the last one, or before. */
static int read_text(struct reader *r, const char **text, uint32_t *len)
{
	char *to = r->at, *from = to;
	int ret;
	size_t n;

	*text = to;
	for (; *r->at != '"'; from = r->at) {
		while ((signed char)*r->at >= ' ' && *r->at != '"' && *r->at != '\\') /* ASCII */
			r->at++;
		n = (size_t)(r->at - from);
		if (!n && *r->at == '\\') {
			ret = read_escape(r, &to);
			if (ret)
				return ret;
			continue;
		}
		if (!n && (unsigned char)*r->at < ' ')
			return bad(r, "a text without control characters");
		if (!n) {
			n = text_char(from, (size_t)(r->end - from));
			r->at += n;
		}
		if (!n)
			return err_set(r->e, EXIT_FAILED, -EINVAL, "no UTF-8 at byte %zu",
				       (size_t)(r->at - r->text));
		to = to == from ? to + n : (char *)memmove(to, from, n) + n;
	}
	r->at++;
	*len = (uint32_t)(to - *text);
	*to = '\0';
	return 0;
}

/* ---- numbers ---- */

/* Digits; false: they are none, begin with a 0 that is not all, or are 2^64 or more. */
static bool read_digits(char **at, uint64_t *out)
{
	char *p = *at;
	uint64_t v = 0;

	for (; is_digit(*p); p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	if (p == *at || (**at == '0' && p > *at + 1))
		return false;
	*at = p;
	*out = v;
	return true;
}

/* The end of a number at p, as JSON writes them, or NULL. */
static char *number_end(char *p)
{
	p += *p == '-';
	if (!is_digit(*p) || (*p == '0' && is_digit(p[1])))
		return NULL;
	while (is_digit(*p))
		p++;
	if (*p == '.') {
		if (!is_digit(*++p))
			return NULL;
		while (is_digit(*p))
			p++;
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '+' || *p == '-';
		if (!is_digit(*p))
			return NULL;
		while (is_digit(*p))
			p++;
	}
	return p;
}

static int read_number(struct reader *r, struct json *v)
{
	char *end = number_end(r->at), *at = r->at + (*r->at == '-');
	bool whole;
	uint64_t n;

	if (!end)
		return bad(r, "a value");
	whole = read_digits(&at, &n) && at == end;
	if (whole && *r->at != '-') {
		v->type = JSON_WHOLE;
		v->whole = n;
	} else if (whole && n <= (uint64_t)INT64_MAX + 1) {
		v->type = JSON_NEGATIVE;
		v->negative = n ? -(int64_t)(n - 1) - 1 : 0;
	} else {
		v->type = JSON_DECIMAL;
		v->decimal = strtod(r->at, NULL); /* the locale is C: nobody sets one */
	}
	r->at = end;
	return 0;
}

/* From after the bracket, if the array has whole numbers alone; else it is not touched. */
static int read_numbers(struct reader *r, struct json *v)
{
	char *p = r->at, *end;
	uint64_t *numbers;
	uint32_t n = 1, i;

	for (; is_digit(*p) || *p == ',' || is_blank(*p); p++)
		n += *p == ',';
	if (*p != ']' || p == r->at)
		return 0;
	end = p;
	numbers = arena_take(r->memory, n * sizeof(*numbers));
	if (!numbers)
		return no_memory(r);
	for (p = r->at, i = 0; i < n; i++, p++) {
		p = after_blanks(p);
		if (!read_digits(&p, &numbers[i]))
			return 0; /* it is said what is wrong where each is read */
		p = after_blanks(p);
		if (*p != (i + 1 < n ? ',' : ']'))
			return 0;
	}
	v->type = JSON_NUMBERS;
	v->numbers = numbers;
	v->n = n;
	r->at = end + 1;
	return 0;
}

/* ---- values ---- */

static int read_value(struct reader *r, struct json *v);

/* A key and what follows it. */
static int read_key(struct reader *r, struct json *v)
{
	uint32_t len;
	int ret;

	if (!take(r, '"'))
		return bad(r, "a key");
	ret = read_text(r, &v->key, &len);
	if (!ret && !take(r, ':'))
		ret = bad(r, "a colon");
	return ret;
}

/* Values with commas between them, from after the opening bracket to after the closing one. */
static int read_list(struct reader *r, struct json *list, char close)
{
	const struct json **tail = &list->first;

	if (++r->nested > NESTED_MAX)
		return bad(r, "fewer values within each other");
	if (!take(r, close)) {
		do {
			struct json *one = arena_take(r->memory, sizeof(*one));
			int ret = one ? 0 : no_memory(r);

			if (!ret && close == '}')
				ret = read_key(r, one);
			if (!ret)
				ret = read_value(r, one);
			if (ret)
				return ret;
			*tail = one;
			tail = &one->next;
			list->n++;
		} while (take(r, ','));
		if (!take(r, close))
			return bad(r, close == '}' ? "a comma or }" : "a comma or ]");
	}
	r->nested--;
	return 0;
}

static int read_value(struct reader *r, struct json *v)
{
	int ret;

	skip_blanks(r);
	switch (*r->at) {
	case '"':
		r->at++;
		v->type = JSON_TEXT;
		return read_text(r, &v->text, &v->n);
	case '{':
		r->at++;
		v->type = JSON_OBJECT;
		return read_list(r, v, '}');
	case '[':
		r->at++;
		v->type = JSON_ARRAY;
		ret = read_numbers(r, v);
		return ret || v->type == JSON_NUMBERS ? ret : read_list(r, v, ']');
	case 't':
	case 'f':
		v->type = JSON_BOOL;
		v->truth = *r->at == 't';
		return read_word(r, v->truth ? "true" : "false");
	case 'n':
		return read_word(r, "null");
	}
	return read_number(r, v);
}

int json_read(const struct json **out, char *text, size_t len, struct arena *memory, struct err *e)
{
	struct reader r = {.text = text, .at = text, .end = text + len, .memory = memory, .e = e};
	struct json *v = arena_take(memory, sizeof(*v));
	int ret = v ? read_value(&r, v) : no_memory(&r);

	*out = v;
	if (ret)
		return ret;
	skip_blanks(&r);
	return r.at == r.end ? 0 : bad(&r, "its end");
}

const struct json *json_member(const struct json *object, const char *key)
{
	const struct json *v = object && object->type == JSON_OBJECT ? object->first : NULL;

	while (v && strcmp(v->key, key))
		v = v->next;
	return v;
}
