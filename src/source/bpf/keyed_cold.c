// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is cold leaves: entries, so that the kernel's memory follows what is going on, and rows when
 * they are too many, so that a run of days does not end with a full map.
 */
#include <bpf/bpf.h>
#include <errno.h>

#include "source/bpf/keyed_inside.h"

static bool is_quiet(const struct keyed_row *row, uint32_t after)
{
	return !row->active && row->quiet >= after && row->key.obj != ABI_OBJ_OTHER;
}

/* Read for the last time, and deleted: nobody writes this bank now. */
static int entry_leaves(struct keyed *k, uint32_t bank, struct keyed_node **at, uint64_t epoch)
{
	struct reading *n = (struct reading *)*at;
	int fd = k->args.fds[bank], ret = 0;

	k->previous = NULL;
	if (!bpf_map_lookup_elem(fd, &n->node.key, k->batch_entries))
		ret = keyed_read_entry(k, bank, &n->node.key, (const void *)k->batch_entries,
				       epoch);
	if (ret)
		return ret;
	if (bpf_map_delete_elem(fd, &n->node.key) && errno != ENOENT)
		return -errno;
	*at = n->node.chain;
	k->entries[bank].n--;
	n->row->entries--;
	keyed_free_reading(n);
	return 0;
}

/* No reading that has left is known as the one after another. */
static void forget_order(const struct keyed_table *t)
{
	struct keyed_node *node;
	uint32_t i;

	for (i = 0; i < t->size; i++)
		for (node = t->chains[i]; node; node = node->chain)
			((struct reading *)node)->after = NULL;
}

/* An entry's row need not have its key (keyed_args.join), so the entries are asked. */
int keyed_retire(struct keyed *k, uint32_t bank, uint64_t epoch)
{
	const struct keyed_table *t = &k->entries[bank];
	uint32_t after = t->n > k->args.room ? k->args.cold_after : k->args.rest_after;
	uint32_t before = t->n, i;
	struct keyed_node **at;
	int ret = 0;

	if (!epoch || !k->args.room)
		return 0;
	for (i = 0; !ret && i < t->size; i++)
		for (at = &t->chains[i]; !ret && *at;)
			if (is_quiet(((struct reading *)*at)->row, after))
				ret = entry_leaves(k, bank, at, epoch);
			else
				at = &(*at)->chain;
	if (t->n != before)
		forget_order(t);
	return ret;
}

static int add_row(const struct keyed *k, struct keyed_row *to, const struct keyed_row *row)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < k->args.row_hists; i++)
		ret = hist_merge(&to->total[i], &row->total[i]);
	keyed_join(k, to, row->sums_total, row->cpus_total);
	return ret;
}

/* Where a row goes: to the others of its kind, if they have a row, or to all others. */
static struct keyed_row *others_of(const struct keyed *k, const struct keyed_row *row)
{
	struct abi_key key = {.obj = ABI_OBJ_OTHER, .kind = row->key.kind};
	struct keyed_row *others;

	if (k->args.other_kinds)
		key.kind &= k->args.other_kinds;
	others = keyed_find(k, &key);
	key.kind = 0;
	return others ? others : keyed_find(k, &key);
}

/* Made by keyed_get(), and the kernel's map had no room: its samples are the others'. */
static bool never_counted(const struct keyed *k, struct keyed_row *row)
{
	return !row->counted && row->quiet > k->args.cold_after;
}

int keyed_forget_cold(struct keyed *k)
{
	struct keyed_row **at = &k->first, *row, *others;
	int ret = 0;

	while (!ret && (k->rows.n > k->args.room || k->uncounted) && (row = *at)) {
		others = NULL;
		if (k->rows.n > k->args.room && row->counted && !row->entries &&
		    is_quiet(row, k->args.cold_after))
			others = others_of(k, row);
		if (others)
			ret = add_row(k, others, row);
		if (!ret && (others || never_counted(k, row)))
			keyed_row_leaves(k, at);
		else
			at = &row->next;
	}
	return ret;
}
