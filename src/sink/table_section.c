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

#define SECTION_PARTS 16
#define TITLE_WIDTH 26
#define VALUE_WIDTH 9
#define NOTE_COLUMN 32
#define NOTE_INDENT 4

/* A headline (NULL if the frame begins without one) and the metrics that belong to it. */
struct section {
	const struct series *head;
	const struct series *legs[SECTION_PARTS];
	size_t nlegs;
	struct table_row sides[SECTION_PARTS];
	size_t nsides;
};

static const struct quantile p50 = {.ppb = PPB_P50, .text = "50"};
static const struct quantile p99 = {.ppb = PPB_P99, .text = "99"};

char *table_samples(char *out, size_t len, uint64_t n)
{
	char count[32];

	(void)snprintf(out, len, "%s sample%s", format_count(count, sizeof(count), n),
		       n == 1 ? "" : "s"); /* callers give room for any number */
	return out;
}

char *table_quantile(struct table_page *page, char *out, size_t len, const struct hist *h,
		     const struct quantile *q)
{
	struct quantile_value v = hist_quantile(h, q);
	char time[32];

	page->thin |= v.few;
	(void)snprintf(out, len, "%s%c", format_time(time, sizeof(time), v.ns, page->cfg->unit),
		       v.few ? '~' : ' '); /* callers give room for any time */
	return out;
}

/* Where its last item is set apart; NULL: it is the only one. */
static char *title_last(char *items)
{
	char *at, *last = NULL;

	for (at = items; (at = strstr(at, "  ")); at += 2)
		last = at;
	return last;
}

/* Of the items in `text`, with two spaces between them, as many as there is room for. */
void table_title(struct table_page *page, const char *title, bool timed, const char *text)
{
	char items[128], more[48] = "", count[32], *last;
	uint64_t hidden = table_begin_section(page);
	struct line l;

	line_start(&l);
	line_add(&l, "%s", title);
	if (timed)
		line_add(&l, " (%s)", unit_name(page->cfg->unit));
	line_to(&l, TITLE_WIDTH);
	(void)snprintf(items, sizeof(items), "%s", text); /* numbers and words: fits */
	if (hidden)
		(void)snprintf(more, sizeof(more), "  … %s more",
			       format_count(count, sizeof(count), hidden)); /* fits */
	while (line_width(&l) + 1 + text_width(items) + text_width(more) > page->paper.columns &&
	       (last = title_last(items)))
		*last = '\0';
	/* How much is missing matters more than the last item. */
	if (hidden &&
	    line_width(&l) + 1 + text_width(items) + text_width(more) > page->paper.columns)
		line_add(&l, "%s", more + 1);
	else
		line_add(&l, " %s%s", items, more);
	paper_line(&page->paper, STYLE_BOLD, &l);
}

static void section_title(struct table_page *page, const struct series *s)
{
	char samples[48], rate[48], text[128];

	if (s->desc->counter) {
		table_title(page, s->desc->title, false,
			    format_count(samples, sizeof(samples), s->value));
		return;
	}
	(void)snprintf(text, sizeof(text), "no samples");
	if (s->hist->count)
		(void)snprintf(text, sizeof(text), "%s  %s/s",
			       table_samples(samples, sizeof(samples), s->hist->count),
			       format_rate(rate, sizeof(rate), s->hist->count,
					   page->f->dur_ns)); /* fits: two numbers */
	table_title(page, s->desc->title, true, text);
}

/* "99" is said as "99.0th", as schbench does. */
static void section_percentile(struct table_page *page, const struct hist *h,
			       const struct quantile *q, uint64_t rank_before, size_t label_width)
{
	struct quantile_value v = hist_quantile(h, q);
	bool headline = q->ppb == PPB_P99;
	char text[64], samples[48];
	struct line l;

	line_start(&l);
	line_add(&l, "  %c ", headline ? '*' : ' ');
	(void)snprintf(text, sizeof(text), "%s%sth:", q->text, strchr(q->text, '.') ? "" : ".0");
	line_right(&l, text, label_width);
	line_add(&l, " ");
	line_right(&l, table_quantile(page, text, sizeof(text), h, q), VALUE_WIDTH + 1);
	line_add(&l, "  (%s)", table_samples(samples, sizeof(samples), v.rank - rank_before));
	paper_line(&page->paper, headline ? STYLE_HEADLINE : STYLE_PLAIN, &l);
}

static void section_percentiles(struct table_page *page, const struct hist *h)
{
	const struct config *cfg = page->cfg;
	uint64_t rank = 0;
	size_t i, w, width = 0;

	for (i = 0; i < cfg->nquantiles; i++) {
		w = strlen(cfg->quantiles[i].text) + strlen("th:") +
		    (strchr(cfg->quantiles[i].text, '.') ? 0 : strlen(".0"));
		if (w > width)
			width = w;
	}
	for (i = 0; i < cfg->nquantiles; i++) {
		section_percentile(page, h, &cfg->quantiles[i], rank, width);
		rank = hist_quantile(h, &cfg->quantiles[i]).rank;
	}
}

/* "  50.0th 65.8", the 99th marked: added to `l`, if not NULL. Its width. */
static size_t section_folded_item(struct table_page *page, const struct hist *h,
				  const struct quantile *q, struct line *l)
{
	char text[64];
	struct line item;

	line_start(&item);
	line_add(&item, "  %s%s%sth %s", q->ppb == PPB_P99 ? "* " : "", q->text,
		 strchr(q->text, '.') ? "" : ".0", table_quantile(page, text, sizeof(text), h, q));
	while (item.len && item.text[item.len - 1] == ' ')
		item.text[--item.len] = '\0';
	if (l)
		line_add(l, "%s", item.text);
	return line_width(&item);
}

/* Percentiles in one line: where it is narrow without the first ones, up to the 99th. */
static void section_folded(struct table_page *page, const struct hist *h)
{
	const struct config *cfg = page->cfg;
	size_t i, from, width;
	char max[48], time[32];
	struct line l;

	(void)snprintf(max, sizeof(max), "  max %s",
		       format_time(time, sizeof(time), h->max_ns, cfg->unit)); /* fits */
	width = NOTE_INDENT + text_width(max);
	for (i = 0; i < cfg->nquantiles; i++)
		width += section_folded_item(page, h, &cfg->quantiles[i], NULL);
	for (from = 0; width > page->paper.columns && from + 1 < cfg->nquantiles &&
		       cfg->quantiles[from].ppb < PPB_P99;
	     from++)
		width -= section_folded_item(page, h, &cfg->quantiles[from], NULL);
	line_start(&l);
	line_to(&l, NOTE_INDENT - 2);
	for (i = from; i < cfg->nquantiles; i++)
		if (line_width(&l) + section_folded_item(page, h, &cfg->quantiles[i], NULL) <=
		    page->paper.columns)
			(void)section_folded_item(page, h, &cfg->quantiles[i], &l); /* its width */
	if (line_width(&l) + text_width(max) <= page->paper.columns)
		line_add(&l, "%s", max);
	paper_line(&page->paper, STYLE_PLAIN, &l);
}

/* min, max and the legs; what does not fit goes on below, under the first leg. */
static void section_note(struct table_page *page, const struct section *sec)
{
	const struct hist *h = sec->head->hist;
	char a[64], b[64], item[128];
	struct line l;
	size_t i;
	bool first = true;

	line_start(&l);
	line_to(&l, NOTE_INDENT);
	line_add(&l, "min=%s, max=%s", format_time(a, sizeof(a), h->min_ns, page->cfg->unit),
		 format_time(b, sizeof(b), h->max_ns, page->cfg->unit));
	for (i = 0; i < sec->nlegs; i++) {
		if (sec->legs[i]->desc->counter || !sec->legs[i]->hist->count)
			continue;
		if (first)
			line_to(&l, NOTE_COLUMN - 2);
		first = false;
		table_quantile(page, a, sizeof(a), sec->legs[i]->hist, &p99);
		(void)snprintf(item, sizeof(item), "  %s p99 %s", sec->legs[i]->desc->title, a);
		paper_wrap(&page->paper, STYLE_PLAIN, &l, item, NOTE_COLUMN);
	}
	paper_line(&page->paper, STYLE_PLAIN, &l);
}

static void section_sides(struct table_page *page, const struct section *sec)
{
	struct grid g = {.cell = table_series_cell, .indent = NOTE_INDENT};

	if (!sec->nsides)
		return;
	grid_add(&g, GRID_TITLE, "");
	grid_add(&g, GRID_COUNT, "samples");
	grid_add_quantile(&g, &p50);
	grid_add_quantile(&g, &p99);
	grid_add(&g, GRID_MAX, "max");
	grid_add_total(&g, page->cfg);
	grid_print(&g, page, sec->sides, sec->nsides);
}

static bool section_is_table(const struct series *s)
{
	return s->desc->role == METRIC_ROWS || s->desc->role == METRIC_COUNTS;
}

void table_gap(struct table_page *page)
{
	if (page->density < DENSITY_CLOSE)
		paper_text(&page->paper, STYLE_PLAIN, "");
}

/* Is there more on this page than one metric and its CPUs? */
static bool section_has_others(const struct frame *f)
{
	size_t i;

	for (i = 0; i < f->nseries; i++)
		if (section_is_table(&f->series[i]))
			return true;
	return f->contends || f->lines;
}

static int section_print(struct table_page *page, const struct section *sec)
{
	const struct series *head = sec->head;
	bool bare = page->density >= DENSITY_BARE && (head || section_has_others(page->f));

	if (bare && !head) /* a summary; its table follows */
		return 0;
	table_gap(page);
	if (head)
		section_title(page, head);
	if (head && !head->desc->counter && head->hist->count) {
		if (page->density >= DENSITY_FOLDED) {
			section_folded(page, head->hist);
		} else {
			section_percentiles(page, head->hist);
			section_note(page, sec);
		}
	}
	if (!bare)
		section_sides(page, sec);
	if (!head)
		return 0;
	/* Groups may have waited without a wakeup; that no CPU had one was said. */
	if (page->cfg->by == BY_NONE && (head->desc->counter ? !head->value : !head->hist->count))
		return 0;
	return table_rows_print(page, head);
}

static void section_take(struct section *sec, const struct series *s)
{
	if (s->desc->role == METRIC_HEADLINE)
		sec->head = s;
	else if (s->desc->role == METRIC_LEG && sec->nlegs < SECTION_PARTS)
		sec->legs[sec->nlegs++] = s;
	else if (s->desc->role == METRIC_SIDE && sec->nsides < SECTION_PARTS)
		sec->sides[sec->nsides++].s = s;
}

/* Was this metric's table printed, for an earlier series of its? */
static bool section_met(const struct frame *f, size_t i)
{
	size_t k;

	for (k = i; k-- > 0;)
		if (table_ops_together(f->series[k].desc, f->series[i].desc))
			return true;
	return false;
}

/* A table that hangs on labelled series; each metric has one. */
static int section_table(struct table_page *page, size_t i)
{
	const struct metric_desc *desc = page->f->series[i].desc;

	if (section_met(page->f, i))
		return 0;
	if (desc->role == METRIC_ROWS)
		return table_ops_print(page, desc);
	return desc->joins ? 0 : table_counts_print(page, desc);
}

/* A headline's section ends where the next headline or a table begins. */
int table_sections(struct table_page *page)
{
	const struct frame *f = page->f;
	struct section sec = {0};
	bool any = false, open = false;
	size_t i;
	int ret = 0;

	for (i = 0; i < f->nseries && !ret; i++) {
		const struct series *s = &f->series[i];
		bool table = section_is_table(s);

		if ((s->nlabels && !table) || s->desc->role == METRIC_NOTE)
			continue;
		if (open && (table || s->desc->role == METRIC_HEADLINE)) {
			ret = section_print(page, &sec);
			sec = (struct section){0};
			open = false;
		}
		any = true;
		if (!ret && table)
			ret = section_table(page, i);
		if (table)
			continue;
		section_take(&sec, s);
		open = true;
	}
	if (open && !ret)
		ret = section_print(page, &sec);
	if (!ret)
		ret = table_contended_print(page);
	if (!ret)
		ret = table_lines_print(page);
	if (!any && !f->contends && !f->lines && !f->ncontended) {
		table_gap(page);
		paper_text(&page->paper, STYLE_PLAIN, "no samples");
	}
	return ret;
}
