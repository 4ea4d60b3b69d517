// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live table. Appended block by block, or on a terminal drawn over the last one: home, each
 * line clears its rest, the screen below is cleared at the end; nothing flickers, and the final
 * report stays.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/summary.h"
#include "core/text.h"
#include "sink/sink.h"
#include "sink/table.h"

#define COLUMNS_MIN 40
#define COLUMNS_MAX 500
#define HEADER_LEAST 3 /* a smaller window has the foot alone */
#define STUMP 5	       /* a blank, three letters and the ellipsis */

struct table_sink {
	struct sink base;
	struct view view;
	struct table_plan plan;
	bool tty, color, redraw;
	uint32_t columns, window_lines;
	char host[256];		      /* "waitscope  6.18.44  2 CPUs" */
	char sources[512];	      /* "sched ext4   pid=42" */
	char untraced[SUMMARY_BYTES]; /* "futex: not traced (-s futex)" */
	bool printed; /* something, so that a blank line sets the next block apart */
	bool drawn;   /* the screen is ours */
	unsigned int
		slow_head; /* SLOW_* bits: of which slow lines the head stands above the next one */
	bool progress;	   /* a transient line is on the terminal */
};

static struct table_sink *table_sink(struct sink *s)
{
	return (struct table_sink *)s;
}

static void table_free(struct sink *s)
{
	view_free(&table_sink(s)->view);
	free(table_sink(s)->plan.v);
	free(table_sink(s)->plan.cuts);
	free(table_sink(s)->plan.how);
}

static void table_resize(struct sink *s, uint32_t columns, uint32_t lines)
{
	struct table_sink *t = table_sink(s);

	t->columns = columns < COLUMNS_MIN ? COLUMNS_MIN : columns;
	if (t->columns > COLUMNS_MAX)
		t->columns = COLUMNS_MAX;
	t->window_lines = lines;
}

static int table_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	int ret = sink_new(out, &sink_table, args, e);
	struct table_sink *t;

	if (ret)
		return ret;
	t = table_sink(*out);
	t->tty = args->tty;
	t->color = args->color;
	/* Slow waits come between reports: they scroll, so reports must too. */
	t->redraw = args->redraw && !args->cfg->slower;
	table_resize(*out, args->columns, args->lines);
	return 0;
}

/* "pid=1,2 comm=x": what was given more than once is joined. */
static void table_filters(struct table_sink *t, const struct meta *m)
{
	const struct label *f;
	const char *sep = "   ", *usual = t->base.cfg->command ? "yes" : "no";
	char filter[512];
	size_t i;

	for (i = 0; i < m->nfilters; i++) {
		f = &m->filters[i];
		if (!strcmp(f->key, "follow") && !strcmp(f->value, usual))
			continue;
		if (i && !strcmp(f->key, f[-1].key)) {
			text_join(t->sources, sizeof(t->sources), ",", f->value);
			continue;
		}
		(void)snprintf(filter, sizeof(filter), "%s=%s", f->key,
			       f->value); /* the header is cut */
		text_join(t->sources, sizeof(t->sources), sep, filter);
		sep = " ";
	}
}

static int table_meta(struct sink *s, const struct meta *m, struct err *e)
{
	struct table_sink *t = table_sink(s);
	char cpus[64];
	size_t i;

	(void)snprintf(t->host, sizeof(t->host), "waitscope  ");
	text_join(t->host, sizeof(t->host), "", m->kernel);
	(void)snprintf(cpus, sizeof(cpus), "%" PRIu32 " CPU%s", m->cpus,
		       m->cpus == 1 ? "" : "s"); /* fits */
	text_join(t->host, sizeof(t->host), "  ", cpus);
	t->sources[0] = '\0';
	for (i = 0; i < m->nsources; i++) {
		if (m->sources[i].on)
			text_join(t->sources, sizeof(t->sources), " ", m->sources[i].name);
	}
	table_filters(t, m);
	summary_untraced(t->untraced, m);
	return 0;
}

/* The interval that was asked for, if this one was as long but for a hair; "999 ms" looks like a
 * fault. */
static uint64_t table_period_ns(const struct table_sink *t, const struct frame *f)
{
	uint64_t asked = t->base.cfg->interval_ns, hair = asked / 100;

	if (f->type == FRAME_INTERVAL && f->dur_ns + hair >= asked && f->dur_ns <= asked + hair)
		return asked;
	return f->dur_ns;
}

/* A stump of the last word says nothing. */
static void table_cut(char *out, size_t len, const char *text, size_t room)
{
	char *space;

	line_cut(out, len, text, room);
	space = strcmp(out, text) ? strrchr(out, ' ') : NULL;
	if (space && text_width(space) < STUMP)
		(void)snprintf(space, len - (size_t)(space - out),
			       " …"); /* no longer than it was */
}

/*
 *	waitscope  6.18.44  2 CPUs  interval 1.0 s   sched                    14:02:11
 *
 * In a small window the time of day gives way to the time stamp, and in the smallest what does not
 * change from report to report to where the time went.
 */
static void table_header_line(const struct table_sink *t, struct table_page *page, bool stamp,
			      const char *summary)
{
	const struct frame *f = page->f;
	char text[1024], cut[1024], clock[64] = "";
	struct line l;
	struct tm tm;
	size_t room;

	if (stamp)
		format_rfc3339(clock, sizeof(clock), f->time.tv_sec, (uint32_t)f->time.tv_nsec);
	else if (localtime_r(&f->time.tv_sec, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm); /* empty if it fails */
	room = page->printer.columns - text_width(clock) - 2;
	(void)snprintf(text, sizeof(text), "%s  %s %s   %s", t->host,
		       f->type == FRAME_INTERVAL ? "interval" : "total",
		       word_duration(table_period_ns(t, f)).s, t->sources);
	table_cut(cut, sizeof(cut), *summary ? summary : text, room);
	line_start(&l);
	line_left(&l, cut, room + 2);
	line_add(&l, "%s", clock);
	printer_line(&page->printer, *summary ? STYLE_PLAIN : STYLE_DIM, &l);
}

static void table_header(const struct table_sink *t, struct table_page *page)
{
	enum table_density until = DENSITY_LEAST;
	char summary[SUMMARY_BYTES];

	const struct frame *f = page->f;
	char stamp[64];

	if (t->base.cfg->timestamps) {
		format_rfc3339(stamp, sizeof(stamp), f->time.tv_sec, (uint32_t)f->time.tv_nsec);
		if (table_only(page, DENSITY_ALL, DENSITY_SHORT))
			printer_text(&page->printer, STYLE_DIM, stamp);
		if (table_only(page, DENSITY_SHORT, DENSITY_LEAST))
			table_header_line(t, page, true, "");
		until = DENSITY_SHORT;
	}
	if (table_only(page, DENSITY_ALL, until))
		table_header_line(t, page, false, "");
	if (table_only(page, DENSITY_LEAST, DENSITIES))
		table_header_line(t, page, t->base.cfg->timestamps, summary_text(summary, f, NULL));
	table_always(page);
}

/* Where the time went, and what was waited for: in a small window as much of it as a line has room
 * for. What is not traced is said once. */
static void table_summary(const struct table_sink *t, struct table_page *page)
{
	bool first = !t->printed || t->redraw || page->f->type == FRAME_FINAL;
	char text[2 * SUMMARY_BYTES + 2];

	summary_text(text, page->f, NULL);
	if (first && *t->untraced) {
		strcat(text, *text ? "; " : ""); /* they fit */
		strcat(text, t->untraced);
	}
	if (!*text)
		return;
	if (table_only(page, DENSITY_ALL, DENSITY_SHORT))
		table_words(page, text);
	if (table_only(page, DENSITY_SHORT, DENSITY_LEAST))
		printer_text(&page->printer, STYLE_PLAIN, text);
	table_always(page);
}

static void table_draw(struct table_sink *t, struct table_page *page)
{
	char clean[512];
	struct line l;

	table_plan_begin(page);
	if (page->room >= HEADER_LEAST)
		table_header(t, page);
	if (page->f->type == FRAME_FINAL) {
		text_clean(clean, sizeof(clean), page->f->end ? page->f->end : "end", SIZE_MAX);
		line_start(&l);
		line_add(&l, "final report after %s: %s", word_duration(page->f->dur_ns).s, clean);
		printer_line(&page->printer, STYLE_PLAIN, &l);
	}
	if (page->room >= HEADER_LEAST)
		table_summary(t, page);
	table_sections(page);
	if (page->f->type == FRAME_FINAL)
		table_verdict(page);
	table_gap(page);
	table_foot(page);
}

/* What goes before a report: the screen's top, or a blank line. */
static void table_begin(struct table_sink *t)
{
	uint32_t i;

	if (t->progress)
		out_text(t->base.out, "\r\033[K");
	t->progress = false;
	if (!t->redraw) {
		if (t->printed)
			out_text(t->base.out, "\n");
		return;
	}
	/* What was on the screen moves up into the scroll-back instead of being overwritten. */
	for (i = 1; !t->drawn && i < t->window_lines; i++)
		out_text(t->base.out, "\n");
	out_text(t->base.out, "\033[H");
	t->drawn = true;
}

static int table_report(struct sink *s, const struct frame *f, struct err *e)
{
	struct table_sink *t = table_sink(s);
	struct table_page page = {
		.printer = {.out = t->base.out,
			    .columns = t->columns,
			    .color = t->color,
			    .in_place = t->redraw},
		.cfg = t->base.cfg,
		.f = f,
		.view = &t->view,
		.plan = &t->plan,
		.room = UINT32_MAX,
	};
	/* The final report may scroll: it stays. */
	bool fit = t->redraw && t->window_lines > 1 && f->type != FRAME_FINAL;
	int ret = view_make(&t->view, f, t->base.cfg);

	table_begin(t);
	if (!ret && fit) {
		page.room = t->window_lines - 1;
		page.state = PAGE_COUNT;
		table_draw(t, &page);
		table_plan_make(&page);
	}
	if (!ret && !page.error)
		table_draw(t, &page);
	ret = ret ? ret : page.error;
	if (ret && !t->base.out->error)
		t->base.out->error = ret;
	if (t->redraw)
		out_text(t->base.out, "\033[J");
	t->printed = true;
	t->slow_head = SLOW_NONE;
	return out_flush(t->base.out, e);
}

static int table_interval(struct sink *s, const struct frame *interval, const struct frame *total,
			  struct err *e)
{
	/* It is the run: the final report would repeat it. */
	if (interval->last && interval->dur_ns == total->dur_ns)
		return 0;
	return table_report(s, s->cfg->totals ? total : interval, e);
}

static bool table_totals(const struct sink *s)
{
	return s->cfg->totals;
}

static int table_slow(struct sink *s, const struct slow *w, struct err *e)
{
	struct table_sink *t = table_sink(s);
	struct printer p = {
		.out = t->base.out, .columns = t->tty ? t->columns : LINE_BYTES, .color = t->color};
	enum slow_sort sort = table_slow_sort(w);

	if (t->progress)
		out_text(t->base.out, "\r\033[K");
	t->progress = false;
	if (!(t->slow_head & sort)) {
		if (t->printed && !t->slow_head)
			out_text(t->base.out, "\n");
		table_slow_head(&p, t->base.cfg->unit, sort);
	}
	t->slow_head |= sort;
	t->printed = true;
	table_slow_line(&p, t->base.cfg->unit, w);
	return out_flush_soon(t->base.out, e);
}

/* "collecting: 12 s (first report at 60 s)", until there is something better to show. */
static int table_progress(struct sink *s, uint64_t elapsed_ns, struct err *e)
{
	struct table_sink *t = table_sink(s);
	const struct config *cfg = t->base.cfg;
	uint64_t at_ns = cfg->interval_ns ? cfg->interval_ns : cfg->duration_ns;
	char text[128];
	int n;

	if (!t->tty || t->printed)
		return 0;
	n = snprintf(text, sizeof(text), "collecting: %" PRIu64 " s", elapsed_ns / 1000000000);
	if (n < 0 || (size_t)n >= sizeof(text))
		return 0;
	if (at_ns)
		(void)snprintf(text + n, sizeof(text) - (size_t)n,
			       " (first report at %" PRIu64 " s)",
			       (at_ns + 999999999) / 1000000000); /* fits: two numbers */
	else
		(void)snprintf(text + n, sizeof(text) - (size_t)n, " (Ctrl-C ends and reports)");
	out_printf(t->base.out, "\r%s\033[K", text);
	t->progress = true;
	return out_flush(t->base.out, e);
}

/* A new file does not begin with a blank line. */
static void table_begin_file(struct sink *s)
{
	table_sink(s)->printed = false;
	table_sink(s)->slow_head = SLOW_NONE;
}

const struct sink_ops sink_table = {
	.name = "table",
	.summary = "percentile table for people (the default)",
	.what = "as a table",
	.size = sizeof(struct table_sink),
	.open = table_open,
	.meta = table_meta,
	.interval = table_interval,
	.totals = table_totals,
	.final = table_report,
	.slow = table_slow,
	.progress = table_progress,
	.resize = table_resize,
	.reopen = sink_reopen,
	.close = sink_close,
	.begin = table_begin_file,
	.free = table_free,
};
