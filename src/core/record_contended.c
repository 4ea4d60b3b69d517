// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the contended table of a record, with what a cache line has besides. */
#include "core/record_json.h"

/* An array of objects, each read by `t` into an element of `size` bytes. */
static void *read_rows(struct json_in *in, struct json_object *array, const struct field_table *t,
		       size_t size, size_t *count)
{
	size_t n = array ? json_object_array_length(array) : 0, i;
	char *v = json_in_alloc(in, n, size);

	for (i = 0; v && i < n && !in->error; i++) {
		struct json_object *one = json_object_array_get_idx(array, i);

		if (json_object_is_type(one, json_type_object))
			json_in_fields(in, one, t, v + i * size);
		else
			json_in_bad(in, t->v[0].key, "it in an object");
	}
	*count = n;
	return v;
}

/* Numbers of CPUs or nodes. */
static const uint32_t *read_u32s(struct json_in *in, struct json_object *o, const char *key,
				 size_t *count)
{
	struct json_object *array = json_in_array(in, o, key);
	size_t n = array ? json_object_array_length(array) : 0, i;
	uint32_t *v = json_in_alloc(in, n, sizeof(*v));

	for (i = 0; v && i < n; i++)
		v[i] = (uint32_t)json_in_u64_of(in, json_object_array_get_idx(array, i), UINT32_MAX,
						key);
	*count = n;
	return v;
}

static void read_group(struct json_in *in, struct json_object *o, struct label *out)
{
	struct json_object *labels = json_in_object(in, o, "labels", false);

	if (in->error)
		return;
	json_object_object_foreach(labels, key, value)
	{
		if (out->key)
			json_in_bad(in, "labels", "one group");
		out->value = json_in_text_of(in, value, "labels");
		out->key = json_in_copy(in, key);
	}
}

static void read_futex(struct json_in *in, struct json_object *o, struct contended *c)
{
	struct json_object *futex = json_in_object(in, o, "futex", false);
	struct futex_counts *f = json_in_alloc(in, 1, sizeof(*f));

	if (in->error)
		return;
	c->op = json_in_text_or_null(in, futex, "op");
	json_in_fields(in, futex, &futex_fields, f);
	c->futex = f;
}

static void read_line(struct json_in *in, struct json_object *o, struct contended *c)
{
	struct json_object *line = json_in_object(in, o, "line", false);

	if (in->error)
		return;
	c->line = json_in_hex(in, line, "addr");
	c->members = read_rows(in, json_in_array(in, line, "members"), &member_fields,
			       sizeof(*c->members), &c->nmembers);
}

static void read_hitm(struct json_in *in, struct json_object *o, struct line_hitm *out)
{
	struct json_object *hitm = json_in_object(in, o, "hitm", true);

	if (!hitm)
		return;
	out->told = true;
	json_in_fields(in, hitm, &hitm_fields, out);
}

static void read_spots(struct json_in *in, struct json_object *o, struct line_accesses *a)
{
	struct json_object *array = json_in_array(in, o, "offsets"), *one;
	struct line_spot *v = read_rows(in, array, &spot_fields, sizeof(*v), &a->nuses);
	size_t i;

	for (i = 0; i < a->nuses && !in->error; i++) {
		one = json_object_array_get_idx(array, i);
		read_hitm(in, one, &v[i].hitm);
		v[i].latency = json_in_hist_member(in, one, "latency_cycles");
	}
	a->uses = v;
}

static void read_nodes(struct json_in *in, struct json_object *o, struct line_accesses *a)
{
	struct json_object *memory = NULL;

	a->memory_node = -1;
	if (!json_in_has(o, "nodes"))
		return;
	a->nodes = read_u32s(in, o, "nodes", &a->nnodes);
	if (json_object_object_get_ex(o, "memory_node", &memory) && memory)
		a->memory_node = (int32_t)json_in_u64_of(in, memory, INT32_MAX, "memory_node");
}

static void read_accesses(struct json_in *in, struct json_object *o, struct contended *c)
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
	a->threads = read_rows(in, json_in_array(in, o, "tids"), &thread_fields,
			       sizeof(*a->threads), &a->nthreads);
	read_spots(in, o, a);
	c->accesses = a;
}

void json_in_contended(struct json_in *in, struct json_object *o, struct contended *out)
{
	if (!in->error && !json_object_is_type(o, json_type_object))
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
	json_in_fields(in, o, &threads_fields, out);
	out->sites = read_rows(in, json_in_array(in, o, "sites"), &site_fields, sizeof(*out->sites),
			       &out->nsites);
	if (json_in_has(o, "futex"))
		read_futex(in, o, out);
	if (json_in_has(o, "sampler"))
		read_accesses(in, o, out);
	if (json_in_has(o, "line"))
		read_line(in, o, out);
}
