// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contended cache lines, those with most at stake first: the samples of the second-busiest thread,
 * less where threads do not alternate. Shares of time are samples of this line among all samples of
 * busy CPUs; a cost, but a biased one (the manual says how).
 *
 *	Cache lines (clock samples)  1,434 samples  31.2 % of busy time
 *	NAME                      SHARING time% samples/s  read% write% moves% THREADS CPUS
 *	app`super_block.misses    true     31.2       622  100.0  100.0   63.1       2 0-1
 *	    of app 16621  app.c:58
 *	    at app`op_sb+0x70 99.8 %
 *	    app/16630 CPU 0 writes 40..55, app/16631 CPU 1 writes 40..55
 *
 * What only some samplers measure, and only some machines have, has columns where a row has it:
 * hits in modified lines, latencies, NUMA nodes.
 */
#include <string.h>

#include <stdio.h>

#include "core/text.h"
#include "sink/table.h"

enum lines_column { LINES_NAME, LINES_HITM, LINES_REMOTE, LINES_CPUS, LINES_NODES, LINES_MEMORY };

/* Of a line's samples that know it; `-` where none does. */
static const char *lines_hits(const struct contended *c, uint64_t hits, char *out, size_t len)
{
	return c->accesses->hitm.told ? format_share(out, len, hits, c->count, 1) : "-";
}

static const char *lines_cell(const struct grid_column *col, struct table_page *page,
			      const struct view_row *row, char *out, size_t len)
{
	const struct contended *c = row->c;
	const struct line_accesses *a = c->accesses;

	if (col->kind == GRID_COUNT)
		return format_rate(out, len, c->count, page->f->dur_ns);
	if (col->kind == GRID_QUANTILE)
		return a->latency ? table_word(out, len, table_cycles(page, a->latency, &col->q))
				  : "- ";
	if (col->kind == GRID_FIELD)
		return table_field_cell(col, c, out, len);
	switch (col->index) {
	case LINES_NAME:
		return table_contended_name(c, out, len);
	case LINES_HITM:
		return lines_hits(c, a->hitm.local + a->hitm.remote, out, len);
	case LINES_REMOTE:
		return lines_hits(c, a->hitm.remote, out, len);
	case LINES_NODES:
		return table_numbers(a->nodes, a->nnodes, out, len);
	case LINES_MEMORY:
		return a->memory_node < 0 ? "-" : format_count(out, len, (uint64_t)a->memory_node);
	default:
		return table_numbers(c->cpus, c->ncpus, out, len);
	}
}

static void lines_add(struct grid *g, enum lines_column what, enum grid_kind kind, const char *head,
		      enum field_yield yield)
{
	struct grid_column *c = grid_add(g, kind, head, 0, yield);

	c->index = what;
	c->left = kind == GRID_TEXT;
}

/* What any of the rows has. */
struct lines_has {
	bool hitm, latency, nodes, memory;
};

static void lines_grid(struct table_page *page, struct grid *g, const struct lines_has *has,
		       const struct view_row *rows, size_t n)
{
	const struct config *cfg = page->cfg;

	g->cell = lines_cell;
	lines_add(g, LINES_NAME, GRID_TEXT, "NAME", YIELD_NEVER);
	g->col[0].shorten_to = page->printer.columns * 3 / 10;
	table_add_fields(g, TABLE_LINES, PLACE_WHAT, rows, n);
	grid_add(g, GRID_COUNT, page->section->sampled ? "samples/s" : "accesses/s", 0,
		 YIELD_NEVER);
	table_add_fields(g, TABLE_LINES, PLACE_HOW, rows, n);
	if (has->hitm) {
		lines_add(g, LINES_HITM, GRID_SHARE, "HITM%", YIELD_NEVER);
		lines_add(g, LINES_REMOTE, GRID_SHARE, "remote%", YIELD_LAST);
	}
	if (has->latency)
		grid_add_quantiles(g, cfg->quantiles, cfg->nquantiles, 0);
	table_add_fields(g, TABLE_LINES, PLACE_WHO, rows, n);
	lines_add(g, LINES_CPUS, GRID_TEXT, "CPUS", YIELD_LAST);
	if (has->nodes)
		lines_add(g, LINES_NODES, GRID_TEXT, "NODES", YIELD_LAST);
	if (has->memory)
		lines_add(g, LINES_MEMORY, GRID_SHARE, "MEMORY", YIELD_LAST);
}

#define AMBIGUOUS_MUCH 0.2 /* of the samples: what was not found may be there */

/* Share of the samples that may be of several lines; -1: no such sampler runs. */
static double ambiguous_share(const struct frame *f)
{
	const struct metric_desc *desc = &metric_list[METRIC_LINE_SAMPLES];
	uint64_t all = 0, ambiguous = 0;

	for (size_t i = 0; i < f->nseries; i++) {
		const struct series *s = &f->series[i];

		if (s->desc != desc)
			continue;
		if (!s->nlabels)
			all = s->value;
		else if (!strcmp(series_label(s, desc->pivot), "ambiguous"))
			ambiguous = s->value;
	}
	return all ? (double)ambiguous / (double)all : -1;
}

/* "1,434 samples  31.2 % of busy time", or of watches alone "2,000 accesses  1,954/s" */
static void lines_title(struct table_page *page, bool cycles)
{
	const struct view_section *sec = page->section;
	char title[64], share[32];
	struct line text;

	(void)snprintf(title, sizeof(title), "Cache lines (%s%s)",
		       sec->sampler ? sec->sampler : "sampled",
		       cycles ? ", cycles" : ""); /* words */
	line_start(&text);
	if (sec->share > 0)
		line_add(&text, "%s  %s %% of busy time", table_samples(sec->count).s,
			 table_share(sec->share, share, sizeof(share)));
	else if (sec->rows.n && sec->sampled)
		line_add(&text, "%s  %s/s", table_samples(sec->count).s,
			 word_rate(sec->count, page->f->dur_ns).s);
	else if (sec->rows.n)
		line_add(&text, "%s access%s  %s/s", word_count(sec->count).s,
			 sec->count == 1 ? "" : "es", word_rate(sec->count, page->f->dur_ns).s);
	else if (ambiguous_share(page->f) > AMBIGUOUS_MUCH)
		line_add(&text, "undecided: %.0f %% of the samples are ambiguous",
			 100 * ambiguous_share(page->f));
	else
		line_add(&text, "none contended");
	table_title(page, title, false, text.text);
}

void table_lines(struct table_page *page)
{
	const struct view_table *t = &page->section->rows;
	const struct view_row *rows = view_first(page->view, t, t->n);
	struct lines_has has = {0};
	struct grid g = {0};
	size_t shown;

	for (size_t i = 0; i < t->n; i++) {
		const struct line_accesses *a = rows[i].c->accesses;

		has.hitm |= a->hitm.told;
		has.latency |= a->latency != NULL;
		has.nodes |= a->nnodes > 0;
		has.memory |= a->nnodes && a->memory_node >= 0;
	}
	table_gap(page);
	lines_title(page, has.latency);
	if (!t->n)
		return;
	shown = table_shown(page, t);
	lines_grid(page, &g, &has, rows, t->n);
	grid_measure(&g, page, rows, shown);
	grid_begin(&g, page);
	for (size_t i = 0; i < shown; i++) {
		char name[LINE_BYTES / 2];

		table_row(&g, page, &rows[i]);
		table_contended_name(rows[i].c, name, sizeof(name));
		table_contended_detail(page, rows[i].c,
				       CUT_OWNER |
					       (text_width(name) > g.col[0].width ? CUT_NAME : 0));
	}
	table_rest(page, "");
}
