/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `waitscope diff BASE[,BASE...] NEW[,NEW...]`: records compared; no privileges, no kernel. */
#ifndef WS_DIFF_H
#define WS_DIFF_H

#include <stdio.h>

#include "core/compare.h"
#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"
#include "core/limit.h"
#include "core/record.h"

enum { DIFF_BASE, DIFF_NEW, DIFF_SIDES };

/* A record: a run of its side. */
struct diff_file {
	const char *path;
	struct record head; /* its meta record */
	struct compare_run run;
	uint64_t intervals, dur_ns;
};

struct diff_side {
	struct diff_file *files;
	size_t nfiles;
	const char *command; /* --run; else NULL */
	const struct compare_run **runs;
};

/* A metric with its labels, in whatever file has it. */
struct diff_row {
	const char *key; /* "metric{label="v"}": what it is found by, and called in tables */
	uint64_t hash;	 /* of it */
	const struct metric_desc *desc;
	struct label labels[SERIES_LABELS];
	uint32_t nlabels;
	struct compare_row *rows[DIFF_SIDES];	/* by file */
	struct compare_row **given[DIFF_SIDES]; /* the same, NULL where the file lacks it */
	bool in[DIFF_SIDES];
	struct compare_result result; /* if it is in both */
	/* A group that has all of what it is a group of, on both sides: the row of that, whose
	 * numbers are the same; else NULL. It has no lines of its own where people read. */
	const struct diff_row *repeats;
};

struct diff {
	struct diff_side sides[DIFF_SIDES];
	struct diff_row **rows; /* in the order in which they came */
	size_t nrows;
	struct quantile quantiles[COMPARE_QUANTILES];
	size_t nquantiles;
	uint32_t most;	  /* lines of a table; 0: all */
	uint32_t columns; /* of the window; 0: there is none */
	bool utf8;	  /* it shows more than ASCII */
};

/*
 * argv[0] is "diff". Writes to `out`; notes and limits that are exceeded go to `notes`. 0, or
 * negative with words; *status is EXIT_DONE or EXIT_LIMIT. *bisect: the ends are for git bisect;
 * *began: the command line was right.
 */
int diff_main(int argc, char **argv, FILE *out, FILE *notes, int *status, bool *bisect, bool *began,
	      struct err *e);

#define DIFF_INTERVAL_BYTES 40
/* A ratio's bound beyond these says that a side may as well have had next to nothing, and no more
 * than that. */
#define DIFF_BOUND_LEAST 0.01
#define DIFF_BOUND_MOST 100.0

/* A statistic of a row that is in both. */
struct diff_line {
	const struct diff_row *row;
	size_t stat;
};

/* diff_print.c: all of them but those of groups that repeat a whole, *n, worst first; from malloc,
 * NULL: no memory. */
struct diff_line *diff_lines(const struct diff *d, size_t *n);
/* A ratio's interval, "0.542-1.871"; of a bound beyond those above only the other one, "over
 * 0.542", "under 1.871"; "-" if neither does, or there is none. */
const char *diff_interval_text(const struct compare_stat *s, char out[DIFF_INTERVAL_BYTES]);
/* "1.234", "12,345": the ratio, "-" if there is none */
const char *diff_ratio_text(double ratio, char out[DIFF_INTERVAL_BYTES]);
/* "p99", "mean", ... of the i-th statistic */
const char *diff_stat_name(const struct diff *d, size_t i, char out[24]);
/* Its value, with its unit. */
const char *diff_value_text(const struct diff *d, size_t i, double v, char out[24]);
/* What the numbers cannot say, and why: lines. */
void diff_print_caveats(const struct diff *d, FILE *f);
void diff_print_table(const struct diff *d, FILE *f);
void diff_print_csv(const struct diff *d, FILE *f);
int diff_print_json(const struct diff *d, FILE *f); /* 0 or -ENOMEM */
int diff_print_html(const struct diff *d, FILE *f); /* diff_html.c: the same */

/* ---- the command line (diff_opts.c) ---- */

enum diff_format { DIFF_TABLE, DIFF_JSON, DIFF_CSV, DIFF_HTML };

struct diff_opts {
	const char *words[DIFF_SIDES]; /* of the command line, of each side: with `run` a command */
	size_t nwords;
	struct str_list sides[DIFF_SIDES]; /* files; with `run` diff_run's */
	struct quantile quantiles[COMPARE_QUANTILES];
	size_t nquantiles;
	double noise;
	struct limit_list limits;
	enum diff_format format;
	char *path; /* NULL: standard output */
	uint32_t rows;
	uint32_t runs;	  /* of each command */
	const char *keep; /* NULL: in a new directory */
	const char *n;	  /* -n, which is --runs with `run`, else --rows */
	bool bisect, quiet, force, run;
	bool printed; /* --help: done */
};

/* 0, or negative with words. diff_opts_free also then. */
int diff_opts_read(struct diff_opts *o, int argc, char **argv, FILE *out, struct err *e);
void diff_opts_free(struct diff_opts *o);

/* ---- --run: the records that are compared are made first (diff_run.c) ---- */

/*
 * Runs both commands of `o` by turns, traced by this binary, once for warm-up and then o->runs
 * times, and makes the records the files of its sides. SIGINT and SIGTERM end it early: with a run
 * of each side that was finished all is well. 0, or negative with words. `notes`: progress, if it
 * is a terminal, and where the records lie; nothing with o->quiet.
 */
int diff_run(struct diff_opts *o, FILE *notes, struct err *e);

/* ---- pictures (diff_plot.c) ---- */

/*
 * How far a statistic shifted, as a line of characters: the ratio and its interval on a logarithmic
 * axis that has 1 in its middle, the same for all lines of a table:
 *
 *	0.5                1                 2
 *	                   |    [---o----]
 *	        [---o------|--]
 *	<------------------|---o--]
 */
#define DIFF_PLOT_BYTES 256 /* of a line */

struct diff_plot {
	size_t width; /* columns, an odd number; 0: there is no room */
	double ends;  /* the axis goes from 1 / ends to it */
	bool utf8;
};

/* What of `columns` is left beside `used` others. */
void diff_plot_init(struct diff_plot *p, size_t columns, size_t used, bool utf8);
/* Makes the axis long enough for a statistic, if it has an interval. What it cannot reach is an
 * arrow. */
void diff_plot_reach(struct diff_plot *p, const struct compare_stat *s);
/* The axis' numbers, and a statistic: `width` columns and a NUL. */
const char *diff_plot_head(const struct diff_plot *p, char out[DIFF_PLOT_BYTES]);
const char *diff_plot_line(const struct diff_plot *p, const struct compare_stat *s,
			   char out[DIFF_PLOT_BYTES]);

#endif
