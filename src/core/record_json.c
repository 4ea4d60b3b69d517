// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/record_json.h"

#include <errno.h>
#include <inttypes.h>
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

bool json_in_has(struct json_object *o, const char *key)
{
	return json_object_object_get_ex(o, key, NULL);
}

/* The member; missing is an error, null is NULL and one unless it may be. */
static struct json_object *member(struct json_in *in, struct json_object *o, const char *key,
				  enum json_type type, const char *expected, bool may_be_null)
{
	struct json_object *value = NULL;

	if (in->error)
		return NULL;
	if (!json_object_object_get_ex(o, key, &value)) {
		json_in_bad(in, key, "it to be there");
		return NULL;
	}
	if (!value && may_be_null)
		return NULL;
	if (!json_object_is_type(value, type)) {
		json_in_bad(in, key, expected);
		return NULL;
	}
	return value;
}

struct json_object *json_in_object(struct json_in *in, struct json_object *o, const char *key,
				   bool may_be_null)
{
	return member(in, o, key, json_type_object, "an object", may_be_null);
}

struct json_object *json_in_array(struct json_in *in, struct json_object *o, const char *key)
{
	return member(in, o, key, json_type_array, "an array", false);
}

/* json-c reads a number that does not fit into 64 bits as the largest that does. */
uint64_t json_in_u64_of(struct json_in *in, struct json_object *value, uint64_t max,
			const char *key)
{
	uint64_t v;

	if (in->error)
		return 0;
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0) {
		json_in_bad(in, key, "a whole number");
		return 0;
	}
	v = json_object_get_uint64(value);
	if (v > max) {
		json_in_bad(in, key,
			    max == UINT32_MAX ? "a whole number below 2^32"
					      : "a whole number in range");
		return 0;
	}
	return v;
}

uint64_t json_in_u64(struct json_in *in, struct json_object *o, const char *key)
{
	return json_in_u64_of(in, member(in, o, key, json_type_int, "a whole number", false),
			      UINT64_MAX, key);
}

uint32_t json_in_u32(struct json_in *in, struct json_object *o, const char *key)
{
	return (uint32_t)json_in_u64_of(
		in, member(in, o, key, json_type_int, "a whole number", false), UINT32_MAX, key);
}

bool json_in_bool(struct json_in *in, struct json_object *o, const char *key)
{
	struct json_object *value = member(in, o, key, json_type_boolean, "true or false", false);

	return value && json_object_get_boolean(value);
}

const char *json_in_copy(struct json_in *in, const char *text)
{
	const char *copy = in->error ? NULL : arena_text(&in->record->memory, text);

	if (!copy && !in->error)
		in->error = err_sys(in->e, -ENOMEM, "record");
	return copy;
}

const char *json_in_text_of(struct json_in *in, struct json_object *value, const char *key)
{
	const char *text;

	if (in->error)
		return NULL;
	if (!json_object_is_type(value, json_type_string)) {
		json_in_bad(in, key, "a text");
		return NULL;
	}
	text = json_object_get_string(value);
	if (strlen(text) != (size_t)json_object_get_string_len(value)) {
		json_in_bad(in, key, "a text without a NUL in it");
		return NULL;
	}
	return json_in_copy(in, text);
}

const char *json_in_text(struct json_in *in, struct json_object *o, const char *key)
{
	return json_in_text_of(in, member(in, o, key, json_type_string, "a text", false), key);
}

const char *json_in_text_or_null(struct json_in *in, struct json_object *o, const char *key)
{
	struct json_object *value = member(in, o, key, json_type_string, "a text or null", true);

	return value ? json_in_text_of(in, value, key) : NULL;
}

struct timespec json_in_time(struct json_in *in, struct json_object *o, const char *key)
{
	const char *text = json_in_text(in, o, key);
	struct timespec ts = {0};

	if (!in->error && !parse_rfc3339(text, &ts))
		json_in_bad(in, key, "a time such as 2026-11-22T14:02:11.000000000Z");
	return ts;
}

uint64_t json_in_hex(struct json_in *in, struct json_object *o, const char *key)
{
	const char *text = json_in_text(in, o, key);
	char *end;
	uint64_t v;

	if (in->error)
		return 0;
	if (text[0] == '0' && text[1] == 'x' && text[2] && strlen(text) <= 18 &&
	    strspn(text + 2, "0123456789abcdef") == strlen(text + 2)) {
		v = strtoull(text + 2, &end, 16);
		return v;
	}
	json_in_bad(in, key, "an address such as \"0xffff888100001000\"");
	return 0;
}

static double decimal(struct json_in *in, struct json_object *o, const char *key)
{
	struct json_object *value = NULL;
	double v;

	if (in->error)
		return 0;
	(void)json_object_object_get_ex(o, key, &value); /* missing is no number */
	v = json_object_get_double(value);
	if ((!json_object_is_type(value, json_type_double) &&
	     !json_object_is_type(value, json_type_int)) ||
	    !isfinite(v))
		json_in_bad(in, key, "a number");
	return v;
}

static void field_value(struct json_in *in, struct json_object *o, const struct field *f, void *at)
{
	switch (f->type) {
	case FIELD_U64:
		*(uint64_t *)at = json_in_u64(in, o, f->key);
		break;
	case FIELD_U32:
		*(uint32_t *)at = json_in_u32(in, o, f->key);
		break;
	case FIELD_I32:
		*(int32_t *)at = (int32_t)json_in_u64_of(in, json_object_object_get(o, f->key),
							 INT32_MAX, f->key);
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

/* What null stands for. */
static void field_null(const struct field *f, void *at)
{
	if (f->null != FIELD_NEGATIVE_IS_NULL)
		return; /* zero, which it is */
	if (f->type == FIELD_I32)
		*(int32_t *)at = -1;
	else
		*(double *)at = -1;
}

void json_in_fields(struct json_in *in, struct json_object *o, const struct field_table *t,
		    void *to)
{
	struct json_object *value;
	size_t i;

	for (i = 0; i < t->n && !in->error; i++) {
		const struct field *f = &t->v[i];
		void *at = (char *)to + f->offset;

		value = NULL;
		if ((f->null == FIELD_FALSE_IS_ABSENT || f->null == FIELD_NEW) &&
		    !json_in_has(o, f->key))
			continue; /* false or zero, which it is */
		if (f->null != FIELD_NEVER_NULL && json_object_object_get_ex(o, f->key, &value) &&
		    !value)
			field_null(f, at);
		else
			field_value(in, o, f, at);
	}
}
