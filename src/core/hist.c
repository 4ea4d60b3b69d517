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

int hist_merge(struct hist *to, const struct hist *from)
{
	int ret;

	if (to->schema != from->schema)
		return -EINVAL;
	if (!from->count)
		return 0;
	if (from->len) {
		ret = widen(to, from->first, from->first + from->len);
		if (ret)
			return ret;
	}
	for (uint32_t i = 0; i < from->len; i++)
		to->slots[from->first - to->first + i] += from->slots[i];
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
