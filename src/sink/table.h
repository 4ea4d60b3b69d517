/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the table sink. They work from metric roles and labels, never from a metric's name.
 */
#ifndef WS_SINK_TABLE_H
#define WS_SINK_TABLE_H

#include "core/config.h"
#include "core/frame.h"
#include "core/hist.h"
#include "sink/groups_order.h"
#include "sink/paper.h"

#define PPB_P50 500000000ULL
#define PPB_P99 990000000ULL
#define WIDE_COLUMNS 100 /* from here on there is room for sums too */

/* One line of a grid, and what it is sorted by. */
struct table_row {
	union {
		const struct series *s;
		const struct contended *c;
	};
	const struct series *wait; /* of the metric that ranks (table_rows.c), or NULL */
	size_t values;		   /* of counters: where theirs begin (table_counts.c) */
	uint32_t rank;		   /* rows of a lower one come first */
	uint64_t weight;	   /* then the heavier */
};

/* Grows to the most rows seen, and is kept. */
struct table_rows {
	struct table_row *v;
	size_t n, cap;
	uint64_t *values;
	size_t values_cap;
};

/*
 * What a window gives up, one thing after the other, until each table has its first rows; what a
 * density says holds for all below it. Into a pipe nothing is given up.
 */
enum table_density {
	DENSITY_ALL,
	DENSITY_LINE,	/* one line below a row of the contended table */
	DENSITY_ROWS,	/* none; from here on rows may be left out */
	DENSITY_CLOSE,	/* no blank lines */
	DENSITY_BARE,	/* no metrics that go with a headline, no legends */
	DENSITY_FOLDED, /* percentiles in one line, the foot in one, "… 3 more" in the title */
	DENSITY_LEAST,	/* with --by the groups alone */
};

/* A section's title, or a table below it; in the order in which they are drawn. */
struct table_block {
	bool title;
	bool hidden;	/* no room for it, nor for what follows */
	uint32_t start; /* title: lines above it */
	size_t total;	/* rows: all, */
	size_t asked;	/* those -n allows, */
	size_t most;	/* those a window could hold, */
	size_t shown;	/* and those it has room for */
};

/* Grows to the most blocks seen, and is kept (table_plan.c). */
struct table_plan {
	struct table_block *v;
	size_t n, cap;
	size_t at;     /* the next one to be drawn */
	uint32_t foot; /* lines above it */
	bool small;    /* sections are left out */
};

struct counts;

/* What the parts of one report share. */
struct table_page {
	struct paper paper;
	const struct config *cfg;
	const struct frame *f;
	struct table_rows *rows;
	struct group_rows *groups;
	const struct counts *counts; /* the table being printed (table_counts.c) */
	struct table_plan *plan;
	uint32_t room; /* lines; UINT32_MAX where any number is right */
	enum table_density density;
	bool planned; /* the plan is made: draw as it says */
	int error;    /* while it was made */
	bool thin;    /* a marked quantile was printed: the legend is needed */
	bool hot;     /* a marked member was */
};

/* Columns of a grid, from left to right (table_grid.c). */
enum grid_kind {
	GRID_TITLE,
	GRID_LABEL,
	GRID_COUNT,
	GRID_QUANTILE,
	GRID_MAX,
	GRID_TOTAL,
	GRID_SHARE, /* percent of something */
	GRID_RATE,
	GRID_TEXT,
};

/* When a column is left out of a narrow grid (table_grid.c); quantiles have rules of their own. */
enum grid_yield { YIELD_NEVER, YIELD_FIRST, YIELD_LATE, YIELD_LAST };

struct grid_column {
	enum grid_kind kind;
	enum grid_yield yield;
	const char *key;   /* GRID_LABEL: whose value */
	uint32_t index;	   /* the table's own: which share, which counter */
	struct quantile q; /* GRID_QUANTILE */
	char head[32];
	bool left;
	bool middle;	   /* cut there: both ends tell something */
	size_t least;	   /* never narrower, so that ordinary values do not make a table jump */
	size_t shorten_to; /* 0: its text is never cut */
	size_t width, full;
};

#define GRID_COLUMNS 40

struct grid {
	/* Text of a cell; may use `out`. */
	const char *(*cell)(const struct grid_column *c, struct table_page *page,
			    const struct table_row *row, char *out, size_t len);
	size_t indent;
	size_t gap;
	size_t n;
	struct grid_column col[GRID_COLUMNS];
};

/* All return the column, or NULL when the grid is full. */
struct grid_column *grid_add(struct grid *g, enum grid_kind kind, const char *head);
struct grid_column *grid_add_label(struct grid *g, const char *key, bool number);
struct grid_column *grid_add_quantile(struct grid *g, const struct quantile *q);
/* The sum: the first to go unless rows are sorted by it. */
void grid_add_total(struct grid *g, const struct config *cfg);
/* Sets widths so that all rows fit the paper. */
void grid_fit(struct grid *g, struct table_page *page, const struct table_row *rows, size_t n);
void grid_head(const struct grid *g, struct table_page *page);
void grid_row(const struct grid *g, struct table_page *page, const struct table_row *row);
/* All three. */
void grid_print(struct grid *g, struct table_page *page, const struct table_row *rows, size_t n);

/* What grids of series share (table_series.c). */
int table_rows_push(struct table_rows *r, const struct table_row *row); /* 0, -ENOMEM */
const char *table_series_cell(const struct grid_column *c, struct table_page *page,
			      const struct table_row *row, char *out, size_t len);
bool table_series_empty(const struct series *s);
uint64_t table_hist_weight(const struct hist *h, enum sort_key sort);
uint64_t table_series_weight(const struct series *s, enum sort_key sort);
int table_compare_names(const char *a, const char *b);
/* Columns for all labels of the rows collected, but for pivots. */
void table_label_columns(struct grid *g, const struct table_page *page);
/* For qsort: by rank, weight, labels; empty ones last. */
int table_compare_series(const void *a, const void *b);
/* Which part of a metric's series a grid shows. */
enum table_part { PART_WHOLE, PART_GROUPS };
bool table_in_part(const struct table_page *page, const struct series *s, enum table_part part);
/* "… 292 more CPUs (-n 0 shows all)"; nothing where the title says it. */
void table_rest(struct table_page *page, size_t rest, const char *what);

/*
 * How a report fits a window (table_plan.c). It is drawn on quiet paper at one density after the
 * other until one fits, which decides how many rows each table has; then `planned` is set, and it
 * is drawn. `paper.lines` is the number of lines of what was drawn.
 */
void table_plan_begin(struct table_page *page); /* before each drawing */
bool table_plan_fits(struct table_page *page);	/* after one; always at the last density */
/* How many of `total` rows are shown; `asked`: -n or its default. */
size_t table_shown(struct table_page *page, size_t total, uint32_t asked);
/* None of these rows is. */
void table_drop(struct table_page *page, size_t total);
/* It was the window, not -n, that left out rows of the last table_shown(). */
bool table_cut_by_window(const struct table_page *page);
/* Before a section's title: how many of its rows are left out, if the title is to say it. */
uint64_t table_begin_section(struct table_page *page);
/* Before the foot: how many rows of all are left out, if the foot is to say it. */
uint64_t table_begin_foot(struct table_page *page);

/* Title, percentiles, legs, side metrics (table_section.c). */
int table_sections(struct table_page *page);
void table_gap(struct table_page *page); /* the blank line between two parts */
void table_title(struct table_page *page, const char *title, bool timed, const char *text);
/* CPUs or groups of a headline metric (table_rows.c). 0 or -ENOMEM. */
int table_rows_print(struct table_page *page, const struct series *whole);
/* Tables of METRIC_ROWS (table_ops.c) and METRIC_COUNTS (table_counts.c). 0 or -ENOMEM. */
bool table_ops_together(const struct metric_desc *a, const struct metric_desc *b);
int table_ops_print(struct table_page *page, const struct metric_desc *desc);
int table_counts_print(struct table_page *page, const struct metric_desc *desc);
/* The contended table (table_contended.c), and what is said below a row. */
int table_contended_print(struct table_page *page);
/* Cache lines (table_lines.c); nothing where there are none. */
int table_lines_print(struct table_page *page);
const char *table_contended_name(const struct contended *c, char *out, size_t len);
const char *table_contended_owner(const struct contended *c, char *out, size_t len);
const char *table_contended_cpus(const struct contended *c, char *out, size_t len);
/* Ascending numbers: "0-3,8" */
const char *table_numbers(const uint32_t *v, size_t nv, char *out, size_t len);
/* table_contended_detail.c; `said`: what the row itself says in full. */
enum { SAID_NAME = 1, SAID_OWNER = 2, SAID_CPUS = 4 };
void table_contended_detail(struct table_page *page, const struct contended *c, uint32_t said);

/* Quality and cost (table_foot.c). */
void table_foot(struct table_page *page);

/* Slow waits (table_slow.c). `fit` is false where lines may be as long as they are (not a
 * terminal). Operations have columns, and a head, of their own. */
void table_slow_head(struct paper *p, bool fit, enum unit unit, bool op);
void table_slow_line(struct paper *p, bool fit, enum unit unit, const struct slow *w);

/* "1 sample", "12,904 samples" */
char *table_samples(char *out, size_t len, uint64_t n);
/* Time with `~` after a thin one, a space after others. */
char *table_quantile(struct table_page *page, char *out, size_t len, const struct hist *h,
		     const struct quantile *q);
/* The same of a histogram of CPU cycles (table_lines.c). */
char *table_cycles(struct table_page *page, char *out, size_t len, const struct hist *h,
		   const struct quantile *q);

#endif
