// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a report fits a window. Drawing it without output notes each section's title, how many rows
 * each table has, and how many other lines there are at each density; then it is known which
 * density leaves each table its first rows, and what room there is for more:
 *
 *	Wakeup latency		title		  line 2
 *				table		  4 rows of 4
 *	ext4 operations		title		  line 12
 *				table		  6 rows of 36
 */
#include <errno.h>
#include <string.h>

#include "core/array.h"
#include "sink/table.h"

#define ROWS_FIRST 3 /* of each table, before any has more */

/* ---- drawing ---- */

static void page_scope(struct table_page *page, enum table_density from, enum table_density until)
{
	until = until < page->until ? until : page->until;
	page->printer.variants = from < until ? (1U << until) - (1U << from) : 0;
	page->printer.quiet = page->state == PAGE_COUNT || page->hidden ||
			      !(page->printer.variants >> page->density & 1);
}

bool table_only(struct table_page *page, enum table_density from, enum table_density until)
{
	page_scope(page, from, until);
	return page->state == PAGE_COUNT || !page->printer.quiet;
}

void table_always(struct table_page *page)
{
	page_scope(page, DENSITY_ALL, DENSITIES);
}

void table_plan_begin(struct table_page *page)
{
	page->plan->at = 0;
	if (page->state != PAGE_PLANNED)
		page->plan->n = 0;
	page->few = page->hot = 0;
	page->until = DENSITIES;
	table_always(page);
}

/* The next block: noted, or as it was planned. */
static struct table_block *plan_block(struct table_page *page)
{
	struct table_plan *p = page->plan;
	struct table_block *v;

	if (page->state != PAGE_PLANNED) {
		v = array_room(p->v, &p->cap, p->n, 1, sizeof(*v));
		if (!v) {
			page->error = -ENOMEM;
			p->none = (struct table_block){0};
			return &p->none;
		}
		p->v = v;
		p->v[p->n++] = (struct table_block){0};
	}
	return &p->v[p->at++];
}

/* How many rows there are at a density: where each line counts, the others are rows as well. */
static void block_rows(const struct table_page *page, struct table_block *b, enum table_density d)
{
	const struct view_table *t = b->table;

	if (b->title)
		return;
	b->total = t->n - (d < DENSITY_SHORT ? t->others : 0);
	b->asked = t->limit && b->total > t->limit ? t->limit : b->total;
	b->most = b->asked < page->room ? b->asked : page->room;
	if (d >= b->until)
		b->most = 0;
}

size_t table_shown(struct table_page *page, const struct view_table *t)
{
	struct table_block *b = plan_block(page);

	if (page->state == PAGE_PLANNED)
		return b->shown;
	b->table = t;
	b->until = page->until;
	block_rows(page, b, DENSITY_ALL);
	return b->shown = b->most;
}

void table_row(const struct grid *g, struct table_page *page, const struct view_row *row)
{
	uint32_t lines[DENSITIES];

	memcpy(lines, page->printer.lines, sizeof(lines));
	grid_row(g, page, row);
	memcpy(page->printer.lines, lines, sizeof(lines));
}

void table_rest(struct table_page *page, const char *what)
{
	const struct table_block *b = &page->plan->v[page->plan->at - 1];
	struct line l;

	if (page->error || b->shown == b->total || page->state == PAGE_COUNT ||
	    !table_only(page, DENSITY_ALL, DENSITY_SHORT))
		return;
	line_start(&l);
	line_add(&l, "… %s more%s%s (%s)", word_count(b->total - b->shown).s, what,
		 *what && b->total - b->shown != 1 ? "s" : "",
		 b->shown < b->asked ? "the window is full" : "-n 0 shows all");
	printer_line(&page->printer, STYLE_DIM, &l);
	table_always(page);
}

uint64_t table_begin_section(struct table_page *page)
{
	struct table_plan *p = page->plan;
	struct table_block *b = plan_block(page);
	uint64_t hidden = 0;

	if (page->state != PAGE_PLANNED) {
		b->title = true;
		memcpy(b->start, page->printer.lines + DENSITY_LEAST, sizeof(b->start));
		b->waited_ns = page->section->waited_ns;
		return 0;
	}
	page->hidden = b->hidden;
	table_always(page);
	for (b++; b < p->v + p->n && !b->title; b++)
		hidden += b->total - b->shown;
	return page->density < DENSITY_SHORT ? 0 : hidden;
}

uint64_t table_begin_foot(struct table_page *page)
{
	struct table_plan *p = page->plan;
	uint64_t hidden = 0;

	if (page->state != PAGE_PLANNED) {
		memcpy(p->foot, page->printer.lines + DENSITY_LEAST, sizeof(p->foot));
		return 0;
	}
	page->hidden = false;
	table_always(page);
	for (size_t i = 0; i < p->n; i++)
		hidden += p->v[i].total - p->v[i].shown;
	return p->small && page->room > 1 ? hidden : 0;
}

void grid_rows(struct grid *g, struct table_page *page, const struct view_row *rows, size_t n,
	       const char *what)
{
	grid_measure(g, page, rows, n);
	grid_begin(g, page);
	for (size_t i = 0; i < n; i++)
		table_row(g, page, &rows[i]);
	table_rest(page, what);
}

/* ---- planning ---- */

/* Lines of a table's rows, and of the one that says how many more there are. */
static int64_t block_lines(const struct table_page *page, const struct table_block *b, size_t rows)
{
	return (int64_t)rows +
	       (page->density < DENSITY_SHORT && page->density < b->until && rows < b->total);
}

/* Gives each table at most so many rows. What room is left; negative: it does not fit. */
static int64_t plan_rows(struct table_page *page, size_t rows)
{
	struct table_plan *p = page->plan;
	int64_t spare = (int64_t)page->room - page->printer.lines[page->density];

	for (struct table_block *b = p->v; b < p->v + p->n; b++) {
		block_rows(page, b, page->density);
		b->shown = b->most < rows ? b->most : rows;
		if (!b->title)
			spare -= block_lines(page, b, b->shown);
	}
	return spare;
}

/* A row more to each table in turn. */
static void plan_share(struct table_page *page, int64_t spare)
{
	struct table_plan *p = page->plan;
	bool gave = true;

	while (gave) {
		gave = false;
		for (struct table_block *b = p->v; b < p->v + p->n; b++) {
			int64_t more =
				block_lines(page, b, b->shown + 1) - block_lines(page, b, b->shown);

			if (b->hidden || b->shown == b->most || more > spare)
				continue;
			b->shown++;
			spare -= more;
			gave = true;
		}
	}
}

/* The first rows of the tables in [from, to), one after another. What is left. */
static int64_t plan_section_rows(struct table_plan *p, size_t from, size_t to, int64_t left)
{
	for (size_t rows = 1; rows <= ROWS_FIRST; rows++) {
		for (struct table_block *b = p->v + from; b < p->v + to; b++) {
			if (b->most < rows || left <= 0)
				continue;
			b->shown = rows;
			left--;
		}
	}
	return left;
}

/* Of the sections that have no place yet, the title of that in which most was waited; NULL: none is
 * left. */
static struct table_block *plan_next(const struct table_plan *p)
{
	struct table_block *most = NULL;

	for (struct table_block *b = p->v; b < p->v + p->n; b++)
		if (b->title && !b->planned && (!most || b->waited_ns > most->waited_ns))
			most = b;
	return most;
}

/* Rows of a table without which its section is not shown: of the `first` section one is enough. */
static int64_t plan_least(const struct table_block *b, bool first)
{
	size_t rows = first ? 1 : ROWS_FIRST;

	return (int64_t)(b->most < rows ? b->most : rows);
}

/*
 * Too small for all: that section first in which most was waited, as much of it as there is room
 * for; then one after the other as long as its tables have their first rows. One line says how many
 * rows are not shown. false: there is room for none.
 */
static bool plan_by_waits(struct table_page *page)
{
	struct table_plan *p = page->plan;
	uint32_t at = page->density - DENSITY_LEAST;
	int64_t left = (int64_t)page->room - (page->printer.lines[page->density] - p->foot[at]) - 1;
	int64_t lines, least;
	struct table_block *title;
	size_t i, next, sections = 0;
	bool full = false;

	for (i = 0; i < p->n; i++)
		p->v[i].planned = false;
	if (p->n)
		left -= p->v[0].start[at];
	while ((title = plan_next(p))) {
		i = (size_t)(title - p->v);
		for (next = i + 1, least = 0; next < p->n && !p->v[next].title; next++)
			least += plan_least(&p->v[next], !sections);
		lines = (next < p->n ? p->v[next].start[at] : p->foot[at]) - p->v[i].start[at];
		full |= lines + least > left;
		for (size_t k = i; k < next; k++) {
			p->v[k].shown = 0;
			p->v[k].hidden = full;
		}
		if (!full)
			left = plan_section_rows(p, i + 1, next, left - lines);
		sections += !full;
		title->planned = true;
	}
	plan_share(page, left);
	p->small = true;
	return sections;
}

void table_plan_make(struct table_page *page)
{
	int64_t spare;

	page->plan->small = false;
	for (page->density = DENSITY_ALL;; page->density++) {
		if (plan_rows(page, SIZE_MAX) >= 0)
			break;
		/* Details go before rows do. */
		if (page->density < DENSITY_ROWS)
			continue;
		spare = plan_rows(page, ROWS_FIRST);
		/* Fewer rows need less width, and may have a column more: with the first marked
		 * quantile. */
		if (!(page->few >> page->density & 1) && page->density < DENSITY_BARE)
			spare--;
		if (spare >= 0) {
			plan_share(page, spare);
			break;
		}
		if (page->density >= DENSITY_LEAST &&
		    (plan_by_waits(page) || page->density == DENSITY_TINY))
			break;
	}
	page->state = PAGE_PLANNED;
}
