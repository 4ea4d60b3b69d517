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
		json_add_hex(b, site, "ip", c->sites[i].ip);
		json_add_text(b, site, "sym", c->sites[i].sym);
		json_add_u64(b, site, "count", c->sites[i].count);
		json_append(b, sites, site);
	}
	return sites;
}

static struct json_object *json_new_futex(struct json_build *b, const struct contended *c)
{
	struct json_object *futex = json_new_object(b);

	json_add_text(b, futex, "op", c->op);
	json_add_bool(b, futex, "idle", c->futex->idle);
	json_add_u64(b, futex, "eagain", c->futex->eagain);
	json_add_u64(b, futex, "timeouts", c->futex->timeouts);
	json_add_u64(b, futex, "wakes", c->futex->wakes);
	json_add_u64(b, futex, "woken", c->futex->woken);
	return futex;
}

static struct json_object *json_new_line(struct json_build *b, const struct contended *c)
{
	struct json_object *line = json_new_object(b), *members = json_new_array(b), *m;
	size_t i;

	for (i = 0; i < c->nmembers; i++) {
		m = json_new_object(b);
		json_add_text(b, m, "name", c->members[i].name);
		json_add_u64(b, m, "offset", c->members[i].offset);
		json_add_u64(b, m, "size", c->members[i].size);
		json_add_bool(b, m, "hot", c->members[i].hot);
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
	json_add_text(b, o, "source", c->source);
	json_add_text(b, o, "kind", c->kind);
	json_add_bool(b, o, "other", c->other);
	if (c->other)
		json_add_null(b, o, "addr");
	else
		json_add_hex(b, o, "addr", c->addr);
	json_add_text(b, o, "name", c->name);
	json_add_text(b, o, "place", c->place);
	if (c->name_inferred)
		json_add_bool(b, o, "name_inferred", true);
	if (c->pid)
		json_add_u64(b, o, "pid", c->pid);
	else
		json_add_null(b, o, "pid");
	json_add_text(b, o, "owner", c->owner);
	json_add(b, o, "labels", labels);
	json_add_u64(b, o, "count", c->count);
	json_add(b, o, "wait_ns", json_new_hist(b, c->wait, cfg));
	json_add(b, o, "cpus", json_new_cpus(b, c));
	if (c->ntasks)
		json_add_u64(b, o, "threads", c->ntasks);
	else
		json_add_null(b, o, "threads");
	json_add(b, o, "sites", json_new_sites(b, c));
	if (c->futex)
		json_add(b, o, "futex", json_new_futex(b, c));
	if (c->accesses)
		json_add_accesses(b, o, c->accesses, cfg);
	if (c->nmembers)
		json_add(b, o, "line", json_new_line(b, c));
	return o;
}
