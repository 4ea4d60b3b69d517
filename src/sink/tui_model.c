// SPDX-License-Identifier: GPL-2.0-or-later
/* What is kept and what is shown of it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/printer.h"
#include "sink/tui.h"

/* A run goes on for days; a record is looked at from one end to the other. */
#define LIVE_MOST 3600
#define LIVE_BYTES (64UL << 20)
#define REPLAY_MOST 100000
#define REPLAY_BYTES (512UL << 20)

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
