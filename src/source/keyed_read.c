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

	k->seen = malloc(numbers + k->args.nhists * buckets);
	k->buckets = malloc(buckets);
	k->delta = malloc(buckets);
	return k->seen && k->buckets && k->delta ? 0 : -ENOMEM;
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
static void read_slots(struct keyed *k, const uint32_t *slots, struct seen *s, struct hist *delta)
{
	const uint8_t *from = s->buckets, *end = s->buckets + s->bytes;
	uint32_t i, d, was = 0, last = 0, last_delta = 0, nslots = BUCKET_SLOTS(k->args.schema);
	uint32_t old = 0; /* the next slot that had samples */
	uint8_t *to = k->buckets, *came = k->delta;
	uint64_t old_n = 0;

	if (from < end)
		from = packed_get(from, &old, &old_n);
	else
		old = nslots;
	for (i = 0; (i = skip_zeros(slots, i, old)) < nslots; i++) {
		was = 0;
		if (i == old) {
			was = (uint32_t)old_n;
			if (from < end)
				from = packed_get(from, &old, &old_n);
			else
				old = nslots;
		}
		if (slots[i]) {
			to = packed_put(to, last, i, slots[i]);
			last = i;
		}
		d = slots[i] - was;
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
static int read_hist(struct keyed *k, struct hist *to, const struct abi_hist *now, struct seen *s)
{
	struct hist delta = {.schema = k->args.schema,
			     .packed = 1,
			     .zero = now->zero - s->zero,
			     .sum_ns = now->sum_ns - s->sum_ns,
			     .min_ns = now->min_ns,
			     .max_ns = now->max_ns};
	struct seen next = *s;

	delta.count = delta.zero;
	read_slots(k, (const uint32_t *)(now + 1), &next, &delta);
	if (!delta.count)
		return 0;
	next.sum_ns = now->sum_ns;
	next.zero = now->zero;
	*s = next;
	return hist_merge(to, &delta);
}

static bool in_epoch(const struct abi_hist *h, uint64_t epoch)
{
	return h->epoch && (!epoch || h->epoch == epoch);
}

static const struct abi_hist *hist_at(const struct keyed *k, const struct abi_khead *now,
				      uint32_t m)
{
	return (const void *)((const char *)(now + 1) + m * k->hist_bytes);
}

static bool any_in_epoch(const struct keyed *k, const struct abi_khead *now, uint64_t epoch)
{
	uint32_t m;

	for (m = 0; m < k->args.nhists; m++)
		if (in_epoch(hist_at(k, now, m), epoch))
			return true;
	return false;
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
static int read_hists(struct keyed *k, struct reading *n, const struct abi_khead *now,
		      const uint8_t *at, uint64_t epoch)
{
	uint8_t *to = k->seen;
	struct seen s;
	uint32_t m;
	int i, ret = 0;

	for (i = 0; i < ABI_SUMS; i++)
		to = packed_put_number(to, k->args.masks >> i & 1 ? 0 : now->sums[i]);
	for (m = 0; !ret && m < k->args.nhists; m++) {
		const struct abi_hist *h = hist_at(k, now, m);

		at = seen_get(at, &s);
		if (in_epoch(h, epoch))
			ret = read_hist(k, &n->row->interval[m], h, &s);
		to = seen_put(to, &s);
	}
	return ret ? ret : reading_keep(n, k->seen, (uint32_t)(to - k->seen));
}

/*
 * A histogram whose epoch is another had no sample in this interval; one that came late, after the
 * previous reading, is found when the bank's turn comes again or at the end.
 */
int keyed_read_entry(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *now, uint64_t epoch)
{
	bool active = any_in_epoch(k, now, epoch), rose;
	struct reading *n = NULL;
	struct keyed_row *row;
	const uint8_t *at;
	uint64_t before;
	int ret = entry_get(k, bank, key, now, &n);

	if (ret)
		return ret;
	row = n->row;
	before = k->args.nhists ? row->interval[0].count : 0;
	at = n->seen ? n->seen : nothing_seen;
	rose = read_sums(k, row, now, &at);
	keyed_row_name(row, now);
	if (!active && !rose)
		return 0;
	ret = read_hists(k, n, now, at, epoch);
	if (rose || (k->args.nhists && row->interval[0].count != before))
		join_masks(k, row, now);
	if (key->cpu < k->args.ncpus)
		row->cpus_interval[key->cpu / 64] |= 1ULL << (key->cpu % 64);
	row->active = true;
	return ret;
}
