// SPDX-License-Identifier: GPL-2.0-or-later
/* {"victim":{"pid":"42","comm":"x"},"kind":"task","comm":"hog",…,"count":…,"wait_ns":…} */
#include "sink/json_build.h"

static struct json_object *json_new_culprit(struct json_build *b, const struct culprit *c)
{
	struct json_object *o = json_new_object(b), *victim = json_new_object(b);

	for (uint32_t i = 0; i < c->nvictim; i++)
		json_add_text(b, victim, c->victim[i].key, c->victim[i].value);
	json_add(b, o, "victim", victim);
	json_add_fields(b, o, &culprit_fields, c);
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
