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
 *
 * What only some samplers tell, and only some machines have, has columns where a row has it: hits
 * in modified lines, latencies, NUMA nodes.
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
	LINES_REMOTE,
	LINES_THREADS,
	LINES_CPUS,
	LINES_NODES,
	LINES_MEMORY,
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

char *table_cycles(struct table_page *page, char *out, size_t len, const struct hist *h,
		   const struct quantile *q)
{
	struct quantile_value v = hist_quantile(h, q);
	char cycles[32];

	page->thin |= v.few;
	(void)snprintf(out, len, "%s%c", format_count(cycles, sizeof(cycles), v.ns),
		       v.few ? '~' : ' '); /* callers give room for any number */
	return out;
}

/* Of a line's samples that say it; `-` where none does. */
static const char *lines_hits(const struct contended *c, uint64_t hits, char *out, size_t len)
{
	return c->accesses->hitm.told ? format_share(out, len, hits, c->count, 1) : "-";
}

static const char *lines_node(int32_t node, char *out, size_t len)
{
	return node < 0 ? "-" : format_count(out, len, (uint64_t)node);
}

static const char *lines_cell(const struct grid_column *col, struct table_page *page,
			      const struct table_row *row, char *out, size_t len)
{
	const struct contended *c = row->c;
	const struct line_accesses *a = c->accesses;

	if (col->kind == GRID_COUNT)
		return format_rate(out, len, c->count, page->f->dur_ns);
	if (col->kind == GRID_QUANTILE)
		return a->latency ? table_cycles(page, out, len, a->latency, &col->q) : "- ";
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
		return lines_hits(c, a->hitm.local + a->hitm.remote, out, len);
	case LINES_REMOTE:
		return lines_hits(c, a->hitm.remote, out, len);
	case LINES_NODES:
		return table_numbers(a->nodes, a->nnodes, out, len);
	case LINES_MEMORY:
		return lines_node(a->memory_node, out, len);
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

/* What any of the rows has. */
struct lines_has {
	bool time, hitm, latency, nodes, memory;
};

static struct lines_has lines_look(const struct table_rows *r)
{
	struct lines_has has = {0};
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct line_accesses *a = r->v[i].c->accesses;

		has.time |= a->share >= 0;
		has.hitm |= a->hitm.told;
		has.latency |= a->latency != NULL;
		has.nodes |= a->nnodes > 0;
		has.memory |= a->nnodes && a->memory_node >= 0;
	}
	return has;
}

static void lines_grid(struct table_page *page, struct grid *g, const struct lines_has *has)
{
	const struct config *cfg = page->cfg;
	size_t i;

	g->cell = lines_cell;
	lines_add(g, LINES_NAME, GRID_TEXT, "NAME", YIELD_NEVER);
	if (g->n)
		g->col[g->n - 1].shorten_to = page->paper.columns * 3 / 10;
	lines_add(g, LINES_SHARING, GRID_TEXT, "SHARING", YIELD_NEVER);
	if (has->time)
		lines_add(g, LINES_TIME, GRID_SHARE, "time%", YIELD_NEVER);
	/* NULL: the grid is full, which it is not */
	(void)grid_add(g, GRID_COUNT, lines_sampled(page->rows) ? "samples/s" : "accesses/s");
	lines_add(g, LINES_READ, GRID_SHARE, "read%", YIELD_LATE);
	lines_add(g, LINES_WRITE, GRID_SHARE, "write%", YIELD_LATE);
	lines_add(g, LINES_MOVES, GRID_SHARE, "moves%", YIELD_LATE);
	if (has->hitm) {
		lines_add(g, LINES_HITM, GRID_SHARE, "HITM%", YIELD_NEVER);
		lines_add(g, LINES_REMOTE, GRID_SHARE, "remote%", YIELD_LAST);
	}
	for (i = 0; has->latency && i < cfg->nquantiles; i++)
		(void)grid_add_quantile(g, &cfg->quantiles[i]); /* NULL: the grid is full */
	lines_add(g, LINES_THREADS, GRID_SHARE, "THREADS", YIELD_LATE);
	lines_add(g, LINES_CPUS, GRID_TEXT, "CPUS", YIELD_LAST);
	if (has->nodes)
		lines_add(g, LINES_NODES, GRID_TEXT, "NODES", YIELD_LAST);
	if (has->memory)
		lines_add(g, LINES_MEMORY, GRID_SHARE, "MEMORY", YIELD_LAST);
}

/* "1,434 samples  31.2 % of busy time", or of watches alone "2,000 accesses  1,954/s" */
static void lines_title(struct table_page *page, const struct lines_has *has)
{
	char title[64], samples[48], share[32], text[160] = "none contended";
	const struct table_rows *r = page->rows;
	bool sampled = lines_sampled(r);
	uint64_t count = 0;
	double time = 0;
	size_t i;

	(void)snprintf(title, sizeof(title), "Cache lines (%s%s)",
		       r->n ? r->v[r->n - 1].c->accesses->sampler : "sampled",
		       has->latency ? ", cycles" : ""); /* words */
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
	struct lines_has has;
	size_t i, shown;
	int ret;

	ret = lines_collect(page);
	if (ret || (!r->n && !page->f->lines))
		return ret;
	table_gap(page);
	if (r->n)
		qsort(r->v, r->n, sizeof(r->v[0]), lines_compare);
	has = lines_look(r);
	lines_title(page, &has);
	if (!r->n)
		return 0;
	shown = table_shown(page, r->n, page->cfg->list_rows);
	lines_grid(page, &g, &has);
	grid_fit(&g, page, r->v, shown);
	grid_head(&g, page);
	for (i = 0; i < shown; i++) {
		grid_row(&g, page, &r->v[i]);
		table_contended_detail(page, r->v[i].c, lines_said(&g, r->v[i].c));
	}
	table_rest(page, r->n - shown, "");
	return 0;
}
