// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --confirm with sampled lines: the one with most at stake is watched next, access by access, until
 * enough were seen. One at a time: there are four debug registers.
 */
#include <errno.h>
#include <linux/capability.h>

#include "source/poll.h"
#include "source/privs.h"
#include "source/watch.h"

#define WORDS 8 /* of a line */

static struct watch_source *under_way(const struct line_source *s)
{
	struct watch_source *w = s->nconfirms ? s->confirms[s->nconfirms - 1] : NULL;

	return w && w->armed ? w : NULL;
}

static bool was_watched(const struct line_source *s, const struct line *l)
{
	size_t k;

	for (k = 0; k < s->nconfirms; k++)
		if (s->confirms[k]->lines[0].key.line == l->key.line &&
		    s->confirms[k]->lines[0].key.tgid == l->key.tgid)
			return true;
	return false;
}

static const struct line *next_line(struct line_source *s)
{
	const struct line *l, *best = NULL;
	bool kernel = privs_have(CAP_SYS_ADMIN); /* breakpoints there need it */
	double rank, most = 0;
	size_t n;

	for (l = line_table_first(s->table); l; l = l->next) {
		const struct line_thread_sum *threads;

		if (!line_contended(s->table, l, LINE_INTERVAL) || was_watched(s, l) ||
		    !(l->key.tgid || kernel))
			continue;
		threads = line_threads(s->table, l, LINE_INTERVAL, &n);
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
	int k;

	for (u = l->uses; u; u = u->next) {
		bytes = u->view[LINE_INTERVAL].read_bytes | u->view[LINE_INTERVAL].write_bytes;
		for (k = 0; k < WORDS; k++)
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

static int watch_next(struct line_source *s, struct err *e)
{
	const struct line *l = s->nconfirms < LINE_CONFIRMS ? next_line(s) : NULL;
	struct watch_slot slots[ABI_WATCH_SLOTS];
	struct watch_source *w;
	size_t n = l ? hottest(l, slots) : 0;
	int ret;

	if (!n)
		return 0;
	ret = watch_open_line(&w, s, &l->key, slots, n, e);
	if (ret)
		return ret;
	s->confirms[s->nconfirms++] = w;
	ret = poll_open(&s->base.event_fd, &w->line.base.event_fd, 1, "line", e);
	return ret ? ret : watch_begin(w, e);
}

int line_confirm_report(struct line_source *s, struct source_report *r, struct err *e)
{
	struct watch_source *w = under_way(s);
	uint64_t before = w ? w->reported : 0;
	size_t k;
	int ret = 0;

	for (k = 0; !ret && k < s->nconfirms; k++)
		ret = watch_report(s->confirms[k], r, e);
	if (ret)
		return ret;
	if (w && w->counted == before)
		watch_end(w); /* nobody comes any more */
	if (w)
		w->reported = w->counted;
	return under_way(s) || s->base.stopped ? 0 : watch_next(s, e);
}

int line_confirm_drain(struct line_source *s, struct err *e)
{
	size_t k;
	int ret = 0;

	for (k = 0; !ret && k < s->nconfirms; k++)
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
	size_t k;

	for (k = 0; k < s->nconfirms; k++)
		watch_free(s->confirms[k]);
	s->nconfirms = 0;
}
