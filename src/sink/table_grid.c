// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *	PID  COMM                samples     50th      90th      99th    99.9th       max
 *	  7  postgres              6,310      4.9      28.1      50.7       118~    1,201
 *
 * Two passes over the rows, no copy of their cells: one measures, one prints. What does not fit
 * gives way in this order: wide gaps, columns that yield first (of quantiles the 99th last), long
 * names, quantiles but for the first and the 99th, columns that yield late, names once more, the
 * first quantile, and columns that yield last; in the end any but the first two. No number is
 * printed in part.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define CELL_BYTES 1024
#define NAME_WIDTH_MIN 10 /* shortened no further while there is something else to leave out */

static const size_t grid_least[] = {
	[GRID_TITLE] = 20, [GRID_LABEL] = 3, [GRID_COUNT] = 9, [GRID_QUANTILE] = 8,
	[GRID_MAX] = 8,	   [GRID_TOTAL] = 8, [GRID_SHARE] = 5, [GRID_RATE] = 8,
	[GRID_TEXT] = 3,   [GRID_FIELD] = 3,
};

struct grid_column *grid_add(struct grid *g, enum grid_kind kind, const char *head, size_t least,
			     enum field_yield yield)
{
	/* More columns than fit any width are all the last one. */
	struct grid_column *c = &g->col[g->n < GRID_COLUMNS ? g->n++ : GRID_COLUMNS];

	*c = (struct grid_column){.kind = kind, .yield = yield};
	if (kind == GRID_TITLE) {
		c->left = true;
		c->shorten_to = NAME_WIDTH_MIN;
	}
	(void)snprintf(c->head, sizeof(c->head), "%s", head); /* a long heading may be cut */
	/* Never narrower, so that ordinary values do not make a table jump. */
	c->width = least ? least : grid_least[kind];
	if (text_width(c->head) > c->width)
		c->width = text_width(c->head);
	c->full = c->width;
	return c;
}

struct grid_column *grid_add_label(struct grid *g, const char *key, bool number)
{
	struct grid_column *c = grid_add(g, GRID_LABEL, key, 0, YIELD_NEVER);

	for (size_t i = 0; c->head[i]; i++)
		c->head[i] = (char)toupper((unsigned char)c->head[i]);
	c->key = key;
	c->left = !number;
	c->shorten_to = number ? 0 : NAME_WIDTH_MIN;
	return c;
}

void grid_add_quantiles(struct grid *g, const struct quantile *q, size_t n, size_t least)
{
	char head[32];

	for (; n; n--, q++) {
		/* The space stands above the mark of one that too few samples are beyond. */
		(void)snprintf(head, sizeof(head), "%sth ", q->text); /* text[16] fits */
		grid_add(g, GRID_QUANTILE, head, least, YIELD_NEVER)->q = *q;
	}
}

void grid_add_total(struct grid *g, const struct config *cfg)
{
	grid_add(g, GRID_TOTAL, "total", 0, cfg->sort == SORT_SUM ? YIELD_NEVER : YIELD_FIRST);
}

void grid_measure(struct grid *g, struct table_page *page, const struct view_row *rows, size_t n)
{
	uint32_t few = page->few; /* of quantiles that a column left out may have had */
	char cell[CELL_BYTES];
	struct grid_column *c;
	size_t i, w;

	for (c = g->col; c < g->col + g->n; c++) {
		for (i = 0; i < n; i++) {
			w = text_width(g->cell(c, page, &rows[i], cell, sizeof(cell)));
			if (w > c->width)
				c->width = w;
		}
		c->full = c->width;
	}
	page->few = few;
	if (g->rows)
		return;
	g->rows = rows;
	g->nrows = n;
}

static size_t grid_width(const struct grid *g)
{
	size_t i, width = g->indent;

	for (i = 0; i < g->n; i++)
		width += g->col[i].width + (i ? g->gap : 0);
	return width;
}

static void grid_remove(struct grid *g, size_t i)
{
	memmove(&g->col[i], &g->col[i + 1], (g->n - i - 1) * sizeof(g->col[0]));
	g->n--;
}

/* The last of those that yield so. */
static bool grid_drop(struct grid *g, enum field_yield yield)
{
	size_t i;

	for (i = g->n; i-- > 0;) {
		if (g->col[i].yield == yield) {
			grid_remove(g, i);
			return true;
		}
	}
	return false;
}

/* Of the quantiles that yield first: the last one that is not the 99th. */
static bool grid_drop_extra(struct grid *g)
{
	for (size_t i = g->n; i-- > 0;) {
		const struct grid_column *c = &g->col[i];

		if (c->kind == GRID_QUANTILE && c->yield == YIELD_FIRST && c->q.ppb != PPB_P99) {
			grid_remove(g, i);
			return true;
		}
	}
	return false;
}

/* As short as this column's text may be: `hard` when little else is left to give way. */
static size_t grid_shortest(const struct grid_column *c, bool hard)
{
	if (!c->shorten_to)
		return c->width;
	return hard && c->shorten_to > NAME_WIDTH_MIN ? NAME_WIDTH_MIN : c->shorten_to;
}

/* Takes columns from the widest name. */
static bool grid_shrink_name(struct grid *g, size_t excess, bool hard)
{
	struct grid_column *c, *widest = NULL;
	size_t room;

	for (c = g->col; c < g->col + g->n; c++) {
		if (c->width > grid_shortest(c, hard) && (!widest || c->width > widest->width))
			widest = c;
	}
	if (!widest)
		return false;
	room = widest->width - grid_shortest(widest, hard);
	widest->width -= excess < room ? excess : room;
	return true;
}

struct grid_quantiles {
	size_t n, first, last, p99; /* columns; p99 is 0 without one */
};

static struct grid_quantiles grid_find_quantiles(const struct grid *g)
{
	struct grid_quantiles q = {0};
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (g->col[i].kind != GRID_QUANTILE || g->col[i].yield != YIELD_NEVER)
			continue;
		if (!q.n++)
			q.first = i;
		if (g->col[i].q.ppb == PPB_P99)
			q.p99 = i;
		q.last = i;
	}
	return q;
}

/*
 * One quantile, not the first (it is for scale) and not the 99th, which is worth most beside the
 * maximum; without a 99th the last stays instead.
 */
static bool grid_drop_quantile(struct grid *g)
{
	struct grid_quantiles q = grid_find_quantiles(g);
	size_t i;

	if (q.n < 3)
		return false;
	for (i = q.first + 1; i < q.last && i == q.p99; i++)
		;
	grid_remove(g, i);
	return true;
}

static bool grid_drop_first_quantile(struct grid *g)
{
	struct grid_quantiles q = grid_find_quantiles(g);

	if (q.n < 2)
		return false;
	grid_remove(g, q.first == q.p99 ? q.last : q.first);
	return true;
}

/* One thing that gives way for what sticks out; false: nothing is left. */
static bool grid_give_way(struct grid *g, size_t excess)
{
	return grid_drop_extra(g) || grid_drop(g, YIELD_FIRST) ||
	       grid_shrink_name(g, excess, false) || grid_drop_quantile(g) ||
	       grid_drop(g, YIELD_LATE) || grid_shrink_name(g, excess, true) ||
	       grid_drop_first_quantile(g) || grid_drop(g, YIELD_LAST);
}

static void grid_fit(struct grid *g, size_t columns)
{
	size_t width, spare, more;

	g->gap = 2;
	if (grid_width(g) > columns)
		g->gap = 1;
	while ((width = grid_width(g)) > columns) {
		if (grid_give_way(g, width - columns))
			continue;
		if (g->n <= 2)
			return; /* the printer cuts */
		g->n--;		/* a very narrow window: no number at all before half of one */
	}
	/* What a column that was left out leaves goes back to names that were shortened for it. */
	spare = columns - width;
	for (struct grid_column *c = g->col; c < g->col + g->n; c++) {
		more = c->full - c->width < spare ? c->full - c->width : spare;
		c->width += more;
		spare -= more;
	}
}

static void grid_put(const struct grid *g, size_t i, struct line *l, const struct view_row *row,
		     const char *text)
{
	const struct grid_column *c = &g->col[i];
	char cut[CELL_BYTES];

	if (i)
		line_left(l, "", g->gap);
	if (!c->left) {
		line_right(l, text, c->width);
		return;
	}
	line_left(l, grid_shorten(g, i, row, text, cut, sizeof(cut)), c->width);
}

void grid_row(const struct grid *g, struct table_page *page, const struct view_row *row)
{
	char cell[CELL_BYTES];
	struct line l;

	line_start(&l);
	line_to(&l, g->indent);
	for (size_t i = 0; i < g->n; i++)
		grid_put(g, i, &l, row,
			 row ? g->cell(&g->col[i], page, row, cell, sizeof(cell)) : g->col[i].head);
	printer_line(&page->printer, row ? STYLE_PLAIN : STYLE_DIM, &l);
}

void grid_begin(struct grid *g, struct table_page *page)
{
	grid_fit(g, page->printer.columns);
	grid_tell_apart(g, page);
	grid_row(g, page, NULL);
}
