// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *	line: 1,994 samples, 62.1 % placed, 37.7 % no-operand, 0.2 % pending
 *	quality: complete  3 missed at the start, 2 in flight (longest 1.2 ms: make 42)
 *	quality: incomplete  12 unpaired, 1 map_full, 3 missed at the start
 *	cost: 0.4 % of one CPU, 61 ns/event
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define FOOT_INDENT 9 /* under what "quality: " says */
#define COST_GAP 4    /* before what it costs, in the same line */
#define QUALITY_LEAST 40
#define MORE ", …" /* there must be room for it after an item */

struct foot_loss {
	const char *name; /* as in JSON and the manual */
	size_t offset;
};

static const struct foot_loss foot_losses[] = {
	{"unpaired", offsetof(struct quality, unpaired)},
	{"clamped", offsetof(struct quality, clamped)},
	{"map_full", offsetof(struct quality, map_full)},
	{"recursion_misses", offsetof(struct quality, recursion_misses)},
	{"lost_events", offsetof(struct quality, lost_events)},
	{"over_range", offsetof(struct quality, over_range)},
};

/* The line being filled, and what goes before the next item. */
struct foot {
	struct table_page *page;
	struct line line;
	enum style style;
	const char *sep;
	size_t room; /* where all is said in one line; 0: it may have more */
	bool full;
};

/* The most important items come first; an ellipsis stands for those that no longer fit. */
static void foot_item_folded(struct foot *f, const char *item)
{
	if (f->full)
		return;
	f->full = line_width(&f->line) + text_width(item) + text_width(MORE) > f->room;
	if (f->full)
		line_add(&f->line, "%s…", f->sep);
	else
		line_add(&f->line, "%s", item);
}

static void foot_item(struct foot *f, const char *text)
{
	char item[256];

	(void)snprintf(item, sizeof(item), "%s%s", f->sep, text); /* longest is far below */
	if (f->room) {
		foot_item_folded(f, item);
		f->sep = ", ";
		return;
	}
	/* A comma stays on the line it ends. */
	if (f->sep[0] == ',')
		line_add(&f->line, ",");
	paper_wrap(&f->page->paper, f->style, &f->line, item + (f->sep[0] == ','), FOOT_INDENT);
	f->sep = ", ";
}

static void foot_losses_print(struct foot *f, const struct quality *q)
{
	char count[32], text[64];
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(foot_losses) / sizeof(foot_losses[0]); i++) {
		memcpy(&v, (const char *)q + foot_losses[i].offset, sizeof(v));
		if (!v)
			continue;
		(void)snprintf(text, sizeof(text), "%s %s", format_count(count, sizeof(count), v),
			       foot_losses[i].name); /* fits: names are short */
		foot_item(f, text);
	}
}

static void foot_edges(struct foot *f, const struct quality *q)
{
	char count[32], longest[32], comm[4 * sizeof(q->longest_comm) + 1], text[192];

	if (q->inferred) {
		(void)snprintf(text, sizeof(text), "%s inferred",
			       format_count(count, sizeof(count), q->inferred)); /* fits */
		foot_item(f, text);
	}
	if (q->names_refused) {
		(void)snprintf(text, sizeof(text), "%s names_refused",
			       format_count(count, sizeof(count), q->names_refused)); /* fits */
		foot_item(f, text);
	}
	if (q->missed) {
		(void)snprintf(text, sizeof(text), "%s missed at the start",
			       format_count(count, sizeof(count), q->missed)); /* fits */
		foot_item(f, text);
	}
	if (!q->in_flight)
		return;
	text_clean(comm, sizeof(comm), q->longest_comm, sizeof(q->longest_comm));
	(void)snprintf(text, sizeof(text), "%s in flight (longest %s: %s %" PRIu32 ")",
		       format_count(count, sizeof(count), q->in_flight),
		       format_duration(longest, sizeof(longest), q->longest_ns), comm,
		       q->longest_tid); /* fits: comm is the longest part */
	foot_item(f, text);
}

/* A counter and its parts; what never occurred is not worth a word. */
static void foot_note(struct table_page *page, const struct series *whole)
{
	const struct frame *f = page->f;
	struct foot foot = {.page = page, .sep = ", "};
	char text[96], name[48], share[32];
	size_t i;

	line_start(&foot.line);
	line_add(&foot.line, "%s: %s", whole->desc->title,
		 table_samples(text, sizeof(text), whole->value));
	for (i = 0; i < f->nseries; i++) {
		const struct series *s = &f->series[i];

		if (s->desc != whole->desc || !s->nlabels || !s->value)
			continue;
		text_clean(name, sizeof(name), series_label(s, s->desc->pivot), SIZE_MAX);
		format_share(share, sizeof(share), s->value, whole->value, SHARE_EXACT);
		(void)snprintf(text, sizeof(text), "%s %% %s", share, name); /* fits */
		foot_item(&foot, text);
	}
	paper_line(&page->paper, STYLE_PLAIN, &foot.line);
}

static void foot_notes(struct table_page *page)
{
	size_t i;

	for (i = 0; i < page->f->nseries; i++)
		if (page->f->series[i].desc->role == METRIC_NOTE && !page->f->series[i].nlabels)
			foot_note(page, &page->f->series[i]);
}

static void foot_cost(char *out, size_t len, const struct self_cost *c)
{
	double percent = (c->bpf_cpu_ppm + c->user_cpu_ppm) / 1e4;

	if (c->bpf_denied)
		(void)snprintf(out, len,
			       "cost: %.2f %% of one CPU in user space, kernel's unknown "
			       "(needs CAP_SYS_ADMIN)",
			       percent);
	else if (!c->bpf_known)
		(void)snprintf(out, len, "cost: measuring");
	else if (percent < 0.01)
		(void)snprintf(out, len, "cost: < 0.01 %% of one CPU, %.0f ns/event",
			       c->bpf_ns_per_event);
	else
		(void)snprintf(out, len, "cost: %.*f %% of one CPU, %.0f ns/event",
			       percent < 0.1 ? 2 : 1, percent, c->bpf_ns_per_event);
}

/*
 * Columns for the quality where the foot has one line; the cost's first words stay beside it,
 * unless the window is too narrow.
 */
static size_t foot_room(const struct table_page *page, const char *cost)
{
	size_t columns = page->paper.columns, beside = strcspn(cost, ",") + COST_GAP;

	if (page->density < DENSITY_FOLDED)
		return 0;
	return columns >= beside + QUALITY_LEAST ? columns - beside : columns;
}

/* The cost beside the quality, or as much of it as there is room for; false: it gets a line. */
static bool foot_cost_beside(struct foot *f, const char *cost)
{
	size_t columns = f->page->paper.columns, width = line_width(&f->line) + COST_GAP;
	int brief = (int)strcspn(cost, ",");

	if (width + text_width(cost) <= columns)
		line_add(&f->line, "%*s%s", COST_GAP, "", cost);
	else if (f->room && width + (size_t)brief <= columns)
		line_add(&f->line, "%*s%.*s", COST_GAP, "", brief, cost);
	else
		return f->room != 0;
	return true;
}

/* "… 37 more rows: a taller window, or -n 0 into a pipe" */
static void foot_hidden(struct table_page *page)
{
	uint64_t n = table_begin_foot(page);
	char count[32];
	struct line l;

	if (!n)
		return;
	line_start(&l);
	line_add(&l, "… %s more row%s: a taller window, or -n 0 into a pipe",
		 format_count(count, sizeof(count), n), n == 1 ? "" : "s");
	paper_line(&page->paper, STYLE_DIM, &l);
}

void table_foot(struct table_page *page)
{
	const struct quality *q = &page->f->quality;
	bool complete = quality_complete(q);
	struct foot f = {.page = page, .sep = "  "};
	bool bare = page->density >= DENSITY_BARE, beside;
	char cost[160];

	foot_hidden(page);
	if (page->thin && !bare)
		paper_text(&page->paper, STYLE_DIM, "~ fewer than 10 samples lie beyond it");
	if (page->hot && !bare)
		paper_text(&page->paper, STYLE_DIM, "* written often");
	if (!bare)
		foot_notes(page);
	f.style = complete ? STYLE_PLAIN : STYLE_BAD;
	line_start(&f.line);
	line_add(&f.line, "quality: %s", complete ? "complete" : "incomplete");
	foot_cost(cost, sizeof(cost), &page->f->self);
	f.room = foot_room(page, cost);
	foot_losses_print(&f, q);
	foot_edges(&f, q);
	/* Beside a short quality line, else below. */
	beside = (complete || f.room) && foot_cost_beside(&f, cost);
	paper_line(&page->paper, f.style, &f.line);
	if (!beside)
		paper_text(&page->paper, STYLE_PLAIN, cost);
}
