// SPDX-License-Identifier: GPL-2.0-or-later
/* In what order a page's rows stand: by the column that was chosen, within each section. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "sink/tui.h"

static int rank(const struct tui_row *r)
{
	return r->kind == TUI_ROW_HEADING ? 0 : r->kind == TUI_ROW_REST ? 2 : 1;
}

static int by_weight(const void *x, const void *y)
{
	const struct tui_row *a = x, *b = y;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (rank(a) != rank(b))
		return rank(a) - rank(b);
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_name(const void *x, const void *y, void *names)
{
	const struct tui_row *a = x, *b = y;
	int ret;

	if (a->section != b->section || rank(a) != rank(b))
		return by_weight(x, y);
	ret = strcmp((char *)names + a->weight, (char *)names + b->weight);
	return ret ? ret : a->order < b->order ? -1 : a->order > b->order;
}

static int by_name_reversed(const void *x, const void *y, void *names)
{
	const struct tui_row *a = x, *b = y;

	if (a->section != b->section || rank(a) != rank(b))
		return by_weight(x, y);
	return by_name(y, x, names);
}

/* Each name is made once: a row's weight is where it begins. */
static int sort_by_name(struct tui *t, bool reversed)
{
	struct tui_rows *rows = &t->rows;
	size_t at = 0;

	for (size_t i = 0; i < rows->n; i++) {
		struct tui_row *r = &rows->v[i];
		char *v = array_room(rows->names, &rows->names_cap, at, TUI_NAME, 1);

		if (!v)
			return -ENOMEM;
		rows->names = v;
		r->weight = at;
		at += strlen(tui_name(t, r, v + at, TUI_NAME)) + 1;
	}
	qsort_r(rows->v, rows->n, sizeof(*rows->v), reversed ? by_name_reversed : by_name,
		rows->names);
	return 0;
}

int tui_rows_sort(struct tui *t)
{
	const struct tui_place *p = &t->place[t->page];
	const struct tui_column *c = NULL;
	struct tui_rows *rows = &t->rows;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (p->sort && t->column[i].number + 1 == p->sort)
			c = &t->column[i];
	if (!rows->n || (!c && !p->reversed))
		return 0;
	if (c && c->kind == TUI_COLUMN_NAME)
		return sort_by_name(t, p->reversed);
	for (size_t i = 0; i < rows->n; i++) {
		struct tui_row *r = &rows->v[i];

		r->weight = c ? tui_weight(t, r, c) : UINT64_MAX - r->order;
		if (p->reversed)
			r->weight = UINT64_MAX - r->weight;
	}
	qsort(rows->v, rows->n, sizeof(*rows->v), by_weight);
	return 0;
}
