// SPDX-License-Identifier: GPL-2.0-or-later
/* Entries of the kernel's maps: what came to each since it was last read, into its row. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/packed.h"
#include "source/bpf/keyed_inside.h"

/* Of an entry that was never read: all numbers are 0. */
static const uint8_t nothing_seen[ABI_SUMS + 3 * KEYED_HISTS];

int keyed_read_alloc(struct keyed *k)
{
	size_t buckets =
		ABI_KHIST_SLOTS(k->args.schema) * (size_t)(PACKED_SLOT_BYTES + PACKED_U32_BYTES);
	size_t numbers = (ABI_SUMS + 3 * KEYED_HISTS) * PACKED_U64_BYTES;
	size_t slots = ABI_KHIST_SLOTS(k->args.schema);

	k->seen = malloc(numbers + k->args.nhists * buckets);
	k->buckets = malloc(buckets);
	k->delta = malloc(buckets);
	k->copied = calloc(slots, sizeof(*k->copied));
	k->slots = calloc(slots, sizeof(*k->slots));
	return k->seen && k->buckets && k->delta && k->copied && k->slots ? 0 : -ENOMEM;
}

void keyed_free_reading(struct reading *n)
{
	free(n->seen);
	free(n);
}

static int entry_make(struct keyed *k, uint32_t bank, const struct abi_key *key,
		      const struct abi_khead *head, struct reading **out)
{
	struct reading *n = calloc(1, sizeof(*n));
	int ret;

	if (!n)
		return -ENOMEM;
	n->node.key = *key;
	ret = keyed_row_get(k, key, head, &n->row);
	if (!ret)
		ret = keyed_table_add(&k->entries[bank], &n->node);
	if (ret) {
		free(n);
		return ret;
	}
	n->row->entries++;
	*out = n;
	return 0;
}

/* Entries come in the same order each time, but for new ones: the next one is known before it is
 * looked for. */
static int entry_get(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *head, struct reading **out)
{
	const struct keyed_table *t = &k->entries[bank];
	struct reading *n = k->previous ? k->previous->after : NULL;
	int ret = 0;

	if (!n || memcmp(&n->node.key, key, sizeof(*key)))
		n = t->n ? (struct reading *)*keyed_table_at(t, key) : NULL;
	if (!n)
		ret = entry_make(k, bank, key, head, &n);
	if (k->previous)
		k->previous->after = n;
	k->previous = n;
	*out = n;
	return ret;
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
	uint64_t sum_ns, placed, bytes;
	const uint8_t *buckets;
};

static const uint8_t *seen_get(const uint8_t *at, struct seen *s)
{
	at = packed_get_number(at, &s->sum_ns);
	at = packed_get_number(at, &s->placed);
	at = packed_get_number(at, &s->bytes);
	s->buckets = at;
	return at + s->bytes;
}

static uint8_t *seen_put(uint8_t *to, const struct seen *s)
{
	to = packed_put_number(to, s->sum_ns);
	to = packed_put_number(to, s->placed);
	to = packed_put_number(to, s->bytes);
	memcpy(to, s->buckets, s->bytes);
	return to + s->bytes;
}

/* Slots that count now: all of them with all their samples, or, if `more`, what came to some. */
struct now {
	const struct abi_walk_slot *slots;
	uint32_t n;
	bool more;
};

/* Beside those last seen: all that hold something, and what came to them, modulo 2^32. */
static void read_slots(struct keyed *k, const struct now *now, struct seen *s, struct hist *delta)
{
	const struct abi_walk_slot *slot = now->slots, *slots_end = slot + now->n;
	const uint8_t *from = s->buckets, *end = s->buckets + s->bytes;
	uint32_t zero = BUCKET_SLOTS(k->args.schema);
	uint32_t i, n, d, old = 0, last = 0, last_delta = 0; /* slots */
	uint8_t *to = k->buckets, *came = k->delta;
	uint64_t was = 0;
	bool any_old = from < end;

	if (any_old)
		from = packed_get(from, &old, &was);
	while (slot < slots_end || any_old) {
		i = slot < slots_end && (!any_old || slot->slot < old) ? slot->slot : old;
		d = slot < slots_end && slot->slot == i ? (slot++)->samples : 0;
		n = d;
		if (any_old && i == old) {
			n = now->more ? n + (uint32_t)was : n;
			d = now->more ? d : d - (uint32_t)was;
			any_old = from < end;
			if (any_old)
				from = packed_get(from, &old, &was);
		}
		if (n) {
			to = packed_put(to, last, i, n);
			last = i;
		}
		delta->count += d;
		if (i == zero) {
			delta->zero += d;
		} else if (d) {
			came = packed_put(came, last_delta, i, d);
			last_delta = i;
		}
	}
	delta->bytes = k->delta;
	delta->len = (uint32_t)(came - k->delta);
	s->buckets = k->buckets;
	s->bytes = (uint64_t)(to - k->buckets);
}

/* The slots of the newest n of the last samples, sorted. */
static void newest(const struct abi_khist *h, uint32_t n, uint16_t to[ABI_KHIST_LAST])
{
	uint32_t i, at;

	for (i = 0; i < n; i++) {
		uint16_t slot = h->last[(h->placed - n + i) % ABI_KHIST_LAST];

		for (at = i; at && to[at - 1] > slot; at--)
			to[at] = to[at - 1];
		to[at] = slot;
	}
}

static void slots_add(struct now *now, struct abi_walk_slot *to, uint32_t slot, uint32_t samples)
{
	if (now->n && to[now->n - 1].slot == slot)
		to[now->n - 1].samples += samples;
	else
		to[now->n++] = (struct abi_walk_slot){slot, samples};
}

/* These slots, and the newest n samples. */
static void join_newest(struct keyed *k, struct now *now, const struct abi_walk_slot *slot,
			uint64_t nslots, const struct abi_khist *h, uint32_t n)
{
	uint16_t last[ABI_KHIST_LAST];
	uint32_t i = 0;

	now->slots = k->slots;
	newest(h, n, last);
	while (nslots || i < n) {
		if (i == n || (nslots && slot->slot <= last[i])) {
			slots_add(now, k->slots, slot->slot, slot->samples);
			slot++;
			nslots--;
		} else {
			slots_add(now, k->slots, last[i++], 1);
		}
	}
}

/* What came is among the last samples. */
static void read_few(struct keyed *k, const struct abi_khist *h, struct seen *s, struct hist *delta)
{
	struct now now = {.more = true};

	join_newest(k, &now, NULL, 0, h, (uint32_t)(h->placed - s->placed));
	read_slots(k, &now, s, delta);
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

/* The slots of a histogram of an entry that was copied. */
static uint32_t copied_slots(struct keyed *k, const struct abi_khist *h, uint32_t m)
{
	uint32_t i, n = 0, end = ABI_KHIST_SLOTS(k->args.schema);
	const uint32_t *slots = (const uint32_t *)(h - m + k->args.nhists) + m * end;

	for (i = 0; (i = skip_zeros(slots, i, end)) < end; i++)
		k->copied[n++] = (struct abi_walk_slot){i, slots[i]};
	return n;
}

static void view_copy(const struct keyed *k, struct keyed_view *v, const struct abi_khead *entry)
{
	const struct abi_khist *hists = (const void *)(entry + 1);
	uint32_t m;

	v->copied = true;
	for (m = 0; m < k->args.nhists; m++)
		v->hist[m] = hists + m;
}

/*
 * All slots, and the samples that are not in them yet. A program that is late may be about to add
 * one: then the oldest of the last samples is in its slot as well, and the slots are one ahead of
 * `placed`. If it is elsewhere, nothing of this histogram is read until the next time.
 */
static int read_all(struct keyed *k, uint32_t bank, struct keyed_view *v, uint32_t m,
		    struct seen *s, struct hist *delta)
{
	const struct abi_walk_slot *slots = k->copied;
	const struct hist none = *delta;
	const struct seen was = *s;
	uint64_t n, came;
	uint32_t last;

	if (!v->copied && !v->told[m]->slots) { /* more came than the walk was aware of */
		if (bpf_map_lookup_elem(k->args.fds[bank], v->key, k->batch_entries))
			return -errno;
		view_copy(k, v, (const void *)k->batch_entries);
	}
	if (v->copied) {
		n = copied_slots(k, v->hist[m], m);
	} else {
		n = v->told[m]->slots;
		slots = (const void *)(v->told[m] + 1);
	}
	came = v->hist[m]->placed - s->placed;
	for (last = ABI_KHIST_LAST; last >= ABI_KHIST_LAST - 1; last--) {
		struct now now = {0};

		slots_add(&now, k->slots, 0, 0U - ABI_KHIST_LAST); /* that never were */
		join_newest(k, &now, slots, n, v->hist[m], last);
		read_slots(k, &now, s, delta);
		if ((uint32_t)delta->count == (uint32_t)(came + (came >> 32)))
			return 0;
		*delta = none;
		*s = was;
	}
	return 0;
}

/* What came to one histogram joins `to`. min and max are those of its last epoch: of just these
 * samples, unless one came too late for an earlier reading. */
static int read_hist(struct keyed *k, uint32_t bank, struct keyed_view *v, uint32_t m,
		     struct keyed_row *row, struct seen *s)
{
	struct hist delta = {.schema = k->args.schema, .packed = 1};
	const struct abi_khist *now = v->hist[m];
	struct seen next = *s;
	int ret = 0;

	if (now->placed - s->placed < ABI_KHIST_LAST)
		read_few(k, now, &next, &delta);
	else
		ret = read_all(k, bank, v, m, &next, &delta);
	if (ret || !delta.count)
		return ret;
	now = v->hist[m];
	delta.sum_ns = now->sum_ns - s->sum_ns;
	delta.min_ns = now->min_ns;
	delta.max_ns = now->max_ns;
	next.sum_ns = now->sum_ns;
	next.placed = now->placed;
	*s = next;
	ret = k->args.came ? k->args.came(k->args.ctx, row, v->key, &delta) : 0;
	return ret ? ret : hist_merge(&row->interval[m], &delta);
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
static int read_hists(struct keyed *k, uint32_t bank, struct reading *n, struct keyed_view *v,
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
			ret = read_hist(k, bank, v, m, n->row, &s);
		to = seen_put(to, &s);
	}
	return ret ? ret : reading_keep(n, k->seen, (uint32_t)(to - k->seen));
}

int keyed_read_view(struct keyed *k, uint32_t bank, struct keyed_view *v)
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
	ret = read_hists(k, bank, n, v, at);
	if (rose || (k->args.nhists && row->interval[0].count != before))
		join_masks(k, row, v->head);
	if (v->key->cpu < k->args.ncpus)
		row->cpus_interval[v->key->cpu / 64] |= 1ULL << (v->key->cpu % 64);
	row->active = true;
	return ret;
}

/*
 * A histogram whose epoch is another had no sample in this interval; one that came late, after the
 * previous reading, is found when the bank's turn comes again or at the end.
 */
int keyed_read_entry(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *now, uint64_t epoch)
{
	struct keyed_view v = {.key = key, .head = now};
	uint32_t m;

	view_copy(k, &v, now);
	for (m = 0; m < k->args.nhists; m++)
		if (v.hist[m]->epoch && (!epoch || v.hist[m]->epoch == epoch))
			v.hists |= 1ULL << m;
	return keyed_read_view(k, bank, &v);
}
