// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a report fits a window. It is drawn on quiet paper first, which notes each section's title
 * and how many rows each table has; then it is known which density leaves each table its first rows,
 * and what room there is for more:
 *
 *	Wakeup latency		title		  line 2
 *				table		  4 rows of 4
 *	ext4 operations		title		  line 12
 *				table		  6 rows of 36
 */
#include <errno.h>
#include <stdlib.h>

#include "sink/table.h"

#define ROWS_FIRST 3 /* of each table, before any has more */

static void plan_add(struct table_page *page, const struct table_block *b)
{
	struct table_plan *p = page->plan;
	size_t cap = p->cap ? 2 * p->cap : 32;
	struct table_block *v;

	if (p->n == p->cap) {
		v = reallocarray(p->v, cap, sizeof(*v));
		if (!v) {
			page->error = -ENOMEM;
			return;
		}
		p->v = v;
		p->cap = cap;
	}
	p->v[p->n++] = *b;
}

void table_plan_begin(struct table_page *page)
{
	page->plan->at = 0;
	if (!page->planned)
		page->plan->n = 0;
	page->error = 0;
}

size_t table_shown(struct table_page *page, size_t total, uint32_t asked)
{
	struct table_plan *p = page->plan;
	struct table_block b = {.total = total, .asked = asked && total > asked ? asked : total};

	if (page->planned)
		return p->v[p->at++].shown;
	b.most = b.shown = b.asked < page->room ? b.asked : page->room;
	plan_add(page, &b);
	p->at = p->n;
	return b.shown;
}

void table_drop(struct table_page *page, size_t total)
{
	struct table_block b = {.total = total, .asked = total};

	if (page->planned)
		page->plan->at++;
	else
		plan_add(page, &b);
}

bool table_cut_by_window(const struct table_page *page)
{
	const struct table_block *b = &page->plan->v[page->plan->at - 1];

	return b->shown < b->asked;
}

uint64_t table_begin_section(struct table_page *page)
{
	struct table_plan *p = page->plan;
	struct table_block b = {.title = true, .start = page->paper.lines};
	uint64_t hidden = 0;
	size_t i;

	if (!page->planned) {
		plan_add(page, &b);
		return 0;
	}
	page->paper.quiet = p->v[p->at].hidden;
	for (i = ++p->at; i < p->n && !p->v[i].title; i++)
		hidden += p->v[i].total - p->v[i].shown;
	return page->density < DENSITY_FOLDED ? 0 : hidden;
}

uint64_t table_begin_foot(struct table_page *page)
{
	struct table_plan *p = page->plan;
	uint64_t hidden = 0;
	size_t i;

	if (!page->planned) {
		p->foot = page->paper.lines;
		return 0;
	}
	page->paper.quiet = false;
	for (i = 0; i < p->n; i++)
		hidden += p->v[i].total - p->v[i].shown;
	return p->small && page->room > 1 ? hidden : 0;
}

/* Lines of a table's rows, and of the one that tells how many more there are. */
static int64_t block_lines(const struct table_page *page, const struct table_block *b, size_t rows)
{
	return (int64_t)rows + (page->density < DENSITY_FOLDED && rows < b->total);
}

/* Gives each table its first rows. What is left then; negative: there is no room for them. */
static int64_t plan_first(struct table_page *page)
{
	struct table_plan *p = page->plan;
	int64_t spare = (int64_t)page->room - page->paper.lines;
	struct table_block *b;

	for (b = p->v; b < p->v + p->n; b++) {
		b->shown = b->most < ROWS_FIRST ? b->most : ROWS_FIRST;
		spare += block_lines(page, b, b->most) - block_lines(page, b, b->shown);
	}
	/* Fewer rows need less width, and may have a column more: with the first thin quantile. */
	if (!page->thin && page->density < DENSITY_BARE)
		spare--;
	return spare;
}

/* A row more to each table in turn. */
static void plan_share(struct table_page *page, int64_t spare)
{
	struct table_plan *p = page->plan;
	struct table_block *b;
	bool gave = true;
	int64_t more;

	while (gave) {
		gave = false;
		for (b = p->v; b < p->v + p->n; b++) {
			more = block_lines(page, b, b->shown + 1) - block_lines(page, b, b->shown);
			if (b->hidden || b->shown == b->most || more > spare)
				continue;
			b->shown++;
			spare -= more;
			gave = true;
		}
	}
}

/* The section at `i`: where the next one is, and its lines without rows. */
static size_t plan_section(const struct table_plan *p, size_t i, int64_t *lines, size_t *tables)
{
	uint32_t start = p->v[i].start;

	*lines = *tables = 0;
	for (i++; i < p->n && !p->v[i].title; i++) {
		*lines -= (int64_t)p->v[i].most;
		*tables += p->v[i].most != 0;
	}
	*lines += (i < p->n ? p->v[i].start : p->foot) - start;
	return i;
}

/* The first rows of the tables in [from, to), by turns. What is left. */
static int64_t plan_section_rows(struct table_plan *p, size_t from, size_t to, int64_t left)
{
	struct table_block *b;
	size_t rows;

	for (rows = 1; rows <= ROWS_FIRST; rows++) {
		for (b = p->v + from; b < p->v + to; b++) {
			if (b->most < rows || left <= 0)
				continue;
			b->shown = rows;
			left--;
		}
	}
	return left;
}

/*
 * Too small for all: the headline, then one section after the other as long as each has a row; one
 * line tells how many are not shown.
 */
static void plan_in_order(struct table_page *page)
{
	struct table_plan *p = page->plan;
	int64_t lines, left = (int64_t)page->room - (page->paper.lines - p->foot) - 1;
	size_t i, k, next, tables;
	bool full = false;

	if (p->n)
		left -= p->v[0].start;
	for (i = 0; i < p->n; i = next) {
		next = plan_section(p, i, &lines, &tables);
		full |= lines + (int64_t)tables > left;
		for (k = i; k < next; k++) {
			p->v[k].shown = 0;
			p->v[k].hidden = full;
		}
		if (!full)
			left = plan_section_rows(p, i + 1, next, left - lines);
	}
	plan_share(page, left);
	p->small = true;
}

bool table_plan_fits(struct table_page *page)
{
	int64_t spare;

	page->plan->small = false;
	if (page->paper.lines <= page->room)
		return true;
	/* Details go before rows do. */
	if (page->density < DENSITY_ROWS)
		return false;
	spare = plan_first(page);
	if (spare >= 0)
		plan_share(page, spare);
	else if (page->density == DENSITY_LEAST)
		plan_in_order(page);
	return spare >= 0 || page->density == DENSITY_LEAST;
}
