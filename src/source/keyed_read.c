// SPDX-License-Identifier: GPL-2.0-or-later
/* Entries of the kernel's maps: what came to each since it was last read, into its row. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/packed.h"
#include "source/keyed_inside.h"

/* Of an entry that was never read: all numbers are 0. */
static const uint8_t nothing_seen[ABI_SUMS + 3 * KEYED_HISTS];

int keyed_read_alloc(struct keyed *k)
{
	size_t buckets =
		BUCKET_SLOTS(k->args.schema) * (size_t)(PACKED_SLOT_BYTES + PACKED_U32_BYTES);
	size_t numbers = (ABI_SUMS + 3 * KEYED_HISTS) * PACKED_U64_BYTES;
	size_t copied = sizeof(struct abi_walk_hist) +
			BUCKET_SLOTS(k->args.schema) * sizeof(struct abi_walk_slot);

	k->seen = malloc(numbers + k->args.nhists * buckets);
	k->buckets = malloc(buckets);
	k->delta = malloc(buckets);
	k->copied = malloc(copied * k->args.nhists + 1); /* not 0 bytes */
	return k->seen && k->buckets && k->delta && k->copied ? 0 : -ENOMEM;
}

void keyed_free_reading(struct reading *n)
{
	free(n->seen);
	free(n);
}

static int entry_get(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *head, struct reading **out)
{
	struct keyed_table *t = &k->entries[bank];
	struct reading *n = t->n ? (struct reading *)*keyed_table_at(t, key) : NULL;
	int ret;

	*out = n;
	if (n)
		return 0;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->node.key = *key;
	ret = keyed_row_get(k, key, head, &n->row);
	if (!ret)
		ret = keyed_table_add(t, &n->node);
	if (ret) {
		free(n);
		return ret;
	}
	n->row->entries++;
	*out = n;
	return 0;
}

/* What was read is kept, in no more memory than malloc() would give anyway. */
static int reading_keep(struct reading *n, const uint8_t *seen, uint32_t len)
{
	uint32_t cap = len <= 24 ? 24 : (len + 7) / 16 * 16 + 8;
	uint8_t *bytes;

	if (len > n->cap) {
		bytes = malloc(cap);
		if (!bytes)
			return -ENOMEM;
		free(n->seen);
		n->seen = bytes;
		n->cap = cap;
	}
	memcpy(n->seen, seen, len);
	n->len = len;
	return 0;
}

/* A histogram of an entry as last read. */
struct seen {
	uint64_t sum_ns, zero, bytes;
	const uint8_t *buckets;
};

static const uint8_t *seen_get(const uint8_t *at, struct seen *s)
{
	at = packed_get_number(at, &s->sum_ns);
	at = packed_get_number(at, &s->zero);
	at = packed_get_number(at, &s->bytes);
	s->buckets = at;
	return at + s->bytes;
}

static uint8_t *seen_put(uint8_t *to, const struct seen *s)
{
	to = packed_put_number(to, s->sum_ns);
	to = packed_put_number(to, s->zero);
	to = packed_put_number(to, s->bytes);
	memcpy(to, s->buckets, s->bytes);
	return to + s->bytes;
}

/* The slots beside those last seen: all that hold something, and what came to them, modulo 2^32. */
static void read_slots(struct keyed *k, const struct abi_walk_hist *now, struct seen *s,
		       struct hist *delta)
{
	const struct abi_walk_slot *slot = (const void *)(now + 1), *slots_end = slot + now->slots;
	const uint8_t *from = s->buckets, *end = s->buckets + s->bytes;
	uint32_t i, n, d, old = 0, last = 0, last_delta = 0; /* slots */
	uint8_t *to = k->buckets, *came = k->delta;
	uint64_t was = 0;
	bool any_old = from < end;

	if (any_old)
		from = packed_get(from, &old, &was);
	while (slot < slots_end || any_old) {
		i = slot < slots_end && (!any_old || slot->slot < old) ? slot->slot : old;
		n = slot < slots_end && slot->slot == i ? (slot++)->samples : 0;
		d = n;
		if (any_old && i == old) {
			d -= (uint32_t)was;
			any_old = from < end;
			if (any_old)
				from = packed_get(from, &old, &was);
		}
		if (n) {
			to = packed_put(to, last, i, n);
			last = i;
		}
		if (d) {
			came = packed_put(came, last_delta, i, d);
			last_delta = i;
			delta->count += d;
		}
	}
	delta->bytes = k->delta;
	delta->len = (uint32_t)(came - k->delta);
	s->buckets = k->buckets;
	s->bytes = (uint64_t)(to - k->buckets);
}

/* What came to one histogram joins `to`. min and max are those of its last epoch: of just these
 * samples, unless one came too late for an earlier reading. */
static int read_hist(struct keyed *k, struct hist *to, const struct abi_walk_hist *now,
		     struct seen *s)
{
	struct hist delta = {.schema = k->args.schema,
			     .packed = 1,
			     .zero = now->zero - s->zero,
			     .sum_ns = now->sum_ns - s->sum_ns,
			     .min_ns = now->min_ns,
			     .max_ns = now->max_ns};
	struct seen next = *s;

	delta.count = delta.zero;
	read_slots(k, now, &next, &delta);
	if (!delta.count)
		return 0;
	next.sum_ns = now->sum_ns;
	next.zero = now->zero;
	*s = next;
	return hist_merge(to, &delta);
}

/* Sums have no epoch: whatever came since the last reading. Did one rise? */
static bool read_sums(const struct keyed *k, struct keyed_row *row, const struct abi_khead *now,
		      const uint8_t **at)
{
	bool rose = false;
	uint64_t was;
	int i;

	for (i = 0; i < ABI_SUMS; i++) {
		*at = packed_get_number(*at, &was);
		if (k->args.masks >> i & 1)
			continue;
		row->sums_interval[i] += now->sums[i] - was;
		rose |= now->sums[i] != was;
	}
	return rose;
}

static void join_masks(const struct keyed *k, struct keyed_row *row, const struct abi_khead *now)
{
	int i;

	for (i = 0; i < ABI_SUMS; i++)
		if (k->args.masks >> i & 1)
			row->sums_interval[i] |= now->sums[i];
}

/* `at`: of what was last seen, behind the sums. */
static int read_hists(struct keyed *k, struct reading *n, const struct keyed_view *v,
		      const uint8_t *at)
{
	uint8_t *to = k->seen;
	struct seen s;
	uint32_t m;
	int i, ret = 0;

	for (i = 0; i < ABI_SUMS; i++)
		to = packed_put_number(to, k->args.masks >> i & 1 ? 0 : v->head->sums[i]);
	for (m = 0; !ret && m < k->args.nhists; m++) {
		at = seen_get(at, &s);
		if (v->hists >> m & 1)
			ret = read_hist(k, &n->row->interval[m], v->hist[m], &s);
		to = seen_put(to, &s);
	}
	return ret ? ret : reading_keep(n, k->seen, (uint32_t)(to - k->seen));
}

int keyed_read_view(struct keyed *k, uint32_t bank, const struct keyed_view *v)
{
	struct reading *n = NULL;
	struct keyed_row *row;
	const uint8_t *at;
	uint64_t before;
	bool rose;
	int ret = entry_get(k, bank, v->key, v->head, &n);

	if (ret)
		return ret;
	row = n->row;
	before = k->args.nhists ? row->interval[0].count : 0;
	at = n->seen ? n->seen : nothing_seen;
	rose = read_sums(k, row, v->head, &at);
	keyed_row_name(row, v->head);
	if (!v->hists && !rose)
		return 0;
	ret = read_hists(k, n, v, at);
	if (rose || (k->args.nhists && row->interval[0].count != before))
		join_masks(k, row, v->head);
	if (v->key->cpu < k->args.ncpus)
		row->cpus_interval[v->key->cpu / 64] |= 1ULL << (v->key->cpu % 64);
	row->active = true;
	return ret;
}

/* ---- a map that was copied ---- */

/* The first slot from `i` on that has samples, or `end`. */
static uint32_t skip_zeros(const uint32_t *slots, uint32_t i, uint32_t end)
{
	typedef uint64_t two
		__attribute__((vector_size(16))); /* what every machine can do at once */
	two a, b;

	for (; i + 8 <= end; i += 8) {
		memcpy(&a, slots + i, sizeof(a));
		memcpy(&b, slots + i + 4, sizeof(b));
		a |= b;
		if (a[0] | a[1])
			break;
	}
	while (i < end && !slots[i])
		i++;
	return i;
}

/* As the walk tells of it (bpf/walk.bpf.c); where the next one goes. */
static struct abi_walk_hist *tell(struct abi_walk_hist *to, const struct abi_hist *h,
				  uint32_t schema)
{
	const uint32_t *slots = (const uint32_t *)(h + 1);
	struct abi_walk_slot *slot = (struct abi_walk_slot *)(to + 1);
	uint32_t i, end = BUCKET_SLOTS(schema);

	*to = (struct abi_walk_hist){h->sum_ns, h->min_ns, h->max_ns, h->zero, 0};
	for (i = 0; (i = skip_zeros(slots, i, end)) < end; i++, to->slots++)
		*slot++ = (struct abi_walk_slot){i, slots[i]};
	return (struct abi_walk_hist *)slot;
}

/*
 * A histogram whose epoch is another had no sample in this interval; one that came late, after the
 * previous reading, is found when the bank's turn comes again or at the end.
 */
int keyed_read_entry(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *now, uint64_t epoch)
{
	struct keyed_view v = {.key = key, .head = now};
	struct abi_walk_hist *to = k->copied;
	uint32_t m;

	for (m = 0; m < k->args.nhists; m++) {
		const struct abi_hist *h =
			(const void *)((const char *)(now + 1) + m * k->hist_bytes);

		if (!h->epoch || (epoch && h->epoch != epoch))
			continue;
		v.hists |= 1ULL << m;
		v.hist[m] = to;
		to = tell(to, h, k->args.schema);
	}
	return keyed_read_view(k, bank, &v);
}
