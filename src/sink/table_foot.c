// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *	line: 1,994 samples, 62.1 % placed, 37.7 % no-operand, 0.2 % pending
 *	quality: complete  3 missed at the start, 2 in flight (longest 1.2 ms: make 42)
 *	quality: incomplete  12 unpaired, 1 map_full, 3 missed at the start
 *	cost: 0.4 % of one CPU, 61 ns/event
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/fields.h"
#include "core/text.h"
#include "sink/table.h"

#define FOOT_INDENT 9 /* under what "quality: " says */
#define COST_GAP 4    /* before what it costs, in the same line */
#define QUALITY_LEAST 40
#define MORE ", …" /* there must be room for it after an item */

/* The line being filled, and what goes before the next item. */
struct foot {
	struct table_page *page;
	struct line line;
	enum style style;
	const char *sep;
	size_t room; /* where there is but one line; 0: it may have more */
	bool full;
};

static void __attribute__((format(printf, 2, 3))) foot_item(struct foot *f, const char *fmt, ...)
{
	bool comma = f->sep[0] == ',';
	char item[256];
	va_list args;
	int n = snprintf(item, sizeof(item), "%s", f->sep);

	va_start(args, fmt);
	(void)vsnprintf(item + n, sizeof(item) - (size_t)n, fmt, args); /* longest is far below */
	va_end(args);
	if (!f->room) { /* a comma stays on the line it ends */
		line_add(&f->line, "%s", comma ? "," : "");
		printer_wrap(&f->page->printer, f->style, &f->line, item + comma, FOOT_INDENT);
	} else if (!f->full) {
		/*
		 * The most important come first; an ellipsis stands for those that no longer fit.
		 */
		f->full = line_width(&f->line) + text_width(item) + text_width(MORE) > f->room;
		line_add(&f->line, "%s%s", f->full ? f->sep : item, f->full ? "…" : "");
	}
	f->sep = ", ";
}

static void foot_counters(struct foot *f, const struct field_table *t, const struct quality *q)
{
	for (size_t i = 0; i < t->n; i++) {
		uint64_t v = t->v[i].foot ? field_u64(&t->v[i], q) : 0;

		if (v)
			foot_item(f, "%s %s", word_count(v).s, t->v[i].foot);
	}
}

/* A counter and its parts; what never occurred is not worth a word. */
static void foot_note(struct table_page *page, const struct series *all)
{
	const struct frame *f = page->f;
	struct foot foot = {.page = page, .sep = ", "};
	char name[48];

	line_start(&foot.line);
	line_add(&foot.line, "%s: %s", all->desc->title, table_samples(all->value).s);
	for (size_t i = 0; i < f->nseries; i++) {
		const struct series *s = &f->series[i];

		if (s->desc != all->desc || !s->nlabels || !s->value)
			continue;
		text_clean(name, sizeof(name), series_label(s, s->desc->pivot), SIZE_MAX);
		foot_item(&foot, "%s %% %s", word_share(s->value, all->value, SHARE_EXACT).s, name);
	}
	printer_line(&page->printer, STYLE_PLAIN, &foot.line);
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

/* The cost beside the quality, or as much of it as there is room for; false: it gets a line. */
static bool foot_cost_beside(struct foot *f, const char *cost)
{
	size_t columns = f->page->printer.columns, width = line_width(&f->line) + COST_GAP;
	int start = (int)strcspn(cost, ",");

	if (width + text_width(cost) <= columns)
		line_add(&f->line, "%*s%s", COST_GAP, "", cost);
	else if (f->room && width + (size_t)start <= columns)
		line_add(&f->line, "%*s%.*s", COST_GAP, "", start, cost);
	else
		return f->room != 0;
	return true;
}

/* Where a mark was printed, as long as there is room for its legend. */
static void foot_legend(struct table_page *page, uint32_t printed, const char *text)
{
	uint32_t all = page->printer.variants;

	page->printer.variants &= printed;
	if (printed >> page->density & 1 || page->state == PAGE_COUNT)
		printer_text(&page->printer, STYLE_DIM, text);
	page->printer.variants = all;
}

/*
 * Where the foot has one line, the cost's first words stay beside the quality, unless the window is
 * too narrow.
 */
static void foot_quality(struct table_page *page, const char *cost, bool one_line)
{
	const struct quality *q = &page->f->quality;
	size_t columns = page->printer.columns, first = strcspn(cost, ",") + COST_GAP;
	char comm[4 * sizeof(q->longest_comm) + 1];
	bool complete = quality_complete(q), beside;
	struct foot f = {.page = page, .sep = "  ", .style = complete ? STYLE_PLAIN : STYLE_BAD};

	if (one_line)
		f.room = columns >= first + QUALITY_LEAST ? columns - first : columns;
	line_start(&f.line);
	line_add(&f.line, "quality: %s", complete ? "complete" : "incomplete");
	foot_counters(&f, &quality_fields, q);
	foot_counters(&f, &quality_edge_fields, q);
	text_clean(comm, sizeof(comm), q->longest_comm, sizeof(q->longest_comm));
	if (q->in_flight)
		foot_item(&f, "%s in flight (longest %s: %s %" PRIu32 ")",
			  word_count(q->in_flight).s, word_duration(q->longest_ns).s, comm,
			  q->longest_tid);
	if (q->watches)
		foot_item(&f, "%s short watch%s (debug registers for %s)", word_count(q->watches).s,
			  q->watches == 1 ? "" : "es", word_duration(q->watched_ns).s);
	/* Beside a short quality line, else below. */
	beside = (complete || f.room) && foot_cost_beside(&f, cost);
	printer_line(&page->printer, f.style, &f.line);
	if (!beside)
		printer_text(&page->printer, STYLE_PLAIN, cost);
}

void table_foot(struct table_page *page)
{
	uint64_t hidden = table_begin_foot(page);
	char cost[160];
	struct line l;

	if (hidden) {
		line_start(&l);
		line_add(&l, "… %s more row%s: a taller window, or -n 0 into a pipe",
			 word_count(hidden).s, hidden == 1 ? "" : "s");
		printer_line(&page->printer, STYLE_DIM, &l);
	}
	if (table_only(page, DENSITY_ALL, DENSITY_BARE)) {
		foot_legend(page, page->few, "~ fewer than 10 samples lie beyond it");
		foot_legend(page, page->hot, "* written often");
		for (size_t i = 0; i < page->f->nseries; i++) {
			const struct series *s = &page->f->series[i];

			if (s->desc->role == METRIC_NOTE && !s->nlabels)
				foot_note(page, s);
		}
	}
	foot_cost(cost, sizeof(cost), &page->f->self);
	if (table_only(page, DENSITY_ALL, DENSITY_SHORT))
		foot_quality(page, cost, false);
	if (table_only(page, DENSITY_SHORT, DENSITIES))
		foot_quality(page, cost, true);
	table_always(page);
}
