/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "core/fields.h"
#include "core/frame.h"

const char *const wait_class_words[WAIT_CLASSES] = {
	[CLASS_LOCK] = "lock",
	[CLASS_WORK] = "work",
	[CLASS_UNSURE] = "lock or work",
};

enum wait_class contended_class(const struct contended *c)
{
	for (int i = 0; c->class && i < WAIT_CLASSES; i++)
		if (!strcmp(c->class, wait_class_words[i]))
			return (enum wait_class)i;
	if (c->class)
		return CLASS_UNSURE; /* a newer version's */
	return c->futex && c->futex->idle ? CLASS_WORK : CLASS_LOCK;
}

struct wait_sum frame_waited(const struct frame *f, const char *source, enum wait_class class)
{
	struct wait_sum sum = {0};

	for (size_t i = 0; i < f->ncontended; i++) {
		const struct contended *c = &f->contended[i];

		if (!c->wait || contended_class(c) != class ||
		    (source && strcmp(source, c->source) != 0))
			continue;
		sum.count += c->wait->count;
		sum.sum_ns += c->wait->sum_ns;
	}
	return sum;
}

const char *series_label(const struct series *s, const char *key)
{
	for (uint32_t i = 0; i < s->nlabels && i < SERIES_LABELS; i++)
		if (!strcmp(s->labels[i].key, key))
			return s->labels[i].value;
	return NULL;
}

bool series_same_labels(const struct series *a, const struct series *b)
{
	if (a->nlabels != b->nlabels)
		return false;
	for (uint32_t i = 0; i < a->nlabels; i++)
		if (strcmp(a->labels[i].value, b->labels[i].value) ||
		    strcmp(a->labels[i].key, b->labels[i].key))
			return false;
	return true;
}

bool series_label_describes(const struct series *s, uint32_t i)
{
	const char *first = s->labels[0].key, *key = s->labels[i].key;

	if (!strcmp(key, "mount"))
		return series_label(s, "dev") != NULL;
	if (!strcmp(first, "tid"))
		return !strcmp(key, "comm") || !strcmp(key, "pid");
	return !strcmp(first, "pid") && !strcmp(key, "comm");
}

/* Returns where it ends: `end` if it does not fit. */
static char *put(char *at, char *end, const char *text)
{
	size_t n = strlen(text);

	if (n >= (size_t)(end - at))
		return end;
	memcpy(at, text, n + 1);
	return at + n;
}

size_t series_key_text(char *out, size_t len, const struct series *s)
{
	const char *before = "{";
	char *end = out + len, *at = put(out, end, s->desc->name);
	uint32_t i;

	for (i = 0; i < s->nlabels; i++) {
		if (series_label_describes(s, i))
			continue;
		at = put(at, end, before);
		at = put(at, end, s->labels[i].key);
		at = put(at, end, "=\"");
		at = put(at, end, s->labels[i].value);
		at = put(at, end, "\"");
		before = ",";
	}
	if (*before != '{')
		at = put(at, end, "}");
	return at < end ? (size_t)(at - out) : 0;
}

bool quality_complete(const struct quality *q)
{
	for (size_t i = 0; i < quality_fields.n; i++)
		if (quality_fields.v[i].loss && field_u64(&quality_fields.v[i], q))
			return false;
	return true;
}
