// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contended cache lines, those with most at stake first: the samples of the second-busiest thread,
 * less where threads take turns. Shares of time are samples of this line among all samples of busy
 * CPUs; a cost, but a biased one (the manual says how).
 *
 *	Cache lines (clock samples)  1,434 samples  31.2 % of busy time
 *	NAME                      SHARING time% samples/s  read% write% moves% THREADS CPUS
 *	app`super_block.misses    true     31.2       622  100.0  100.0   63.1       2 0-1
 *	    of app 16621  app.c:58
 *	    at app`op_sb+0x70 99.8 %
 *	    app/16630 CPU 0 writes 40..55, app/16631 CPU 1 writes 40..55
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define RANK_SCALE 1e6 /* weights are whole numbers */

enum lines_column {
	LINES_NAME,
	LINES_SHARING,
	LINES_TIME,
	LINES_READ,
	LINES_WRITE,
	LINES_MOVES,
	LINES_HITM,
	LINES_THREADS,
	LINES_CPUS,
};

static int lines_collect(struct table_page *page)
{
	const struct frame *f = page->f;
	struct table_row row;
	size_t i;
	int ret = 0;

	page->rows->n = 0;
	for (i = 0; i < f->ncontended && !ret; i++) {
		const struct contended *c = &f->contended[i];

		if (!c->accesses || (!c->count && !c->accesses->exact))
			continue;
		row = (struct table_row){
			.c = c,
			.rank = !c->accesses->exact, /* watches were asked for */
			.weight = page->cfg->sort == SORT_COUNT
					  ? c->count
					  : (uint64_t)(c->accesses->rank * RANK_SCALE)};
		ret = table_rows_push(page->rows, &row);
	}
	return ret;
}

static int lines_compare(const void *a, const void *b)
{
	const struct table_row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->c->addr > y->c->addr) - (x->c->addr < y->c->addr);
}

/* A share that may be unknown; all and nothing are said as format_share does. */
static const char *lines_share(double part, char *out, size_t len)
{
	if (part < 0)
		return "-";
	if (part <= 0 || part >= 1)
		return part <= 0 ? "0" : "100";
	(void)snprintf(out, len, "%.1f", 100 * part); /* fits */
	return out;
}

static const char *lines_cell(const struct grid_column *col, struct table_page *page,
			      const struct table_row *row, char *out, size_t len)
{
	const struct contended *c = row->c;
	const struct line_accesses *a = c->accesses;

	if (col->kind == GRID_COUNT)
		return format_rate(out, len, c->count, page->f->dur_ns);
	switch (col->index) {
	case LINES_NAME:
		return table_contended_name(c, out, len);
	case LINES_SHARING:
		return a->sharing ? a->sharing : "-";
	case LINES_TIME:
		return lines_share(a->share, out, len);
	case LINES_READ:
		return format_share(out, len, a->reads, c->count, 1);
	case LINES_WRITE:
		return format_share(out, len, a->writes, c->count, 1);
	case LINES_MOVES:
		return lines_share(a->interleave, out, len);
	case LINES_HITM:
		return format_share(out, len, a->hitm_local + a->hitm_remote, c->count, 1);
	case LINES_THREADS:
		return format_count(out, len, c->ntasks);
	default:
		return table_contended_cpus(c, out, len);
	}
}

static void lines_add(struct grid *g, enum lines_column what, enum grid_kind kind, const char *head,
		      enum grid_yield yield)
{
	struct grid_column *c = grid_add(g, kind, head);

	if (!c)
		return;
	c->index = what;
	c->yield = yield;
	c->left = kind == GRID_TEXT;
}

/* Some are sampled, not watched. */
static bool lines_sampled(const struct table_rows *r)
{
	size_t i;

	for (i = 0; i < r->n && r->v[i].c->accesses->exact; i++)
		;
	return i < r->n;
}

static void lines_grid(struct table_page *page, struct grid *g)
{
	const struct table_rows *r = page->rows;
	bool hitm = false, timed = false;
	size_t i;

	for (i = 0; i < r->n; i++) {
		hitm |= r->v[i].c->accesses->has_hitm;
		timed |= r->v[i].c->accesses->share >= 0;
	}
	g->cell = lines_cell;
	lines_add(g, LINES_NAME, GRID_TEXT, "NAME", YIELD_NEVER);
	if (g->n)
		g->col[g->n - 1].shorten_to = page->paper.columns * 3 / 10;
	lines_add(g, LINES_SHARING, GRID_TEXT, "SHARING", YIELD_NEVER);
	if (timed)
		lines_add(g, LINES_TIME, GRID_SHARE, "time%", YIELD_NEVER);
	/* NULL: the grid is full, which it is not */
	(void)grid_add(g, GRID_COUNT, lines_sampled(r) ? "samples/s" : "accesses/s");
	lines_add(g, LINES_READ, GRID_SHARE, "read%", YIELD_LATE);
	lines_add(g, LINES_WRITE, GRID_SHARE, "write%", YIELD_LATE);
	lines_add(g, LINES_MOVES, GRID_SHARE, "moves%", YIELD_LATE);
	if (hitm)
		lines_add(g, LINES_HITM, GRID_SHARE, "HITM%", YIELD_NEVER);
	lines_add(g, LINES_THREADS, GRID_SHARE, "THREADS", YIELD_LATE);
	lines_add(g, LINES_CPUS, GRID_TEXT, "CPUS", YIELD_LAST);
}

/* "1,434 samples  31.2 % of busy time", or of watches alone "2,000 accesses  1,954/s" */
static void lines_title(struct table_page *page)
{
	char title[64], samples[48], share[32], text[160] = "none contended";
	const struct table_rows *r = page->rows;
	bool sampled = lines_sampled(r);
	uint64_t count = 0;
	double time = 0;
	size_t i;

	(void)snprintf(title, sizeof(title), "Cache lines (%s)",
		       r->n ? r->v[r->n - 1].c->accesses->sampler : "sampled"); /* a word */
	for (i = 0; i < r->n; i++) {
		if (sampled && r->v[i].c->accesses->exact)
			continue;
		count += r->v[i].c->count;
		time += r->v[i].c->accesses->share > 0 ? r->v[i].c->accesses->share : 0;
	}
	if (time > 0)
		(void)snprintf(text, sizeof(text), "%s  %s %% of busy time",
			       table_samples(samples, sizeof(samples), count),
			       lines_share(time, share, sizeof(share))); /* fits: numbers */
	else if (r->n)
		(void)snprintf(text, sizeof(text), "%s %s%s  %s/s",
			       format_count(share, sizeof(share), count),
			       sampled ? "sample" : "access",
			       count == 1 ? ""
			       : sampled  ? "s"
					  : "es",
			       format_rate(samples, sizeof(samples), count,
					   page->f->dur_ns)); /* fits: numbers */
	table_title(page, title, false, text);
}

/* What the row says in full; the rest is said below it. */
static uint32_t lines_said(const struct grid *g, const struct contended *c)
{
	char text[LINE_BYTES / 2];

	if (text_width(table_contended_name(c, text, sizeof(text))) <= g->col[0].width)
		return SAID_CPUS | SAID_NAME;
	return SAID_CPUS;
}

int table_lines_print(struct table_page *page)
{
	struct table_rows *r = page->rows;
	struct grid g = {0};
	size_t i, shown;
	int ret;

	ret = lines_collect(page);
	if (ret || (!r->n && !page->f->lines))
		return ret;
	table_gap(page);
	if (r->n)
		qsort(r->v, r->n, sizeof(r->v[0]), lines_compare);
	lines_title(page);
	if (!r->n)
		return 0;
	shown = table_shown(page, r->n, page->cfg->list_rows);
	lines_grid(page, &g);
	grid_fit(&g, page, r->v, shown);
	grid_head(&g, page);
	for (i = 0; i < shown; i++) {
		grid_row(&g, page, &r->v[i]);
		table_contended_detail(page, r->v[i].c, lines_said(&g, r->v[i].c));
	}
	if (shown < r->n)
		table_rest(page, r->n - shown, "", shown == page->max_rows);
	return 0;
}
