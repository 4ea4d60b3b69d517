/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/hist.h"

#define PPB_ONE 1000000000U
#define FIRST_CAP 16
#define THIN_BEYOND 10 /* fewer samples past a quantile than this: it is marked */

void hist_init(struct hist *h, uint32_t schema)
{
	*h = (struct hist){.schema = schema};
}

void hist_free(struct hist *h)
{
	if (!h)
		return;
	free(h->slots);
	hist_init(h, h->schema);
}

void hist_reset(struct hist *h)
{
	uint64_t *slots = h->slots;
	uint32_t cap = h->cap;

	hist_init(h, h->schema);
	h->slots = slots;
	h->cap = cap;
}

static uint32_t slots_of(uint32_t schema)
{
	return (uint32_t)BUCKET_SLOTS(schema);
}

/* At least `need` slots of memory; at least doubles, so that growing costs little in all. */
static int reserve(struct hist *h, uint32_t need)
{
	uint32_t total = slots_of(h->schema);
	uint32_t cap = h->cap ? 2 * h->cap : FIRST_CAP;
	uint64_t *slots;

	if (need <= h->cap)
		return 0;
	if (cap < need)
		cap = need;
	if (cap > total)
		cap = total;
	slots = realloc(h->slots, cap * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	h->slots = slots;
	h->cap = cap;
	return 0;
}

int hist_reserve_all(struct hist *h)
{
	return reserve(h, slots_of(h->schema));
}

/* Widens the window to hold [from, end) as well; what it gains is zero. */
static int widen(struct hist *h, uint32_t from, uint32_t end)
{
	uint32_t lead, len;
	int ret;

	if (h->len && from > h->first)
		from = h->first;
	if (h->len && end < h->first + h->len)
		end = h->first + h->len;
	len = end - from;
	if (len == h->len)
		return 0;
	ret = reserve(h, len);
	if (ret)
		return ret;
	lead = h->len ? h->first - from : 0;
	if (lead)
		memmove(h->slots + lead, h->slots, h->len * sizeof(*h->slots));
	memset(h->slots, 0, lead * sizeof(*h->slots));
	memset(h->slots + lead + h->len, 0, (len - lead - h->len) * sizeof(*h->slots));
	h->first = from;
	h->len = len;
	return 0;
}

int hist_add_slot(struct hist *h, uint32_t slot, uint64_t n)
{
	int ret;

	if (slot >= slots_of(h->schema))
		return -EINVAL;
	if (!n)
		return 0;
	ret = widen(h, slot, slot + 1);
	if (ret)
		return ret;
	h->slots[slot - h->first] += n;
	h->count += n;
	return 0;
}

/* The exact figures of samples whose smallest and largest are given; before count takes them in. */
static void note_range(struct hist *h, uint64_t sum, uint64_t min, uint64_t max)
{
	h->sum_ns += sum;
	if (!h->count || min < h->min_ns)
		h->min_ns = min;
	if (!h->count || max > h->max_ns)
		h->max_ns = max;
}

int hist_add(struct hist *h, const struct bucket_table *t, uint64_t v)
{
	uint32_t slot;
	int ret;

	if (t->schema != h->schema)
		return -EINVAL;
	if (!v) {
		note_range(h, 0, 0, 0);
		h->zero++;
		h->count++;
		return 0;
	}
	slot = bucket_slot(t, h->schema, v);
	ret = widen(h, slot, slot + 1);
	if (ret)
		return ret;
	note_range(h, v, v, v);
	return hist_add_slot(h, slot, 1);
}

/*
 * The slot of schema `coarse` that holds a slot of schema `fine`. What lies past the range is in
 * the last slot of each.
 */
static uint32_t slot_at(uint32_t slot, uint32_t fine, uint32_t coarse)
{
	uint32_t by = fine - coarse, last = slots_of(coarse) - 1;
	int32_t bucket = hist_schema_base(fine) + (int32_t)slot;
	int32_t up = -((-bucket) >> by); /* ceil(bucket / 2^by) */

	slot = (uint32_t)(up - hist_schema_base(coarse));
	return slot < last ? slot : last;
}

int hist_rescale(struct hist *h, uint32_t schema)
{
	uint32_t from = h->first, to, i;

	if (schema < BUCKET_SCHEMA_MIN || schema > h->schema)
		return -EINVAL;
	if (schema == h->schema || !h->len) {
		h->schema = schema;
		return 0;
	}
	/* In place: no slot moves up, and those that were read are free. */
	h->first = slot_at(from, h->schema, schema);
	for (i = 0; i < h->len; i++) {
		uint64_t n = h->slots[i];

		to = slot_at(from + i, h->schema, schema) - h->first;
		h->slots[i] = 0;
		h->slots[to] += n;
	}
	h->len = slot_at(from + h->len - 1, h->schema, schema) - h->first + 1;
	h->schema = schema;
	return 0;
}

int hist_merge(struct hist *to, const struct hist *from)
{
	uint32_t schema = from->schema, first, i;
	int ret;

	if (to->schema > schema) {
		ret = hist_rescale(to, schema);
		if (ret)
			return ret;
	}
	if (!from->count)
		return 0;
	if (from->len) {
		first = slot_at(from->first, schema, to->schema);
		ret = widen(to, first,
			    slot_at(from->first + from->len - 1, schema, to->schema) + 1);
		if (ret)
			return ret;
	}
	for (i = 0; i < from->len; i++)
		to->slots[slot_at(from->first + i, schema, to->schema) - to->first] +=
			from->slots[i];
	note_range(to, from->sum_ns, from->min_ns, from->max_ns);
	to->zero += from->zero;
	to->count += from->count;
	return 0;
}

/* Value of the sample at `rank` (1..count): its bucket's middle, never outside [min, max]. */
static uint64_t value_at(const struct hist *h, uint64_t rank)
{
	uint64_t seen = h->zero, v;
	uint32_t i = 0;

	if (rank <= seen)
		return 0;
	while (i < h->len && rank - seen > h->slots[i])
		seen += h->slots[i++];
	if (i == h->len)
		return h->max_ns;
	v = (uint64_t)llround(hist_slot_middle_ns(h->schema, h->first + i));
	if (v < h->min_ns)
		return h->min_ns;
	return v > h->max_ns ? h->max_ns : v;
}

struct quantile_value hist_quantile(const struct hist *h, const struct quantile *q)
{
	struct quantile_value r = {0};
	unsigned __int128 product = (unsigned __int128)h->count * q->ppb;

	if (!h->count)
		return r;
	r.rank = (uint64_t)((product + PPB_ONE - 1) / PPB_ONE);
	if (!r.rank)
		r.rank = 1;
	if (r.rank > h->count)
		r.rank = h->count;
	r.beyond = h->count - r.rank;
	r.thin = r.beyond < THIN_BEYOND;
	r.ns = value_at(h, r.rank);
	return r;
}
