// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names that do not fit their column. Two different ones that would be cut to the same letters are
 * cut elsewhere:
 *
 *	OP          MOUNT             OP          MOUNT
 *	commit-lo…  /data     ->      comm…cking  /data
 *	commit-lo…  /data             comm…gging  /data
 *
 * A row's name has up to three tries: as its column has it, and the two other ways.
 */
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/text.h"
#include "sink/table.h"

#define CELL_BYTES 1024
#define WAYS 3
#define HOW_MASK ((1U << GRID_CUT_BITS) - 1)
#define HOW_COLUMNS (32 / GRID_CUT_BITS) /* names stand in the first columns */

typedef char *cut_text(char *out, size_t len, const char *text, size_t width);

/* A path's end is worth more than its start. */
static const char *cut_as(const struct grid_column *c, uint32_t try, const char *text, char *out,
			  size_t len)
{
	static cut_text *const ends[WAYS] = {line_cut, line_cut_middle, line_cut_start};
	static cut_text *const paths[WAYS] = {line_cut_start, line_cut_middle, line_cut};
	static cut_text *const middles[WAYS] = {line_cut_middle, line_cut_start, line_cut};
	cut_text *const *ways = c->middle ? middles : *text == '/' ? paths : ends;

	return ways[try](out, len, text, c->width);
}

static uint32_t how(const struct grid *g, size_t column, size_t row)
{
	return g->how && column < HOW_COLUMNS ? g->how[row] >> (column * GRID_CUT_BITS) & HOW_MASK
					      : 0;
}

const char *grid_shorten(const struct grid *g, size_t i, const struct view_row *row,
			 const char *text, char *out, size_t len)
{
	bool known = row && g->rows && row >= g->rows && row < g->rows + g->nrows;

	return cut_as(&g->col[i], known ? how(g, i, (size_t)(row - g->rows)) : 0, text, out, len);
}

static int by_cut(const void *a, const void *b)
{
	const struct grid_cut *x = a, *y = b;

	if (x->cut != y->cut)
		return x->cut < y->cut ? -1 : 1;
	return (x->full > y->full) - (x->full < y->full);
}

/* All names of a column that are cut, as they are cut now. */
static size_t list_cuts(const struct grid *g, struct table_page *page, size_t column)
{
	const struct grid_column *c = &g->col[column];
	struct grid_cut *v = page->plan->cuts;
	char cell[CELL_BYTES], cut[CELL_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < g->nrows; i++) {
		const char *text = g->cell(c, page, &g->rows[i], cell, sizeof(cell));

		if (text_width(text) <= c->width)
			continue;
		cut_as(c, how(g, column, i), text, cut, sizeof(cut));
		v[n++] = (struct grid_cut){text_hash(cut, strlen(cut)),
					   text_hash(text, strlen(text)), i};
	}
	qsort(v, n, sizeof(*v), by_cut);
	return n;
}

/* Another try for all that cannot be told apart. false: there is none. */
static bool try_on(const struct grid *g, struct table_page *page, size_t column)
{
	const struct grid_cut *v = page->plan->cuts;
	size_t n = list_cuts(g, page, column), end;
	bool any = false;

	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && v[end].cut == v[i].cut; end++)
			;
		for (size_t k = i; v[i].full != v[end - 1].full && k < end; k++) {
			page->plan->how[v[k].row] += 1U << (column * GRID_CUT_BITS);
			any = true;
		}
	}
	return any;
}

void grid_tell_apart(struct grid *g, struct table_page *page)
{
	struct table_plan *p = page->plan;
	void *cuts, *rows;

	g->how = NULL;
	if (page->state == PAGE_COUNT || g->nrows < 2) /* lines are as many */
		return;
	cuts = array_room(p->cuts, &p->cuts_cap, 0, g->nrows, sizeof(*p->cuts));
	p->cuts = cuts ? cuts : p->cuts;
	rows = array_room(p->how, &p->how_cap, 0, g->nrows, sizeof(*p->how));
	p->how = rows ? rows : p->how;
	if (!cuts || !rows) /* without memory they are cut as ever */
		return;
	memset(p->how, 0, g->nrows * sizeof(*p->how));
	g->how = p->how;
	for (size_t i = 0; i < g->n && i < HOW_COLUMNS; i++)
		if (g->col[i].left && g->col[i].shorten_to && g->col[i].width < g->col[i].full)
			for (int try = 1; try < WAYS && try_on(g, page, i); try++)
				;
}
