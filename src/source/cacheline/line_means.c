// SPDX-License-Identifier: GPL-2.0-or-later
/* What the samples of a line mean: who touched it, and whether they fight over it. */
#include <stdlib.h>

#include "core/array.h"
#include "source/cacheline/line_table.h"

static int busiest_first(const void *a, const void *b)
{
	const struct line_thread_sum *x = a, *y = b;

	if (x->s.samples != y->s.samples)
		return x->s.samples < y->s.samples ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

const struct line_thread_sum *line_threads(struct line_table *t, const struct line *l,
					   enum line_view v, size_t *n)
{
	/* as many threads as the line has uses, at most */
	struct line_thread_sum *out =
		array_room(t->scratch, &t->scratch_cap, 0, l->nuses, sizeof(*out));
	const struct line_use *u;
	size_t k;

	*n = 0;
	if (!out)
		return NULL;
	t->scratch = out;
	for (u = l->uses; u; u = u->next) {
		if (!u->view[v].samples)
			continue;
		for (k = 0; k < *n && out[k].tid != u->tid; k++)
			;
		if (k == *n)
			out[(*n)++] = (struct line_thread_sum){
				.tid = u->tid, .pid = u->pid, .cpu = u->cpu, .comm = u->comm};
		line_samples_add(&out[k].s, &u->view[v]);
	}
	qsort(out, *n, sizeof(*out), busiest_first);
	return out;
}

uint32_t line_cores(const struct line_table *t, const struct line *l, enum line_view v)
{
	uint32_t n = 0;

	for (size_t w = 0; w < t->words; w++)
		n += (uint32_t)__builtin_popcountll(l->cores[v][w]);
	if (n && l->written_by && l->written_cpu < t->ncpus) {
		uint32_t core = t->core_of[l->written_cpu];

		n += !(l->cores[v][core / 64] >> (core % 64) & 1);
	}
	return n;
}

void line_turns(struct line *l, uint32_t pairs, uint32_t changes)
{
	if (pairs < l->pairs_seen)
		l->pairs_seen = l->changes_seen = 0;
	for (int v = 0; v < LINE_VIEWS; v++) {
		l->pairs[v] += pairs - l->pairs_seen;
		l->changes[v] += changes - l->changes_seen;
	}
	l->pairs_seen = pairs;
	l->changes_seen = changes;
}

static bool two_threads(const struct line *l, enum line_view v)
{
	const struct line_use *u, *one = l->others.view[v].samples ? &l->others : NULL;

	if (one && l->others_many)
		return true;
	for (u = l->uses; u; u = u->next) {
		if (!u->view[v].samples)
			continue;
		if ((one && one->tid != u->tid) || (l->written_by && l->written_by != u->tid))
			return true;
		one = u;
	}
	return false;
}

const struct line_use *line_busiest(const struct line *l, enum line_view v)
{
	const struct line_use *u, *best = NULL;

	for (u = l->uses; u; u = u->next)
		if (u->view[v].samples && (!best || u->view[v].samples > best->view[v].samples))
			best = u;
	return best;
}

bool line_written(const struct line *l, enum line_view v)
{
	return l->view[v].writes || l->written_by;
}

bool line_contended(struct line_table *t, const struct line *l, enum line_view v)
{
	return line_written(l, v) && line_cores(t, l, v) >= 2 && two_threads(l, v);
}

double line_interleave(const struct line *l, enum line_view v)
{
	return l->pairs[v] ? (double)l->changes[v] / (double)l->pairs[v] : -1;
}

/* Two threads that touch a line at random change places at every second sample. */
#define INTERLEAVE_UNKNOWN 0.5
#define RANK_HITM 1e6  /* above whatever samples can make */
#define RANK_FLOOR 0.1 /* nothing is vetoed: rare samples say little about turns */

double line_rank(const struct line *l, enum line_view v, const struct line_thread_sum *threads,
		 size_t n)
{
	double interleave = line_interleave(l, v), stake;
	uint64_t hitm = l->view[v].hitm_local + l->view[v].hitm_remote;

	if (n < 2)
		return 0;
	if (interleave < 0)
		interleave = INTERLEAVE_UNKNOWN;
	stake = (double)threads[1].s.samples * (RANK_FLOOR + interleave);
	return hitm ? (double)hitm * RANK_HITM + stake : stake;
}

/* Does one write what the other touches? */
static bool overlap(const struct line_samples *a, const struct line_samples *b)
{
	return (a->write_bytes & (b->read_bytes | b->write_bytes)) ||
	       (b->write_bytes & (a->read_bytes | a->write_bytes));
}

enum line_sharing line_sharing(const struct line_thread_sum *threads, size_t n)
{
	bool writer = false, unplaced = false;
	size_t a, b;

	for (a = 0; a < n; a++) {
		writer |= threads[a].s.writes > 0;
		unplaced |= threads[a].s.unplaced > 0;
		for (b = a + 1; b < n; b++)
			if (overlap(&threads[a].s, &threads[b].s))
				return SHARING_TRUE;
	}
	/* bytes that are not known may be those of the other thread */
	return n > 1 && writer && !unplaced ? SHARING_FALSE : SHARING_NONE;
}
