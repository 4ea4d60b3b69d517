// SPDX-License-Identifier: GPL-2.0-or-later
/* Cold rows leave, so that a run of days does not end with a full map. */
#include <bpf/bpf.h>
#include <errno.h>
#include <search.h>

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

static int row_leaves_bank(struct keyed *k, struct keyed_row *row, uint32_t bank, uint64_t epoch)
{
	struct abi_key key = row->key;
	uint32_t cpu;
	void *found;
	int ret = 0;

	for (cpu = 0; !ret && row->entries && cpu < k->args.ncpus; cpu++) {
		if (k->args.per_cpu && cpu != row->key.cpu)
			continue;
		key.cpu = cpu;
		found = tfind(&key, &k->entries[bank], keyed_compare);
		if (found)
			ret = entry_leaves(k, bank, *(struct reading **)found, epoch);
	}
	return ret;
}

int keyed_retire(struct keyed *k, uint32_t bank, uint64_t epoch)
{
	struct keyed_row *row;
	int ret = 0;

	if (!epoch || !k->args.room || k->nentries[bank] <= k->args.room)
		return 0;
	for (row = k->first; !ret && row; row = row->next)
		if (row->entries && is_cold(k, row))
			ret = row_leaves_bank(k, row, bank, epoch);
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

int keyed_forget_cold(struct keyed *k)
{
	const struct abi_key key = {.obj = ABI_OBJ_OTHER};
	void *found = tfind(&key, &k->rows, keyed_compare);
	struct keyed_row *others = found ? *(struct keyed_row **)found : NULL;
	struct keyed_row **at = &k->first, *row;
	int ret = 0;

	while (!ret && others && (row = *at)) {
		if (row->entries || !is_cold(k, row)) {
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
