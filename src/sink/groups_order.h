/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs and groups (--by) of the headline metrics, a row each, and in what order: by the sum of the
 * metric that ranks them (who waits most), or as --sort says. For every format that has rows.
 */
#ifndef WS_SINK_GROUPS_ORDER_H
#define WS_SINK_GROUPS_ORDER_H

#include "core/config.h"
#include "core/frame.h"

struct group_row {
	const struct series *first; /* its series stand one after another in the frame */
	size_t n;
	const struct series *head; /* of the headline metric; NULL: no sample */
	const struct series *wait; /* of the one that ranks; NULL: no sample, or there is none */
	uint64_t weight;	   /* heavier rows come first */
};

/* Grows to the most rows seen, and is kept. */
struct group_rows {
	struct group_row *v;
	size_t n, cap;
};

/* Of a headline's metrics, for a CPU or a group; the whole has no labels. */
bool group_series(const struct series *s);
bool group_is_cpu(const struct series *s);
/*
 * All CPUs, or all groups, of a headline metric in the frame's order, with their weights. `rank`:
 * a metric that ranks counts (without --by it does not: CPUs have an order of their own).
 * 0 or -ENOMEM.
 */
int group_rows_collect(struct group_rows *r, const struct frame *f, const struct metric_desc *head,
		       enum sort_key sort, bool cpus, bool rank);
void group_rows_sort(struct group_rows *r);
void group_rows_free(struct group_rows *r);

#endif
