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
};

static void foot_item(struct foot *f, const char *text)
{
	char item[256];

	(void)snprintf(item, sizeof(item), "%s%s", f->sep, text); /* longest is far below */
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

void table_foot(struct table_page *page)
{
	const struct quality *q = &page->f->quality;
	bool complete = quality_complete(q);
	struct foot f = {.page = page, .sep = "  "};
	char cost[160];

	if (page->thin && page->brief != BRIEF_REST)
		paper_text(&page->paper, STYLE_DIM, "~ fewer than 10 samples lie beyond it");
	if (page->hot && page->brief != BRIEF_REST)
		paper_text(&page->paper, STYLE_DIM, "* written often");
	if (page->brief != BRIEF_REST)
		foot_notes(page);
	f.style = complete ? STYLE_PLAIN : STYLE_BAD;
	line_start(&f.line);
	line_add(&f.line, "quality: %s", complete ? "complete" : "incomplete");
	foot_losses_print(&f, q);
	foot_edges(&f, q);
	foot_cost(cost, sizeof(cost), &page->f->self);
	/* Beside a short quality line, else below. */
	if (complete && line_width(&f.line) + 4 + text_width(cost) <= page->paper.columns) {
		line_add(&f.line, "    %s", cost);
		paper_line(&page->paper, f.style, &f.line);
		return;
	}
	paper_line(&page->paper, f.style, &f.line);
	paper_text(&page->paper, STYLE_PLAIN, cost);
}
