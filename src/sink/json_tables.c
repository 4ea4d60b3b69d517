// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "tables" of a report. A row of the contended table, and what it has besides for a cache line:
 *
 *	{"source":"lock","kind":"mutex","addr":"0x…","name":"…","count":…,"wait_ns":{…},"sites":[…],…
 *	 "sampler":"clock","reads":…,"writes":…,"hitm":null,"tids":[…],"offsets":[…]}
 *
 * A culprit:
 *
 *	{"victim":{"pid":"42","comm":"x"},"kind":"task","comm":"hog",…,"count":…,"wait_ns":…,
 *	 "lengths":{"offset":-9,"ns":[…]}}
 */
#include <errno.h>
#include <string.h>

#include "sink/json_build.h"

/* ---- cache lines ---- */

static struct json_object *json_new_hitm(struct json_build *b, const struct line_hitm *h)
{
	struct json_object *hitm;

	if (!h->told)
		return NULL;
	hitm = json_new_object(b);
	json_add_fields(b, hitm, &hitm_fields, h);
	return hitm;
}

static void json_add_accesses(struct json_build *b, struct json_object *o,
			      const struct line_accesses *a, const struct config *cfg)
{
	struct json_object *spots;

	json_add_fields(b, o, &accesses_fields, a);
	if (a->nnodes) { /* of machines that have more than one */
		json_add(b, o, "nodes", json_new_u32s(b, a->nodes, a->nnodes));
		json_add_known(b, o, "memory_node", a->memory_node >= 0, (uint32_t)a->memory_node);
	}
	if (a->exact)
		json_add_fields(b, o, &exact_fields, a);
	if (a->unconfirmed)
		json_add_text(b, o, "unconfirmed", a->unconfirmed);
	json_add(b, o, "hitm", json_new_hitm(b, &a->hitm));
	json_add(b, o, "latency_cycles", json_new_hist(b, a->latency, cfg));
	json_add_rows(b, o, "tids", &thread_fields, a->threads, a->nthreads, sizeof(*a->threads));
	spots = json_add_rows(b, o, "offsets", &spot_fields, a->uses, a->nuses, sizeof(*a->uses));
	for (size_t i = 0; i < a->nuses && !b->error; i++) {
		struct json_object *one = json_object_array_get_idx(spots, i);

		json_add(b, one, "hitm", json_new_hitm(b, &a->uses[i].hitm));
		json_add(b, one, "latency_cycles", json_new_hist(b, a->uses[i].latency, cfg));
	}
}

/* ---- contended addresses ---- */

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

static struct json_object *json_new_contended(struct json_build *b, const struct contended *c,
					      const struct view *view, const struct config *cfg)
{
	struct json_object *o = json_new_object(b), *labels = json_new_object(b), *part;

	if (c->group.key)
		json_add_text(b, labels, c->group.key, c->group.value);
	json_add_fields(b, o, &contended_fields, c);
	if (c->other)
		json_add(b, o, "addr", NULL);
	else
		json_add_hex(b, o, "addr", c->addr);
	json_add_fields(b, o, &contended_name_fields, c);
	json_add(b, o, "labels", labels);
	json_add_u64(b, o, "count", c->count);
	json_add(b, o, "wait_ns", json_new_hist(b, c->wait, cfg));
	json_add(b, o, "cpus", json_new_u32s(b, c->cpus, c->ncpus));
	json_add_fields(b, o, &contended_number_fields, c);
	json_add_rows(b, o, "sites", &site_fields, c->sites, c->nsites, sizeof(*c->sites));
	if (c->nholders)
		json_add_rows(b, o, "holders", &holder_fields, c->holders, c->nholders,
			      sizeof(*c->holders));
	if (c->futex) {
		part = json_new_object(b);
		json_add_text(b, part, "op", c->op);
		json_add_fields(b, part, &futex_fields, c->futex);
		json_add(b, o, "futex", part);
	}
	if (c->accesses)
		json_add_accesses(b, o, c->accesses, cfg);
	if (c->nmembers) {
		part = json_new_object(b);
		json_add_hex(b, part, "addr", c->line);
		json_add_rows(b, part, "members", &member_fields, c->members, c->nmembers,
			      sizeof(*c->members));
		json_add(b, o, "line", part);
	}
	json_add_joins(b, o, view, c);
	return o;
}

/* ---- culprits ---- */

/* Of waits of which lengths: no zeros at either end. */
static struct json_object *json_new_lengths(struct json_build *b, const struct culprit *c)
{
	struct json_object *o = json_new_object(b), *ns = json_new_array(b);
	size_t from = 0, to = CULPRIT_LENGTHS;

	while (to && !c->length_ns[to - 1])
		to--;
	while (from < to && !c->length_ns[from])
		from++;
	json_add_i64(b, o, "offset", to ? CULPRIT_LENGTH_FIRST + (int64_t)from : 0);
	for (; from < to; from++)
		json_append_u64(b, ns, c->length_ns[from]);
	json_add(b, o, "ns", ns);
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

/* ---- where the time went ---- */

static struct json_object *json_new_times(struct json_build *b, const struct times *t)
{
	struct json_object *o = json_new_object(b), *labels = json_new_object(b);

	for (uint32_t i = 0; i < t->nlabels; i++)
		json_add_text(b, labels, t->labels[i].key, t->labels[i].value);
	json_add(b, o, "labels", labels);
	json_add_fields(b, o, &times_fields, t);
	return o;
}

struct json_object *json_new_tables(struct json_build *b, const struct frame *f, struct view *view,
				    const struct config *cfg)
{
	struct json_object *tables = json_new_object(b), *rows;

	if (f->ntimes) {
		rows = json_new_array(b);
		for (size_t i = 0; i < f->ntimes; i++)
			json_append(b, rows, json_new_times(b, &f->times[i]));
		json_add(b, tables, "times", rows);
	}
	if (f->why) {
		rows = json_new_array(b);
		for (size_t i = 0; i < f->nculprits; i++)
			json_append(b, rows, json_new_culprit(b, &f->culprits[i]));
		json_add(b, tables, "culprits", rows);
	}
	if (!f->contends && !f->lines && !f->ncontended)
		return tables;
	rows = json_new_array(b);
	if (view_join(view, f) && !b->error)
		b->error = -ENOMEM;
	for (size_t i = 0; i < f->ncontended; i++)
		json_append(b, rows, json_new_contended(b, &f->contended[i], view, cfg));
	json_add(b, tables, "contended", rows);
	return tables;
}
