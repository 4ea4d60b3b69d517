// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * {"victim":{"pid":"42","comm":"x"},"kind":"task","comm":"hog",…,"count":…,"wait_ns":…,
 *  "lengths":{"offset":-9,"ns":[…]}}
 */
#include "sink/json_build.h"

/* Of waits of which lengths: no zeros at either end. */
static struct json_object *json_new_lengths(struct json_build *b, const struct culprit *c)
{
	struct json_object *o = json_new_object(b);
	size_t from = 0, to = CULPRIT_LENGTHS;

	while (to && !c->length_ns[to - 1])
		to--;
	while (from < to && !c->length_ns[from])
		from++;
	json_add_i64(b, o, "offset", to ? CULPRIT_LENGTH_FIRST + (int64_t)from : 0);
	json_add(b, o, "ns", json_new_u64s(b, c->length_ns + from, to - from));
	return o;
}

static struct json_object *json_new_culprit(struct json_build *b, const struct culprit *c)
{
	struct json_object *o = json_new_object(b), *victim = json_new_object(b);

	for (uint32_t i = 0; i < c->nvictim; i++)
		json_add_text(b, victim, c->victim[i].key, c->victim[i].value);
	json_add(b, o, "victim", victim);
	json_add_fields(b, o, &culprit_fields, c);
	json_add(b, o, "lengths", json_new_lengths(b, c));
	return o;
}

struct json_object *json_new_culprits(struct json_build *b, const struct frame *f)
{
	struct json_object *rows = json_new_array(b);

	for (size_t i = 0; i < f->nculprits; i++)
		json_append(b, rows, json_new_culprit(b, &f->culprits[i]));
	return rows;
}

void json_add_slow_culprits(struct json_build *b, struct json_object *o, const struct slow *w)
{
	if (w->culprits)
		json_add(b, o, "culprits",
			 json_new_rows(b, &culprit_part_fields, w->culprits, w->nculprits,
				       sizeof(*w->culprits)));
}
