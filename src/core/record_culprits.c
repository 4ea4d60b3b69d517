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

const struct culprit *json_in_culprits(struct json_in *in, const struct json *o, size_t *n)
{
	const struct json *one = json_in_array(in, o, "culprits", n);
	struct culprit *v = json_in_alloc(in, *n, sizeof(*v)), *at = v;

	for (; v && one && !in->error; one = one->next, at++) {
		if (one->type != JSON_OBJECT)
			json_in_bad(in, "culprits", "objects");
		read_victim(in, one, at);
		json_in_fields(in, one, &culprit_fields, at);
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
