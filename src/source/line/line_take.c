// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs counted, into the table of lines. Everything is taken out of a bank that nobody
 * writes: nothing is lost between reading and deleting, and the maps are empty for their next turn.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "source/line/line.h"

#include "line.skel.h" /* needs abi_line.h */

#define BATCH 256

#define LARGER(a, b) (sizeof(a) > sizeof(b) ? sizeof(a) : sizeof(b))

/* One entry into the table. 0, or what ends the taking. */
typedef int (*take_fn)(struct line_source *s, const void *key, const void *value);

int line_take_alloc(struct line_source *s)
{
	s->batch_keys = calloc(BATCH, sizeof(struct abi_access_key));
	s->batch_values = calloc(BATCH, LARGER(struct abi_access, struct abi_latency));
	return s->batch_keys && s->batch_values ? 0 : -ENOMEM;
}

static int take_access(struct line_source *s, const void *key, const void *value)
{
	const struct abi_access_key *k = key;
	const struct abi_access *a = value;
	struct line_key at;
	int ret = 0;

	line_shared_key(s->shared, k, a->phys, &at);
	if (a->doubt == ABI_ACCESS_MAYBE)
		ret = line_short_take(s, &at, k, a);
	else
		ret = line_table_add(s->m.table, &at, k, a);
	if (s->pmu && k->tgid)
		line_ips_process(&s->ips, k->tgid);
	return ret == -ENOSPC ? 0 : ret; /* counted */
}

static int take_latency(struct line_source *s, const void *key, const void *value)
{
	const struct abi_latency *l = value;
	struct line_key at;

	line_shared_key(s->shared, key, l->phys, &at);
	return line_table_add_latency(s->m.table, &at, key, l);
}

static int take_all(struct line_source *s, const struct bpf_map *map, take_fn take)
{
	size_t key_size = bpf_map__key_size(map), value_size = bpf_map__value_size(map);
	struct abi_access_key cursor;
	void *in = NULL;
	int last, ret = 0;
	__u32 n, i;

	do {
		n = BATCH;
		last = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), in, &cursor, s->batch_keys,
						       s->batch_values, &n, NULL);
		if (last && last != -ENOENT)
			return last;
		for (i = 0; !ret && i < n; i++)
			ret = take(s, (char *)s->batch_keys + i * key_size,
				   (char *)s->batch_values + i * value_size);
		in = &cursor;
	} while (!ret && !last);
	return ret;
}

/* How lines that two threads touch went from CPU to CPU since they were last asked about. Of shared
 * memory that is not known: the programs see each process by itself. */
static void take_turns(struct line_source *s)
{
	struct abi_turns now;
	struct line *l;

	for (l = s->m.table->first; l; l = l->next) {
		struct abi_turns_key key = {.line = l->key.line, .tgid = l->key.tgid};

		if (l->key.share || !line_contended(s->m.table, l, LINE_TOTAL) ||
		    bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.turns), &key, &now))
			continue;
		line_turns(l, now.pairs, now.changes);
	}
}

int line_take(struct line_source *s, uint64_t epoch)
{
	const struct bpf_map *accesses[ABI_BANKS] = {s->skel->maps.accesses_even,
						     s->skel->maps.accesses_odd};
	const struct bpf_map *latencies[ABI_BANKS] = {s->skel->maps.latencies_even,
						      s->skel->maps.latencies_odd};
	int ret = 0;

	line_shared_turn(s->shared);
	for (uint32_t b = 0; !ret && b < ABI_BANKS; b++) {
		if (!counts_bank_ended(b, epoch))
			continue;
		ret = take_all(s, accesses[b], take_access);
		if (!ret && s->pmu)
			ret = take_all(s, latencies[b], take_latency);
	}
	take_turns(s);
	return ret;
}
