// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "source/counts.h"
#include "source/keyed_inside.h"

#define BATCH 64

int keyed_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct abi_key));
}

int keyed_open(struct keyed **out, const struct keyed_args *args, struct err *e)
{
	struct keyed *k;

	*out = NULL;
	if (args->nhists > KEYED_HISTS)
		return err_sys(e, -EINVAL, "%s", args->what);
	k = calloc(1, sizeof(*k));
	if (!k)
		return err_sys(e, -ENOMEM, "%s", args->what);
	k->args = *args;
	k->hist_bytes = ABI_HIST_BYTES(args->schema);
	k->entry_bytes = ABI_KENTRY_BYTES(args->nhists, args->schema);
	k->last = &k->first;
	k->batch_keys = calloc(BATCH, sizeof(*k->batch_keys));
	k->batch_entries = calloc(BATCH, k->entry_bytes);
	*out = k;
	if (!k->batch_keys || !k->batch_entries)
		return err_sys(e, -ENOMEM, "%s", args->what);
	return 0;
}

/* Entries are read in no order of time: one that was cold, or the other bank's, has an older name.
 */
static void row_name(struct keyed_row *row, const struct abi_khead *head)
{
	if (!head->pid && !head->comm[0]) /* the source gives no names */
		return;
	if (head->named_ns < row->named_ns)
		return;
	memcpy(row->comm, head->comm, ABI_COMM_LEN);
	row->pid = head->pid;
	row->named_ns = head->named_ns;
}

static struct keyed_row *row_new(struct keyed *k, const struct abi_key *key)
{
	struct keyed_row *row = calloc(1, sizeof(*row));
	uint32_t words = keyed_cpu_words(k->args.ncpus), m;

	if (!row)
		return NULL;
	row->key = *key;
	row->cpus_interval = calloc((size_t)words * 2, sizeof(*row->cpus_interval));
	if (!row->cpus_interval || !tsearch(row, &k->rows, keyed_compare)) {
		free(row->cpus_interval);
		free(row);
		return NULL;
	}
	row->cpus_total = row->cpus_interval + words;
	for (m = 0; m < KEYED_HISTS; m++) {
		hist_init(&row->interval[m], k->args.schema);
		hist_init(&row->total[m], k->args.schema);
	}
	*k->last = row;
	k->last = &row->next;
	k->nrows++;
	return row;
}

/* The row of an entry; made, and shown to the source, at its first. */
static int row_get(struct keyed *k, const struct abi_key *entry_key, const struct abi_khead *head,
		   struct keyed_row **out)
{
	struct abi_key key = *entry_key;
	void *found;

	if (!k->args.per_cpu)
		key.cpu = 0;
	if (k->args.join)
		k->args.join(k->args.ctx, &key);
	found = tfind(&key, &k->rows, keyed_compare);
	if (found) {
		*out = *(struct keyed_row **)found;
		return 0;
	}
	*out = row_new(k, &key);
	if (!*out)
		return -ENOMEM;
	row_name(*out, head);
	return k->args.appeared ? k->args.appeared(k->args.ctx, *out) : 0;
}

static int entry_get(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *head, struct reading **out)
{
	void *found = tfind(key, &k->entries[bank], keyed_compare);
	struct reading *n;
	int ret;

	if (found) {
		*out = *(struct reading **)found;
		return 0;
	}
	n = calloc(1, sizeof(*n) + k->args.nhists * sizeof(n->seen[0]));
	if (!n)
		return -ENOMEM;
	n->key = *key;
	n->nhists = k->args.nhists;
	ret = row_get(k, key, head, &n->row);
	if (!ret && !tsearch(n, &k->entries[bank], keyed_compare))
		ret = -ENOMEM;
	if (ret) {
		free(n);
		return ret;
	}
	k->nentries[bank]++;
	n->row->entries++;
	*out = n;
	return 0;
}

static uint32_t window_at(const struct window *w, uint32_t slot)
{
	return slot - w->first < w->len ? w->slots[slot - w->first] : 0;
}

/* Remember the slots of a histogram. The stretch only gets longer, but where all of it wrapped to
 * 0.
 */
static int window_keep(struct window *w, const struct abi_hist *h, uint32_t nslots)
{
	const uint32_t *now = (const uint32_t *)(h + 1);
	uint32_t lo = 0, hi = nslots, *slots;

	while (hi > lo && !now[hi - 1])
		hi--;
	while (lo < hi && !now[lo])
		lo++;
	if (hi > lo && hi - lo != w->len) {
		slots = realloc(w->slots, (hi - lo) * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		w->slots = slots;
	}
	w->first = lo;
	w->len = hi - lo;
	if (w->len)
		memcpy(w->slots, now + lo, w->len * sizeof(*w->slots));
	w->sum_ns = h->sum_ns;
	w->zero = h->zero;
	return 0;
}

static int collect_hist(struct hist *to, const struct abi_hist *now, struct window *seen,
			uint32_t nslots)
{
	const uint32_t *slots = (const uint32_t *)(now + 1);
	uint64_t before = to->count;
	uint32_t i, d;
	int ret;

	for (i = 0; i < nslots; i++) {
		d = slots[i] - window_at(seen, i); /* modulo 2^32 */
		if (!d)
			continue;
		ret = hist_add_slot(to, i, d);
		if (ret)
			return ret;
	}
	if (!counts_hist_head(to, now, seen->zero, seen->sum_ns, before))
		return 0;
	return window_keep(seen, now, nslots);
}

static bool collect_sums(const struct keyed *k, struct reading *n, const struct abi_khead *now)
{
	struct keyed_row *row = n->row;
	bool rose = false;
	int i;

	for (i = 0; i < ABI_SUMS; i++) {
		if (k->args.masks >> i & 1)
			continue;
		row->sums_interval[i] += now->sums[i] - n->sums[i];
		rose |= now->sums[i] != n->sums[i];
		n->sums[i] = now->sums[i];
	}
	return rose;
}

static void collect_masks(const struct keyed *k, struct reading *n, const struct abi_khead *now)
{
	int i;

	for (i = 0; i < ABI_SUMS; i++)
		if (k->args.masks >> i & 1)
			n->row->sums_interval[i] |= now->sums[i];
}

/*
 * A histogram whose epoch is another had no sample in this interval; one that came late, after the
 * previous reading, is found when the bank's turn comes again or at the end. Sums have no epoch:
 * whatever came since the last reading.
 */
int keyed_read_entry(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *now, uint64_t epoch)
{
	const char *hists = (const char *)(now + 1);
	struct reading *n = NULL;
	uint64_t before;
	bool active, rose;
	uint32_t m;
	int ret = entry_get(k, bank, key, now, &n);

	if (ret)
		return ret;
	before = n->row->interval[0].count;
	rose = active = collect_sums(k, n, now);
	for (m = 0; !ret && m < k->args.nhists; m++) {
		const struct abi_hist *h = (const void *)(hists + m * k->hist_bytes);

		if (!h->epoch || (epoch && h->epoch != epoch))
			continue;
		ret = collect_hist(&n->row->interval[m], h, &n->seen[m],
				   BUCKET_SLOTS(k->args.schema));
		active = true;
	}
	if (rose || n->row->interval[0].count != before)
		collect_masks(k, n, now);
	row_name(n->row, now);
	if (active && key->cpu < k->args.ncpus)
		n->row->cpus_interval[key->cpu / 64] |= 1ULL << (key->cpu % 64);
	n->row->active |= active;
	return ret;
}

/* All entries of one bank's map, some at a time. */
static int collect_bank(struct keyed *k, uint32_t bank, uint64_t epoch)
{
	struct abi_key cursor;
	void *in = NULL;
	__u32 n, i;
	int ret = 0, last;

	do {
		n = BATCH;
		last = bpf_map_lookup_batch(k->args.fds[bank], in, &cursor, k->batch_keys,
					    k->batch_entries, &n, NULL);
		if (last && last != -ENOENT)
			return last;
		for (i = 0; !ret && i < n; i++)
			ret = keyed_read_entry(
				k, bank, &k->batch_keys[i],
				(const void *)(k->batch_entries + i * k->entry_bytes), epoch);
		in = &cursor;
	} while (!ret && !last);
	return ret;
}

void keyed_free_reading(void *p)
{
	struct reading *n = p;
	uint32_t m;

	for (m = 0; m < n->nhists; m++)
		free(n->seen[m].slots);
	free(n);
}

void keyed_free_row(struct keyed *k, struct keyed_row *row)
{
	int m;

	if (k->args.leaves)
		k->args.leaves(k->args.ctx, row);
	for (m = 0; m < KEYED_HISTS; m++) {
		hist_free(&row->interval[m]);
		hist_free(&row->total[m]);
	}
	free(row->cpus_interval); /* and cpus_total */
	free(row);
}

static void begin_interval(struct keyed *k)
{
	size_t words = keyed_cpu_words(k->args.ncpus);
	struct keyed_row *row;
	int m;

	if (k->begun)
		return;
	k->begun = true;
	for (row = k->first; row; row = row->next) {
		row->quiet++;
		if (!row->active)
			continue;
		row->quiet = 0;
		for (m = 0; m < KEYED_HISTS; m++)
			hist_reset(&row->interval[m]);
		memset(row->sums_interval, 0, sizeof(row->sums_interval));
		memset(row->cpus_interval, 0, words * sizeof(*row->cpus_interval));
		row->active = false;
	}
}

void keyed_join(const struct keyed *k, struct keyed_row *to, const uint64_t *sums,
		const uint64_t *cpus)
{
	uint32_t words = keyed_cpu_words(k->args.ncpus), i;

	for (i = 0; i < ABI_SUMS; i++) {
		if (k->args.masks >> i & 1)
			to->sums_total[i] |= sums[i];
		else
			to->sums_total[i] += sums[i];
	}
	for (i = 0; i < words; i++)
		to->cpus_total[i] |= cpus[i];
}

static int add_to_total(const struct keyed *k, struct keyed_row *row)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < k->args.nhists; i++)
		ret = hist_merge(&row->total[i], &row->interval[i]);
	keyed_join(k, row, row->sums_interval, row->cpus_interval);
	return ret;
}

int keyed_fold(struct keyed *k, uint64_t epoch, struct err *e)
{
	uint32_t bank;
	int ret = 0;

	begin_interval(k);
	for (bank = 0; !ret && bank < ABI_BANKS; bank++)
		if (counts_bank_ended(bank, epoch)) {
			ret = keyed_retire(k, bank, epoch);
			if (!ret)
				ret = collect_bank(k, bank, epoch);
		}
	return ret ? err_sys(e, ret, "read %s", k->args.what) : 0;
}

int keyed_collect(struct keyed *k, uint64_t epoch, struct err *e)
{
	struct keyed_row *row;
	int ret = keyed_fold(k, epoch, e);

	if (ret)
		return ret;
	k->begun = false;
	for (row = k->first; !ret && row; row = row->next)
		if (row->active)
			ret = add_to_total(k, row);
	if (!ret && k->args.room)
		ret = keyed_forget_cold(k);
	return ret ? err_sys(e, ret, "read %s", k->args.what) : 0;
}

void keyed_forget(struct keyed *k)
{
	size_t words = keyed_cpu_words(k->args.ncpus);
	struct keyed_row *row;
	int m;

	for (row = k->first; row; row = row->next) {
		for (m = 0; m < KEYED_HISTS; m++) {
			hist_reset(&row->interval[m]);
			hist_reset(&row->total[m]);
		}
		memset(row->sums_interval, 0, sizeof(row->sums_interval));
		memset(row->sums_total, 0, sizeof(row->sums_total));
		memset(row->cpus_interval, 0, 2 * words * sizeof(*row->cpus_interval));
		row->active = false;
	}
}

struct keyed_row *keyed_first(const struct keyed *k)
{
	return k->first;
}

static void free_nothing(void *p)
{
}

void keyed_close(struct keyed *k)
{
	struct keyed_row *row, *next;
	uint32_t b;

	if (!k)
		return;
	for (b = 0; b < ABI_BANKS; b++)
		tdestroy(k->entries[b], keyed_free_reading);
	tdestroy(k->rows, free_nothing); /* they go with the list */
	for (row = k->first; row; row = next) {
		next = row->next;
		keyed_free_row(k, row);
	}
	free(k->batch_keys);
	free(k->batch_entries);
	free(k->cold);
	free(k);
}
