// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records from elsewhere: an error with words, or a record that holds together, so that any format
 * can draw it: texts where formats expect them, histograms whose parts add up, splits within sums.
 * And so does what is kept of it: added, brought to another schema and subtracted.
 */
#include "fuzz.h"

#include <errno.h>

#include "core/frame_own.h"
#include "core/record.h"
#include "sink/sink.h"

static void must_add_up(const struct hist *h)
{
	struct quantile q = {.ppb = 999000000};
	struct hist_walk w = {0};
	uint64_t sum;

	if (!h)
		return;
	sum = h->zero;
	while (hist_next(h, &w)) {
		MUST(w.slot < BUCKET_SLOTS(h->schema));
		sum += w.n;
	}
	MUST(sum == h->count);
	MUST(h->packed ||
	     (h->len <= BUCKET_SLOTS(h->schema) && h->first <= BUCKET_SLOTS(h->schema) - h->len));
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
	for (size_t i = 0; m->machine && i < m->machine->nvulnerabilities; i++)
		MUST(m->machine->vulnerabilities[i].key && m->machine->vulnerabilities[i].value);
	for (size_t i = 0; i < m->nfilters; i++)
		MUST(m->filters[i].key && m->filters[i].value);
}

static void check_frame(const struct frame *f)
{
	for (size_t i = 0; i < f->nseries; i++)
		check_series(&f->series[i]);
	for (size_t i = 0; i < f->ncontended; i++)
		check_contended(&f->contended[i]);
}

/* Twice as large, nothing wraps; else all may. */
static bool is_small(const struct frame *f)
{
	for (size_t i = 0; i < f->nseries; i++)
		if (f->series[i].hist &&
		    (f->series[i].hist->count | f->series[i].hist->sum_ns) >> 62)
			return false;
	for (size_t i = 0; i < f->ncontended; i++)
		if (f->contended[i].wait && f->contended[i].wait->count >> 62)
			return false;
	return true;
}

/* Every format but the one for eyes draws it, and what is kept of it. */
static void draw(const struct record *r, const struct frame *kept)
{
	static struct quantile q = {.ppb = 990000000, .text = "99"};
	struct config cfg = {.quantiles = &q, .nquantiles = 1, .by = BY_PID, .rows = 5};
	struct sink_args args = {.cfg = &cfg, .memory = true, .columns = 80, .color = true};
	const char *const none[] = {NULL};
	struct meta m = {.version = "", .kernel = "", .argv = none};
	struct err e = {0};
	struct sink *s;

	for (const struct sink_ops *const *ops = sink_list; *ops; ops++) {
		if (*ops == &sink_tui) /* takes a terminal */
			continue;
		MUST(!(*ops)->open(&s, &args, &e));
		MUST(!(*ops)->meta(s, r->type == RECORD_META ? &r->meta : &m, &e));
		if (r->type == RECORD_SLOW && (*ops)->slow)
			MUST(!(*ops)->slow(s, &r->slow, &e));
		if (kept) {
			MUST(!(*ops)->interval(s, &r->frame, kept, &e));
			MUST(!(*ops)->final(s, kept, &e));
		}
		MUST(!(*ops)->close(s, &e));
	}
}

static void keep(const struct record *r, const struct frame *f)
{
	struct frame_own *o = frame_own_new();
	int ret;

	MUST(o);
	ret = frame_own_add(o, f, FRAME_THEN);
	MUST(!ret || ret == -EINVAL); /* one name as a counter and as a histogram */
	if (!ret && is_small(f)) {
		check_frame(frame_own_view(o));
		draw(r, frame_own_view(o));
		MUST(frame_own_view(o)->nseries <= f->nseries);
		MUST(!frame_own_add(o, f, FRAME_BESIDE));
		MUST(!frame_own_rescale(o, 3));
		check_frame(frame_own_view(o));
		ret = frame_own_subtract(o, f);
		MUST(!ret || ret == -EINVAL); /* values that wrapped */
		if (!ret)
			check_frame(frame_own_view(o));
	}
	frame_own_free(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = {0};
	struct record r;

	record_init(&r);
	if (record_read(&r, (const char *)data, size, &e)) {
		MUST(*e.text);
	} else if (r.type == RECORD_META) {
		check_meta(&r.meta);
		draw(&r, NULL);
	} else if (r.type == RECORD_SLOW) {
		MUST(r.slow.metric && r.slow.kind && r.slow.comm);
		MUST(!r.slow.op || r.slow.op->op);
		draw(&r, NULL);
	} else {
		check_frame(&r.frame);
		keep(&r, &r.frame);
	}
	record_free(&r);
	return 0;
}
