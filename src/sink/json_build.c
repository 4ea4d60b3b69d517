// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/json_build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define JSON_RECORD_VERSION 1
#define HEX_CHARS 19 /* 0x, sixteen digits, a NUL */

/* Every object passes here: an allocation that failed becomes the builder's error. */
static struct json_object *json_checked(struct json_build *b, struct json_object *o)
{
	if (!o && !b->error)
		b->error = -ENOMEM;
	return o;
}

struct json_object *json_new_object(struct json_build *b)
{
	return json_checked(b, json_object_new_object());
}

struct json_object *json_new_array(struct json_build *b)
{
	return json_checked(b, json_object_new_array());
}

struct json_object *json_new_text(struct json_build *b, const char *text)
{
	struct json_object *o = NULL;
	size_t size;
	char *clean;

	if (!text)
		return NULL;
	size = 3 * strlen(text) + 1; /* a bad byte becomes U+FFFD: three bytes */
	clean = malloc(size);
	if (clean)
		o = json_object_new_string(text_utf8(clean, size, text, SIZE_MAX));
	free(clean);
	return json_checked(b, o);
}

/* What became of handing it over: if it was not taken it is freed here. */
static void json_given(struct json_build *b, struct json_object *value, int ret)
{
	if (!ret)
		return;
	json_object_put(value);
	if (!b->error)
		b->error = -ENOMEM;
}

void json_add(struct json_build *b, struct json_object *obj, const char *key,
	      struct json_object *value)
{
	json_given(b, value,
		   b->error
			   ?: json_object_object_add_ex(obj, key, value,
							JSON_C_OBJECT_KEY_IS_CONSTANT));
}

void json_append(struct json_build *b, struct json_object *array, struct json_object *value)
{
	json_given(b, value, b->error ?: json_object_array_add(array, value));
}

void json_append_u64(struct json_build *b, struct json_object *array, uint64_t v)
{
	json_append(b, array, json_checked(b, json_object_new_uint64(v)));
}

void json_add_u64(struct json_build *b, struct json_object *obj, const char *key, uint64_t v)
{
	json_add(b, obj, key, json_checked(b, json_object_new_uint64(v)));
}

void json_add_i64(struct json_build *b, struct json_object *obj, const char *key, int64_t v)
{
	json_add(b, obj, key, json_checked(b, json_object_new_int64(v)));
}

void json_add_bool(struct json_build *b, struct json_object *obj, const char *key, bool v)
{
	json_add(b, obj, key, json_checked(b, json_object_new_boolean(v)));
}

void json_add_text(struct json_build *b, struct json_object *obj, const char *key, const char *text)
{
	json_add(b, obj, key, json_new_text(b, text));
}

void json_add_known(struct json_build *b, struct json_object *obj, const char *key, bool known,
		    uint64_t v)
{
	json_add(b, obj, key, known ? json_checked(b, json_object_new_uint64(v)) : NULL);
}

void json_add_hex(struct json_build *b, struct json_object *obj, const char *key, uint64_t v)
{
	char text[HEX_CHARS];

	(void)snprintf(text, sizeof(text), "0x%" PRIx64, v); /* fits */
	json_add_text(b, obj, key, text);
}

static void json_add_field(struct json_build *b, struct json_object *obj, const struct field *f,
			   const void *from)
{
	const void *at = (const char *)from + f->offset;
	char text[FIELD_TEXT_BYTES];

	switch (f->type) {
	case FIELD_U64:
		json_add_u64(b, obj, f->key, *(const uint64_t *)at);
		break;
	case FIELD_U32:
		json_add_u64(b, obj, f->key, *(const uint32_t *)at);
		break;
	case FIELD_BOOL:
		json_add_bool(b, obj, f->key, *(const bool *)at);
		break;
	case FIELD_TEXT:
	case FIELD_HEX:
		json_add_text(b, obj, f->key, field_text(f, from, text));
		break;
	case FIELD_PPM:
		json_add_u64(b, obj, f->key, (uint64_t)(*(const double *)at * 1e6 + 0.5));
		break;
	case FIELD_DECIMAL:
		json_add(b, obj, f->key,
			 json_checked(b, json_object_new_double_s(*(const double *)at,
								  field_text(f, from, text))));
		break;
	}
}

void json_add_fields(struct json_build *b, struct json_object *obj, const struct field_table *t,
		     const void *from)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->v[i];

		if (field_is_null(f, from) && !field_is_absent(f, from))
			json_add(b, obj, f->key, NULL);
		else if (!field_is_absent(f, from))
			json_add_field(b, obj, f, from);
	}
}

struct json_object *json_add_rows(struct json_build *b, struct json_object *obj, const char *key,
				  const struct field_table *t, const void *rows, size_t n,
				  size_t size)
{
	struct json_object *all = json_new_array(b), *one;

	for (size_t i = 0; i < n; i++) {
		one = json_new_object(b);
		json_add_fields(b, one, t, (const char *)rows + i * size);
		json_append(b, all, one);
	}
	json_add(b, obj, key, all);
	return all;
}

struct json_object *json_new_u32s(struct json_build *b, const uint32_t *v, size_t n)
{
	struct json_object *all = json_new_array(b);

	for (; n; n--)
		json_append_u64(b, all, *v++);
	return all;
}

void json_add_time(struct json_build *b, struct json_object *obj, const char *key,
		   const struct timespec *ts)
{
	char text[64];

	json_add_text(b, obj, key,
		      format_rfc3339(text, sizeof(text), ts->tv_sec, (uint32_t)ts->tv_nsec));
}

struct json_object *json_new_record(struct json_build *b, const char *type)
{
	struct json_object *record = json_new_object(b);

	json_add_i64(b, record, "v", JSON_RECORD_VERSION);
	json_add_text(b, record, "type", type);
	return record;
}

/* Past U+FFFF it takes a pair of surrogates. */
static void json_put_code(struct out *out, uint32_t code)
{
	if (code > 0xffff) {
		code -= 0x10000;
		out_printf(out, "\\u%04x", 0xd800 + (code >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	out_printf(out, "\\u%04x", code);
}

/*
 * json-c escapes quotes, backslashes and C0. What is left that a terminal would obey or not show
 * (DEL, C1, format characters) can only be inside strings: escape it there too.
 */
void json_put(struct json_build *b, struct json_object *o, size_t skip, size_t leave,
	      struct out *out)
{
	const char *line = NULL, *from, *s, *end;
	uint32_t code;
	size_t n = 0;

	if (!b->error)
		line = json_object_to_json_string_length(
			o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &n);
	if (!line) {
		if (!out->error)
			out->error = -ENOMEM;
		return;
	}
	from = s = line + skip;
	end = line + n - leave;
	while (s < end) {
		n = *s >= ' ' && *s < 0x7f ? 0 : text_unseen(s, &code);
		if (!n) {
			s++;
			continue;
		}
		out_put(out, from, (size_t)(s - from));
		json_put_code(out, code);
		s += n;
		from = s;
	}
	out_put(out, from, (size_t)(s - from));
}

void json_finish(struct json_build *b, struct json_object *record, struct out *out)
{
	json_put(b, record, 0, 0, out);
	out_put(out, "\n", 1);
	json_object_put(record);
}
