// SPDX-License-Identifier: GPL-2.0-or-later
/* What is kept and what is shown of it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "sink/printer.h"
#include "sink/tui.h"

/* A run goes on for days; a record is looked at from one end to the other. */
#define LIVE_MOST 3600
#define LIVE_BYTES (64UL << 20)
#define REPLAY_MOST 100000
#define REPLAY_BYTES (512UL << 20)
/* What frame_own_copy and its view take for each, measured with mallinfo2; a bound need not be
 * exact. */
#define SERIES_BYTES 320
#define CONTENDED_BYTES 2400
#define PART_BYTES 96 /* a site, a thread, a member, a holder */
#define CULPRIT_BYTES \
	(3 * sizeof(struct culprit) + PART_BYTES) /* in an array half full, and in the view */
#define FRAME_BYTES 36864

/* ---- reports ---- */

static size_t hist_bytes(const struct hist *h)
{
	return h ? sizeof(*h) + 2U * h->len : 0;
}

static size_t frame_bytes(const struct frame *f)
{
	size_t all = FRAME_BYTES;

	for (size_t i = 0; i < f->nseries; i++)
		all += SERIES_BYTES + hist_bytes(f->series[i].hist);
	all += f->nculprits * CULPRIT_BYTES;
	for (size_t i = 0; i < f->ncontended; i++) {
		const struct contended *c = &f->contended[i];
		size_t parts = c->nsites + c->nmembers + c->nholders;

		if (c->accesses)
			parts += 2 * (c->accesses->nthreads + c->accesses->nuses);
		all += CONTENDED_BYTES + hist_bytes(c->wait) + parts * PART_BYTES;
	}
	return all;
}

static void drop_oldest(struct tui_keep *k)
{
	struct tui_kept *one = &k->v[k->first];

	frame_own_free(one->own);
	k->bytes -= one->bytes;
	k->first++;
	k->n--;
	k->gone++;
}

/* Room behind the last: those that are there move down when half of the array has gone. */
static int make_room(struct tui_keep *k)
{
	struct tui_kept *v;

	if (k->first > k->n && k->first + k->n == k->cap) {
		memmove(k->v, k->v + k->first, k->n * sizeof(*k->v));
		k->first = 0;
	}
	v = array_room(k->v, &k->cap, k->first + k->n, 1, sizeof(*v));
	k->v = v ? v : k->v;
	return v ? 0 : -ENOMEM;
}

int tui_keep_add(struct tui_keep *k, const struct frame *f)
{
	struct tui_kept one = {.own = frame_own_copy(f), .bytes = frame_bytes(f)};

	if (!one.own || make_room(k))
		goto no_memory;
	one.f = frame_own_view(one.own);
	if (!one.f)
		goto no_memory;
	k->v[k->first + k->n++] = one;
	k->bytes += one.bytes;
	while (k->n > 1 && (k->n > k->most || k->bytes > k->most_bytes))
		drop_oldest(k);
	return 0;

no_memory:
	frame_own_free(one.own);
	return -ENOMEM;
}

const struct frame *tui_keep_get(const struct tui_keep *k, uint64_t number)
{
	if (number < k->gone || number - k->gone >= k->n)
		return NULL;
	return k->v[k->first + (size_t)(number - k->gone)].f;
}

uint64_t tui_keep_end(const struct tui_keep *k)
{
	return k->gone + k->n;
}

void tui_keep_free(struct tui_keep *k)
{
	for (size_t i = 0; i < k->n; i++)
		frame_own_free(k->v[k->first + i].own);
	free(k->v);
	*k = (struct tui_keep){.most = k->most, .most_bytes = k->most_bytes};
}

bool tui_keep_row(const struct tui_keep *k, uint64_t number, const struct view_row *like,
		  size_t near, struct view_row *out)
{
	struct frame_own *own;

	*out = (struct view_row){0};
	if (!tui_keep_get(k, number))
		return false;
	own = k->v[k->first + (size_t)(number - k->gone)].own;
	if (like->c)
		out->c = frame_own_find_row(own, like->c);
	else if (like->k)
		out->k = frame_own_find_culprit(own, like->k);
	else if (like->s)
		out->s = frame_own_find_series(own, like->s, near);
	return out->c || out->k || out->s;
}

/* ---- all of it ---- */

void tui_open(struct tui *t, const struct config *cfg, bool utf8, bool replay)
{
	*t = (struct tui){.cfg = cfg, .follow = true, .replay = replay};
	t->canvas.utf8 = utf8;
	t->keep.most = replay ? REPLAY_MOST : LIVE_MOST;
	t->keep.most_bytes = replay ? REPLAY_BYTES : LIVE_BYTES;
	t->pages[t->npages++] = TUI_OVERVIEW;
}

void tui_close(struct tui *t)
{
	tui_keep_free(&t->keep);
	frame_own_free(t->total);
	frame_own_free(t->kept);
	view_free(&t->view);
	free(t->rows.v);
	free(t->rows.names);
	free(t->sparks);
	tui_slow_free(t);
	tui_canvas_free(&t->canvas);
}

void tui_say(struct tui *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(t->message, sizeof(t->message), fmt, args); /* cut, as the line would be */
	va_end(args);
}

void tui_meta(struct tui *t, const struct meta *m)
{
	(void)snprintf(t->host, sizeof(t->host), "%u CPU%s", m->cpus, m->cpus == 1 ? "" : "s");
	text_join(t->host, sizeof(t->host), "  ", m->kernel);
	t->sources[0] = '\0';
	for (size_t i = 0; i < m->nsources; i++)
		if (m->sources[i].on)
			text_join(t->sources, sizeof(t->sources), " ", m->sources[i].name);
	for (size_t i = 0; i < m->nfilters; i++) {
		text_join(t->sources, sizeof(t->sources), i ? " " : "   ", m->filters[i].key);
		text_join(t->sources, sizeof(t->sources), "=", m->filters[i].value);
	}
	(void)summary_untraced(t->untraced, m);
}

const struct frame *tui_frame(const struct tui *t)
{
	const struct frame *f = tui_keep_get(&t->keep, t->number);

	if (f && t->total && t->follow && f->type == FRAME_INTERVAL)
		return frame_own_view(t->total);
	return f;
}

static int take_total(struct tui *t, const struct frame *total)
{
	if (!t->total)
		t->total = frame_own_new();
	if (!t->total)
		return -ENOMEM;
	frame_own_reset(t->total);
	return frame_own_add(t->total, total, FRAME_THEN);
}

int tui_add(struct tui *t, const struct frame *f, const struct frame *total)
{
	int ret;

	tui_rows_drop(t);
	tui_slow_bound(t);
	ret = tui_keep_add(&t->keep, f);
	if (!ret && total)
		ret = take_total(t, total);
	if (ret)
		return ret;
	tui_pages_make(t, f);
	t->ended |= f->type == FRAME_FINAL;
	if (t->follow)
		t->number = tui_keep_end(&t->keep) - 1;
	else if (t->number < t->keep.gone) { /* what one looked at is no longer there */
		t->number = t->keep.gone;
		tui_say(t, "older reports are no longer kept: this is the oldest");
	}
	return 0;
}
