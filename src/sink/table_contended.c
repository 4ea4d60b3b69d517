// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contended addresses, the longest total wait first, whether they are locks for certain or not.
 * What waits for work and not for a lock comes after these, addresses without a row of their own
 * last and always.
 *
 *	Contended addresses (usec)  29,113 waits  5,822/s  24.3 ms/s waited
 *	NAME                         KIND     waits/s   50th    99th     max   wait/s  CPUS
 *	ext4_inode_info.i_es_lock    rwlock:r   5,189    0.9     1.2   1,017  22.4 ms  0-1
 *	    4 threads
 *	    at ext4_es_lookup_extent+0x1f 61 %, vfs_write+0x1a 30 %
 *	[heap]+0x2a0                 lock/work      9   211   9,014   9,014   1.9 ms  1
 *	waiting for work, not for a lock:
 *	app`queue.cond               futex          2   501   9,014   9,014   1.0 ms  1
 *	(others: lock)               other         12    0.4     0.9     1.0   6.1 us  0-1
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/text.h"
#include "sink/table.h"

#define NUMBER_WIDTH 7
#define OWNER_LEAST 12
#define CPUS_WIDTH 9

enum contended_column { COLUMN_NAME, COLUMN_OWNER, COLUMN_KIND, COLUMN_CPUS };
/* ---- cells ---- */

const char *table_contended_name(const struct contended *c, char *out, size_t len)
{
	if (c->other)
		(void)snprintf(out, len, "(others: %s)", name_clean(c->source).s); /* fits */
	else if (c->name)
		text_clean(out, len, c->name, SIZE_MAX);
	else
		(void)snprintf(out, len, "0x%" PRIx64, c->addr); /* fits */
	return out;
}

/* "0-1,7" */
const char *table_numbers(const uint32_t *v, size_t nv, char *out, size_t len)
{
	size_t i, k, at = 0;
	int n = 0;

	out[0] = '\0';
	for (i = 0; i < nv && n >= 0 && at < len; i = k) {
		for (k = i + 1; k < nv && v[k] == v[k - 1] + 1; k++)
			;
		n = snprintf(out + at, len - at,
			     k - i > 1 ? "%s%" PRIu32 "-%" PRIu32 : "%s%" PRIu32, i ? "," : "",
			     v[i], v[k - 1]);
		at += n > 0 ? (size_t)n : 0;
	}
	return out;
}

const char *table_contended_owner(const struct contended *c, char *out, size_t len)
{
	if (!c->pid)
		return "";
	(void)snprintf(out, len, "%s %" PRIu32, name_clean(c->owner).s,
		       c->pid); /* fits: a comm is 15 bytes */
	return out;
}

static const char *text_cell(const struct table_page *page, uint32_t index,
			     const struct contended *c, char *out, size_t len)
{
	switch (index) {
	case COLUMN_NAME:
		return table_contended_name(c, out, len);
	case COLUMN_OWNER:
		return table_contended_owner(c, out, len);
	case COLUMN_KIND:
		if (contended_class(c) == CLASS_UNSURE)
			return "lock/work";
		/* Without a line for it above the row, the kind says what waits for work. */
		if (page->density >= DENSITY_SHORT && contended_class(c) == CLASS_WORK)
			return "idle";
		return text_clean(out, len, c->kind, SIZE_MAX);
	default:
		return table_numbers(c->cpus, c->ncpus, out, len);
	}
}

/* Waited in each second, by all together. */
static struct word wait_rate(uint64_t sum_ns, uint64_t dur_ns)
{
	if (!dur_ns)
		return (struct word){"-"};
	return word_duration((uint64_t)((double)sum_ns * 1e9 / (double)dur_ns));
}

static const char *contended_cell(const struct grid_column *col, struct table_page *page,
				  const struct view_row *row, char *out, size_t len)
{
	const struct contended *c = row->c;

	if (col->kind == GRID_LABEL)
		return c->group.key ? text_clean(out, len, c->group.value, SIZE_MAX) : "";
	if (col->kind == GRID_FIELD)
		return table_field_cell(col, c, out, len);
	if (col->kind == GRID_TEXT)
		return text_cell(page, col->index, c, out, len);
	if (col->kind == GRID_COUNT)
		return format_rate(out, len, c->count, page->f->dur_ns);
	if (col->kind == GRID_RATE)
		return c->wait ? table_word(out, len, wait_rate(c->wait->sum_ns, page->f->dur_ns))
			       : "-";
	return table_hist_cell(col, page, c->wait, out, len);
}

/* All and nothing are as format_share has them. */
const char *table_share(double part, char *out, size_t len)
{
	if (part < 0)
		return "-";
	if (part <= 0 || part >= 1)
		return part <= 0 ? "0" : "100";
	(void)snprintf(out, len, "%.1f", 100 * part); /* fits */
	return out;
}

const char *table_field_cell(const struct grid_column *col, const struct contended *c, char *out,
			     size_t len)
{
	const void *from = col->of_line ? (const void *)c->accesses : c;
	const struct field *f = col->field;
	char text[FIELD_TEXT_BYTES];
	const void *at;

	/* A number that is null as it is 0 is shown as that. */
	if (!from || (field_is_null(f, from) &&
		      (f->type == FIELD_TEXT || f->null == FIELD_NEGATIVE_IS_NULL)))
		return "-";
	at = (const char *)from + f->offset;
	if (f->type == FIELD_PPM)
		return table_share(*(const double *)at, out, len);
	if (f->type == FIELD_U64 && f->percent)
		return format_share(out, len, *(const uint64_t *)at, c->count, 1);
	if (f->type == FIELD_U64)
		return format_count(out, len, *(const uint64_t *)at);
	return text_clean(out, len, field_text(f, from, text), SIZE_MAX);
}

/* ---- columns ---- */

static bool field_is_any(const struct field *f, bool of_line, const struct view_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const void *from = of_line ? (const void *)rows[i].c->accesses : rows[i].c;

		if (from && !field_is_null(f, from))
			return true;
	}
	return false;
}

void table_add_fields(struct grid *g, uint32_t table, enum field_place place,
		      const struct view_row *rows, size_t n)
{
	static const struct field_table *const all[] = {
		&contended_fields, &contended_name_fields, &contended_number_fields,
		&accesses_fields,  &exact_fields,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		for (const struct field *f = all[i]->v; f < all[i]->v + all[i]->n; f++) {
			bool of_line = all[i] == &accesses_fields || all[i] == &exact_fields;
			struct grid_column *c;

			if (!f->head || !(f->tables & table) || f->place != place ||
			    (f->if_any && !field_is_any(f, of_line, rows, n)))
				continue;
			c = grid_add(g, GRID_FIELD, f->head, f->type == FIELD_TEXT ? 0 : 5,
				     f->yield);
			c->field = f;
			c->of_line = of_line;
			c->left = f->type == FIELD_TEXT;
		}
	}
}

static void add_text(struct grid *g, enum contended_column what, const char *head,
		     size_t shorten_to, enum field_yield yield)
{
	struct grid_column *c = grid_add(g, GRID_TEXT, head, 0, yield);

	c->index = what;
	c->left = c->middle = true;
	c->shorten_to = shorten_to;
}

/* Columns as the first `n` rows and the others need them. */
static void contended_grid(struct table_page *page, struct grid *g, const struct view_row *rows,
			   size_t n, const struct view_row *others, size_t nothers)
{
	const struct config *cfg = page->cfg;
	bool wide = page->printer.columns >= WIDE_COLUMNS, owners = false;
	const char *key = NULL;

	g->cell = contended_cell;
	for (size_t i = 0; i < n + nothers; i++) {
		const struct contended *c = i < n ? rows[i].c : others[i - n].c;

		owners |= c->pid != 0;
		key = key ? key : c->group.key;
	}
	if (key)
		grid_add_label(g, key, false);
	add_text(g, COLUMN_NAME, "NAME", page->printer.columns * 2 / 5, YIELD_NEVER);
	if (owners && wide) /* else below the row */
		add_text(g, COLUMN_OWNER, "OWNER", OWNER_LEAST, YIELD_NEVER);
	add_text(g, COLUMN_KIND, "KIND", 0, YIELD_LAST);
	table_add_fields(g, TABLE_WAITS, PLACE_WHAT, rows, n);
	grid_add(g, GRID_COUNT, page->section->timed ? "waits/s" : "samples/s", NUMBER_WIDTH,
		 YIELD_NEVER);
	table_add_fields(g, TABLE_WAITS, PLACE_HOW, rows, n);
	grid_add_quantiles(g, cfg->quantiles, cfg->nquantiles, NUMBER_WIDTH);
	grid_add(g, GRID_MAX, "max", NUMBER_WIDTH, YIELD_NEVER);
	grid_add(g, GRID_RATE, "wait/s", NUMBER_WIDTH, YIELD_NEVER);
	if (wide || cfg->sort == SORT_SUM)
		grid_add_total(g, cfg);
	table_add_fields(g, TABLE_WAITS, PLACE_WHO, rows, n);
	add_text(g, COLUMN_CPUS, "CPUS", CPUS_WIDTH, YIELD_LATE);
	grid_measure(g, page, rows, n);
	grid_measure(g, page, others, nothers);
}

/* ---- the table ---- */

/* By class, where some is not known; without what waits for work, and where some measure waits
 * without what only counts samples. */
static void contended_title(struct table_page *page)
{
	const struct view_section *sec = page->section;
	struct line text;

	line_start(&text);
	if (sec->unsure.count) { /* one item, which is never dropped; what it is out of, which is */
		if (sec->sum_ns)
			line_add(&text, "%s/s for locks, ",
				 wait_rate(sec->sum_ns, page->f->dur_ns).s);
		line_add(&text, "%s%s/s for locks or work", sec->sum_ns ? "" : "no certain lock, ",
			 wait_rate(sec->unsure.sum_ns, page->f->dur_ns).s);
		line_add(&text, "  %s waits", word_count(sec->count + sec->unsure.count).s);
		table_title(page, "Contended addresses", true, text.text);
		return;
	}
	if (sec->count)
		line_add(&text, "%s %s%s  %s/s", word_count(sec->count).s,
			 sec->timed ? "wait" : "sample", sec->count == 1 ? "" : "s",
			 word_rate(sec->count, page->f->dur_ns).s);
	else
		line_add(&text, "none");
	if (sec->count && sec->timed)
		line_add(&text, "  %s/s waited", wait_rate(sec->sum_ns, page->f->dur_ns).s);
	table_title(page, "Contended addresses", true, text.text);
}

/* What the row does not have in full: it stands below. */
static uint32_t contended_cut(const struct grid *g, const struct table_page *page,
			      const struct contended *c)
{
	static const uint32_t bits[] = {[COLUMN_NAME] = CUT_NAME,
					[COLUMN_OWNER] = CUT_OWNER,
					[COLUMN_KIND] = 0,
					[COLUMN_CPUS] = CUT_CPUS};
	uint32_t cut = CUT_NAME | CUT_OWNER | CUT_CPUS;
	char text[LINE_BYTES / 2];

	for (size_t i = 0; i < g->n; i++) {
		if (g->col[i].kind == GRID_TEXT &&
		    text_width(text_cell(page, g->col[i].index, c, text, sizeof(text))) <=
			    g->col[i].width)
			cut &= ~bits[g->col[i].index];
	}
	return cut;
}

/* The first rows, as many as are shown, and all others, unless each line counts. */
void table_contended(struct table_page *page)
{
	const struct view_table *t = &page->section->rows;
	const struct view_row *rows, *others;
	struct grid g = {0};
	size_t shown, nothers = page->density < DENSITY_SHORT ? t->others : 0;
	const struct contended *go = NULL;
	char owner[64];
	struct line note;
	bool idle = false;

	table_gap(page);
	contended_title(page);
	if (!t->n)
		return;
	shown = table_shown(page, t);
	rows = view_first(page->view, t, shown);
	others = rows + t->n - nothers;
	contended_grid(page, &g, rows, shown, others, nothers);
	grid_begin(&g, page);
	for (size_t i = 0; i < shown; i++) {
		if (rows[i].rank == VIEW_WORK && !idle &&
		    table_only(page, DENSITY_ALL, DENSITY_SHORT))
			printer_text(&page->printer, STYLE_DIM,
				     "waiting for work, not for a lock:");
		table_always(page);
		idle |= rows[i].rank == VIEW_WORK;
		table_row(&g, page, &rows[i]);
		table_contended_detail(page, rows[i].c, contended_cut(&g, page, rows[i].c));
	}
	table_rest(page, "");
	for (size_t i = 0; i < nothers && table_only(page, DENSITY_ALL, DENSITY_SHORT); i++)
		grid_row(&g, page, &others[i]);
	for (size_t i = 0; i < t->n && !go; i++)
		go = rows[i].c->runtime ? rows[i].c : NULL;
	if (go && table_only(page, DENSITY_ALL, DENSITY_SHORT)) {
		line_start(&note);
		line_add(&note, "Go (%s): %s", table_contended_owner(go, owner, sizeof(owner)),
			 TABLE_RUNTIME_NOTE);
		printer_line(&page->printer, STYLE_DIM, &note);
	}
	table_always(page);
}
