// SPDX-License-Identifier: GPL-2.0-or-later
/* What a row of the contended table has for a cache line:
 * "sampler":"clock","reads":…,"writes":…,"hitm":null,"tids":[…],"offsets":[…] */
#include "sink/json_build.h"

static struct json_object *json_new_hitm(struct json_build *b, const struct line_hitm *h)
{
	struct json_object *hitm;

	if (!h->told)
		return NULL;
	hitm = json_new_object(b);
	json_add_fields(b, hitm, &hitm_fields, h);
	return hitm;
}

static struct json_object *json_new_offsets(struct json_build *b, const struct line_accesses *a,
					    const struct config *cfg)
{
	struct json_object *all =
		json_new_rows(b, &spot_fields, a->uses, a->nuses, sizeof(*a->uses));

	for (size_t i = 0; i < a->nuses && !b->error; i++) {
		struct json_object *one = json_object_array_get_idx(all, i);
		const struct line_spot *u = &a->uses[i];

		json_add(b, one, "hitm", json_new_hitm(b, &u->hitm));
		json_add(b, one, "latency_cycles", json_new_hist(b, u->latency, cfg));
	}
	return all;
}

/* Of machines that have more than one. */
static void json_add_nodes(struct json_build *b, struct json_object *o,
			   const struct line_accesses *a)
{
	if (!a->nnodes)
		return;
	json_add(b, o, "nodes", json_new_u32s(b, a->nodes, a->nnodes));
	if (a->memory_node < 0)
		json_add_null(b, o, "memory_node");
	else
		json_add_u64(b, o, "memory_node", (uint64_t)a->memory_node);
}

void json_add_accesses(struct json_build *b, struct json_object *o, const struct line_accesses *a,
		       const struct config *cfg)
{
	json_add_fields(b, o, &accesses_fields, a);
	json_add_nodes(b, o, a);
	if (a->exact)
		json_add_fields(b, o, &exact_fields, a);
	if (a->unconfirmed)
		json_add_text(b, o, "unconfirmed", a->unconfirmed);
	json_add(b, o, "hitm", json_new_hitm(b, &a->hitm));
	json_add(b, o, "latency_cycles", json_new_hist(b, a->latency, cfg));
	json_add(b, o, "tids",
		 json_new_rows(b, &thread_fields, a->threads, a->nthreads, sizeof(*a->threads)));
	json_add(b, o, "offsets", json_new_offsets(b, a, cfg));
}
