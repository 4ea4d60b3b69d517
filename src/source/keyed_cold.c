// SPDX-License-Identifier: GPL-2.0-or-later
/* Cold rows leave, so that a run of days does not end with a full map. */
#include <bpf/bpf.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "source/keyed_inside.h"

static bool is_cold(const struct keyed *k, const struct keyed_row *row)
{
	return !row->active && row->quiet >= k->args.cold_after && row->key.obj != ABI_OBJ_OTHER;
}

/* Read for the last time, and deleted: nobody writes this bank now. */
static int entry_leaves(struct keyed *k, uint32_t bank, struct reading *n, uint64_t epoch)
{
	int fd = k->args.fds[bank], ret = 0;

	if (!bpf_map_lookup_elem(fd, &n->key, k->batch_entries))
		ret = keyed_read_entry(k, bank, &n->key, (const void *)k->batch_entries, epoch);
	if (ret)
		return ret;
	if (bpf_map_delete_elem(fd, &n->key) && errno != ENOENT)
		return -errno;
	tdelete(n, &k->entries[bank], keyed_compare);
	k->nentries[bank]--;
	n->row->entries--;
	keyed_free_reading(n);
	return 0;
}

/* What a walk over a bank's entries finds. */
struct cold {
	const struct keyed *k;
	struct reading **v;
	uint32_t n;
};

/* An entry's row need not have its key (keyed_args.join), so the entries are asked. */
static void find_cold(const void *node, VISIT visit, void *ctx)
{
	struct reading *n = *(struct reading *const *)node;
	struct cold *c = ctx;

	if ((visit == postorder || visit == leaf) && is_cold(c->k, n->row))
		c->v[c->n++] = n;
}

int keyed_retire(struct keyed *k, uint32_t bank, uint64_t epoch)
{
	struct cold c = {.k = k};
	uint32_t i;
	int ret = 0;

	if (!epoch || !k->args.room || k->nentries[bank] <= k->args.room)
		return 0;
	c.v = calloc(k->nentries[bank], sizeof(struct reading *));
	if (!c.v)
		return -ENOMEM;
	twalk_r(k->entries[bank], find_cold, &c);
	for (i = 0; !ret && i < c.n; i++)
		ret = entry_leaves(k, bank, c.v[i], epoch);
	free(c.v);
	return ret;
}

static int add_row(const struct keyed *k, struct keyed_row *to, const struct keyed_row *row)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < KEYED_HISTS; i++)
		ret = hist_merge(&to->total[i], &row->total[i]);
	keyed_join(k, to, row->sums_total, row->cpus_total);
	return ret;
}

/* Where a row goes: to the others of its kind, if they have a row, or to all others. */
static struct keyed_row *others_of(const struct keyed *k, const struct keyed_row *row)
{
	struct abi_key key = {.obj = ABI_OBJ_OTHER, .kind = row->key.kind};
	void *found = tfind(&key, &k->rows, keyed_compare);

	key.kind = 0;
	if (!found)
		found = tfind(&key, &k->rows, keyed_compare);
	return found ? *(struct keyed_row **)found : NULL;
}

int keyed_forget_cold(struct keyed *k)
{
	struct keyed_row **at = &k->first, *row, *others;
	int ret = 0;

	while (!ret && (row = *at)) {
		others = row->entries || !is_cold(k, row) ? NULL : others_of(k, row);
		if (!others) {
			at = &row->next;
			continue;
		}
		ret = add_row(k, others, row);
		if (ret)
			break;
		*at = row->next;
		tdelete(row, &k->rows, keyed_compare);
		keyed_free_row(k, row);
	}
	for (k->last = at; *k->last; k->last = &(*k->last)->next)
		;
	return ret;
}
