// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One row: its numbers, its percentiles and how they came about over time, then what else is known.
 *
 *	Wakeup latency  worker 100
 *	12,904 samples  12,904/s  mean 8.1  min 0.9  104 ms/s waited
 *	     p50      p90      p99    p99.9      max
 *	     5.1     29.4     53.2     125~    1,708
 *	  1,708 |            ##    1,708 | . : #
 *	     .. |      ########       .. | :::##
 *	    0.9 |##############      0.9 | ####
 *	        0    90  99  99.9        last 30 intervals
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/printer.h"
#include "sink/tui.h"

#define PICTURE_LEAST 8
#define PICTURE_MOST 24
#define CELL 10 /* columns of a number in the list */

size_t tui_list_line(struct tui_list *l)
{
	size_t at = l->n++;

	return at >= l->top && at - l->top < l->room ? l->from + at - l->top : SIZE_MAX;
}

void tui_list_add(struct tui_list *l, enum tui_style style, const char *fmt, ...)
{
	size_t line = tui_list_line(l);
	char text[2 * TUI_NAME];
	va_list args;

	if (line == SIZE_MAX)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args); /* cut, as the line would be */
	va_end(args);
	(void)tui_text(&l->t->canvas, line, style == TUI_HEADING ? 0 : 2, l->t->canvas.columns - 2,
		       style, text);
}

bool tui_detail_choose(struct tui *t, const struct tui_row *r)
{
	struct frame one = {.series = r->r.s, .nseries = r->r.s != NULL};

	if (!tui_slow_choose(t, r->w))
		goto no_memory;
	if (r->w) {
		(void)tui_name(t, r, t->chosen_name, sizeof(t->chosen_name));
		return true;
	}
	if (r->r.c) {
		one = (struct frame){.contended = r->r.c, .ncontended = 1};
		one.dur_ns = tui_frame(t)->dur_ns;
	} else if (r->r.k) {
		one = (struct frame){.culprits = r->r.k, .nculprits = 1, .why = true};
	}
	if (!t->kept)
		t->kept = frame_own_new();
	if (!t->kept)
		goto no_memory;
	frame_own_reset(t->kept);
	if (frame_own_add(t->kept, &one, FRAME_THEN))
		goto no_memory;
	(void)tui_name(t, r, t->chosen_name, sizeof(t->chosen_name));
	if (r->kind == TUI_ROW_GROUP && r->r.s) {
		size_t at = strlen(t->chosen_name);

		(void)snprintf(t->chosen_name + at, sizeof(t->chosen_name) - at, "   %s",
			       r->r.s->desc->title); /* a long name is cut */
	}
	return true;

no_memory:
	tui_say(t, "no memory for the detail");
	return false;
}

void tui_detail_find(struct tui *t)
{
	const struct frame *f = tui_frame(t), *kept;
	struct view_row own = {0};

	t->chosen = own;
	t->gone = false;
	if (t->slow_chosen) /* what it was does not change */
		return;
	kept = frame_own_view(t->kept);
	if (!f || !kept)
		return;
	if (kept->ncontended)
		own.c = kept->contended;
	else if (kept->nculprits)
		own.k = kept->culprits;
	else if (kept->nseries)
		own.s = kept->series;
	t->gone = !tui_keep_row(&t->keep, t->number, &own, SIZE_MAX, &t->chosen);
	if (t->gone)
		t->chosen = own;
}

/* ---- numbers ---- */

static void draw_numbers(struct tui *t, size_t line, uint64_t count, const struct hist *h)
{
	uint64_t dur = tui_frame(t)->dur_ns;
	enum unit unit = t->cfg->unit;
	char text[TUI_NAME];
	int n = snprintf(text, sizeof(text), "%s, %s/s", word_count(count).s,
			 word_rate(count, dur).s); /* fits, as what follows */

	if (h && h->count && dur)
		(void)snprintf(text + n, sizeof(text) - (size_t)n,
			       "   min %s, mean %s, max %s %s   %s/s waited",
			       word_time(h->min_ns, unit).s,
			       word_time(h->sum_ns / h->count, unit).s,
			       word_time(h->max_ns, unit).s, unit_name(unit),
			       word_duration((uint64_t)((double)h->sum_ns * 1e9 / (double)dur)).s);
	(void)tui_text(&t->canvas, line, 2, t->canvas.columns - 2, TUI_PLAIN, text);
}

static void draw_quantiles(struct tui *t, size_t line, const struct hist *h)
{
	const struct config *cfg = t->cfg;
	struct tui_canvas *c = &t->canvas;
	char text[64];

	for (size_t i = 0; i < cfg->nquantiles && 2 + (i + 1) * CELL <= c->columns; i++) {
		(void)snprintf(text, sizeof(text), "p%s ", cfg->quantiles[i].text); /* fits */
		tui_text_right(c, line, 2 + i * CELL, CELL, TUI_HEAD, text);
		tui_text_right(
			c, line + 1, 2 + i * CELL, CELL, TUI_BOLD,
			tui_quantile_text(h, &cfg->quantiles[i], cfg->unit, text, sizeof(text)));
	}
}

/* ---- what has the same labels ---- */

static bool same_labels(const struct series *a, const struct series *b)
{
	if (a->nlabels != b->nlabels)
		return false;
	for (uint32_t i = 0; i < a->nlabels; i++)
		if (strcmp(a->labels[i].key, b->labels[i].key) != 0 ||
		    strcmp(a->labels[i].value, b->labels[i].value) != 0)
			return false;
	return true;
}

static void list_series(struct tui_list *l, const struct series *s)
{
	static const char *const heads[] = {"/s", "p50 ", "p99 ", "p99.9 ", "max"};
	static const struct quantile q[] = {
		{500000000, "50"}, {990000000, "99"}, {999000000, "99.9"}};
	struct tui_canvas *c = &l->t->canvas;
	enum unit unit = l->t->cfg->unit;
	size_t line = tui_list_line(l), x = 2 + 28;
	char text[TUI_NAME];

	if (line == SIZE_MAX)
		return;
	if (!s) {
		for (size_t i = 0; i < 5; i++)
			tui_text_right(c, line, x + i * CELL, CELL, TUI_HEAD, heads[i]);
		return;
	}
	(void)tui_text(c, line, 2, 27, TUI_PLAIN, s->desc->title);
	tui_text_right(c, line, x, CELL, TUI_PLAIN,
		       word_rate(s->hist ? s->hist->count : s->value, tui_frame(l->t)->dur_ns).s);
	for (size_t i = 0; s->hist && s->hist->count && i < 3; i++)
		tui_text_right(c, line, x + (i + 1) * CELL, CELL, TUI_PLAIN,
			       tui_quantile_text(s->hist, &q[i], unit, text, sizeof(text)));
	if (s->hist && s->hist->count)
		tui_text_right(c, line, x + 4 * CELL, CELL, TUI_PLAIN,
			       word_time(s->hist->max_ns, unit).s);
}

/* Of a group: its own line, in two. */
static void detail_summary(struct tui_list *l, const struct series *s)
{
	char text[SUMMARY_BYTES], *waited;

	if (!s->nlabels || !*summary_text(text, tui_frame(l->t), &s->labels[0]))
		return;
	waited = strstr(text, "; ");
	tui_list_add(l, TUI_HEADING, "Where its time went");
	tui_list_add(l, TUI_PLAIN, "%.*s", waited ? (int)(waited - text) : -1, text);
	if (waited)
		tui_list_add(l, TUI_PLAIN, "%s", waited + 2);
}

static void detail_series(struct tui_list *l, const struct series *s)
{
	const struct frame *f = tui_frame(l->t);
	char key[TUI_NAME];
	uint64_t sum = s->hist ? s->hist->sum_ns : 0;

	detail_summary(l, s);
	if (s->split && sum) {
		uint64_t rest = sum - s->split->blocked_ns - s->split->run_queue_ns;

		tui_list_add(l, TUI_HEADING, "What the time went to");
		tui_list_add(l, TUI_PLAIN, "blocked %s %%, run queue %s %%, on the CPU %s %%",
			     word_share(s->split->blocked_ns, sum, 1).s,
			     word_share(s->split->run_queue_ns, sum, 1).s,
			     word_share(rest, sum, 1).s);
	}
	tui_detail_waited_for(l, s);
	tui_list_add(l, TUI_HEADING, s->nlabels ? "All that was measured of it" : "All metrics");
	list_series(l, NULL);
	for (size_t i = 0; i < f->nseries; i++)
		if (same_labels(&f->series[i], s))
			list_series(l, &f->series[i]);
	tui_list_add(l, TUI_HEADING, "Its name in other formats");
	if (series_key_text(key, sizeof(key), s))
		tui_list_add(l, TUI_DIM, "%s", name_clean(key).s);
}

/* ---- all of it ---- */

static size_t draw_pictures(struct tui *t, size_t line, size_t room, const struct hist *h)
{
	struct tui_canvas *c = &t->canvas;
	size_t height = room / 2, half = (c->columns - 2) / 2;

	if (height < PICTURE_LEAST)
		height = PICTURE_LEAST;
	if (height > PICTURE_MOST)
		height = PICTURE_MOST;
	if (!h || !h->count)
		return 0;
	(void)tui_text(c, line, 2, half - 2, TUI_HEADING, "percentiles, the tail stretched");
	(void)tui_text(c, line, half + 2, half - 2, TUI_HEADING, "times, in each interval");
	tui_draw_curve(t, line + 1, 1, height - 1, half - 2, h);
	tui_draw_heat(t, line + 1, half + 1, height - 1, half - 2);
	return height;
}

void tui_list_scrolled(struct tui_list *l, void (*draw)(struct tui_list *l, const struct slow *w),
		       const struct slow *w)
{
	struct tui *t = l->t;
	size_t right = t->canvas.columns - 1;

	for (int pass = 0; pass < 2; pass++) { /* the first counts, so that it ends at its end */
		l->top = pass ? t->detail_top : SIZE_MAX;
		l->n = 0;
		draw(l, w);
		if (!pass && t->detail_top + l->room > l->n)
			t->detail_top = l->n > l->room ? l->n - l->room : 0;
	}
	if (t->detail_top + l->room < l->n)
		tui_put(&t->canvas, l->from + l->room - 1, right, 0x2193, TUI_SORTED);
	if (t->detail_top)
		tui_put(&t->canvas, l->from, right, 0x2191, TUI_SORTED);
}

static void detail_rest(struct tui_list *l, const struct slow *none)
{
	const struct view_row *r = &l->t->chosen;

	if (r->c)
		tui_detail_contended(l, r->c);
	else if (r->k)
		tui_detail_culprit(l, r->k);
	else
		detail_series(l, r->s);
}

void tui_draw_detail(struct tui *t, size_t from)
{
	struct tui_canvas *c = &t->canvas;
	size_t line = from, end = c->lines - TUI_LINES_FOOT;
	const struct hist *h = tui_hist(&t->chosen);
	struct tui_list list = {.t = t};
	uint64_t count;

	if (t->slow_chosen) {
		tui_draw_slow(t, from);
		return;
	}
	(void)tui_text(c, line, 0, c->columns - 30, TUI_BOLD, t->chosen_name);
	tui_text_right(c, line, c->columns - 30, 29, t->gone ? TUI_BAD : TUI_DIM,
		       t->gone ? "not in this report" : "Esc: back");
	if (t->gone)
		return;
	count = t->chosen.c   ? t->chosen.c->count
		: t->chosen.k ? t->chosen.k->count
		: h	      ? h->count
			      : t->chosen.s->value;
	draw_numbers(t, line + 1, count, h);
	line += 2;
	if (h && h->count) {
		draw_quantiles(t, line, h);
		line += 2;
	}
	line += draw_pictures(t, line, end - line, h);
	list.from = line;
	list.room = end - line;
	tui_list_scrolled(&list, detail_rest, NULL);
}
