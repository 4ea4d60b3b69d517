/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a view share. */
#ifndef WS_VIEW_INSIDE_H
#define WS_VIEW_INSIDE_H

#include "core/view.h"

/* One report being looked at. */
struct look {
	struct view *v;
	const struct frame *f;
	const struct config *cfg;
};

int view_push(struct view *v, struct view_table *t, const struct view_row *row); /* 0, -ENOMEM */

/* view_groups.c */
/*
 * CPUs or groups of a headline. `rank`: by the metric that ranks, if a row has one. `all`: also
 * rows that have nothing of either.
 */
int view_add_groups(const struct look *l, struct view_table *t, const struct metric_desc *head,
		    bool cpus, bool rank, bool all);

/* view_order.c */
bool view_series_empty(const struct series *s);
uint64_t view_hist_weight(const struct hist *h, enum sort_key sort);
uint64_t view_series_weight(const struct series *s, enum sort_key sort);
/* By labels, without the pivots: what has the same is one row. */
int view_compare_labels(const struct series *x, const struct series *y);
void view_sort(struct view *v, const struct view_table *t);

#endif
