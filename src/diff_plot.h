/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a statistic shifted, as a line of characters: the ratio and its interval on a logarithmic axis
 * that has 1 in its middle, the same for all lines of a table:
 *
 *	0.5                1                 2
 *	                   |    [---o----]
 *	        [---o------|--]
 *	<------------------|---o--]
 */
#ifndef WS_DIFF_PLOT_H
#define WS_DIFF_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/compare.h"

#define DIFF_PLOT_BYTES 256 /* of a line */

struct diff_plot {
	size_t width; /* columns, an odd number; 0: there is no room */
	double ends;  /* the axis goes from 1 / ends to it */
	bool utf8;
};

/* What of `columns` is left beside `used` others. */
void diff_plot_init(struct diff_plot *p, size_t columns, size_t used, bool utf8);
/* Makes the axis long enough for a statistic, if it has an interval. What it cannot reach is an arrow. */
void diff_plot_reach(struct diff_plot *p, const struct compare_stat *s);
/* The axis' numbers, and a statistic: `width` columns and a NUL. */
const char *diff_plot_head(const struct diff_plot *p, char out[DIFF_PLOT_BYTES]);
const char *diff_plot_line(const struct diff_plot *p, const struct compare_stat *s,
			   char out[DIFF_PLOT_BYTES]);

#endif
