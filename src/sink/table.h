/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the table sink. They work from metric roles and labels, never from a metric's name.
 */
#ifndef WS_SINK_TABLE_H
#define WS_SINK_TABLE_H

#include "core/config.h"
#include "core/frame.h"
#include "core/hist.h"
#include "sink/paper.h"

#define PPB_P50 500000000ULL
#define PPB_P99 990000000ULL

/* One line of a grid: a series, and what it is sorted by. */
struct table_row {
	const struct series *s;
	uint64_t weight;
};

/* Grows to the most rows seen, and is kept. */
struct table_rows {
	struct table_row *v;
	size_t n, cap;
};

/* What the parts of one report share. */
struct table_page {
	struct paper paper;
	const struct config *cfg;
	const struct frame *f;
	struct table_rows *rows;
	uint32_t max_rows;  /* of each section, by the window's height */
	uint32_t most_rows; /* the longest section's */
	uint32_t nsections; /* with rows */
	bool thin;	    /* a marked quantile was printed: the legend is needed */
};

/* Columns of a grid, from left to right (table_grid.c). */
enum grid_kind { GRID_TITLE, GRID_LABEL, GRID_COUNT, GRID_QUANTILE, GRID_MAX, GRID_TOTAL };

struct grid_column {
	enum grid_kind kind;
	uint32_t label;	   /* GRID_LABEL: which */
	struct quantile q; /* GRID_QUANTILE */
	char head[32];
	bool left;
	size_t width;
};

#define GRID_COLUMNS 40

struct grid {
	size_t indent;
	size_t gap;
	size_t n;
	struct grid_column col[GRID_COLUMNS];
};

void grid_add(struct grid *g, enum grid_kind kind, const char *head);
void grid_add_label(struct grid *g, uint32_t label, const char *key, bool number);
void grid_add_quantile(struct grid *g, const struct quantile *q);
/* Sets widths so that all rows fit the paper, then prints head and rows. */
void grid_print(struct grid *g, struct table_page *page, const struct table_row *rows, size_t n);

/* Title, percentiles, legs, side metrics (table_section.c). */
int table_sections(struct table_page *page);
/* CPUs or groups of a headline metric (table_rows.c). 0 or -ENOMEM. */
int table_rows_print(struct table_page *page, const struct series *whole);

/* Quality and cost (table_foot.c). */
void table_foot(struct table_page *page);

/* Slow waits (table_slow.c). `fit` is false where lines may be as long as they are (not a
 * terminal). */
void table_slow_head(struct paper *p, bool fit, enum unit unit);
void table_slow_line(struct paper *p, bool fit, enum unit unit, const struct slow *w);

/* "1 sample", "12,904 samples" */
char *table_samples(char *out, size_t len, uint64_t n);
/* Time with `~` after a thin one, a space after others. */
char *table_quantile(struct table_page *page, char *out, size_t len, const struct hist *h,
		     const struct quantile *q);

#endif
