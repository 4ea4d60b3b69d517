// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The resampling. Of a row's cells there is one table a side: how many waits were at most as long
 * as slot i in the block of cells that begins at cell c. A resample is a list of such blocks, and
 * how many of its waits reach slot i is a sum of as many numbers of row i: so a quantile of it
 * takes a handful of sums beside the slot of the whole, not a histogram. That is exact: nothing is
 * added twice.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/compare_inside.h"

#define RESAMPLES COMPARE_RESAMPLES
#define BLOCKS_MAX 64	/* of a run in a resample: more cost time and tell no more */
#define SEEN_LEAST 0.3	/* of the variance, by blocks that are too short */
#define BLOCKS_WANTED 6 /* are left of a run, however long its cells depend on each other */

void side_free(struct side *s)
{
	free(s->runs);
	free(s->upto);
	free(s->sum);
	free(s->total);
	free(s->draws);
	memset(s, 0, sizeof(*s));
}

/* ---- the table ---- */

/* Which slots there are, how many cells, and what is known of the whole. */
static int measure(struct side *s, const struct compare_side *in)
{
	uint32_t end = 0;
	size_t i;

	s->first = UINT32_MAX;
	s->min_ns = INFINITY;
	s->nruns = (uint32_t)in->n;
	s->runs = calloc(in->n, sizeof(*s->runs));
	if (!s->runs)
		return -ENOMEM;
	for (i = 0; i < in->n; i++) {
		struct compare_row *w = in->rows[i];
		struct compare_cursor c = {0};
		int ret = w ? compare_row_settle(w, in->runs[i], s->schema) : 0;

		if (ret)
			return ret;
		s->runs[i] = (struct run_part){.first = s->ncells, .n = in->runs[i]->ncells};
		s->ncells += in->runs[i]->ncells;
		if (!w || !w->count)
			continue;
		s->count += w->count;
		s->min_ns = fmin(s->min_ns, (double)w->min_ns);
		s->max_ns = fmax(s->max_ns, (double)w->max_ns);
		while (compare_unpack(&c, w))
			while (compare_unpack_slot(&c)) {
				s->first = c.slot < s->first ? c.slot : s->first;
				end = c.slot + 1 > end ? c.slot + 1 : end;
			}
	}
	if (!end)
		s->first = 0;
	s->log_first = log(hist_slot_upper_ns(s->schema, s->first));
	s->log_min = s->min_ns >= 1 ? log(s->min_ns) : -INFINITY;
	s->log_max = s->max_ns >= 1 ? log(s->max_ns) : INFINITY;
	s->nslots = 1 + end - s->first;
	return 0;
}

static void unpack_row(struct side *s, const struct run_part *p, const struct compare_row *w)
{
	struct compare_cursor c = {0};
	uint64_t n;

	while (compare_unpack(&c, w)) {
		uint32_t cell = p->first + c.cell;

		s->upto[cell] = c.zero;
		s->sum[cell] = c.sum_ns;
		while ((n = compare_unpack_slot(&c)))
			s->upto[(size_t)(c.slot - s->first + 1) * s->ncells + cell] = n;
	}
}

static int fill(struct side *s, const struct compare_side *in)
{
	size_t cells = s->ncells, i, j;

	s->upto = calloc(s->nslots * cells + 1, sizeof(*s->upto));
	s->sum = calloc(2 * cells + 1, sizeof(*s->sum));
	s->total = calloc(s->nslots, sizeof(*s->total));
	if (!s->upto || !s->sum || !s->total)
		return -ENOMEM;
	s->dur = s->sum + cells;
	for (i = 0; i < in->n; i++) {
		memcpy(s->dur + s->runs[i].first, in->runs[i]->dur_ns,
		       s->runs[i].n * sizeof(*s->dur));
		if (in->rows[i])
			unpack_row(s, &s->runs[i], in->rows[i]);
	}
	for (j = 0; j < cells; j++) {
		s->sum_ns += (double)s->sum[j];
		s->dur_ns += (double)s->dur[j];
	}
	for (i = 0; i < s->nslots; i++)
		for (j = 0; j < cells; j++) {
			if (i)
				s->upto[i * cells + j] += s->upto[(i - 1) * cells + j];
			s->total[i] += s->upto[i * cells + j];
		}
	return 0;
}

/* ---- quantiles ---- */

/* The logarithm of a value `part` of the way through row i's bucket, whose edges are even in it. */
static double log_value(const struct side *s, uint32_t i, double part)
{
	double width = M_LN2 / (double)(1U << s->schema), at;

	if (!i) /* 0 ns: below 1 */
		return -M_LN2;
	at = s->log_first + (i - 2 + part) * width;
	return fmax(fmin(at, s->log_max), s->log_min);
}

static double log_between(const struct side *s, uint32_t i, double below, double upto, double rank)
{
	return log_value(s, i, upto > below ? (rank - below) / (upto - below) : 1);
}

/* The row in which a quantile of the whole lies. */
static uint32_t whole_row(const struct side *s, double share)
{
	uint32_t i = 0;

	while (i + 1 < s->nslots && (double)s->total[i] < share * (double)s->count)
		i++;
	return i;
}

static double reach(const struct side *s, uint32_t i, uint32_t r)
{
	const uint64_t *row = s->upto + (size_t)i * s->ncells;
	const uint32_t *d = s->draws + s->ends[r], *end = s->draws + s->ends[r + 1];
	uint64_t n = 0, other = 0;

	for (; end - d > 1; d += 2) { /* two sums at a time: most of a comparison is spent here */
		n += row[d[0]];
		other += row[d[1]];
	}
	return (double)(n + other + (d < end ? row[*d] : 0));
}

/* Of a resample: from the whole's row away in steps that double, then by halves. */
static double resample_quantile(const struct side *s, uint32_t r, double share, uint32_t start)
{
	double rank = share * s->counts[r], below = 0, upto = 0, n;
	int64_t low = -1, high = s->nslots, at = start, step = 1;

	while (high - low > 1) {
		n = reach(s, (uint32_t)at, r);
		if (n < rank) {
			low = at;
			below = n;
		} else {
			high = at;
			upto = n;
		}
		if (low >= 0 && high < s->nslots)
			at = (low + high) / 2;
		else
			at = n < rank ? low + step : high - step;
		step *= 2;
		if (at <= low)
			at = low + 1;
		if (at >= high)
			at = high - 1;
	}
	if (high == s->nslots) /* cannot be: the last row reaches all */
		high = s->nslots - 1;
	return log_between(s, (uint32_t)high, below, upto, rank);
}

/* ---- blocks ---- */

static double mean_of(const double *x, uint32_t n)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

static double variance(const double *x, uint32_t n)
{
	double mean = mean_of(x, n), sum = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return n > 1 ? sum / (n - 1) : 0;
}

/* Batch means: of cells that are independent, means of m vary by an m-th of what cells do. */
static void add_batches(const double *x, uint32_t n, double *of_batches, double *of_cells)
{
	uint32_t m = (uint32_t)sqrt(n), i;
	double means[COMPARE_CELLS];

	if (n < 8)
		return;
	for (i = 0; i < n / m; i++)
		means[i] = mean_of(x + i * m, m);
	*of_batches += m * variance(means, n / m);
	*of_cells += variance(x, n);
}

/*
 * How much each cell pulls at the statistic: of a quantile, how many more of its waits than its
 * share are beyond it.
 */
static void pulls(const struct side *s, const struct run_part *p, size_t stat,
		  const struct quantile *q, size_t nq, double *x)
{
	const uint64_t *all = s->upto + (size_t)(s->nslots - 1) * s->ncells + p->first, *upto = all;
	double share = stat < nq ? (double)q[stat].ppb / 1e9 : 0;
	double mean = s->count ? s->sum_ns / (double)s->count : 0;
	uint32_t i;

	if (stat < nq)
		upto = s->upto + (size_t)whole_row(s, share) * s->ncells + p->first;
	for (i = 0; i < p->n; i++) {
		double n = (double)all[i];

		if (stat < nq)
			x[i] = (double)upto[i] - share * n;
		else if (stat == nq + COMPARE_MEAN)
			x[i] = (double)s->sum[p->first + i] - mean * n;
		else if (stat == nq + COMPARE_RATE)
			x[i] = n;
		else
			x[i] = (double)s->sum[p->first + i];
	}
}

/* Cells within which they depend on each other, for each statistic. */
static void note_dependence(struct side *s, const struct quantile *q, size_t nq)
{
	double x[COMPARE_CELLS];
	size_t stat;
	uint32_t i;

	for (stat = 0; stat < nq + COMPARE_MORE; stat++) {
		double of_batches = 0, of_cells = 0;

		for (i = 0; i < s->nruns; i++) {
			pulls(s, &s->runs[i], stat, q, nq, x);
			add_batches(x, s->runs[i].n, &of_batches, &of_cells);
		}
		s->depends[stat] = of_batches > of_cells ? of_batches / of_cells : 1;
	}
}

/* Blocks twice as long as the longest of those, if six are left. */
static void choose_blocks(struct side *s, size_t nstats)
{
	uint32_t i, most = BLOCKS_MAX / s->nruns > 8 ? BLOCKS_MAX / s->nruns : 8, block;
	double cells = 1;

	for (i = 0; i < nstats; i++)
		cells = fmax(cells, s->depends[i]);
	s->units = s->nruns;
	for (i = 0; i < s->nruns; i++) {
		struct run_part *p = &s->runs[i];

		block = cells > 1 ? (uint32_t)ceil(2 * cells) : 1;
		if (block > p->n / BLOCKS_WANTED)
			block = p->n / BLOCKS_WANTED;
		if (block < (p->n + most - 1) / most)
			block = (p->n + most - 1) / most;
		p->block = block ? block : 1;
		p->nblocks = (p->n + p->block - 1) / p->block;
		if (s->nruns == 1)
			s->units = (double)p->n / p->block;
	}
}

/*
 * What a block has in common with its neighbours is missing from the variance that resamples show:
 * of a first-order autoregressive series (t - 1/t) / 2 of a block's cells, where cells depend on
 * each other for t of them. Of several runs it is in what they differ by.
 */
static double stretch(const struct side *s, size_t stat)
{
	double t = s->depends[stat];

	if (s->nruns > 1)
		return 1;
	return 1 / fmax(1 - (t - 1 / t) / 2 / s->runs[0].block, SEEN_LEAST);
}

/* Cells of a run become the sums of the blocks that begin with them, as far as there are any. */
static void sum_blocks(uint64_t *x, const struct run_part *p)
{
	uint64_t sum = 0, leaves;
	uint32_t i;

	x += p->first;
	for (i = 0; i < p->block && i < p->n; i++)
		sum += x[i];
	for (i = 0; i + p->block <= p->n; i++) {
		leaves = x[i];
		x[i] = sum;
		sum -= leaves;
		if (i + p->block < p->n)
			sum += x[i + p->block];
	}
}

static uint32_t random_below(uint64_t *state, uint32_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return (uint32_t)((z >> 32) * n >> 32);
}

static int draw(struct side *s, uint64_t seed)
{
	uint32_t r, m, b, most = 0, n = 0;

	for (m = 0; m < s->nruns; m++)
		most = s->runs[m].nblocks > most ? s->runs[m].nblocks : most;
	s->draws = calloc((size_t)RESAMPLES * s->nruns * most + 1, sizeof(*s->draws));
	if (!s->draws)
		return -ENOMEM;
	for (r = 0; r < RESAMPLES; r++) {
		for (m = 0; m < s->nruns; m++) {
			const struct run_part *p = &s->runs[random_below(&seed, s->nruns)];

			for (b = 0; b < p->nblocks; b++)
				s->draws[n++] = p->first + random_below(&seed, p->n - p->block + 1);
		}
		s->ends[r + 1] = n;
	}
	return 0;
}

int side_resample(struct side *s, const struct quantile *q, size_t nq, uint64_t seed)
{
	uint32_t i, m, r;
	int ret;

	note_dependence(s, q, nq);
	choose_blocks(s, nq + COMPARE_MORE);
	for (m = 0; m < s->nruns; m++) {
		for (i = 0; i < s->nslots; i++)
			sum_blocks(s->upto + (size_t)i * s->ncells, &s->runs[m]);
		sum_blocks(s->sum, &s->runs[m]);
		sum_blocks(s->dur, &s->runs[m]);
	}
	ret = draw(s, seed);
	for (r = 0; !ret && r < RESAMPLES; r++)
		s->counts[r] = reach(s, s->nslots - 1, r);
	return ret;
}

/* ---- one statistic ---- */

double side_whole(const struct side *s, size_t stat, const struct quantile *q, size_t nq)
{
	double share = stat < nq ? (double)q[stat].ppb / 1e9 : 0;
	uint32_t i = whole_row(s, share);

	if (!s->count || (stat < nq && !i))
		return 0;
	if (stat < nq)
		return exp(log_between(s, i, (double)s->total[i - 1], (double)s->total[i],
				       share * (double)s->count));
	if (stat == nq + COMPARE_MEAN)
		return s->sum_ns / (double)s->count;
	if (s->dur_ns <= 0)
		return 0;
	return (stat == nq + COMPARE_RATE ? (double)s->count : s->sum_ns) * 1e9 / s->dur_ns;
}

static double drawn(const struct side *s, const uint64_t *x, uint32_t r)
{
	double sum = 0;
	uint32_t d;

	for (d = s->ends[r]; d < s->ends[r + 1]; d++)
		sum += (double)x[s->draws[d]];
	return sum;
}

static double resampled(const struct side *s, uint32_t r, size_t stat, size_t nq)
{
	if (stat == nq + COMPARE_MEAN)
		return log(drawn(s, s->sum, r) / s->counts[r]);
	return log((stat == nq + COMPARE_RATE ? s->counts[r] : drawn(s, s->sum, r)) /
		   drawn(s, s->dur, r));
}

void side_statistic(struct side *s, size_t stat, const struct quantile *q, size_t nq)
{
	double whole = log(side_whole(s, stat, q, nq));
	double share = stat < nq ? (double)q[stat].ppb / 1e9 : 0;
	uint32_t r, row = whole_row(s, share);

	s->empty = 0;
	for (r = 0; r < RESAMPLES; r++) {
		if (!(s->counts[r] > 0))
			s->logs[r] = -INFINITY;
		else if (stat < nq)
			s->logs[r] = resample_quantile(s, r, share, row);
		else
			s->logs[r] = resampled(s, r, stat, nq);
		if (isfinite(s->logs[r]))
			continue;
		s->logs[r] = whole;
		s->empty++;
	}
	s->drawn_var = variance(s->logs, RESAMPLES);
	s->var = s->drawn_var * stretch(s, stat) * s->units / (s->units - 1);
}

int side_open(struct side *s, const struct compare_side *in, uint32_t schema)
{
	int ret;

	side_free(s);
	s->schema = schema;
	if (!in->n)
		return -EINVAL;
	ret = measure(s, in);
	return ret ? ret : fill(s, in);
}
