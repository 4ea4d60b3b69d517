// SPDX-License-Identifier: GPL-2.0-or-later
/* What a row of the contended table has for a cache line:
 * "sampler":"clock","reads":…,"writes":…,"hitm":null,"tids":[…],"offsets":[…] */
#include "sink/json_build.h"

/* A share of 0..1, or null where it is not known. */
static void json_add_ppm(struct json_build *b, struct json_object *o, const char *key, double share)
{
	if (share < 0)
		json_add_null(b, o, key);
	else
		json_add_u64(b, o, key, (uint64_t)(share * 1e6 + 0.5));
}

static struct json_object *json_new_threads(struct json_build *b, const struct line_accesses *a)
{
	struct json_object *all = json_new_array(b), *one;
	size_t i;

	for (i = 0; i < a->nthreads; i++) {
		const struct line_thread *t = &a->threads[i];

		one = json_new_object(b);
		json_add_u64(b, one, "pid", t->pid);
		json_add_u64(b, one, "tid", t->tid);
		json_add_u64(b, one, "cpu", t->cpu);
		json_add_text(b, one, "comm", t->comm);
		json_add_u64(b, one, "samples", t->samples);
		json_add_u64(b, one, "writes", t->writes);
		json_add_hex(b, one, "read_bytes", t->read_bytes);
		json_add_hex(b, one, "write_bytes", t->write_bytes);
		json_append(b, all, one);
	}
	return all;
}

static struct json_object *json_new_hitm(struct json_build *b, const struct line_hitm *h)
{
	struct json_object *hitm;

	if (!h->told)
		return NULL;
	hitm = json_new_object(b);
	json_add_u64(b, hitm, "local", h->local);
	json_add_u64(b, hitm, "remote", h->remote);
	return hitm;
}

static struct json_object *json_new_offsets(struct json_build *b, const struct line_accesses *a,
					    const struct config *cfg)
{
	struct json_object *all = json_new_array(b), *one;
	size_t i;

	for (i = 0; i < a->nuses; i++) {
		const struct line_spot *u = &a->uses[i];

		one = json_new_object(b);
		json_add_u64(b, one, "offset", u->offset);
		json_add_u64(b, one, "size", u->size);
		json_add_text(b, one, "name", u->name);
		json_add_u64(b, one, "tid", u->tid);
		json_add_hex(b, one, "ip", u->ip);
		json_add_text(b, one, "sym", u->sym);
		json_add_u64(b, one, "reads", u->reads);
		json_add_u64(b, one, "writes", u->writes);
		json_add_u64(b, one, "locked", u->locked);
		json_add(b, one, "hitm", json_new_hitm(b, &u->hitm));
		json_add(b, one, "latency_cycles", json_new_hist(b, u->latency, cfg));
		json_append(b, all, one);
	}
	return all;
}

/* Of machines that have more than one. */
static void json_add_nodes(struct json_build *b, struct json_object *o,
			   const struct line_accesses *a)
{
	struct json_object *nodes;
	size_t i;

	if (!a->nnodes)
		return;
	nodes = json_new_array(b);
	for (i = 0; i < a->nnodes; i++)
		json_append_u64(b, nodes, a->nodes[i]);
	json_add(b, o, "nodes", nodes);
	if (a->memory_node < 0)
		json_add_null(b, o, "memory_node");
	else
		json_add_u64(b, o, "memory_node", (uint64_t)a->memory_node);
}

void json_add_accesses(struct json_build *b, struct json_object *o, const struct line_accesses *a,
		       const struct config *cfg)
{
	json_add_text(b, o, "sampler", a->sampler);
	json_add_text(b, o, "sharing", a->sharing);
	json_add_bool(b, o, "exact", a->exact);
	json_add_u64(b, o, "reads", a->reads);
	json_add_u64(b, o, "writes", a->writes);
	json_add_u64(b, o, "locked", a->locked);
	json_add_u64(b, o, "inferred", a->inferred);
	json_add_ppm(b, o, "share_ppm", a->share);
	json_add_ppm(b, o, "interleave_ppm", a->interleave);
	json_add_decimal(b, o, "rank", a->rank);
	json_add_u64(b, o, "cores", a->cores);
	json_add_nodes(b, o, a);
	if (a->exact) {
		json_add_u64(b, o, "transfers", a->transfers);
		json_add_u64(b, o, "bound", a->bound);
		json_add_bool(b, o, "stopped", a->stopped);
		json_add_u64(b, o, "foreign", a->foreign);
	}
	if (a->unconfirmed)
		json_add_text(b, o, "unconfirmed", a->unconfirmed);
	json_add(b, o, "hitm", json_new_hitm(b, &a->hitm));
	json_add(b, o, "latency_cycles", json_new_hist(b, a->latency, cfg));
	json_add(b, o, "tids", json_new_threads(b, a));
	json_add(b, o, "offsets", json_new_offsets(b, a, cfg));
}
