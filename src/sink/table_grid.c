// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *	PID  COMM                samples     50th      90th      99th    99.9th       max
 *	  7  postgres              6,310      4.9      28.1      50.7       118~    1,201
 *
 * Two passes over the rows, no copy of their cells: one measures, one prints. What does not fit
 * gives way in this order: wide gaps, the total, long names, quantiles between first and last.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define CELL_BYTES 1024
#define NAME_WIDTH_MIN 10 /* shortened no further while there is something else to leave out */

/* Narrowest columns: wide enough that ordinary values do not make a live table jump. */
static const size_t grid_min_width[] = {
	[GRID_TITLE] = 20,   [GRID_LABEL] = 3, [GRID_COUNT] = 9,
	[GRID_QUANTILE] = 8, [GRID_MAX] = 8,   [GRID_TOTAL] = 8,
};

void grid_add(struct grid *g, enum grid_kind kind, const char *head)
{
	struct grid_column *c;

	if (g->n == GRID_COLUMNS) /* more quantiles than any paper holds */
		return;
	c = &g->col[g->n++];
	*c = (struct grid_column){.kind = kind, .left = kind == GRID_TITLE};
	(void)snprintf(c->head, sizeof(c->head), "%s", head); /* a long heading may be cut */
}

void grid_add_label(struct grid *g, uint32_t label, const char *key, bool number)
{
	char head[32];
	size_t i;

	(void)snprintf(head, sizeof(head), "%s", key); /* a long heading may be cut */
	for (i = 0; head[i]; i++)
		head[i] = (char)toupper((unsigned char)head[i]);
	grid_add(g, GRID_LABEL, head);
	g->col[g->n - 1].label = label;
	g->col[g->n - 1].left = !number;
}

void grid_add_quantile(struct grid *g, const struct quantile *q)
{
	char head[32];

	/* The space stands above the mark of a thin quantile. */
	(void)snprintf(head, sizeof(head), "%sth ", q->text); /* text[16] fits */
	if (g->n == GRID_COLUMNS)
		return;
	grid_add(g, GRID_QUANTILE, head);
	g->col[g->n - 1].q = *q;
}

static const char *grid_hist_cell(const struct grid_column *c, struct table_page *page,
				  const struct hist *h, char *out, size_t len)
{
	if (c->kind == GRID_COUNT)
		return format_count(out, len, h->count);
	if (!h->count)
		return c->kind == GRID_QUANTILE ? "- " : "-";
	if (c->kind == GRID_QUANTILE)
		return table_quantile(page, out, len, h, &c->q);
	if (c->kind == GRID_MAX)
		return format_time(out, len, h->max_ns, page->cfg->unit);
	return format_duration(out, len, h->sum_ns);
}

static const char *grid_cell(const struct grid_column *c, struct table_page *page,
			     const struct series *s, char *out, size_t len)
{
	if (c->kind == GRID_TITLE)
		return s->desc->title;
	if (c->kind == GRID_LABEL)
		return c->label < s->nlabels
			       ? text_clean(out, len, s->labels[c->label].value, SIZE_MAX)
			       : "";
	if (!s->desc->counter)
		return grid_hist_cell(c, page, s->hist, out, len);
	return c->kind == GRID_COUNT ? format_count(out, len, s->value) : "";
}

static void grid_measure(struct grid *g, struct table_page *page, const struct table_row *rows,
			 size_t n)
{
	char cell[CELL_BYTES];
	struct grid_column *c;
	size_t i, w;

	for (c = g->col; c < g->col + g->n; c++) {
		c->width = text_width(c->head);
		if (c->width < grid_min_width[c->kind])
			c->width = grid_min_width[c->kind];
		for (i = 0; i < n; i++) {
			w = text_width(grid_cell(c, page, rows[i].s, cell, sizeof(cell)));
			if (w > c->width)
				c->width = w;
		}
	}
}

/* Columns that stick out of the paper. */
static size_t grid_excess(const struct grid *g, uint32_t columns)
{
	size_t i, width = g->indent;

	for (i = 0; i < g->n; i++)
		width += g->col[i].width + (i ? g->gap : 0);
	return width > columns ? width - columns : 0;
}

static void grid_remove(struct grid *g, size_t i)
{
	memmove(&g->col[i], &g->col[i + 1], (g->n - i - 1) * sizeof(g->col[0]));
	g->n--;
}

static bool grid_drop_total(struct grid *g, const struct config *cfg)
{
	if (cfg->sort == SORT_SUM || !g->n || g->col[g->n - 1].kind != GRID_TOTAL)
		return false;
	g->n--;
	return true;
}

/* Takes columns from the widest name, to NAME_WIDTH_MIN. */
static bool grid_shrink_name(struct grid *g, size_t excess)
{
	struct grid_column *c, *widest = NULL;
	size_t room;

	for (c = g->col; c < g->col + g->n; c++) {
		if (c->left && c->width > NAME_WIDTH_MIN && (!widest || c->width > widest->width))
			widest = c;
	}
	if (!widest)
		return false;
	room = widest->width - NAME_WIDTH_MIN;
	widest->width -= excess < room ? excess : room;
	return true;
}

/* Quantiles between the first and the last: the highest tells most, the first is for scale. */
static bool grid_drop_quantile(struct grid *g)
{
	size_t i;

	for (i = 1; i + 1 < g->n; i++) {
		if (g->col[i - 1].kind == GRID_QUANTILE && g->col[i].kind == GRID_QUANTILE &&
		    g->col[i + 1].kind == GRID_QUANTILE) {
			grid_remove(g, i);
			return true;
		}
	}
	return false;
}

static void grid_fit(struct grid *g, const struct table_page *page)
{
	uint32_t columns = page->paper.columns;
	size_t excess;

	g->gap = 2;
	if (grid_excess(g, columns))
		g->gap = 1;
	while ((excess = grid_excess(g, columns)) != 0) {
		if (!grid_drop_total(g, page->cfg) && !grid_shrink_name(g, excess) &&
		    !grid_drop_quantile(g))
			break; /* a very narrow window: the paper cuts */
	}
}

static void grid_put(const struct grid *g, size_t i, struct line *l, const char *text)
{
	const struct grid_column *c = &g->col[i];
	char cut[CELL_BYTES];

	if (i)
		line_left(l, "", g->gap);
	if (!c->left) {
		line_right(l, text, c->width);
		return;
	}
	/* A path's end tells more than its start. */
	if (*text == '/')
		line_cut_start(cut, sizeof(cut), text, c->width);
	else
		line_cut(cut, sizeof(cut), text, c->width);
	line_left(l, cut, c->width);
}

static void grid_print_row(const struct grid *g, struct table_page *page,
			   const struct table_row *row)
{
	char cell[CELL_BYTES];
	struct line l;
	size_t i;

	line_start(&l);
	line_to(&l, g->indent);
	for (i = 0; i < g->n; i++)
		grid_put(g, i, &l, grid_cell(&g->col[i], page, row->s, cell, sizeof(cell)));
	paper_line(&page->paper, STYLE_PLAIN, &l);
}

void grid_print(struct grid *g, struct table_page *page, const struct table_row *rows, size_t n)
{
	bool thin = page->thin;
	struct line l;
	size_t i;

	grid_measure(g, page, rows, n);
	grid_fit(g, page);
	page->thin = thin; /* measuring met quantiles that a column left out may have had */
	line_start(&l);
	line_to(&l, g->indent);
	for (i = 0; i < g->n; i++)
		grid_put(g, i, &l, g->col[i].head);
	paper_line(&page->paper, STYLE_DIM, &l);
	for (i = 0; i < n; i++)
		grid_print_row(g, page, &rows[i]);
}
