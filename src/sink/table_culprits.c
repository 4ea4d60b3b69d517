// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why: whom tasks waited for, the worst first; with --by pairs of who waited and for whom.
 *
 *	Who made tasks wait for a CPU  17.0 s waited
 *	WAITED FOR                KIND      share     total     waits
 *	cc1                       task       61.2    10.4 s     1,203
 *	(soft interrupts)         softirq     3.1    527 ms     4,921
 */
#include <stdio.h>
#include <string.h>

#include "core/culprit.h"
#include "core/text.h"
#include "sink/table.h"

#define VERDICT_HANG 4

enum culprits_column { CULPRITS_NAME, CULPRITS_KIND };

static const char *culprits_cell(const struct grid_column *col, struct table_page *page,
				 const struct view_row *row, char *out, size_t len)
{
	const struct culprit *k = row->k;

	switch (col->kind) {
	case GRID_LABEL:
		for (uint32_t i = 0; i < k->nvictim; i++)
			if (!strcmp(k->victim[i].key, col->key))
				return text_clean(out, len, k->victim[i].value, SIZE_MAX);
		return "-";
	case GRID_SHARE:
		return format_share(out, len, k->wait_ns, page->section->sum_ns, 1);
	case GRID_TOTAL:
		return format_duration(out, len, k->wait_ns);
	case GRID_COUNT:
		return format_count(out, len, k->count);
	default:
		if (col->index == CULPRITS_KIND)
			return text_clean(out, len, k->kind, SIZE_MAX);
		(void)snprintf(out, len, "%s", name_culprit(k).s); /* fits */
		return out;
	}
}

static void culprits_columns(struct grid *g, const struct table_page *page,
			     const struct view_row *rows, size_t n)
{
	const struct culprit *k = view_victims(rows, n);
	struct grid_column *c;

	for (uint32_t v = 0; k && v < k->nvictim; v++) {
		const char *key = k->victim[v].key;
		bool number = !strcmp(key, "pid") || !strcmp(key, "tid") || !strcmp(key, "cpu");

		grid_add_label(g, key, number);
	}
	c = grid_add(g, GRID_TEXT, "WAITED FOR", 0, YIELD_NEVER);
	c->left = c->middle = true;
	c->shorten_to = page->printer.columns * 2 / 5;
	c = grid_add(g, GRID_TEXT, "KIND", 0, YIELD_LAST);
	c->left = true;
	c->index = CULPRITS_KIND;
	grid_add(g, GRID_SHARE, "share%", 0, YIELD_NEVER);
	grid_add(g, GRID_TOTAL, "total", 0, YIELD_NEVER);
	grid_add(g, GRID_COUNT, "waits", 0, YIELD_LAST);
}

void table_culprits(struct table_page *page)
{
	const struct view_table *t = &page->section->rows;
	struct grid g = {.cell = culprits_cell};
	const struct view_row *rows;
	struct line text;
	size_t shown;

	table_gap(page);
	line_start(&text);
	if (t->n)
		line_add(&text, "%s waited", word_duration(page->section->sum_ns).s);
	else
		line_add(&text, "nobody");
	table_title(page, "Who made tasks wait for a CPU", false, text.text);
	if (!t->n)
		return;
	shown = table_shown(page, t);
	rows = view_first(page->view, t, shown);
	culprits_columns(&g, page, rows, shown);
	grid_rows(&g, page, rows, shown, "");
}

void table_words(struct table_page *page, char *text)
{
	struct line l;
	char *next;

	line_start(&l);
	for (; text; text = next) {
		next = strchr(text + 1, ' ');  /* a word has the space before it, */
		while (next && next[1] == '%') /* and a number its percent behind it */
			next = strchr(next + 1, ' ');
		if (next)
			*next = '\0';
		printer_wrap(&page->printer, STYLE_PLAIN, &l, text, VERDICT_HANG);
		if (next)
			*next = ' ';
	}
	printer_line(&page->printer, STYLE_PLAIN, &l);
}

void table_verdict(struct table_page *page)
{
	char clean[2 * VERDICT_BYTES];
	struct verdict v;
	int ret = verdict_make(&v, page->f);

	if (ret && !page->error)
		page->error = ret;
	if (ret || !v.n)
		return;
	table_gap(page);
	for (size_t i = 0; i < v.n; i++) {
		text_clean(clean, sizeof(clean), v.line[i], SIZE_MAX);
		table_words(page, clean);
	}
}
