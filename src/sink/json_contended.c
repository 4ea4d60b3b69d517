// SPDX-License-Identifier: GPL-2.0-or-later
/* {"source":"lock","kind":"mutex","addr":"0x…","name":"…","count":…,"wait_ns":{…},"sites":[…],…} */
#include <string.h>

#include "sink/json_build.h"

static struct json_object *json_new_futex(struct json_build *b, const struct contended *c)
{
	struct json_object *futex = json_new_object(b);

	json_add_text(b, futex, "op", c->op);
	json_add_fields(b, futex, &futex_fields, c->futex);
	return futex;
}

static struct json_object *json_new_line(struct json_build *b, const struct contended *c)
{
	struct json_object *line = json_new_object(b);

	json_add_hex(b, line, "addr", c->line);
	json_add(b, line, "members",
		 json_new_rows(b, &member_fields, c->members, c->nmembers, sizeof(*c->members)));
	return line;
}

/* A row of each group may have the same address: once is enough. They are in its order. */
static void json_add_joins(struct json_build *b, struct json_object *o, const struct view *view,
			   const struct contended *c)
{
	struct json_object *joins, *one;
	size_t n;
	const struct view_join *j = view_joined(view, c, &n);

	if (!n)
		return;
	joins = json_new_array(b);
	for (size_t i = 0; i < n; i++) {
		if (i && j[i].with->addr == j[i - 1].with->addr &&
		    !strcmp(j[i].with->kind, j[i - 1].with->kind))
			continue;
		one = json_new_object(b);
		json_add_text(b, one, "kind", j[i].with->kind);
		json_add_hex(b, one, "addr", j[i].with->addr);
		json_append(b, joins, one);
	}
	json_add(b, o, "joins", joins);
}

struct json_object *json_new_contended(struct json_build *b, const struct contended *c,
				       const struct view *view, const struct config *cfg)
{
	struct json_object *o = json_new_object(b), *labels = json_new_object(b);

	if (c->group.key)
		json_add_text(b, labels, c->group.key, c->group.value);
	json_add_fields(b, o, &contended_fields, c);
	if (c->other)
		json_add_null(b, o, "addr");
	else
		json_add_hex(b, o, "addr", c->addr);
	json_add_fields(b, o, &contended_name_fields, c);
	json_add(b, o, "labels", labels);
	json_add_u64(b, o, "count", c->count);
	json_add(b, o, "wait_ns", json_new_hist(b, c->wait, cfg));
	json_add(b, o, "cpus", json_new_u32s(b, c->cpus, c->ncpus));
	json_add_fields(b, o, &contended_number_fields, c);
	json_add(b, o, "sites",
		 json_new_rows(b, &site_fields, c->sites, c->nsites, sizeof(*c->sites)));
	if (c->nholders)
		json_add(b, o, "holders",
			 json_new_rows(b, &holder_fields, c->holders, c->nholders,
				       sizeof(*c->holders)));
	if (c->futex)
		json_add(b, o, "futex", json_new_futex(b, c));
	if (c->accesses)
		json_add_accesses(b, o, c->accesses, cfg);
	if (c->nmembers)
		json_add(b, o, "line", json_new_line(b, c));
	json_add_joins(b, o, view, c);
	return o;
}
