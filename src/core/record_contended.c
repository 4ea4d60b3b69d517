// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the contended table of a record, with what a cache line has besides. Their joins are not
 * read: they follow from the addresses, and view_join() makes them. */
#include "core/record_json.h"

/* An array of objects, each read by `t` into an element of `size` bytes. */
static void *read_rows(struct json_in *in, const struct json *o, const char *key,
		       const struct field_table *t, size_t size, size_t *count)
{
	const struct json *one = json_in_array(in, o, key, count);
	char *v = json_in_alloc(in, *count, size), *at = v;

	for (; v && one && !in->error; one = one->next, at += size)
		if (one->type == JSON_OBJECT)
			json_in_fields(in, one, t, at);
		else
			json_in_bad(in, t->v[0].key, "it in an object");
	return v;
}

/* Numbers of CPUs or nodes. */
static const uint32_t *read_u32s(struct json_in *in, const struct json *o, const char *key,
				 size_t *count)
{
	const uint64_t *numbers = json_in_numbers(in, o, key, count);
	uint32_t *v = json_in_alloc(in, *count, sizeof(*v));
	size_t i;

	for (i = 0; v && i < *count; i++) {
		if (numbers[i] > UINT32_MAX)
			json_in_bad(in, key, "whole numbers below 2^32");
		v[i] = (uint32_t)numbers[i];
	}
	return v;
}

static void read_group(struct json_in *in, const struct json *o, struct label *out)
{
	const struct json *labels = json_in_object(in, o, "labels", false), *one;

	if (in->error)
		return;
	if (labels->n > 1)
		json_in_bad(in, "labels", "one group");
	one = labels->first;
	if (!one)
		return;
	out->value = json_in_text_of(in, one, "labels");
	out->key = one->key;
}

static void read_futex(struct json_in *in, const struct json *o, struct contended *c)
{
	const struct json *futex = json_in_object(in, o, "futex", false);
	struct futex_counts *f = json_in_alloc(in, 1, sizeof(*f));

	if (in->error)
		return;
	c->op = json_in_text_or_null(in, futex, "op");
	json_in_fields(in, futex, &futex_fields, f);
	c->futex = f;
}

static void read_line(struct json_in *in, const struct json *o, struct contended *c)
{
	const struct json *line = json_in_object(in, o, "line", false);

	if (in->error)
		return;
	c->line = json_in_hex(in, line, "addr");
	c->members =
		read_rows(in, line, "members", &member_fields, sizeof(*c->members), &c->nmembers);
}

static void read_hitm(struct json_in *in, const struct json *o, struct line_hitm *out)
{
	const struct json *hitm = json_in_object(in, o, "hitm", true);

	if (!hitm)
		return;
	out->told = true;
	json_in_fields(in, hitm, &hitm_fields, out);
}

static void read_spots(struct json_in *in, const struct json *o, struct line_accesses *a)
{
	struct line_spot *v = read_rows(in, o, "offsets", &spot_fields, sizeof(*v), &a->nuses);
	const struct json *one = json_in_array(in, o, "offsets", &a->nuses);
	size_t i;

	for (i = 0; one && !in->error; i++, one = one->next) {
		v[i].samples = v[i].reads + v[i].writes;
		read_hitm(in, one, &v[i].hitm);
		v[i].latency = json_in_hist_member(in, one, "latency_cycles");
	}
	a->uses = v;
}

static void read_nodes(struct json_in *in, const struct json *o, struct line_accesses *a)
{
	a->memory_node = -1;
	if (!json_in_has(o, "nodes"))
		return;
	a->nodes = read_u32s(in, o, "nodes", &a->nnodes);
	if (json_in_given(o, "memory_node"))
		a->memory_node = json_in_i32(in, o, "memory_node");
}

static void read_accesses(struct json_in *in, const struct json *o, struct contended *c)
{
	struct line_accesses *a = json_in_alloc(in, 1, sizeof(*a));

	if (!a)
		return;
	json_in_fields(in, o, &accesses_fields, a);
	read_nodes(in, o, a);
	if (a->exact)
		json_in_fields(in, o, &exact_fields, a);
	if (json_in_has(o, "unconfirmed"))
		a->unconfirmed = json_in_text(in, o, "unconfirmed");
	read_hitm(in, o, &a->hitm);
	a->latency = json_in_hist_member(in, o, "latency_cycles");
	a->threads = read_rows(in, o, "tids", &thread_fields, sizeof(*a->threads), &a->nthreads);
	read_spots(in, o, a);
	c->accesses = a;
}

const struct holder *json_in_holders(struct json_in *in, const struct json *o, size_t *n)
{
	return read_rows(in, o, "holders", &holder_fields, sizeof(struct holder), n);
}

const struct slow_link *json_in_links(struct json_in *in, const struct json *o, size_t *n)
{
	return read_rows(in, o, "behind", &slow_link_fields, sizeof(struct slow_link), n);
}

void json_in_contended(struct json_in *in, const struct json *o, struct contended *out)
{
	if (!in->error && o->type != JSON_OBJECT)
		json_in_bad(in, "contended", "objects");
	if (in->error)
		return;
	json_in_fields(in, o, &contended_fields, out);
	if (!out->other)
		out->addr = json_in_hex(in, o, "addr");
	json_in_fields(in, o, &contended_name_fields, out);
	read_group(in, o, &out->group);
	out->count = json_in_u64(in, o, "count");
	out->wait = json_in_hist_member(in, o, "wait_ns");
	out->cpus = read_u32s(in, o, "cpus", &out->ncpus);
	json_in_fields(in, o, &contended_number_fields, out);
	out->sites = read_rows(in, o, "sites", &site_fields, sizeof(*out->sites), &out->nsites);
	if (json_in_has(o, "holders"))
		out->holders = json_in_holders(in, o, &out->nholders);
	if (json_in_has(o, "futex"))
		read_futex(in, o, out);
	if (json_in_has(o, "sampler"))
		read_accesses(in, o, out);
	if (json_in_has(o, "line"))
		read_line(in, o, out);
}
