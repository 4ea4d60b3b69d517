// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One section for each headline metric:
 *
 *	Wakeup latency (usec)      12,904 samples  12,904/s
 *	    50.0th:       5.1   (6,452 samples)
 *	    90.0th:      29.4   (5,161 samples)
 *	  * 99.0th:      53.2   (1,161 samples)
 *	    99.9th:       125   (117 samples)
 *	    min=0.9, max=1,708          wake-to-queue p99 16.2   queue-to-run p99 41.0
 */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define TITLE_WIDTH 26
#define VALUE_WIDTH 9
#define NOTE_COLUMN 32
#define NOTE_INDENT 4

static const struct quantile p99 = {.ppb = PPB_P99, .text = "99"};

struct word table_samples(uint64_t n)
{
	struct word w;

	(void)snprintf(w.s, sizeof(w.s), "%.40s sample%s", word_count(n).s,
		       n == 1 ? "" : "s"); /* fits */
	return w;
}

/* The number and its mark. */
static struct word table_marked(struct table_page *page, struct word number, bool few)
{
	struct word w;

	if (few)
		page->few |= page->printer.variants;
	(void)snprintf(w.s, sizeof(w.s), "%.62s%c", number.s, few ? '~' : ' '); /* fits */
	return w;
}

struct word table_quantile(struct table_page *page, const struct hist *h, const struct quantile *q)
{
	struct quantile_value v = hist_quantile(h, q);

	return table_marked(page, word_time(v.ns, page->cfg->unit), v.few);
}

struct word table_cycles(struct table_page *page, const struct hist *h, const struct quantile *q)
{
	struct quantile_value v = hist_quantile(h, q);

	return table_marked(page, word_count(v.ns), v.few);
}

const char *table_word(char *out, size_t len, struct word w)
{
	(void)snprintf(out, len, "%s", w.s); /* cells have room for any number */
	return out;
}

/* Of the items in `text`, with two spaces between them, as many as there is room for. */
void table_title(struct table_page *page, const char *title, bool timed, const char *text)
{
	char items[128], more[48] = "", *at, *last;
	uint64_t hidden = table_begin_section(page);
	struct line l;

	line_start(&l);
	line_add(&l, "%s", title);
	if (timed)
		line_add(&l, " (%s)", unit_name(page->cfg->unit));
	line_to(&l, TITLE_WIDTH);
	(void)snprintf(items, sizeof(items), "%s", text); /* numbers and words: fits */
	if (hidden)
		(void)snprintf(more, sizeof(more), "  … %.30s more",
			       word_count(hidden).s); /* fits */
	while (line_width(&l) + 1 + text_width(items) + text_width(more) > page->printer.columns) {
		for (at = items, last = NULL; (at = strstr(at, "  ")); at += 2)
			last = at;
		if (!last)
			break; /* it is the only one */
		*last = '\0';
	}
	/* How much is missing matters more than the last item. */
	if (hidden &&
	    line_width(&l) + 1 + text_width(items) + text_width(more) > page->printer.columns)
		line_add(&l, "%s", more + 1);
	else
		line_add(&l, " %s%s", items, more);
	printer_line(&page->printer, STYLE_BOLD, &l);
}

/* What the rows of a section come to. */
static void section_title(struct table_page *page)
{
	const struct view_section *sec = page->section;
	const struct series *head = sec->head;
	uint64_t count = head ? head->desc->counter ? head->value : head->hist->count : sec->count;
	bool timed = !sec->desc->counter;
	struct line text;

	line_start(&text);
	if (head && !timed)
		line_add(&text, "%s", word_count(count).s);
	else if (!count)
		line_add(&text, timed ? "no samples" : "none");
	else
		line_add(&text, "%s  %s/s", timed ? table_samples(count).s : word_count(count).s,
			 word_rate(count, page->f->dur_ns).s);
	if (sec->kind == VIEW_ROWS && count)
		line_add(&text, "  %s", word_duration(sec->sum_ns).s);
	table_title(page, sec->desc->title, timed, text.text);
}

/* "99" is written "99.0th", as schbench does. */
static const char *tenth(const struct quantile *q)
{
	return strchr(q->text, '.') ? "" : ".0";
}

static void section_percentiles(struct table_page *page, const struct hist *h)
{
	const struct quantile *q = page->cfg->quantiles, *end = q + page->cfg->nquantiles;
	uint64_t rank, before = 0;
	size_t w, width = 0;
	struct line l;

	for (; q < end; q++) {
		w = strlen(q->text) + strlen(tenth(q)) + strlen("th:");
		width = w > width ? w : width;
	}
	for (q = page->cfg->quantiles; q < end; q++, before = rank) {
		bool headline = q->ppb == PPB_P99;
		char text[64];

		line_start(&l);
		line_add(&l, "  %c ", headline ? '*' : ' ');
		(void)snprintf(text, sizeof(text), "%s%sth:", q->text, tenth(q)); /* fits */
		line_right(&l, text, width);
		line_add(&l, " ");
		line_right(&l, table_quantile(page, h, q).s, VALUE_WIDTH + 1);
		rank = hist_quantile(h, q).rank;
		line_add(&l, "  (%s)", table_samples(rank - before).s);
		printer_line(&page->printer, headline ? STYLE_HEADLINE : STYLE_PLAIN, &l);
	}
}

/* "  50.0th 65.8", the 99th marked: added to `l`, if not NULL. Its width. */
static size_t section_short_item(struct table_page *page, const struct hist *h,
				 const struct quantile *q, struct line *l)
{
	struct line item;

	line_start(&item);
	line_add(&item, "  %s%s%sth %s", q->ppb == PPB_P99 ? "* " : "", q->text, tenth(q),
		 table_quantile(page, h, q).s);
	while (item.len && item.text[item.len - 1] == ' ')
		item.text[--item.len] = '\0';
	if (l)
		line_add(l, "%s", item.text);
	return line_width(&item);
}

/* Percentiles in one line: where it is narrow without the first ones, up to the 99th. */
static void section_short(struct table_page *page, const struct hist *h)
{
	const struct config *cfg = page->cfg;
	size_t i, from, width;
	char max[48];
	struct line l;

	(void)snprintf(max, sizeof(max), "  max %.40s",
		       word_time(h->max_ns, cfg->unit).s); /* fits */
	width = NOTE_INDENT + text_width(max);
	for (i = 0; i < cfg->nquantiles; i++)
		width += section_short_item(page, h, &cfg->quantiles[i], NULL);
	for (from = 0; width > page->printer.columns && from + 1 < cfg->nquantiles &&
		       cfg->quantiles[from].ppb < PPB_P99;
	     from++)
		width -= section_short_item(page, h, &cfg->quantiles[from], NULL);
	line_start(&l);
	line_to(&l, NOTE_INDENT - 2);
	for (i = from; i < cfg->nquantiles; i++)
		if (line_width(&l) + section_short_item(page, h, &cfg->quantiles[i], NULL) <=
		    page->printer.columns)
			(void)section_short_item(page, h, &cfg->quantiles[i], &l); /* its width */
	if (line_width(&l) + text_width(max) <= page->printer.columns)
		line_add(&l, "%s", max);
	printer_line(&page->printer, STYLE_PLAIN, &l);
}

/* min, max and the legs; what does not fit goes on below, under the first leg. */
static void section_note(struct table_page *page, const struct hist *h)
{
	const struct view_table *legs = &page->section->legs;
	const struct view_row *rows = view_first(page->view, legs, legs->n);
	char item[128];
	struct line l;
	bool first = true;

	line_start(&l);
	line_to(&l, NOTE_INDENT);
	line_add(&l, "min=%s, max=%s", word_time(h->min_ns, page->cfg->unit).s,
		 word_time(h->max_ns, page->cfg->unit).s);
	for (size_t i = 0; i < legs->n; i++) {
		const struct series *s = rows[i].s;

		if (s->desc->counter || !s->hist->count)
			continue;
		if (first)
			line_to(&l, NOTE_COLUMN - 2);
		first = false;
		(void)snprintf(item, sizeof(item), "  %s p99 %s", s->desc->title,
			       table_quantile(page, s->hist, &p99).s);
		printer_wrap(&page->printer, STYLE_PLAIN, &l, item, NOTE_COLUMN);
	}
	printer_line(&page->printer, STYLE_PLAIN, &l);
}

void table_gap(struct table_page *page)
{
	if (table_only(page, DENSITY_ALL, DENSITY_CLOSE))
		printer_text(&page->printer, STYLE_PLAIN, "");
	table_always(page);
}

static void section_headline(struct table_page *page)
{
	const struct view_section *sec = page->section;
	const struct series *head = sec->head;
	const struct hist *h = head && !head->desc->counter ? head->hist : NULL;
	bool by = page->cfg->by != BY_NONE;

	/* Sums without a headline give way to what they are sums of. */
	for (size_t i = 0; i < page->view->nsections && !head; i++)
		if (page->view->sections[i].kind != VIEW_HEADLINE)
			page->until = DENSITY_BARE;
	table_gap(page);
	if (head)
		section_title(page);
	if (h && h->count) {
		if (table_only(page, DENSITY_SHORT, DENSITY_TINY))
			section_short(page, h);
		if (table_only(page, DENSITY_ALL, DENSITY_SHORT)) {
			section_percentiles(page, h);
			section_note(page, h);
		}
	}
	if (head && by)
		page->until = DENSITY_TINY;
	table_sides(page);
	page->until = by ? DENSITIES : DENSITY_TINY;
	table_always(page);
	if (sec->rows.n)
		table_gap(page);
	table_rows(page, &sec->rows);
	page->until = DENSITIES;
	table_always(page);
}

/* A table with --by has a second one of the groups, which alone is left in the smallest window. */
static void section_table(struct table_page *page)
{
	const struct view_section *sec = page->section;

	table_gap(page);
	section_title(page);
	page->until = sec->groups.n ? DENSITY_LEAST : DENSITIES;
	table_always(page);
	table_rows(page, &sec->rows);
	page->until = DENSITIES;
	table_always(page);
	if (sec->groups.n)
		table_gap(page);
	table_rows(page, &sec->groups);
}

void table_sections(struct table_page *page)
{
	static void (*const draw[])(struct table_page * page) = {
		[VIEW_HEADLINE] = section_headline, [VIEW_ROWS] = section_table,
		[VIEW_COUNTS] = section_table,	    [VIEW_CONTENDED] = table_contended,
		[VIEW_LINES] = table_lines,	    [VIEW_CULPRITS] = table_culprits,
	};
	const struct view *v = page->view;

	for (size_t i = 0; i < v->nsections; i++) {
		page->section = &v->sections[i];
		draw[page->section->kind](page);
	}
	if (v->nsections)
		return;
	table_gap(page);
	printer_text(&page->printer, STYLE_PLAIN, "no samples");
}
