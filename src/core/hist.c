/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/hist.h"
#include "core/packed.h"

#define PPB_ONE 1000000000U
#define FIRST_CAP 16
#define FEW_BEYOND 10 /* fewer samples past a quantile than this: it is marked */

void hist_init(struct hist *h, uint32_t schema)
{
	*h = (struct hist){.schema = schema};
}

void hist_init_packed(struct hist *h, uint32_t schema)
{
	*h = (struct hist){.schema = schema, .packed = 1};
}

void hist_free(struct hist *h)
{
	if (!h)
		return;
	free(h->slots); /* or bytes */
	*h = (struct hist){.schema = h->schema, .packed = h->packed};
}

void hist_reset(struct hist *h)
{
	*h = (struct hist){
		.schema = h->schema, .packed = h->packed, .cap = h->cap, .slots = h->slots};
}

bool hist_next(const struct hist *h, struct hist_walk *w)
{
	if (h->packed) {
		if (w->at == h->len)
			return false;
		w->at = (uint32_t)(packed_get(h->bytes + w->at, &w->slot, &w->n) - h->bytes);
		return true;
	}
	while (w->at < h->len && !h->slots[w->at])
		w->at++;
	if (w->at == h->len)
		return false;
	w->slot = h->first + w->at;
	w->n = h->slots[w->at++];
	return true;
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

/* ---- packed ---- */

/* Memory for `need` bytes, and no more than malloc() would round up to anyway. */
static int reserve_bytes(struct hist *h, uint32_t need)
{
	uint32_t cap = need <= 24 ? 24 : (need + 7) / 16 * 16 + 8;
	uint8_t *bytes;

	if (need <= h->cap)
		return 0;
	bytes = malloc(cap);
	if (!bytes)
		return -ENOMEM;
	free(h->bytes);
	h->bytes = bytes;
	h->cap = cap;
	return 0;
}

/* A stream on its way. */
struct stream {
	const uint8_t *at, *end;
	uint32_t slot; /* UINT32_MAX: at its end */
	uint64_t n;
};

/* No pointer arithmetic on what is not there: NULL + 0 is undefined. */
static struct stream stream_begin(const struct hist *packed)
{
	if (!packed->len)
		return (struct stream){0};
	return (struct stream){.at = packed->bytes, .end = packed->bytes + packed->len};
}

static inline void stream_next(struct stream *s)
{
	if (s->at < s->end)
		s->at = packed_get(s->at, &s->slot, &s->n);
	else
		s->slot = UINT32_MAX;
}

static uint8_t *join_streams(uint8_t *out, struct stream x, struct stream y)
{
	uint32_t last = 0, slot;
	uint64_t n;

	stream_next(&x);
	stream_next(&y);
	while (x.slot != y.slot || x.slot != UINT32_MAX) {
		slot = x.slot < y.slot ? x.slot : y.slot;
		n = 0;
		if (x.slot == slot) {
			n = x.n;
			stream_next(&x);
		}
		if (y.slot == slot) {
			n += y.n;
			stream_next(&y);
		}
		out = packed_put(out, last, slot, n);
		last = slot;
	}
	return out;
}

#define PACKED_MAX (BUCKET_SLOTS(BUCKET_SCHEMA_MAX) * (PACKED_SLOT_BYTES + PACKED_U64_BYTES))

/* The buckets of a histogram of the other form as a stream; returns its end. */
static uint8_t *stream_of(uint8_t *out, const struct hist *h)
{
	struct hist_walk w = {0};
	uint32_t last = 0;

	for (; hist_next(h, &w); last = w.slot)
		out = packed_put(out, last, w.slot, w.n);
	return out;
}

static int packed_add(struct hist *to, const struct hist *from)
{
	uint8_t theirs[PACKED_MAX], joined[PACKED_MAX];
	struct stream x = stream_begin(to), y = {.at = theirs};
	uint32_t len;
	int ret;

	if (from->packed)
		y = stream_begin(from);
	else
		y.end = stream_of(theirs, from);
	if (y.at == y.end)
		return 0;
	if (x.at < x.end)
		y = (struct stream){.at = joined, .end = join_streams(joined, x, y)};
	len = (uint32_t)(y.end - y.at);
	ret = reserve_bytes(to, len);
	if (ret)
		return ret;
	memcpy(to->bytes, y.at, len);
	to->len = len;
	return 0;
}

/* ---- adding ---- */

int hist_add_slot(struct hist *h, uint32_t slot, uint64_t n)
{
	const struct hist one = {.first = slot, .len = 1, .slots = &n};
	int ret;

	if (slot >= slots_of(h->schema))
		return -EINVAL;
	if (!n)
		return 0;
	if (h->packed) {
		ret = packed_add(h, &one);
		h->count += ret ? 0 : n;
		return ret;
	}
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
	ret = h->packed ? 0 : widen(h, slot, slot + 1);
	if (ret)
		return ret;
	note_range(h, v, v, v);
	return hist_add_slot(h, slot, 1);
}

/* The slot of schema `coarse` that holds a slot of schema `fine`. What lies past the range is in
 * the last slot of each. */
static uint32_t slot_at(uint32_t slot, uint32_t fine, uint32_t coarse)
{
	uint32_t last = slots_of(coarse) - 1;

	slot = (uint32_t)(hist_bucket_at(slot, fine, coarse) - hist_schema_base(coarse));
	return slot < last ? slot : last;
}

static int slots_add(struct hist *to, const struct hist *from)
{
	bool known = from->len && !from->packed; /* how far it reaches */
	struct hist_walk w = {0};
	uint32_t slot;
	int ret = 0;

	if (known)
		ret = widen(to, slot_at(from->first, from->schema, to->schema),
			    slot_at(from->first + from->len - 1, from->schema, to->schema) + 1);
	while (!ret && hist_next(from, &w)) {
		slot = slot_at(w.slot, from->schema, to->schema);
		ret = known ? 0 : widen(to, slot, slot + 1);
		if (!ret)
			to->slots[slot - to->first] += w.n;
	}
	return ret;
}

/* The buckets of `from`, to a packed histogram of a coarser schema. */
static int pack_coarser(struct hist *to, const struct hist *from)
{
	struct hist wide = {.schema = to->schema};
	int ret = slots_add(&wide, from);

	if (!ret)
		ret = packed_add(to, &wide);
	hist_free(&wide);
	return ret;
}

static int rescale_packed(struct hist *h, uint32_t schema)
{
	struct hist coarse = {.schema = schema, .packed = 1};
	int ret = pack_coarser(&coarse, h);

	if (ret) {
		hist_free(&coarse);
		return ret;
	}
	free(h->bytes);
	h->bytes = coarse.bytes;
	h->len = coarse.len;
	h->cap = coarse.cap;
	h->schema = schema;
	return 0;
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
	if (h->packed)
		return rescale_packed(h, schema);
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
	int ret = 0;

	if (to->schema > from->schema)
		ret = hist_rescale(to, from->schema);
	if (ret || !from->count)
		return ret;
	if (!to->packed)
		ret = slots_add(to, from);
	else
		ret = to->schema == from->schema ? packed_add(to, from) : pack_coarser(to, from);
	if (ret)
		return ret;
	note_range(to, from->sum_ns, from->min_ns, from->max_ns);
	to->zero += from->zero;
	to->count += from->count;
	return 0;
}

/* Takes the buckets away; -EINVAL: there is less in one than to be taken. */
static int subtract_slots(struct hist *from, const struct hist *earlier)
{
	struct hist_walk w = {0};

	while (hist_next(earlier, &w)) {
		uint32_t slot = slot_at(w.slot, earlier->schema, from->schema);

		if (slot < from->first || slot - from->first >= from->len ||
		    from->slots[slot - from->first] < w.n)
			return -EINVAL;
		from->slots[slot - from->first] -= w.n;
	}
	return 0;
}

/* What is left lies within its first and last bucket; edges are whole numbers or irrational. */
static void narrow_range(struct hist *h)
{
	uint32_t lo = 0, hi = h->len;
	uint64_t lower = 0, upper = h->max_ns;

	while (lo < hi && !h->slots[lo])
		lo++;
	while (hi > lo && !h->slots[hi - 1])
		hi--;
	if (h->first + lo)
		lower = (uint64_t)hist_slot_upper_ns(h->schema, h->first + lo - 1) + 1;
	if (lo == hi) /* zeros alone */
		upper = 0;
	else if (h->first + hi < slots_of(h->schema)) /* the last one has no end */
		upper = (uint64_t)hist_slot_upper_ns(h->schema, h->first + hi - 1);
	if (upper < h->max_ns)
		h->max_ns = upper;
	if (h->zero || lower > h->min_ns)
		h->min_ns = h->zero ? 0 : lower;
	if (h->min_ns > h->max_ns) /* a record may say what its buckets do not */
		h->min_ns = h->max_ns;
}

int hist_subtract(struct hist *from, const struct hist *earlier)
{
	int ret = from->packed ? -EINVAL : 0;

	if (!ret && from->schema > earlier->schema)
		ret = hist_rescale(from, earlier->schema);
	if (!ret && (from->count < earlier->count || from->zero < earlier->zero ||
		     from->sum_ns < earlier->sum_ns))
		ret = -EINVAL;
	if (!ret)
		ret = subtract_slots(from, earlier);
	if (ret)
		return ret;
	from->zero -= earlier->zero;
	from->count -= earlier->count;
	from->sum_ns -= earlier->sum_ns;
	if (earlier->count && from->count)
		narrow_range(from);
	return 0;
}

/* Has it as many samples in each bucket? Both have the same ones. */
static bool slots_has(const struct hist *h, const struct hist *part)
{
	struct hist_walk w = {0};

	while (hist_next(part, &w))
		if (w.slot < h->first || w.slot - h->first >= h->len ||
		    h->slots[w.slot - h->first] < w.n)
			return false;
	return true;
}

int hist_move(struct hist *to, struct hist *from, const struct hist *what)
{
	uint32_t coarse = what->schema < from->schema ? what->schema : from->schema;
	struct hist moved = {0};
	int ret;

	/* At from's buckets, for hist_subtract() wants no finer ones, nor coarser. */
	hist_init(&moved, coarse);
	ret = hist_merge(&moved, what);
	if (!ret)
		ret = hist_rescale(from, coarse);
	if (!ret)
		ret = slots_has(from, &moved) ? hist_subtract(from, &moved) : -EINVAL;
	if (!ret)
		ret = hist_merge(to, &moved);
	hist_free(&moved);
	return ret;
}

uint64_t hist_slot_value(const struct hist *h, uint32_t slot)
{
	uint64_t v = (uint64_t)llround(hist_slot_middle_ns(h->schema, slot));

	if (v < h->min_ns)
		return h->min_ns;
	return v > h->max_ns ? h->max_ns : v;
}

/* Value of the sample at `rank` (1..count): its bucket's middle, never outside [min, max]. */
static uint64_t value_at(const struct hist *h, uint64_t rank)
{
	struct hist_walk w = {0};
	uint64_t seen = h->zero;

	if (rank <= seen)
		return 0;
	do {
		if (!hist_next(h, &w))
			return h->max_ns;
		seen += w.n;
	} while (rank > seen);
	return hist_slot_value(h, w.slot);
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
	r.few = r.beyond < FEW_BEYOND;
	r.ns = value_at(h, r.rank);
	return r;
}
