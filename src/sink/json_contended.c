// SPDX-License-Identifier: GPL-2.0-or-later
/* {"source":"lock","kind":"mutex","addr":"0x…","name":"…","count":…,"wait_ns":{…},"sites":[…],…} */
#include "sink/json_build.h"

static struct json_object *json_new_cpus(struct json_build *b, const struct contended *c)
{
	struct json_object *cpus = json_new_array(b);
	size_t i;

	for (i = 0; i < c->ncpus; i++)
		json_append_u64(b, cpus, c->cpus[i]);
	return cpus;
}

static struct json_object *json_new_sites(struct json_build *b, const struct contended *c)
{
	struct json_object *sites = json_new_array(b), *site;
	size_t i;

	for (i = 0; i < c->nsites; i++) {
		site = json_new_object(b);
		json_add_fields(b, site, &site_fields, &c->sites[i]);
		json_append(b, sites, site);
	}
	return sites;
}

static struct json_object *json_new_futex(struct json_build *b, const struct contended *c)
{
	struct json_object *futex = json_new_object(b);

	json_add_text(b, futex, "op", c->op);
	json_add_fields(b, futex, &futex_fields, c->futex);
	return futex;
}

static struct json_object *json_new_line(struct json_build *b, const struct contended *c)
{
	struct json_object *line = json_new_object(b), *members = json_new_array(b), *m;
	size_t i;

	for (i = 0; i < c->nmembers; i++) {
		m = json_new_object(b);
		json_add_fields(b, m, &member_fields, &c->members[i]);
		json_append(b, members, m);
	}
	json_add_hex(b, line, "addr", c->line);
	json_add(b, line, "members", members);
	return line;
}

struct json_object *json_new_contended(struct json_build *b, const struct contended *c,
				       const struct config *cfg)
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
	json_add(b, o, "cpus", json_new_cpus(b, c));
	json_add_fields(b, o, &contended_number_fields, c);
	json_add(b, o, "sites", json_new_sites(b, c));
	if (c->futex)
		json_add(b, o, "futex", json_new_futex(b, c));
	if (c->accesses)
		json_add_accesses(b, o, c->accesses, cfg);
	if (c->nmembers)
		json_add(b, o, "line", json_new_line(b, c));
	return o;
}
