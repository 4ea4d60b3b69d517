// SPDX-License-Identifier: GPL-2.0-or-later
/* What heat maps are drawn from: cells of time as the comparison of runs keeps them, whose buckets
 * join in rows of a quarter of an octave, exactly. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sink/html.h"

#define ROW_SCHEMA 2
#define NS_PER_S 1e9
#define ROWS_LEAST 12

/* The row of a slot. */
static int32_t row_of(uint32_t schema, uint32_t slot)
{
	return hist_bucket_at(slot, schema, ROW_SCHEMA);
}

/* Rows from the lowest to the highest that there is something in. */
static void measure(struct html_map *m, struct compare_row *const *rows, size_t n)
{
	int32_t low = INT32_MAX, high = INT32_MIN;

	for (size_t i = 0; i < n; i++) {
		struct compare_cursor c = {0};

		while (rows[i] && compare_unpack(&c, rows[i]))
			while (compare_unpack_slot(&c)) {
				int32_t row = row_of(rows[i]->schema, c.slot);

				low = row < low ? row : low;
				high = row > high ? row : high;
			}
	}
	m->low = low <= high ? low : 0;
	m->nrows = low <= high ? (uint32_t)(high - low + 1) : 0;
}

static void fill(struct html_map *m, uint32_t column, const struct compare_row *w)
{
	struct compare_cursor c = {0};
	uint64_t n;

	while (compare_unpack(&c, w)) {
		double s = (double)m->dur_ns[column + c.cell] / NS_PER_S;

		m->zero += c.zero;
		while ((n = compare_unpack_slot(&c))) {
			uint32_t row = (uint32_t)(row_of(w->schema, c.slot) - m->low);

			m->rate[row * m->ncolumns + column + c.cell] +=
				(float)((double)n / (s > 0 ? s : 1));
		}
	}
}

int html_map_make(struct html_map *m, const struct compare_run *const *runs,
		  struct compare_row *const *rows, size_t n)
{
	uint32_t column = 0;

	*m = (struct html_map){0};
	for (size_t i = 0; i < n; i++) {
		m->ncolumns += runs[i]->ncells;
		if (rows[i] && compare_row_settle(rows[i], runs[i], rows[i]->schema))
			return -ENOMEM;
	}
	measure(m, rows, n);
	m->dur_ns = calloc(m->ncolumns + 1, sizeof(*m->dur_ns));
	m->rate = calloc((size_t)m->ncolumns * m->nrows + 1, sizeof(*m->rate));
	if (!m->dur_ns || !m->rate)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < runs[i]->ncells; k++)
			m->dur_ns[column + k] = runs[i]->dur_ns[k];
		if (rows[i])
			fill(m, column, rows[i]);
		column += runs[i]->ncells;
	}
	return 0;
}

void html_map_free(struct html_map *m)
{
	free(m->dur_ns);
	free(m->rate);
	*m = (struct html_map){0};
}

static void scale_rows(struct html_scale *s, int32_t low, int32_t high)
{
	if (!s->high && !s->low) {
		s->low = low;
		s->high = high;
	}
	s->low = low < s->low ? low : s->low;
	s->high = high > s->high ? high : s->high;
}

void html_scale_map(struct html_scale *s, const struct html_map *m)
{
	double dur_s = 0;

	for (uint32_t i = 0; i < m->ncolumns; i++)
		dur_s += (double)m->dur_ns[i] / NS_PER_S;
	s->dur_s = fmax(s->dur_s, dur_s);
	if (!m->nrows)
		return;
	scale_rows(s, m->low, m->low + (int32_t)m->nrows - 1);
	for (size_t i = 0; i < (size_t)m->ncolumns * m->nrows; i++) {
		if (m->rate[i] <= 0)
			continue;
		s->least = s->least > 0 ? fmin(s->least, m->rate[i]) : m->rate[i];
		s->most = fmax(s->most, m->rate[i]);
	}
}

void html_scale_hist(struct html_scale *s, const struct hist *h)
{
	struct hist_walk w = {0};

	s->most_count = h->count > s->most_count ? h->count : s->most_count;
	while (hist_next(h, &w))
		scale_rows(s, row_of(h->schema, w.slot), row_of(h->schema, w.slot));
}

void html_scale_done(struct html_scale *s)
{
	while (s->high - s->low + 1 < ROWS_LEAST) {
		s->low--;
		s->high++;
	}
	if (s->most <= s->least) /* one colour: the darkest */
		s->least = s->most / 2;
}
