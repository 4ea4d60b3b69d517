// SPDX-License-Identifier: GPL-2.0-or-later
/* What two sides' resamples say: intervals, and verdicts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/compare_inside.h"

#define RESAMPLES COMPARE_RESAMPLES
#define STATS_MAX (COMPARE_QUANTILES + COMPARE_MORE)
#define EMPTY_MAX (RESAMPLES / 100)
#define ALPHA 0.05

struct compare_work {
	struct side side[2];
	double ratios[COMPARE_RESAMPLES];
};

struct compare_work *compare_work_new(void)
{
	return calloc(1, sizeof(struct compare_work));
}

void compare_work_free(struct compare_work *k)
{
	if (!k)
		return;
	side_free(&k->side[0]);
	side_free(&k->side[1]);
	free(k);
}

/* Student's t of which a 40th is beyond (Cornish and Fisher); 0.5 % off at 3 degrees of freedom. */
static double student(double df)
{
	const double z = 1.959963985, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	return z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df * df) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * df * df * df);
}

/* How likely |t| or more is, by chance (Wallace). */
static double student_p(double t, double df)
{
	double z = (8 * df + 1) / (8 * df + 3) * sqrt(df * log1p(t * t / df));

	return erfc(z / M_SQRT2);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The one that would stand at k, were they sorted (Hoare). */
static double select_at(double *x, uint32_t n, uint32_t k)
{
	uint32_t from = 0, to = n - 1;

	while (from < to) {
		double pivot = x[from + (to - from) / 2], swap;
		uint32_t i = from, j = to;

		for (;; i++, j--) {
			while (x[i] < pivot)
				i++;
			while (x[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap = x[i];
			x[i] = x[j];
			x[j] = swap;
		}
		if (k <= j)
			to = j;
		else
			from = j + 1;
	}
	return x[k];
}

/*
 * Few blocks, or runs, vary less among themselves than those they stand for: the interval reaches
 * further than its 95 % of the resamples, as Student's distribution does (the expanded percentile
 * interval; degrees of freedom by Welch), and as blocks do that miss what they have in common.
 */
static void interval(struct compare_work *k, struct compare_stat *st)
{
	const struct side *a = &k->side[0], *b = &k->side[1];
	double var = a->var + b->var, df, tail;
	uint32_t r, cut;

	for (r = 0; r < RESAMPLES; r++)
		k->ratios[r] = b->logs[r] - a->logs[r];
	if (!(var > 0)) { /* all resamples say the same */
		st->lo = st->hi = st->ratio;
		st->p = st->ratio > 1 || st->ratio < 1 ? 0 : 1;
		return;
	}
	df = var * var / (a->var * a->var / (a->units - 1) + b->var * b->var / (b->units - 1));
	tail = erfc(sqrt(var / (a->drawn_var + b->drawn_var)) * student(df) / M_SQRT2) / 2;
	cut = (uint32_t)(tail * (RESAMPLES + 1));
	cut = cut ? cut - 1 : 0;
	st->lo = exp(select_at(k->ratios, RESAMPLES, cut));
	st->hi = exp(select_at(k->ratios, RESAMPLES, RESAMPLES - 1 - cut));
	st->p = student_p(log(st->ratio) / sqrt(var), df);
}

static uint64_t beyond(const struct side *s, const struct quantile *q)
{
	uint64_t rank = (uint64_t)ceil((double)s->count * ((double)q->ppb / 1e9));

	return rank < s->count ? s->count - rank : 0;
}

static void one_stat(struct compare_work *k, struct compare_result *out, size_t stat,
		     const struct quantile *q, size_t nq)
{
	struct side *a = &k->side[0], *b = &k->side[1];
	struct compare_stat *st = &out->stats[stat];
	uint64_t more;

	st->base = side_whole(a, stat, q, nq);
	st->new = side_whole(b, stat, q, nq);
	st->ratio = st->base > 0 ? st->new / st->base : 0;
	st->p = 1;
	st->beyond = stat < nq ? beyond(a, &q[stat]) : a->count;
	more = stat < nq ? beyond(b, &q[stat]) : b->count;
	if (more < st->beyond)
		st->beyond = more;
	if (out->too_short || st->beyond < COMPARE_BEYOND || !(st->ratio > 0))
		return;
	side_statistic(a, stat, q, nq);
	side_statistic(b, stat, q, nq);
	if (a->empty <= EMPTY_MAX && b->empty <= EMPTY_MAX)
		interval(k, st);
}

/* ---- a row ---- */

static uint32_t longest_block(const struct side *s)
{
	uint32_t i, longest = 0;

	for (i = 0; i < s->nruns; i++)
		longest = s->runs[i].block > longest ? s->runs[i].block : longest;
	return longest;
}

static bool too_short(const struct side *s)
{
	uint32_t i;

	for (i = 0; i < s->nruns; i++)
		if (!s->runs[i].n)
			return true;
	return s->nruns == 1 && s->ncells < COMPARE_INTERVALS;
}

/* The coarsest of its rows', if that is coarser than `schema`. */
static uint32_t coarsest(const struct compare_side *s, uint32_t schema)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->rows[i] && s->rows[i]->count && s->rows[i]->schema < schema)
			schema = s->rows[i]->schema;
	return schema;
}

int compare_rows(struct compare_work *k, const struct compare_side *base,
		 const struct compare_side *new, const struct quantile *q, size_t nq,
		 struct compare_result *out)
{
	struct side *a = &k->side[0], *b = &k->side[1];
	size_t stat, most = base->n > new->n ? base->n : new->n;
	size_t least = base->n < new->n ? base->n : new->n;
	uint32_t schema = coarsest(base, coarsest(new, BUCKET_SCHEMA_MAX));
	int ret = nq > COMPARE_QUANTILES ? -EINVAL : side_open(a, base, schema);

	if (!ret)
		ret = side_open(b, new, schema);
	if (ret)
		return ret;
	*out = (struct compare_result){.nquantiles = nq,
				       .count_base = a->count,
				       .count_new = b->count,
				       .within = most == 1,
				       .few_runs = most > 1 && least < COMPARE_RUNS,
				       .too_short = too_short(a) || too_short(b)};
	if (!out->too_short && a->count >= COMPARE_BEYOND && b->count >= COMPARE_BEYOND) {
		ret = side_resample(a, q, nq, 1);
		if (!ret)
			ret = side_resample(b, q, nq, 2);
		if (ret)
			return ret;
		out->block_base = longest_block(a);
		out->block_new = longest_block(b);
	}
	for (stat = 0; stat < nq + COMPARE_MORE; stat++)
		one_stat(k, out, stat, q, nq);
	return 0;
}

/* ---- verdicts ---- */

static bool decidable(const struct compare_result *r, const struct compare_stat *st)
{
	return st->hi > 0 && !r->few_runs;
}

static bool within(double ratio, double noise)
{
	return ratio <= 1 + noise && ratio >= 1 / (1 + noise);
}

/* What is no difference for certain is the same only as far as the interval tells: from 0.2 to 25
 * it does not. */
static enum compare_verdict verdict(const struct compare_result *r, const struct compare_stat *st,
				    double limit, double noise)
{
	bool same = (st->lo <= 1 && st->hi >= 1) || within(st->ratio, noise);

	if (st->hi <= 0 || (!same && r->few_runs))
		return COMPARE_UNDECIDED;
	if (same || st->p > limit)
		return within(st->lo, noise) || within(st->hi, noise) ? COMPARE_SAME
								      : COMPARE_UNDECIDED;
	return st->ratio > 1 ? COMPARE_SLOWER : COMPARE_FASTER;
}

int compare_decide(struct compare_result *const *results, size_t n, double noise)
{
	double *p = calloc(n * STATS_MAX + 1, sizeof(*p)), limit = 0;
	size_t i, j, m = 0;

	if (!p)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		for (j = 0; j < results[i]->nquantiles + COMPARE_MORE; j++)
			if (decidable(results[i], &results[i]->stats[j]))
				p[m++] = results[i]->stats[j].p;
	qsort(p, m, sizeof(*p), ascending);
	for (i = 0; i < m; i++)
		if (p[i] <= ALPHA * (double)(i + 1) / (double)m)
			limit = p[i];
	for (i = 0; i < n; i++)
		for (j = 0; j < results[i]->nquantiles + COMPARE_MORE; j++)
			results[i]->stats[j].verdict =
				verdict(results[i], &results[i]->stats[j], limit, noise);
	free(p);
	return 0;
}

const char *compare_verdict_text(enum compare_verdict v)
{
	static const char *const texts[] = {
		[COMPARE_SAME] = "same",
		[COMPARE_SLOWER] = "slower",
		[COMPARE_FASTER] = "faster",
		[COMPARE_UNDECIDED] = "undecided",
	};

	return texts[v];
}
