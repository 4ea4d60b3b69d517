// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf/counts.h"
#include "source/bpf/keyed_inside.h"

#define BATCH 64
#define TABLE_FIRST 16

/* ---- what is found by its key ---- */

static uint32_t hash(const struct abi_key *key)
{
	uint64_t words[sizeof(*key) / sizeof(uint64_t)], h = 0;
	size_t i;

	memcpy(words, key, sizeof(*key));
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15ULL; /* 2^64 over the golden ratio */
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

struct keyed_node **keyed_table_at(const struct keyed_table *t, const struct abi_key *key)
{
	struct keyed_node **at = &t->chains[hash(key) & (t->size - 1)];

	while (*at && memcmp(&(*at)->key, key, sizeof(*key)))
		at = &(*at)->chain;
	return at;
}

/* No more nodes than chains. */
static int table_grow(struct keyed_table *t)
{
	struct keyed_table more = {.n = t->n, .size = t->size ? 2 * t->size : TABLE_FIRST};
	struct keyed_node *node, *next, **at;
	uint32_t i;

	more.chains = calloc(more.size, sizeof(struct keyed_node *));
	if (!more.chains)
		return -ENOMEM;
	for (i = 0; i < t->size; i++)
		for (node = t->chains[i]; node; node = next) {
			next = node->chain;
			at = &more.chains[hash(&node->key) & (more.size - 1)];
			node->chain = *at;
			*at = node;
		}
	free(t->chains);
	*t = more;
	return 0;
}

int keyed_table_add(struct keyed_table *t, struct keyed_node *node)
{
	struct keyed_node **at;
	int ret = t->n == t->size ? table_grow(t) : 0;

	if (ret)
		return ret;
	at = keyed_table_at(t, &node->key);
	node->chain = NULL;
	*at = node;
	t->n++;
	return 0;
}

/* ---- rows ---- */

int keyed_open(struct keyed **out, const struct keyed_args *args, struct err *e)
{
	struct keyed *k;
	int ret;

	*out = NULL;
	if (args->nhists > KEYED_HISTS)
		return err_sys(e, -EINVAL, "%s", args->what);
	k = calloc(1, sizeof(*k));
	if (!k)
		return err_sys(e, -ENOMEM, "%s", args->what);
	k->args = *args;
	if (k->args.row_hists < k->args.nhists)
		k->args.row_hists = k->args.nhists;
	if (k->args.row_bytes < sizeof(struct keyed_row))
		k->args.row_bytes = sizeof(struct keyed_row);
	k->entry_bytes = ABI_KENTRY_BYTES(args->nhists, args->schema);
	k->last = &k->first;
	k->batch_keys = calloc(BATCH, sizeof(*k->batch_keys));
	k->batch_entries = calloc(BATCH, k->entry_bytes);
	*out = k;
	if (!k->batch_keys || !k->batch_entries || keyed_read_alloc(k))
		return err_sys(e, -ENOMEM, "%s", args->what);
	ret = args->many ? keyed_walk_open(&k->walk, args) : 0;
	return ret ? err_sys(e, ret, "read %s", args->what) : 0;
}

/* Entries are read in no order of time: one that was cold, or the other bank's, has an older name.
 */
void keyed_row_name(struct keyed_row *row, const struct abi_khead *head)
{
	if (!head->pid && !head->comm[0]) /* the source gives no names */
		return;
	if (head->named_ns < row->named_ns)
		return;
	memcpy(row->comm, head->comm, ABI_COMM_LEN);
	row->pid = head->pid;
	row->named_ns = head->named_ns;
}

/* One piece: the source's row, its histograms, its CPUs. */
static struct keyed_row *row_new(struct keyed *k, const struct abi_key *key)
{
	size_t row_bytes = (k->args.row_bytes + 7) / 8 * 8;
	uint32_t words = keyed_cpu_words(k->args.ncpus), n = k->args.row_hists, m;
	struct keyed_row *row = calloc(1, row_bytes + 2 * n * sizeof(struct hist) +
						  2 * (size_t)words * sizeof(uint64_t));

	if (!row)
		return NULL;
	row->key = *key;
	row->interval = (struct hist *)((char *)row + row_bytes);
	row->total = row->interval + n;
	row->cpus_interval = (uint64_t *)(row->total + n);
	row->cpus_total = row->cpus_interval + words;
	for (m = 0; m < 2 * n; m++)
		hist_init_packed(&row->interval[m], k->args.schema);
	if (keyed_table_add(&k->rows, &row->node)) {
		free(row);
		return NULL;
	}
	*k->last = row;
	k->last = &row->next;
	k->uncounted++;
	return row;
}

struct keyed_row *keyed_find(const struct keyed *k, const struct abi_key *key)
{
	return k->rows.n ? (struct keyed_row *)*keyed_table_at(&k->rows, key) : NULL;
}

static int row_make(struct keyed *k, const struct abi_key *key, const struct abi_khead *head,
		    struct keyed_row **out)
{
	*out = row_new(k, key);
	if (!*out)
		return -ENOMEM;
	if (head)
		keyed_row_name(*out, head);
	return k->args.appeared ? k->args.appeared(k->args.ctx, *out) : 0;
}

struct keyed_row *keyed_get(struct keyed *k, const struct abi_key *key)
{
	struct keyed_row *row = keyed_find(k, key);

	return row || !row_make(k, key, NULL, &row) ? row : NULL;
}

uint32_t keyed_uncounted(const struct keyed *k)
{
	return k->uncounted;
}

/* The row of an entry; made, and shown to the source, at its first. */
int keyed_row_get(struct keyed *k, const struct abi_key *entry_key, const struct abi_khead *head,
		  struct keyed_row **out)
{
	struct abi_key key = *entry_key;
	int ret = 0;

	if (!k->args.per_cpu)
		key.cpu = 0;
	if (k->args.join)
		k->args.join(k->args.ctx, &key);
	*out = keyed_find(k, &key);
	if (!*out)
		ret = row_make(k, &key, head, out);
	if (*out && !(*out)->counted) {
		(*out)->counted = true;
		k->uncounted--;
	}
	return ret;
}

/* All entries of one bank's map, some at a time. */
static int copy_bank(struct keyed *k, uint32_t bank, uint64_t epoch)
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

static int collect_bank(struct keyed *k, uint32_t bank, uint64_t epoch)
{
	k->previous = NULL;
	return k->walk.told ? keyed_walk_bank(k, bank, epoch) : copy_bank(k, bank, epoch);
}

static void free_row(struct keyed *k, struct keyed_row *row)
{
	uint32_t m;

	if (k->args.leaves)
		k->args.leaves(k->args.ctx, row);
	for (m = 0; m < 2 * k->args.row_hists; m++)
		hist_free(&row->interval[m]); /* and total */
	free(row);
}

void keyed_row_leaves(struct keyed *k, struct keyed_row **at)
{
	struct keyed_row *row = *at;

	*at = row->next;
	if (k->last == &row->next)
		k->last = at;
	k->uncounted -= !row->counted;
	*keyed_table_at(&k->rows, &row->key) = row->node.chain;
	k->rows.n--;
	free_row(k, row);
}

static void begin_interval(struct keyed *k)
{
	size_t words = keyed_cpu_words(k->args.ncpus);
	struct keyed_row *row;
	uint32_t m;

	if (k->begun)
		return;
	k->begun = true;
	for (row = k->first; row; row = row->next) {
		row->quiet++;
		if (!row->active)
			continue;
		row->quiet = 0;
		for (m = 0; m < k->args.row_hists; m++)
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

static int end_interval(struct keyed *k)
{
	struct keyed_row *row;
	int ret = 0;

	k->begun = false;
	for (row = k->first; !ret && row; row = row->next)
		if (row->active)
			ret = add_to_total(k, row);
	return ret || !k->args.room ? ret : keyed_forget_cold(k);
}

int keyed_collect(struct keyed *k, uint64_t epoch, bool ends, struct err *e)
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
	if (!ret && ends)
		ret = end_interval(k);
	return ret ? err_sys(e, ret, "read %s", k->args.what) : 0;
}

void keyed_forget(struct keyed *k)
{
	size_t words = keyed_cpu_words(k->args.ncpus);
	struct keyed_row *row;
	uint32_t m;

	for (row = k->first; row; row = row->next) {
		for (m = 0; m < 2 * k->args.row_hists; m++)
			hist_reset(&row->interval[m]); /* and total */
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

void keyed_close(struct keyed *k)
{
	struct keyed_node *node, *chain;
	struct keyed_row *row, *next;
	uint32_t b, i;

	if (!k)
		return;
	for (b = 0; b < ABI_BANKS; b++) {
		for (i = 0; i < k->entries[b].size; i++)
			for (node = k->entries[b].chains[i]; node; node = chain) {
				chain = node->chain;
				keyed_free_reading((struct reading *)node);
			}
		free(k->entries[b].chains);
	}
	for (row = k->first; row; row = next) {
		next = row->next;
		free_row(k, row);
	}
	free(k->rows.chains);
	free(k->batch_keys);
	free(k->batch_entries);
	keyed_walk_close(&k->walk);
	free(k->copied);
	free(k->slots);
	free(k->seen);
	free(k->buckets);
	free(k->delta);
	free(k);
}
