// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/record_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

void json_in_bad(struct json_in *in, const char *key, const char *expected)
{
	if (in->error)
		return;
	in->error =
		err_set(in->e, EXIT_FAILED, -EINVAL, "record: '%s': expected %s", key, expected);
}

void *json_in_alloc(struct json_in *in, size_t n, size_t size)
{
	void *p = NULL;

	if (in->error)
		return NULL;
	if (!n)
		n = 1;
	if (n <= SIZE_MAX / size)
		p = arena_take(&in->record->memory, n * size);
	if (!p)
		in->error = err_sys(in->e, -ENOMEM, "record");
	return p;
}

bool json_in_has(struct json_in *in, const struct json *o, const char *key)
{
	return !in->error && json_member(o, key);
}

bool json_in_given(struct json_in *in, const struct json *o, const char *key)
{
	const struct json *value = json_member(o, key);

	return !in->error && value && value->type != JSON_NULL;
}

/* The member; missing is an error, null is NULL and one unless it may be. */
static const struct json *member(struct json_in *in, const struct json *o, const char *key,
				 enum json_kind type, const char *expected, bool may_be_null)
{
	const struct json *value;

	if (in->error)
		return NULL;
	value = json_member(o, key);
	if (value && value->type == type)
		return value;
	if (!value || value->type != JSON_NULL || !may_be_null)
		json_in_bad(in, key, value ? expected : "it to be there");
	return NULL;
}

const struct json *json_in_object(struct json_in *in, const struct json *o, const char *key)
{
	static const struct json empty = {.type = JSON_OBJECT};

	return member(in, o, key, JSON_OBJECT, "an object", false) ?: &empty;
}

const struct json *json_in_object_or_null(struct json_in *in, const struct json *o, const char *key)
{
	return member(in, o, key, JSON_OBJECT, "an object", true);
}

const struct json *json_in_array(struct json_in *in, const struct json *o, const char *key,
				 size_t *n)
{
	const struct json *array =
		member(in, o, key, JSON_ARRAY, "an array, not of numbers", false);

	*n = array ? array->n : 0;
	return array ? array->first : NULL;
}

const uint64_t *json_in_numbers(struct json_in *in, const struct json *o, const char *key,
				size_t *n)
{
	const struct json *array = json_member(o, key);

	*n = 0;
	if (array && array->type == JSON_ARRAY && !array->n)
		return NULL;
	array = member(in, o, key, JSON_NUMBERS, "an array of whole numbers", false);
	*n = array ? array->n : 0;
	return array ? array->numbers : NULL;
}

void *json_in_rows(struct json_in *in, const struct json *o, const char *key, size_t *n,
		   size_t size, const struct field_table *t, json_in_fn read)
{
	const struct json *one = json_in_array(in, o, key, n);
	char *v = json_in_alloc(in, *n, size), *at = v;

	for (; one && !in->error; one = one->next, at += size) {
		if (one->type != JSON_OBJECT)
			json_in_bad(in, t ? t->v[0].key : key, t ? "it in an object" : "objects");
		if (t)
			json_in_fields(in, one, t, at);
		if (read && !in->error)
			read(in, one, at);
	}
	return v;
}

uint32_t json_in_labels(struct json_in *in, const struct json *o, const char *key,
			struct label *out, uint32_t max, const char *expected)
{
	const struct json *labels = json_in_object(in, o, key), *one = labels->first;
	uint32_t n = 0;

	if (labels->n > max)
		json_in_bad(in, key, expected);
	for (; one && !in->error; one = one->next)
		out[n++] = (struct label){one->key, json_in_text_of(in, one, key)};
	return n;
}

static uint64_t whole(struct json_in *in, const struct json *o, const char *key, uint64_t max,
		      const char *expected)
{
	const struct json *value = member(in, o, key, JSON_WHOLE, "a whole number", false);

	if (value && value->whole > max)
		json_in_bad(in, key, expected);
	return value && !in->error ? value->whole : 0;
}

uint64_t json_in_u64(struct json_in *in, const struct json *o, const char *key)
{
	return whole(in, o, key, UINT64_MAX, "");
}

uint32_t json_in_u32(struct json_in *in, const struct json *o, const char *key)
{
	return (uint32_t)whole(in, o, key, UINT32_MAX, "a whole number below 2^32");
}

int32_t json_in_i32(struct json_in *in, const struct json *o, const char *key)
{
	return (int32_t)whole(in, o, key, INT32_MAX, "a whole number below 2^31");
}

int64_t json_in_i64(struct json_in *in, const struct json *o, const char *key)
{
	const struct json *value = in->error ? NULL : json_member(o, key);

	if (value && value->type == JSON_NEGATIVE)
		return value->negative;
	if (value && value->type == JSON_WHOLE && value->whole <= INT64_MAX)
		return (int64_t)value->whole;
	json_in_bad(in, key, "a whole number");
	return 0;
}

bool json_in_bool(struct json_in *in, const struct json *o, const char *key)
{
	const struct json *value = member(in, o, key, JSON_BOOL, "true or false", false);

	return value && value->truth;
}

const char *json_in_text_of(struct json_in *in, const struct json *value, const char *key)
{
	if (value->type != JSON_TEXT)
		json_in_bad(in, key, "a text");
	else if (strlen(value->text) != value->n)
		json_in_bad(in, key, "a text without a NUL in it");
	return in->error ? NULL : value->text;
}

const char *json_in_text(struct json_in *in, const struct json *o, const char *key)
{
	const struct json *value = member(in, o, key, JSON_TEXT, "a text", false);

	return value ? json_in_text_of(in, value, key) : NULL;
}

const char *json_in_text_or_null(struct json_in *in, const struct json *o, const char *key)
{
	const struct json *value = member(in, o, key, JSON_TEXT, "a text or null", true);

	return value ? json_in_text_of(in, value, key) : NULL;
}

struct timespec json_in_time(struct json_in *in, const struct json *o, const char *key)
{
	const char *text = json_in_text(in, o, key);
	struct timespec ts = {0};

	if (!in->error && !parse_rfc3339(text, &ts))
		json_in_bad(in, key, "a time such as 2026-11-22T14:02:11.000000000Z");
	return ts;
}

uint64_t json_in_hex(struct json_in *in, const struct json *o, const char *key)
{
	const char *text = json_in_text(in, o, key) ?: "0x0";
	size_t digits = strlen(text) - 2;

	if (!strncmp(text, "0x", 2) && digits && digits <= 16 &&
	    strspn(text + 2, "0123456789abcdef") == digits)
		return strtoull(text, NULL, 16);
	json_in_bad(in, key, "an address such as \"0xffff888100001000\"");
	return 0;
}

static double decimal(struct json_in *in, const struct json *o, const char *key)
{
	const struct json *value = in->error ? NULL : json_member(o, key);
	double v = INFINITY; /* missing is no number */

	if (value && value->type == JSON_WHOLE)
		v = (double)value->whole;
	else if (value && value->type == JSON_NEGATIVE)
		v = (double)value->negative;
	else if (value && value->type == JSON_DECIMAL)
		v = value->decimal;
	if (isfinite(v))
		return v;
	json_in_bad(in, key, "a number");
	return 0;
}

static void field_value(struct json_in *in, const struct json *o, const struct field *f, void *at)
{
	switch (f->type) {
	case FIELD_U64:
		*(uint64_t *)at = json_in_u64(in, o, f->key);
		break;
	case FIELD_U32:
		*(uint32_t *)at = json_in_u32(in, o, f->key);
		break;
	case FIELD_BOOL:
		*(bool *)at = json_in_bool(in, o, f->key);
		break;
	case FIELD_TEXT:
		*(const char **)at = json_in_text(in, o, f->key);
		break;
	case FIELD_HEX:
		*(uint64_t *)at = json_in_hex(in, o, f->key);
		break;
	case FIELD_PPM:
		*(double *)at = (double)json_in_u64(in, o, f->key) / 1e6;
		break;
	case FIELD_DECIMAL:
		*(double *)at = decimal(in, o, f->key);
		break;
	}
}

void json_in_fields(struct json_in *in, const struct json *o, const struct field_table *t, void *to)
{
	for (size_t i = 0; i < t->n && !in->error; i++) {
		const struct field *f = &t->v[i];
		void *at = (char *)to + f->offset;

		if ((f->null == FIELD_FALSE_IS_ABSENT || f->null == FIELD_NONE_IS_ABSENT ||
		     f->null == FIELD_NEW) &&
		    !json_in_has(in, o, f->key))
			continue; /* false or zero, which it is */
		if (f->null == FIELD_NEVER_NULL || !json_in_has(in, o, f->key) ||
		    json_in_given(in, o, f->key))
			field_value(in, o, f, at);
		else if (f->null == FIELD_NEGATIVE_IS_NULL)
			*(double *)at = -1;
	}
}
