// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contended addresses, the longest total wait first. What waits for work and not for a lock comes
 * after the locks, addresses without a row of their own last and always.
 *
 *	Contended addresses (usec)  29,113 waits  5,822/s  24.3 ms/s waited
 *	NAME                         KIND     waits/s   50th    99th     max   wait/s  CPUS
 *	ext4_inode_info.i_es_lock    rwlock:r   5,189    0.9     1.2   1,017  22.4 ms  0-1
 *	    4 threads
 *	    at ext4_es_lookup_extent+0x1f 61 %, vfs_write+0x1a 30 %
 *	waiting for work, not for a lock:
 *	app`queue.cond               futex          2   501   9,014   9,014   1.0 ms  1
 *	(others: lock)               other         12    0.4     0.9     1.0   6.1 us  0-1
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define NUMBER_WIDTH 7
#define OWNER_LEAST 12
#define CPUS_WIDTH 9

enum contended_column { COLUMN_NAME, COLUMN_OWNER, COLUMN_KIND, COLUMN_CPUS };
enum contended_rank { RANK_LOCK, RANK_IDLE, RANK_OTHER };

/* ---- rows ---- */

static enum contended_rank contended_rank(const struct contended *c)
{
	if (c->other)
		return RANK_OTHER;
	return c->futex && c->futex->idle ? RANK_IDLE : RANK_LOCK;
}

/* Samples of a source that measures no time have nothing but their number. */
static uint64_t contended_weight(const struct contended *c, enum sort_key sort)
{
	if (sort == SORT_NAME)
		return 0;
	return c->wait ? table_hist_weight(c->wait, sort) : c->count;
}

static int contended_collect(struct table_page *page)
{
	enum sort_key sort = page->cfg->sort ? page->cfg->sort : SORT_SUM;
	const struct frame *f = page->f;
	struct table_row row;
	size_t i;
	int ret = 0;

	page->rows->n = 0;
	for (i = 0; i < f->ncontended && !ret; i++) {
		const struct contended *c = &f->contended[i];

		if (!c->count || c->accesses) /* lines have a table of their own */
			continue;
		row = (struct table_row){
			.c = c, .rank = contended_rank(c), .weight = contended_weight(c, sort)};
		ret = table_rows_push(page->rows, &row);
	}
	return ret;
}

static int compare_contended(const void *a, const void *b)
{
	const struct table_row *x = a, *y = b;
	int ret;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	ret = table_compare_names(x->c->name ? x->c->name : "", y->c->name ? y->c->name : "");
	if (ret)
		return ret;
	return (x->c->addr > y->c->addr) - (x->c->addr < y->c->addr);
}

/* ---- cells ---- */

const char *table_contended_name(const struct contended *c, char *out, size_t len)
{
	char clean[LINE_BYTES / 4];

	if (c->other)
		(void)snprintf(out, len, "(others: %s)",
			       text_clean(clean, sizeof(clean), c->source, SIZE_MAX)); /* fits */
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

const char *table_contended_cpus(const struct contended *c, char *out, size_t len)
{
	return table_numbers(c->cpus, c->ncpus, out, len);
}

const char *table_contended_owner(const struct contended *c, char *out, size_t len)
{
	char comm[128];

	if (!c->pid)
		return "";
	text_clean(comm, sizeof(comm), c->owner ? c->owner : "?", SIZE_MAX);
	(void)snprintf(out, len, "%s %" PRIu32, comm, c->pid); /* fits: comm is 15 bytes */
	return out;
}

/* Where there is no line for it above the row, the kind says what waits for work. */
static const char *kind_cell(const struct table_page *page, const struct contended *c, char *out,
			     size_t len)
{
	if (page->density >= DENSITY_FOLDED && contended_rank(c) == RANK_IDLE)
		return "idle";
	return text_clean(out, len, c->kind, SIZE_MAX);
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
		return kind_cell(page, c, out, len);
	default:
		return table_contended_cpus(c, out, len);
	}
}

static const char *wait_cell(const struct grid_column *col, struct table_page *page,
			     const struct hist *h, char *out, size_t len)
{
	if (!h || !h->count)
		return col->kind == GRID_QUANTILE ? "- " : "-";
	if (col->kind == GRID_QUANTILE)
		return table_quantile(page, out, len, h, &col->q);
	if (col->kind == GRID_MAX)
		return format_time(out, len, h->max_ns, page->cfg->unit);
	return format_duration(out, len, h->sum_ns);
}

/* Waited in each second, by all together. */
static const char *wait_rate(const struct hist *h, uint64_t dur_ns, char *out, size_t len)
{
	if (!h || !dur_ns) {
		(void)snprintf(out, len, "-"); /* fits */
		return out;
	}
	return format_duration(out, len, (uint64_t)((double)h->sum_ns * 1e9 / (double)dur_ns));
}

static const char *contended_cell(const struct grid_column *col, struct table_page *page,
				  const struct table_row *row, char *out, size_t len)
{
	const struct contended *c = row->c;

	if (col->kind == GRID_LABEL)
		return c->group.key ? text_clean(out, len, c->group.value, SIZE_MAX) : "";
	if (col->kind == GRID_TEXT)
		return text_cell(page, col->index, c, out, len);
	if (col->kind == GRID_COUNT)
		return format_rate(out, len, c->count, page->f->dur_ns);
	if (col->kind == GRID_RATE)
		return wait_rate(c->wait, page->f->dur_ns, out, len);
	return wait_cell(col, page, c->wait, out, len);
}

/* ---- columns ---- */

static bool contended_timed(const struct table_rows *r)
{
	size_t i;

	for (i = 0; i < r->n && !r->v[i].c->wait; i++)
		;
	return i < r->n;
}

static void add_text(struct grid *g, enum contended_column what, const char *head,
		     size_t shorten_to, enum grid_yield yield)
{
	struct grid_column *c = grid_add(g, GRID_TEXT, head);

	if (!c)
		return;
	c->index = what;
	c->left = c->middle = true;
	c->shorten_to = shorten_to;
	c->yield = yield;
}

static void add_number(struct grid *g, enum grid_kind kind, const char *head)
{
	struct grid_column *c = grid_add(g, kind, head);

	if (c)
		c->least = NUMBER_WIDTH;
}

static void contended_grid(struct table_page *page, struct grid *g)
{
	const struct config *cfg = page->cfg;
	const struct table_rows *r = page->rows;
	bool wide = page->paper.columns >= WIDE_COLUMNS, owners = false;
	const char *key = NULL;
	struct grid_column *c;
	size_t i;

	g->cell = contended_cell;
	for (i = 0; i < r->n; i++) {
		owners |= r->v[i].c->pid != 0;
		key = key ? key : r->v[i].c->group.key;
	}
	if (key)
		grid_add_label(g, key, false);
	add_text(g, COLUMN_NAME, "NAME", page->paper.columns * 2 / 5, YIELD_NEVER);
	if (owners && wide) /* else below the row */
		add_text(g, COLUMN_OWNER, "OWNER", OWNER_LEAST, YIELD_NEVER);
	add_text(g, COLUMN_KIND, "KIND", 0, YIELD_LAST);
	add_number(g, GRID_COUNT, contended_timed(r) ? "waits/s" : "samples/s");
	for (i = 0; i < cfg->nquantiles; i++) {
		c = grid_add_quantile(g, &cfg->quantiles[i]);
		if (c)
			c->least = NUMBER_WIDTH;
	}
	add_number(g, GRID_MAX, "max");
	add_number(g, GRID_RATE, "wait/s");
	if (wide || cfg->sort == SORT_SUM)
		grid_add_total(g, cfg);
	add_text(g, COLUMN_CPUS, "CPUS", CPUS_WIDTH, YIELD_LATE);
}

/* ---- the table ---- */

/* Without what waits for work, and where some measure waits without what only counts samples. */
static void contended_title(struct table_page *page)
{
	const struct table_rows *r = page->rows;
	char count[32], rate[32], wait[32], text[128] = "none";
	bool timed = contended_timed(r);
	struct hist sum = {0};
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct contended *c = r->v[i].c;

		if (r->v[i].rank == RANK_IDLE || (timed && !c->wait))
			continue;
		sum.count += c->count;
		sum.sum_ns += timed ? c->wait->sum_ns : 0;
	}
	format_count(count, sizeof(count), sum.count);
	format_rate(rate, sizeof(rate), sum.count, page->f->dur_ns);
	wait_rate(&sum, page->f->dur_ns, wait, sizeof(wait));
	if (sum.count && timed)
		(void)snprintf(text, sizeof(text), "%s wait%s  %s/s  %s/s waited", count,
			       sum.count == 1 ? "" : "s", rate, wait); /* fits */
	else if (sum.count)
		(void)snprintf(text, sizeof(text), "%s sample%s  %s/s", count,
			       sum.count == 1 ? "" : "s", rate); /* fits */
	table_title(page, "Contended addresses", true, text);
}

/* What the row says in full; the rest is said below it. */
static uint32_t contended_said(const struct grid *g, const struct table_page *page,
			       const struct contended *c)
{
	static const uint32_t bits[] = {[COLUMN_NAME] = SAID_NAME,
					[COLUMN_OWNER] = SAID_OWNER,
					[COLUMN_KIND] = 0,
					[COLUMN_CPUS] = SAID_CPUS};
	char text[LINE_BYTES / 2];
	uint32_t said = 0;
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (g->col[i].kind == GRID_TEXT &&
		    text_width(text_cell(page, g->col[i].index, c, text, sizeof(text))) <=
			    g->col[i].width)
			said |= bits[g->col[i].index];
	}
	return said;
}

static void contended_row(const struct grid *g, struct table_page *page,
			  const struct table_row *row)
{
	grid_row(g, page, row);
	table_contended_detail(page, row->c, contended_said(g, page, row->c));
}

static void contended_rows(const struct grid *g, struct table_page *page, size_t left)
{
	const struct table_rows *r = page->rows;
	bool idle = false, other = false, fold = page->density >= DENSITY_FOLDED;
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (r->v[i].rank == RANK_IDLE && !idle && !fold)
			paper_text(&page->paper, STYLE_DIM, "waiting for work, not for a lock:");
		if (r->v[i].rank == RANK_OTHER && !other)
			table_rest(page, left, "");
		idle |= r->v[i].rank == RANK_IDLE;
		other |= r->v[i].rank == RANK_OTHER;
		contended_row(g, page, &r->v[i]);
	}
	if (!other)
		table_rest(page, left, "");
}

/*
 * Keeps the first rows, as many as are shown, and all others, unless each line counts: what is not
 * printed need not be measured, and there may be thousands. How many are left out.
 */
static size_t contended_choose(struct table_page *page)
{
	bool fold = page->density >= DENSITY_FOLDED;
	struct table_rows *r = page->rows;
	size_t own, shown;

	for (own = 0; own < r->n && (fold || r->v[own].rank != RANK_OTHER); own++)
		;
	shown = table_shown(page, own, page->cfg->list_rows);
	memmove(&r->v[shown], &r->v[own], (r->n - own) * sizeof(r->v[0]));
	r->n -= own - shown;
	return own - shown;
}

int table_contended_print(struct table_page *page)
{
	struct table_rows *r = page->rows;
	struct grid g = {0};
	size_t left;
	int ret;

	if (!page->f->contends && !page->f->ncontended)
		return 0;
	ret = contended_collect(page);
	if (ret || (!r->n && !page->f->contends)) /* lines alone are not waited for */
		return ret;
	table_gap(page);
	contended_title(page);
	if (!r->n)
		return 0;
	qsort(r->v, r->n, sizeof(r->v[0]), compare_contended);
	left = contended_choose(page);
	contended_grid(page, &g);
	grid_fit(&g, page, r->v, r->n);
	grid_head(&g, page);
	contended_rows(&g, page, left);
	return 0;
}
