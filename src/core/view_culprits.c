// SPDX-License-Identifier: GPL-2.0-or-later
/* --why: the worst first. */
#include <errno.h>

#include "core/view_inside.h"

const struct culprit *view_victims(const struct view_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].k->nvictim)
			return rows[i].k;
	return NULL;
}

int view_add_culprits(const struct look *l, struct view_table *t, uint64_t *sum_ns)
{
	enum sort_key sort = l->cfg->sort;
	int ret = 0;

	for (size_t i = 0; i < l->f->nculprits && !ret; i++) {
		const struct culprit *k = &l->f->culprits[i];
		struct view_row row = {.k = k};

		if (sort != SORT_NAME)
			row.weight = sort == SORT_COUNT ? k->count : k->wait_ns;
		*sum_ns += k->wait_ns;
		if (k->wait_ns)
			ret = view_push(l->v, t, &row);
	}
	view_sort(l->v, t);
	t->limit = l->cfg->list_rows;
	return ret;
}
