// SPDX-License-Identifier: GPL-2.0-or-later
/* Who made tasks wait, of a record: tables.culprits, and what a slow wait has of it. */
#include <string.h>

#include "core/record_json.h"

static void read_victim(struct json_in *in, const struct json *o, struct culprit *c)
{
	const struct json *victim = json_in_object(in, o, "victim", false), *one;

	if (!in->error && victim->n > CULPRIT_LABELS)
		json_in_bad(in, "victim", "at most 3 labels");
	if (in->error)
		return;
	for (one = victim->first; one; one = one->next)
		c->victim[c->nvictim++] =
			(struct label){one->key, json_in_text_of(in, one, "victim")};
}

/* What of it was of waits how long; records of older versions do not tell. */
static void read_lengths(struct json_in *in, const struct json *o, struct culprit *c)
{
	const struct json *lengths;
	const uint64_t *ns;
	uint64_t sum = 0;
	int64_t offset;
	size_t n;

	if (in->error || !json_in_has(o, "lengths"))
		return;
	lengths = json_in_object(in, o, "lengths", false);
	if (in->error)
		return;
	offset = json_in_i64(in, lengths, "offset");
	ns = json_in_numbers(in, lengths, "ns", &n);
	if (in->error || !n)
		return;
	if (offset < CULPRIT_LENGTH_FIRST || offset >= CULPRIT_LENGTH_FIRST + CULPRIT_LENGTHS ||
	    n > (uint64_t)(CULPRIT_LENGTH_FIRST + CULPRIT_LENGTHS - offset)) {
		json_in_bad(in, "offset", "lengths of waits from -20 to 11");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		c->length_ns[(size_t)(offset - CULPRIT_LENGTH_FIRST) + i] = ns[i];
		if (__builtin_add_overflow(sum, ns[i], &sum))
			sum = UINT64_MAX;
	}
	if (sum > c->wait_ns)
		json_in_bad(in, "lengths", "a sum of at most wait_ns");
}

const struct culprit *json_in_culprits(struct json_in *in, const struct json *o, size_t *n)
{
	const struct json *one = json_in_array(in, o, "culprits", n);
	struct culprit *v = json_in_alloc(in, *n, sizeof(*v)), *at = v;

	for (; v && one && !in->error; one = one->next, at++) {
		if (one->type != JSON_OBJECT)
			json_in_bad(in, "culprits", "objects");
		read_victim(in, one, at);
		json_in_fields(in, one, &culprit_fields, at);
		read_lengths(in, one, at);
	}
	return v;
}

/* The parts of a wait are all of it. */
void json_in_slow_culprits(struct json_in *in, const struct json *o, struct slow *w)
{
	const struct json *one = json_in_array(in, o, "culprits", &w->nculprits);
	struct culprit *v = json_in_alloc(in, w->nculprits, sizeof(*v)), *at = v;
	uint64_t sum = 0;

	w->culprits = v;
	for (; v && one && !in->error; one = one->next, at++) {
		if (one->type != JSON_OBJECT)
			json_in_bad(in, "culprits", "objects");
		json_in_fields(in, one, &culprit_part_fields, at);
		at->count = 1;
		if (__builtin_add_overflow(sum, at->wait_ns, &sum))
			json_in_bad(in, "ns", "a sum below 2^64");
	}
	if (!in->error && sum != w->wait_ns)
		json_in_bad(in, "culprits", "their sum to be wait_ns");
}
