/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparing runs. A run is a sequence of intervals, a row one metric with its labels in it; two
 * sides of one run or more each are compared row by row, by resampling: waits of one interval
 * depend on each other, so it is not waits that are drawn but blocks of intervals, and of several
 * runs the runs first.
 *
 *	reading:	compare_run_next -> compare_row_add (each row of that interval)
 *	then:		compare_rows (for each row) -> compare_decide (once, over all results)
 *
 * No I/O, no clock; the seed is fixed, so that the same runs have the same results.
 */
#ifndef WS_COMPARE_H
#define WS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/hist.h"

/*
 * Intervals are joined into cells, so that a run of any length takes bounded memory and time: with
 * more than COMPARE_CELLS of them neighbours are joined, and what was an interval is two, four, ...
 */
#define COMPARE_CELLS 128

struct compare_run {
	uint32_t ncells;
	uint32_t span;	/* intervals in a cell: a power of two */
	uint32_t taken; /* of them in the last cell */
	uint64_t dur_ns[COMPARE_CELLS];
};

/* One metric with its labels in one run: its cells, packed, about three bytes a bucket. */
struct compare_row {
	struct hist now; /* of the cell that is being filled */
	uint32_t cell;	 /* its number ... */
	uint32_t span;	 /* ... when cells had this many intervals; 0: nothing was added yet */
	uint64_t count, min_ns, max_ns;
	uint32_t schema;
	uint8_t *packed;
	size_t len, cap;
	uint32_t last; /* the last packed cell */
};

void compare_run_init(struct compare_run *r);
/* Another interval of the run begins. */
void compare_run_next(struct compare_run *r, uint64_t dur_ns);

void compare_row_init(struct compare_row *w);
/* The row's waits in the interval that the run has come to. Of two schemas the coarser one is the
 * row's. 0 or -ENOMEM. */
int compare_row_add(struct compare_row *w, const struct compare_run *r, const struct hist *h);
void compare_row_free(struct compare_row *w); /* zeroed is fine */

/* Zeroed it stands before the first cell. */
struct compare_cursor {
	const uint8_t *at;
	uint32_t cell;
	uint32_t slot; /* of the count that compare_unpack_slot gave last */
	uint32_t left; /* slots of this cell not seen yet */
	uint64_t zero, sum_ns;
};

/* The next cell; false: there is none. All slots of the one before must have been taken. */
bool compare_unpack(struct compare_cursor *c, const struct compare_row *w);
/* The count of its next slot; 0: there is none. */
uint64_t compare_unpack_slot(struct compare_cursor *c);
/* All of the row is packed then, in the cells that the run has now, at its schema or a coarser one.
 * 0 or -ENOMEM. */
int compare_row_settle(struct compare_row *w, const struct compare_run *r, uint32_t schema);

/* A row in all runs of one side; rows[i] is NULL if run i lacks it. */
struct compare_side {
	const struct compare_run *const *runs;
	struct compare_row *const *rows; /* what is being filled is packed */
	size_t n;
};

enum compare_verdict { COMPARE_SAME, COMPARE_SLOWER, COMPARE_FASTER, COMPARE_UNDECIDED };

/* After the quantiles that were asked for. */
enum compare_more {
	COMPARE_MEAN, /* ns */
	COMPARE_RATE, /* waits a second */
	COMPARE_SUM,  /* ns of waiting a second: runs may differ in length */
	COMPARE_MORE,
};

#define COMPARE_QUANTILES 8
#define COMPARE_RESAMPLES 2000
#define COMPARE_NOISE 0.03
#define COMPARE_INTERVALS 4 /* of one run, at least: below, its spread is anybody's guess */
#define COMPARE_BEYOND 10   /* samples, at least */
#define COMPARE_RUNS 4 /* of a side, if it has several, at least: below, p < 0.05 is out of reach */

/*
 * One line of the answer. Quantiles are taken within their bucket by how far into it they reach, so
 * they may differ from a report's by half a bucket. Verdicts in the words of waits: slower is more,
 * of the rate too (more waits a second), whatever that means for the program.
 */
struct compare_stat {
	double base, new, ratio; /* ratio: 0 if either is 0 */
	double lo, hi;		 /* of the ratio, 95 %; both 0: there is no interval */
	double p;		 /* that it is 1, two-sided; 1 without an interval */
	uint64_t beyond;	 /* samples beyond the quantile, on the side with fewer */
	enum compare_verdict verdict;
};

struct compare_result {
	struct compare_stat stats[COMPARE_QUANTILES + COMPARE_MORE];
	size_t nquantiles;
	uint64_t count_base, count_new;
	uint32_t block_base, block_new; /* cells, in the longest run: at least the time within which
					   cells depend on each other */
	bool within;			/* one run each: it holds within these runs only */
	bool few_runs;			/* several, but fewer than COMPARE_RUNS a side */
	bool too_short; /* too few blocks to tell how much a run differs from itself */
};

struct compare_work;
struct compare_work *compare_work_new(void); /* NULL: no memory */
void compare_work_free(struct compare_work *k);

/*
 * All of a result but its verdicts, at the coarsest schema of all runs. At most COMPARE_QUANTILES
 * of q. 0; -ENOMEM; -EINVAL: more of them, or a side has no run.
 */
int compare_rows(struct compare_work *k, const struct compare_side *base,
		 const struct compare_side *new, const struct quantile *q, size_t nq,
		 struct compare_result *out);
/*
 * Verdicts of n results together: of many rows some differ by chance, so what counts as different
 * is held to a false discovery rate of 5 % (Benjamini and Hochberg), and must exceed `noise` (0.03:
 * 3 %). 0 or -ENOMEM.
 */
int compare_decide(struct compare_result *const *results, size_t n, double noise);
/* "slower", "faster", "same", "undecided" */
const char *compare_verdict_text(enum compare_verdict v);

#endif
