// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is cold leaves: entries, so that the kernel's memory follows what is going on, and rows when
 * they are too many, so that a run of days does not end with a full map.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "source/keyed_inside.h"

static bool is_quiet(const struct keyed_row *row, uint32_t after)
{
	return !row->active && row->quiet >= after && row->key.obj != ABI_OBJ_OTHER;
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
	uint32_t after;
	uint32_t n;
};

/* An entry's row need not have its key (keyed_args.join), so the entries are asked. */
static void find_cold(const void *node, VISIT visit, void *ctx)
{
	struct reading *n = *(struct reading *const *)node;
	struct cold *c = ctx;

	if ((visit == postorder || visit == leaf) && is_quiet(n->row, c->after))
		c->k->cold[c->n++] = n;
}

/* Room for all entries of a bank. */
static int reserve(struct keyed *k, uint32_t n)
{
	struct reading **cold;

	if (n <= k->cold_cap)
		return 0;
	cold = reallocarray(k->cold, n, 2 * sizeof(struct reading *));
	if (!cold)
		return -ENOMEM;
	k->cold = cold;
	k->cold_cap = 2 * n;
	return 0;
}

int keyed_retire(struct keyed *k, uint32_t bank, uint64_t epoch)
{
	struct cold c = {.k = k};
	uint32_t i;
	int ret;

	if (!epoch || !k->args.room)
		return 0;
	ret = reserve(k, k->nentries[bank]);
	if (ret)
		return ret;
	c.after = k->nentries[bank] > k->args.room ? k->args.cold_after : k->args.rest_after;
	twalk_r(k->entries[bank], find_cold, &c);
	for (i = 0; !ret && i < c.n; i++)
		ret = entry_leaves(k, bank, k->cold[i], epoch);
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

	while (!ret && k->nrows > k->args.room && (row = *at)) {
		others = row->entries || !is_quiet(row, k->args.cold_after) ? NULL
									    : others_of(k, row);
		if (!others) {
			at = &row->next;
			continue;
		}
		ret = add_row(k, others, row);
		if (ret)
			break;
		*at = row->next;
		k->nrows--;
		tdelete(row, &k->rows, keyed_compare);
		keyed_free_row(k, row);
	}
	for (k->last = at; *k->last; k->last = &(*k->last)->next)
		;
	return ret;
}
