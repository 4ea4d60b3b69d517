/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the table sink. They draw the sections of a view (core/view.h), which says which
 * rows there are and in what order; from metric roles and labels, never from a metric's name.
 */
#ifndef WS_SINK_TABLE_H
#define WS_SINK_TABLE_H

#include "core/fields.h"
#include "core/view.h"
#include "sink/printer.h"

#define PPB_P50 500000000ULL
#define PPB_P99 990000000ULL
#define WIDE_COLUMNS 100 /* from here on there is room for sums too */

/*
 * What a window gives up, one thing after the other, until each table has its first rows; what a
 * density says holds for all below it. Into a pipe nothing is given up.
 */
enum table_density {
	DENSITY_ALL,
	DENSITY_LINE,  /* one line below a row of the contended table */
	DENSITY_ROWS,  /* none; from here on rows may be left out */
	DENSITY_CLOSE, /* no blank lines */
	DENSITY_BARE,  /* of metrics that go with a headline those with waits, no legends */
	DENSITY_SHORT, /* percentiles in one line, the foot in one, "… 3 more" in the title */
	DENSITY_LEAST, /* with --by the groups alone; from here on sections may be left out */
	DENSITY_TINY,  /* of a headline its sums, with --by its groups */
	DENSITIES,
};
_Static_assert(DENSITIES == PRINTER_VARIANTS, "lines are counted for each density");

/* A section's title, or the rows of a table below it; in the order in which they are drawn. */
struct table_block {
	bool title;
	bool hidden;				   /* no room for it, nor for what follows */
	bool planned;				   /* title: there is room for it */
	uint32_t start[DENSITIES - DENSITY_LEAST]; /* title: lines above it, rows not counted */
	uint64_t waited_ns; /* title: what was waited in its section: the least gives way first */
	const struct view_table *table;
	enum table_density until;  /* the table is not drawn from here on */
	size_t total, asked, most; /* rows: all, those -n allows, those a window could hold, */
	size_t shown;		   /* and those it has room for */
};

/* Grows to the most blocks seen, and is kept (table_plan.c). */
struct table_plan {
	struct table_block *v;
	size_t n, cap;
	struct table_block none;		  /* for those that there was no memory for */
	size_t at;				  /* the next one to be drawn */
	uint32_t foot[DENSITIES - DENSITY_LEAST]; /* lines above it, rows not counted */
	bool small;				  /* sections are left out */
	/* Of the grid that is drawn: how names are cut (table_names.c). */
	struct grid_cut *cuts;
	uint32_t *how;
	size_t cuts_cap, how_cap;
};

/* What the parts of one report share. */
struct table_page {
	struct printer printer;
	const struct config *cfg;
	const struct frame *f;
	struct view *view;
	const struct view_section *section; /* the one being drawn */
	struct table_plan *plan;
	uint32_t room;			   /* lines; UINT32_MAX where any number is right */
	enum table_density density, until; /* until: what is drawn is not there from here on */
	enum { PAGE_FREE, PAGE_COUNT, PAGE_PLANNED } state;
	bool hidden;  /* no room for the section */
	int error;    /* of the plan */
	uint32_t few; /* bit per density: a marked quantile was printed, the legend is needed */
	uint32_t hot; /* ... a marked member was */
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
	GRID_FIELD, /* of an address (core/fields.h) */
};

struct grid_column {
	enum grid_kind kind;
	enum field_yield yield; /* quantiles have rules of their own */
	const char *key;	/* GRID_LABEL: whose value */
	const struct field *field;
	bool of_line;	   /* GRID_FIELD: of the row's accesses, not of the row */
	uint32_t index;	   /* the table's own: which share, which counter */
	struct quantile q; /* GRID_QUANTILE */
	char head[32];
	bool left;
	bool middle;	   /* cut there: both ends matter */
	size_t shorten_to; /* 0: its text is never cut */
	size_t width, full;
};

#define GRID_COLUMNS 40

/* A name that is cut, by the hashes of what is left of it and of all of it. */
struct grid_cut {
	uint64_t cut, full;
	size_t row;
};

struct grid {
	/* Text of a cell; may use `out`. */
	const char *(*cell)(const struct grid_column *c, struct table_page *page,
			    const struct view_row *row, char *out, size_t len);
	size_t indent;
	size_t gap;
	size_t n;
	struct grid_column col[GRID_COLUMNS + 1]; /* the last is never drawn */
	/* The rows first measured, and how the names of each are cut: GRID_CUT_BITS a column. */
	const struct view_row *rows;
	size_t nrows;
	const uint32_t *how; /* NULL: as their column says */
};

/* All return the column; of a full grid one that is not drawn. */
struct grid_column *grid_add(struct grid *g, enum grid_kind kind, const char *head, size_t least,
			     enum field_yield yield);
struct grid_column *grid_add_label(struct grid *g, const char *key, bool number);
void grid_add_quantiles(struct grid *g, const struct quantile *q, size_t n, size_t least);
/* The sum: the first to go unless rows are sorted by it. */
void grid_add_total(struct grid *g, const struct config *cfg);
/*
 * Makes columns as wide as the rows need them; then so that they fit the width, and draws the head.
 */
void grid_measure(struct grid *g, struct table_page *page, const struct view_row *rows, size_t n);
void grid_begin(struct grid *g, struct table_page *page);
void grid_row(const struct grid *g, struct table_page *page, const struct view_row *row);
/*
 * How names are cut (table_names.c): at the end, a path at its start, what says so in the middle;
 * otherwise where two different names of a column would come out the same.
 */
#define GRID_CUT_BITS 2
void grid_tell_apart(struct grid *g, struct table_page *page);
/* What column i shows of a row's text; `row`: NULL for the head. */
const char *grid_shorten(const struct grid *g, size_t i, const struct view_row *row,
			 const char *text, char *out, size_t len);
/* All of it: the first `n` rows of a table (table_rest), which are counted by the plan. */
void grid_rows(struct grid *g, struct table_page *page, const struct view_row *rows, size_t n,
	       const char *what);

/*
 * How a report fits a window (table_plan.c). It is drawn once without output, where each line is
 * counted for the densities at which it is there, and each table says how many rows it has. That
 * decides on the density and on the rows; then it is drawn.
 */
void table_plan_begin(struct table_page *page); /* before each of the two */
void table_plan_make(struct table_page *page);	/* between them */
/*
 * What is drawn next is there from one density to below another: false if there is no need to draw
 * it. Until the next call.
 */
bool table_only(struct table_page *page, enum table_density from, enum table_density until);
void table_always(struct table_page *page);
/* How many rows of a table are shown. */
size_t table_shown(struct table_page *page, const struct view_table *t);
/* A row of such a table: the plan counts it. */
void table_row(const struct grid *g, struct table_page *page, const struct view_row *row);
/*
 * "… 292 more CPUs (-n 0 shows all)", of the last table_shown(); nothing where the title says it.
 */
void table_rest(struct table_page *page, const char *what);
/* Before a section's title: how many of its rows are left out, if the title is to say it. */
uint64_t table_begin_section(struct table_page *page);
/* Before the foot: how many rows of all are left out, if the foot is to say it. */
uint64_t table_begin_foot(struct table_page *page);

/* Title, percentiles, legs, side metrics of all sections (table_section.c). */
void table_sections(struct table_page *page);
void table_gap(struct table_page *page); /* the blank line between two parts */
/* Of the items in `text`, with two spaces between them, as many as there is room for. */
void table_title(struct table_page *page, const char *title, bool timed, const char *text);
/* Grids of series: a headline's side metrics; CPUs, groups, operations, counters (table_rows.c). */
void table_sides(struct table_page *page);
void table_rows(struct table_page *page, const struct view_table *t);
/* The contended table (table_contended.c), cache lines (table_lines.c). */
void table_contended(struct table_page *page);
void table_lines(struct table_page *page);
/* Whom tasks waited for (table_culprits.c); in words, at the end of the final report. */
void table_culprits(struct table_page *page);
void table_verdict(struct table_page *page);
/* Columns of all fields that stand at a place of a table (TABLE_…), and their cells. */
void table_add_fields(struct grid *g, uint32_t table, enum field_place place,
		      const struct view_row *rows, size_t n);
const char *table_field_cell(const struct grid_column *col, const struct contended *c, char *out,
			     size_t len);
/* A quantile, the maximum or the sum; without a sample, or a histogram, "-". */
const char *table_hist_cell(const struct grid_column *col, struct table_page *page,
			    const struct hist *h, char *out, size_t len);
/* A share of 0..1 in percent; negative: not known. */
const char *table_share(double part, char *out, size_t len);
const char *table_contended_name(const struct contended *c, char *out, size_t len);
const char *table_contended_owner(const struct contended *c, char *out, size_t len);
/* Ascending numbers: "0-3,8" */
const char *table_numbers(const uint32_t *v, size_t nv, char *out, size_t len);
/* What is known besides, below a row; `cut`: bits of what the row itself does not have in full
 * (table_contended_detail.c). */
enum { CUT_NAME = 1, CUT_OWNER = 2, CUT_CPUS = 4 };
void table_contended_detail(struct table_page *page, const struct contended *c, uint32_t cut);

/* A sentence: where a line has no room for a word, it goes on below. */
void table_words(struct table_page *page, char *text);

/* Quality and cost (table_foot.c). */
void table_foot(struct table_page *page);

/* Slow waits (table_slow.c), in lines of LINE_BYTES columns where they may be as long as they are
 * (not a terminal). Operations have columns, and a head, of their own. */
enum slow_sort { SLOW_NONE = 0, SLOW_CPU = 1, SLOW_OPERATION = 2, SLOW_HELD = 4 };
enum slow_sort table_slow_sort(const struct slow *w);
void table_slow_head(struct printer *p, enum unit unit, enum slow_sort sort);
void table_slow_line(struct printer *p, enum unit unit, const struct slow *w);
/* Below it, of a lock or futex: who held it, a link a line (table_slow_links.c). */
void table_slow_links(struct printer *p, const struct slow *w);

/* "1 sample", "12,904 samples" */
struct word table_samples(uint64_t n);
/* A quantile with `~` after one that too few samples are beyond, else a space: a time, or CPU
 * cycles. */
struct word table_quantile(struct table_page *page, const struct hist *h, const struct quantile *q);
struct word table_cycles(struct table_page *page, const struct hist *h, const struct quantile *q);
/* In a cell; returns out. */
const char *table_word(char *out, size_t len, struct word w);

/* Of a Go program. */
#define TABLE_RUNTIME_NOTE "its locks park goroutines, not visible as futexes"

#endif
