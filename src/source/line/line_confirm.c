// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --confirm with sampled lines: the one with most at stake is watched next, access by access, until
 * enough were seen. One at a time: there are four debug registers.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>

#include "source/line/line.h"
#include "source/privs.h"
#include "source/watch/watch.h"

#define WORDS 8		 /* of a line */
#define REFUSED_TURNS 10 /* intervals: by then whoever had the registers may be through */

static struct watch_source *under_way(const struct line_source *s)
{
	struct watch_source *w = s->nconfirms ? s->confirms[s->nconfirms - 1] : NULL;

	return w && w->armed ? w : NULL;
}

bool line_confirm_wanted(const struct line_source *s)
{
	return s->cfg->confirm_lines && s->nconfirms < LINE_CONFIRMS && !under_way(s);
}

static bool same_line(const struct line_key *a, const struct line_key *b)
{
	return a->line == b->line && a->tgid == b->tgid && a->share == b->share;
}

static bool was_watched(const struct line_source *s, const struct line *l)
{
	for (size_t k = 0; k < s->nconfirms; k++)
		if (same_line(&s->confirms[k]->lines[0].key, &l->key))
			return true;
	return false;
}

static struct line_refusal *refusal_of(struct line_source *s, const struct line_key *key)
{
	for (size_t k = 0; k < LINE_CONFIRMS; k++)
		if (s->refusals[k].turns && same_line(&s->refusals[k].key, key))
			return &s->refusals[k];
	return NULL;
}

static void note_refusal(struct line_source *s, const struct line_key *key, const char *why)
{
	struct line_refusal *r = &s->refusals[s->nrefusals++ % LINE_CONFIRMS];

	r->key = *key;
	r->turns = REFUSED_TURNS;
	(void)snprintf(r->why, sizeof(r->why), "%s", why); /* fits */
}

static void age_refusals(struct line_source *s)
{
	for (size_t k = 0; k < LINE_CONFIRMS; k++)
		s->refusals[k].turns -= s->refusals[k].turns > 0;
}

const char *line_confirm_why(struct line_source *s, const struct line_key *key)
{
	const struct line_refusal *r = refusal_of(s, key);

	return r ? arena_text(&s->m.arena, r->why) : NULL;
}

/* Memory that processes share has an address in each: no breakpoint is for all of them. */
static bool can_watch(struct line_source *s, const struct line *l, bool kernel)
{
	return !l->key.share && (l->key.tgid || kernel) && !was_watched(s, l) &&
	       !refusal_of(s, &l->key);
}

static const struct line *next_of(struct line_source *s, struct line_table *t)
{
	const struct line *l, *best = NULL;
	bool kernel = privs_have(CAP_SYS_ADMIN); /* breakpoints there need it */
	double rank, most = 0;
	size_t n;

	for (l = t->first; l; l = l->next) {
		const struct line_thread_sum *threads;

		if (!line_contended(t, l, LINE_INTERVAL) || !can_watch(s, l, kernel))
			continue;
		threads = line_threads(t, l, LINE_INTERVAL, &n);
		rank = line_rank(l, LINE_INTERVAL, threads, n);
		if (best && rank <= most)
			continue;
		best = l;
		most = rank;
	}
	return best;
}

/* Samples by 8-byte word. */
static void count_words(const struct line *l, uint64_t samples[WORDS])
{
	const struct line_use *u;
	uint64_t bytes;

	for (u = l->uses; u; u = u->next) {
		bytes = u->view[LINE_INTERVAL].read_bytes | u->view[LINE_INTERVAL].write_bytes;
		for (int k = 0; k < WORDS; k++)
			if (bytes >> (k * WATCH_SLOT_BYTES) & 0xff)
				samples[k] += u->view[LINE_INTERVAL].samples;
	}
}

/* The words that are touched most; how many. */
static size_t hottest(const struct line *l, struct watch_slot slots[ABI_WATCH_SLOTS])
{
	uint64_t samples[WORDS] = {0}, line = l->key.line << ABI_LINE_SHIFT;
	size_t n;
	int k, best;

	count_words(l, samples);
	for (n = 0; n < ABI_WATCH_SLOTS; n++) {
		for (best = 0, k = 1; k < WORDS; k++)
			if (samples[k] > samples[best])
				best = k;
		if (!samples[best])
			break;
		samples[best] = 0;
		slots[n] = (struct watch_slot){line + (uint64_t)best * WATCH_SLOT_BYTES,
					       WATCH_SLOT_BYTES, "a contended line"};
	}
	return n;
}

int line_confirm_next(struct line_source *s, struct err *e)
{
	const struct line *l = line_confirm_wanted(s) ? next_of(s, s->m.table) : NULL;
	struct watch_slot slots[ABI_WATCH_SLOTS];
	struct watch_source *w;
	struct err why = {0};
	size_t n = l ? hottest(l, slots) : 0;
	int ret;

	if (!n)
		return 0;
	ret = watch_open_line(&w, &s->args, &s->m, &l->key, slots, n, &why);
	if (ret && err_exit(&why) == EXIT_CANNOT) {
		note_refusal(s, &l->key, why.text);
		return 0;
	}
	if (ret)
		return err_set(e, err_exit(&why), ret, "%s", why.text);
	s->confirms[s->nconfirms++] = w;
	ret = bpf_source_poll(&s->base, w->base.event_fd, e);
	return ret ? ret : watch_begin(w, e);
}

int line_confirm_report(struct line_source *s, struct source_report *r, struct err *e)
{
	struct watch_source *w = under_way(s);
	uint64_t before = w ? w->reported : 0;
	int ret = 0;

	age_refusals(s);
	for (size_t k = 0; !ret && k < s->nconfirms; k++)
		ret = watch_report(s->confirms[k], r, e);
	if (ret)
		return ret;
	if (w && w->counted == before)
		watch_end(w); /* nobody comes any more */
	if (w)
		w->reported = w->counted;
	return s->base.stopped ? 0 : line_confirm_next(s, e);
}

int line_confirm_drain(struct line_source *s, struct err *e)
{
	int ret = 0;

	for (size_t k = 0; !ret && k < s->nconfirms; k++)
		ret = watch_hits_drain(s->confirms[k], e);
	return ret;
}

void line_confirm_stop(struct line_source *s)
{
	struct watch_source *w = under_way(s);

	if (w)
		watch_end(w);
}

void line_confirm_close(struct line_source *s)
{
	for (size_t k = 0; k < s->nconfirms; k++)
		watch_close(&s->confirms[k]->base.source);
	s->nconfirms = 0;
}
