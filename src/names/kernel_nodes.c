// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory nodes and their lists of pages: the locks of zones and LRU lists are among the most
 * contended there are, and neither has a symbol or a slab of its own everywhere. Our own memory
 * cgroup leads to its part on each node, that to the node; and any part of any cgroup is recognised
 * by pointing at a known node and being pointed at by its cgroup.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "names/kernel.h"

#define WINDOW_BYTES 4096

struct layout {
	int64_t cgroups, subsys, css, nodeinfo; /* from a task to its cgroup's parts */
	int64_t memcg, lruvec, pgdat;		/* of a part */
	int64_t node_id, zone_pgdat;		/* of a node */
	int64_t part_bytes, node_bytes;
	int64_t memory_id; /* of the subsystem */
};

static int read_layout(struct names_kernel *k, struct layout *l)
{
	const struct kernel_member want[] = {
		{&l->cgroups, "task_struct", "cgroups"},
		{&l->subsys, "css_set", "subsys"},
		{&l->css, "mem_cgroup", "css"},
		{&l->nodeinfo, "mem_cgroup", "nodeinfo"},
		{&l->memcg, "mem_cgroup_per_node", "memcg"},
		{&l->lruvec, "mem_cgroup_per_node", "lruvec"},
		{&l->pgdat, "mem_cgroup_per_node", "lruvec.pgdat"},
		{&l->node_id, "pglist_data", "node_id"},
		{&l->zone_pgdat, "pglist_data", "node_zones.zone_pgdat"},
	};

	if (kernel_offsets(k, want, sizeof(want) / sizeof(want[0])))
		return -ENOENT; /* CONFIG_MEMCG */
	l->part_bytes = kernel_size(k, "mem_cgroup_per_node", NULL);
	l->node_bytes = kernel_size(k, "pglist_data", NULL);
	l->memory_id = kernel_enum(k, "cgroup_subsys_id", "memory_cgrp_id");
	return l->memory_id < 0 || l->part_bytes <= 0 || l->part_bytes > WINDOW_BYTES ||
			       l->node_bytes <= 0
		       ? -ENOENT
		       : 0;
}

/* Behind the last node is something else: a node says which it is, and its zone whose. */
static int find_nodes(struct names_kernel *k)
{
	uint64_t memcg, pgdat, *v;
	struct layout l;
	int ret = read_layout(k, &l);

	if (ret)
		return ret;
	memcg = kernel_at(k, kernel_at(k, peek_task(&k->peek), l.cgroups),
			  l.subsys + 8 * l.memory_id);
	while (memcg) {
		uint64_t part =
			kernel_at(k, memcg - (uint64_t)l.css, l.nodeinfo + 8 * (int64_t)k->nodes.n);

		pgdat = kernel_at(k, part, l.pgdat);
		if (!pgdat || kernel_at(k, pgdat, l.zone_pgdat) != pgdat ||
		    peek_u32(&k->peek, pgdat + (uint64_t)l.node_id) != k->nodes.n)
			break;
		v = array_room(k->nodes.pgdats, &k->nodes.cap, k->nodes.n, 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		k->nodes.pgdats = v;
		v[k->nodes.n++] = pgdat;
	}
	return k->nodes.n ? 0 : -ENOTSUP;
}

static bool name_part(struct names_kernel *k, const struct layout *l, uint64_t addr, size_t node,
		      uint64_t part, struct name *out)
{
	uint64_t memcg = kernel_at(k, part, l->memcg);

	if (kernel_at(k, memcg, l->nodeinfo + 8 * (int64_t)node) != part ||
	    !kernel_name_in(k, addr, part, "mem_cgroup_per_node", NULL, out))
		return false;
	name_print(out->place, sizeof(out->place), false, "node %zu", node);
	return true;
}

static bool part_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	uint8_t bytes[2 * WINDOW_BYTES];
	struct layout l;
	uint64_t from, word, i;

	if (read_layout(k, &l))
		return false;
	from = (addr & ~7ULL) - (uint64_t)l.part_bytes;
	if (from > addr)
		return false;
	peek_window(&k->peek, from, bytes, 2 * (size_t)l.part_bytes);
	for (i = 0; i + 8 <= 2 * (uint64_t)l.part_bytes; i += 8) {
		memcpy(&word, bytes + i, sizeof(word));
		for (size_t node = 0; node < k->nodes.n; node++)
			if (word == k->nodes.pgdats[node] &&
			    name_part(k, &l, addr, node, from + i - (uint64_t)l.pgdat, out))
				return true;
	}
	return false;
}

/* "pglist_data.node_zones[2].lock" */
bool node_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	if (!k->nodes.state && kernel_peek_ready(k))
		k->nodes.state = find_nodes(k) ?: 1;
	if (k->nodes.state <= 0)
		return false;
	for (size_t i = 0; i < k->nodes.n; i++) {
		if (!kernel_name_in(k, addr, k->nodes.pgdats[i], "pglist_data", NULL, out))
			continue;
		name_print(out->place, sizeof(out->place), false, "node %zu", i);
		return true;
	}
	return part_name(k, addr, out);
}

void nodes_close(struct nodes *n)
{
	free(n->pgdats);
	memset(n, 0, sizeof(*n));
}
