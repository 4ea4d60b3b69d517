/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of comparing: the packed cells of a row, and the resamples of a side. */
#ifndef WS_COMPARE_INSIDE_H
#define WS_COMPARE_INSIDE_H

#include "core/compare.h"

struct run_part {
	uint32_t first, n; /* its cells, among those of all runs of the side */
	uint32_t block;	   /* cells of a block */
	uint32_t nblocks;  /* drawn in its place */
};

struct side {
	uint32_t schema, first, nslots; /* row 0: waits of 0 ns; row i: slot first + i - 1 */
	uint32_t ncells, nruns;
	struct run_part *runs;
	uint64_t *upto; /* [nslots][ncells]: of the cell; later of the block that begins there */
	uint64_t *sum, *dur; /* [ncells], the same */
	uint64_t *total;     /* [nslots], of the whole */
	uint64_t count;
	double sum_ns, dur_ns, min_ns, max_ns;
	double log_first, log_min,
		log_max; /* of the upper edge of slot `first`; infinite below 1 ns */
	double depends[COMPARE_QUANTILES + COMPARE_MORE]; /* cells, by statistic; at least 1 */
	double units;	 /* independent ones: runs, or blocks of the one run */
	uint32_t *draws; /* all resamples' blocks, one resample after the other */
	uint32_t ends[COMPARE_RESAMPLES + 1];
	double counts[COMPARE_RESAMPLES]; /* waits of each resample */
	double logs[COMPARE_RESAMPLES];	  /* of the statistic that is looked at */
	uint32_t empty;			  /* resamples without one */
	double drawn_var;		  /* of logs */
	double var; /* of the statistic: more, for the blocks or runs are few */
};

/* compare_side.c: the table of a side at a schema that no row of it is coarser than, after what was
 * there before has gone. 0, -ENOMEM, -EINVAL. */
int side_open(struct side *s, const struct compare_side *in, uint32_t schema);
void side_free(struct side *s); /* zeroed is fine */
/*
 * Draws the resamples, of blocks twice as long as cells depend on each other in any of the
 * statistics. Before it, not after, the table tells of cells. 0 or -ENOMEM.
 */
int side_resample(struct side *s, const struct quantile *q, size_t nq, uint64_t seed);
/*
 * The logarithm of each resample's statistic into `logs`; of one without a wait, that of the whole.
 */
void side_statistic(struct side *s, size_t stat, const struct quantile *q, size_t nq);
/* The same of the whole, itself: 0 if there is none. */
double side_whole(const struct side *s, size_t stat, const struct quantile *q, size_t nq);

#endif
