// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records from elsewhere: an error with words, or a record that holds together, so that any format
 * can draw it: texts where formats expect them, histograms whose parts add up, splits within sums.
 */
#include "fuzz.h"

#include "core/record.h"

static void must_add_up(const struct hist *h)
{
	struct quantile q = {.ppb = 999000000};
	uint64_t sum;

	if (!h)
		return;
	sum = h->zero;
	for (uint32_t i = 0; i < h->len; i++)
		sum += h->slots[i];
	MUST(sum == h->count);
	MUST(h->len <= BUCKET_SLOTS(h->schema) && h->first <= BUCKET_SLOTS(h->schema) - h->len);
	MUST(!h->count || h->min_ns <= h->max_ns);
	MUST(!h->count || hist_quantile(h, &q).ns <= h->max_ns);
}

static void check_series(const struct series *s)
{
	MUST(s->desc && *s->desc->name && s->desc->title);
	MUST(s->desc->counter == !s->hist);
	MUST(s->nlabels <= SERIES_LABELS);
	for (uint32_t i = 0; i < s->nlabels; i++)
		MUST(s->labels[i].key && s->labels[i].value);
	must_add_up(s->hist);
	MUST(!s->split || s->split->blocked_ns + s->split->run_queue_ns <= s->hist->sum_ns);
}

static void check_contended(const struct contended *c)
{
	MUST(c->source && c->kind);
	must_add_up(c->wait);
	for (size_t i = 0; i < c->nsites; i++)
		MUST(c->sites[i].sym);
	for (size_t i = 0; i < c->nmembers; i++)
		MUST(c->members[i].name);
	if (!c->accesses)
		return;
	must_add_up(c->accesses->latency);
	MUST(c->accesses->sampler);
	for (size_t i = 0; i < c->accesses->nuses; i++)
		must_add_up(c->accesses->uses[i].latency);
}

static void check_meta(const struct meta *m)
{
	MUST(m->version && m->kernel && m->argv);
	for (size_t i = 0; i < m->nsources; i++)
		MUST(m->sources[i].name && (!m->sources[i].on || m->sources[i].hooks));
	for (size_t i = 0; i < m->nfilters; i++)
		MUST(m->filters[i].key && m->filters[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	struct record r;
	size_t i;

	record_init(&r);
	if (record_read(&r, (const char *)data, size, &e)) {
		MUST(*e.text);
	} else if (r.type == RECORD_META) {
		check_meta(&r.meta);
	} else if (r.type == RECORD_SLOW) {
		MUST(r.slow.metric && r.slow.kind && r.slow.comm);
		MUST(!r.slow.op || r.slow.op->op);
	} else {
		for (i = 0; i < r.frame.nseries; i++)
			check_series(&r.frame.series[i]);
		for (i = 0; i < r.frame.ncontended; i++)
			check_contended(&r.frame.contended[i]);
	}
	record_free(&r);
	return 0;
}
