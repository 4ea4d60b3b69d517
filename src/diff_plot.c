// SPDX-License-Identifier: GPL-2.0-or-later
#include "diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH_LEAST 21
#define WIDTH_MOST 61

/* Ends that an axis may have. */
static const double steps[] = {1.1, 1.25, 1.5, 2, 4, 10};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

void diff_plot_init(struct diff_plot *p, size_t columns, size_t used, bool utf8)
{
	size_t width = columns > used ? columns - used : 0;

	width = width < WIDTH_MOST ? width : WIDTH_MOST;
	width -= width && width % 2 == 0;
	*p = (struct diff_plot){
		.width = width < WIDTH_LEAST ? 0 : width, .ends = steps[0], .utf8 = utf8};
}

void diff_plot_reach(struct diff_plot *p, const struct compare_stat *s)
{
	double most = s->hi > 0 ? fmax(s->hi, 1 / s->lo) : 1;

	for (size_t i = 0; i < STEPS && p->ends < most; i++)
		p->ends = fmax(p->ends, steps[i]);
}

const char *diff_plot_head(const struct diff_plot *p, char out[DIFF_PLOT_BYTES])
{
	char low[16], high[16];
	int half = (int)p->width / 2;

	(void)snprintf(low, sizeof(low), "%.2g", 1 / p->ends); /* these fit */
	(void)snprintf(high, sizeof(high), "%.3g", p->ends);
	(void)snprintf(out, DIFF_PLOT_BYTES, "%-*s1%*s", half, low, half, high);
	return out;
}

/* The column of a ratio; -1 or `width`: the axis does not reach it. */
static long column(const struct diff_plot *p, double ratio)
{
	double half = (double)(p->width / 2), at = half + half * log(ratio) / log(p->ends);

	return at < -0.5 ? -1 : at > 2 * half + 0.5 ? (long)p->width : lround(at);
}

enum mark { BLANK, ONE, REACH, FROM, TO, POINT, BELOW, ABOVE, MARKS };

const char *diff_plot_line(const struct diff_plot *p, const struct compare_stat *s,
			   char out[DIFF_PLOT_BYTES])
{
	static const char *const ascii[MARKS] = {" ", "|", "-", "[", "]", "o", "<", ">"};
	static const char *const utf8[MARKS] = {" ", "│", "─", "├", "┤", "●", "◀", "▶"};
	long width = (long)p->width, lo, hi, at, i;
	char *to = out;

	*to = '\0';
	lo = s->hi > 0 ? column(p, s->lo) : width;
	hi = s->hi > 0 ? column(p, s->hi) : -1;
	at = s->hi > 0 ? column(p, s->ratio) : -1;
	for (i = 0; i < width; i++) {
		enum mark m = i == width / 2 ? ONE : i > lo && i < hi ? REACH : BLANK;

		if (i == lo)
			m = FROM;
		if (i == hi)
			m = TO;
		if (i == at)
			m = POINT;
		if (s->hi > 0 && ((!i && lo < 0) || (i == width - 1 && hi == width)))
			m = i ? ABOVE : BELOW;
		to = stpcpy(to, (p->utf8 ? utf8 : ascii)[m]); /* fits: three bytes each */
	}
	return out;
}
