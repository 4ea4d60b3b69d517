// SPDX-License-Identifier: GPL-2.0-or-later
/* Which rows a page has: those of the view, by source; then the filter, then the order. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/text.h"
#include "sink/tui.h"

/* Operations, addresses of a source in the overview, where it fits the window, and else: the others
 * are on its page. */
#define OVERVIEW_MOST 5
#define OVERVIEW_LEAST 3

/* The name of a metric begins with its source's; jbd2 is seen by ext4. */
static const char *const names[TUI_PAGES] = {
	[TUI_OVERVIEW] = "overview", [TUI_SCHED] = "sched", [TUI_EXT4] = "ext4",
	[TUI_LOCK] = "lock",	     [TUI_FUTEX] = "futex", [TUI_LINE] = "line",
	[TUI_WATCH] = "watch",	     [TUI_MORE] = "more",   [TUI_SLOW] = "slow",
	[TUI_GROUPS] = "groups",
};

const char *tui_page_name(const struct tui *t, enum tui_page page)
{
	return page == TUI_GROUPS && view_by(t->cfg->by) ? view_by(t->cfg->by) : names[page];
}

static enum tui_page page_of(const char *name)
{
	size_t len = strcspn(name, "_");

	if (len == 4 && !strncmp(name, "jbd2", len))
		return TUI_EXT4;
	for (enum tui_page p = TUI_SCHED; p < TUI_MORE; p++)
		if (strlen(names[p]) == len && !strncmp(names[p], name, len))
			return p;
	return TUI_MORE;
}

/* ---- pages ---- */

void tui_pages_make(struct tui *t, const struct frame *f)
{
	bool there[TUI_PAGES] = {[TUI_OVERVIEW] = true,
				 [TUI_GROUPS] = t->cfg->by > BY_CPU,
				 [TUI_SLOW] = t->slow.n > 0};

	for (size_t i = 0; i < t->npages; i++)
		there[t->pages[i]] = true; /* a page does not go while one may be on it */
	for (size_t i = 0; i < f->nseries; i++)
		there[page_of(f->series[i].desc->name)] = true;
	for (size_t i = 0; i < f->ncontended; i++)
		there[page_of(f->contended[i].source)] = true;
	there[TUI_SCHED] |= f->nculprits > 0;
	t->npages = 0;
	for (enum tui_page p = 0; p < TUI_PAGES; p++)
		if (there[p])
			t->pages[t->npages++] = p;
}

/* ---- rows ---- */

static uint64_t mix(uint64_t h, const char *text)
{
	return (h ^ text_hash(text, strlen(text))) * 0x9e3779b97f4a7c15ULL;
}

uint64_t tui_row_id(const struct view_row *r, uint32_t salt)
{
	const struct series *s = r->first ? r->first : r->s;
	uint64_t h = salt + 1;

	if (r->c) {
		h = mix(mix(h, r->c->source), r->c->kind);
		h = (h ^ r->c->addr) * 0x9e3779b97f4a7c15ULL + r->c->pid;
		return r->c->group.key ? mix(h, r->c->group.value) : h;
	}
	if (r->k) {
		h = mix(mix(h, r->k->kind), r->k->comm ? r->k->comm : "");
		h = (mix(h, r->k->cgroup ? r->k->cgroup : "") ^ r->k->pid) * 0x9e3779b97f4a7c15ULL +
		    r->k->tid;
		return r->k->nvictim ? mix(h, r->k->victim[0].value) : h;
	}
	if (!s)
		return h;
	h = mix(h, s->desc->name);
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (!series_label_describes(s, i))
			h = mix(mix(h, s->labels[i].key), s->labels[i].value);
	return h;
}

/* Room for one more; NULL: no memory. */
static struct tui_row *push(struct tui_rows *rows, enum tui_row_kind kind)
{
	struct tui_row *v = array_room(rows->v, &rows->cap, rows->n, 1, sizeof(*v));

	if (!v)
		return NULL;
	rows->v = v;
	v += rows->n++;
	*v = (struct tui_row){.kind = kind, .section = rows->sections, .order = (uint32_t)rows->n};
	return v;
}

static int heading(struct tui *t, const char *title, const char *key, enum tui_page page)
{
	struct tui_row *r;

	t->rows.sections++;
	r = push(&t->rows, TUI_ROW_HEADING);
	if (!r)
		return -ENOMEM;
	r->title = title;
	r->key = key;
	r->page = page;
	r->id = mix(2, title) + page;
	return 0;
}

static bool wanted(struct tui *t, const struct tui_row *r)
{
	char name[TUI_NAME], who[TUI_NAME];

	if (!t->filter[0])
		return true;
	if (strcasestr(tui_name(t, r, name, sizeof(name)), t->filter))
		return true;
	(void)tui_cell(t, r, &(struct tui_column){.kind = TUI_COLUMN_WHO}, who, sizeof(who));
	if (strcasestr(who, t->filter))
		return true;
	t->rows.left++;
	return false;
}

static int add(struct tui *t, enum tui_row_kind kind, const struct view_row *row,
	       const struct view_section *s, enum tui_page page)
{
	struct tui_row *r = push(&t->rows, kind);

	if (!r)
		return -ENOMEM;
	r->r = *row;
	r->s = s;
	r->page = page;
	r->id = tui_row_id(row, kind == TUI_ROW_GROUP);
	if (!wanted(t, r))
		t->rows.n--;
	return 0;
}

/* Does the row belong on the page? Rows of addresses of several sources stand in one table. */
static bool belongs(const struct view_row *row, enum tui_page page)
{
	if (row->k)
		return page == TUI_SCHED;
	return page_of(row->c ? row->c->source : row->s->desc->name) == page;
}

/* Those of a table that belong on a page, at most `most`; the rest is counted. */
static int add_table(struct tui *t, const struct view_section *s, const struct view_table *table,
		     enum tui_page page, size_t most)
{
	struct view_row *rows = view_first(&t->view, table, table->n);
	enum tui_row_kind kind =
		s->kind == VIEW_COUNTS					? TUI_ROW_COUNTS
		: s->kind == VIEW_CULPRITS				? TUI_ROW_CULPRIT
		: s->kind == VIEW_CONTENDED || s->kind == VIEW_LINES	? TUI_ROW_CONTENDED
		: rows && table == &s->rows && s->kind == VIEW_HEADLINE ? TUI_ROW_GROUP
									: TUI_ROW_SERIES;
	size_t shown = 0, rest = 0;
	struct tui_row *r;
	int ret = 0;

	for (size_t i = 0; i < table->n && !ret; i++) {
		if (!belongs(&rows[i], page))
			continue;
		if (shown++ < most)
			ret = add(t, kind, &rows[i], s, page);
		else
			rest++;
	}
	if (ret || !rest)
		return ret;
	r = push(&t->rows, TUI_ROW_REST);
	if (!r)
		return -ENOMEM;
	r->n = rest;
	r->page = page;
	r->id = mix(3 + page, "rest");
	return 0;
}

static bool any(struct tui *t, const struct view_table *table, enum tui_page page)
{
	const struct view_row *rows = view_first(&t->view, table, table->n);

	for (size_t i = 0; i < table->n; i++)
		if (belongs(&rows[i], page))
			return true;
	return false;
}

/* The whole of a headline's section, without its CPUs and groups. */
static int add_wholes(struct tui *t, const struct view_section *s, enum tui_page page)
{
	struct view_row head = {.s = s->head, .first = s->head, .n = 1};
	int ret = 0;

	if (s->head && belongs(&head, page))
		ret = add(t, TUI_ROW_SERIES, &head, s, page);
	if (!ret)
		ret = add_table(t, s, &s->legs, page, SIZE_MAX);
	if (!ret)
		ret = add_table(t, s, &s->sides, page, SIZE_MAX);
	return ret;
}

static int overview_source(struct tui *t, enum tui_page page, size_t most)
{
	size_t before;
	int ret = heading(t, tui_page_name(t, page), NULL, page);

	before = t->rows.n;
	for (size_t i = 0; i < 2 * t->view.nsections && !ret; i++) {
		const struct view_section *s = &t->view.sections[i % t->view.nsections];

		if ((s->kind == VIEW_COUNTS) != (i >= t->view.nsections))
			continue; /* what takes no time comes last */
		if (s->kind == VIEW_HEADLINE)
			ret = add_wholes(t, s, page);
		else
			ret = add_table(t, s, &s->rows, page, t->filter[0] ? SIZE_MAX : most);
	}
	if (!ret && t->rows.n == before) { /* nothing was seen, or is left by the filter */
		t->rows.n--;
		t->rows.sections--;
	}
	return ret;
}

/* ---- a source's page ---- */

static const char *title_of(const struct view_section *s)
{
	if (s->kind == VIEW_CONTENDED)
		return "contended addresses";
	if (s->kind == VIEW_LINES)
		return "cache lines";
	if (s->kind == VIEW_CULPRITS)
		return "waited for";
	return s->desc ? s->desc->title : "waits";
}

static int titled(struct tui *t, const struct view_section *s, const struct view_table *table,
		  const char *key, enum tui_page page)
{
	int ret;

	if (!any(t, table, page))
		return 0;
	ret = heading(t, title_of(s), key, page);
	if (!ret)
		ret = add_table(t, s, table, page, SIZE_MAX);
	if (!ret && t->rows.v[t->rows.n - 1].kind == TUI_ROW_HEADING)
		t->rows.n--; /* the filter leaves nothing of it */
	return ret;
}

static int source_page(struct tui *t, enum tui_page page)
{
	const char *by = view_by(t->cfg->by);
	int ret = heading(t, "all tasks and CPUs", NULL, page);

	for (size_t i = 0; i < t->view.nsections && !ret; i++)
		if (t->view.sections[i].kind == VIEW_HEADLINE)
			ret = add_wholes(t, &t->view.sections[i], page);
	if (!ret && t->rows.v[t->rows.n - 1].kind == TUI_ROW_HEADING)
		t->rows.n--;
	for (size_t i = 0; i < 2 * t->view.nsections && !ret; i++) {
		const struct view_section *s = &t->view.sections[i % t->view.nsections];
		const char *key = s->kind != VIEW_HEADLINE ? NULL : by ? by : "cpu";

		if ((s->kind == VIEW_COUNTS) != (i >= t->view.nsections))
			continue;
		ret = titled(t, s, &s->rows, key, page);
		if (!ret)
			ret = titled(t, s, &s->groups, by, page);
	}
	return ret;
}

static int groups_page(struct tui *t, const struct frame *f)
{
	struct view_table table;
	struct view_row *rows;
	int ret = view_groups(&t->view, f, t->cfg, &table);

	if (ret)
		return ret;
	t->rows.sections++;
	rows = view_first(&t->view, &table, table.n);
	for (size_t i = 0; i < table.n && !ret; i++)
		ret = add(t, TUI_ROW_GROUP, &rows[i], NULL, TUI_GROUPS);
	return ret;
}

static int slow_page(struct tui *t)
{
	size_t n = tui_slow_shown(t);
	struct tui_row *r;
	int ret;

	if (!n)
		return 0;
	(void)snprintf(t->slow_title, sizeof(t->slow_title),
		       t->slow.gone ? "the last %zu of %" PRIu64 " slow waits" : "%zu slow waits",
		       n, t->slow.gone + n); /* fits */
	ret = heading(t, t->slow_title, NULL, TUI_SLOW);
	while (n-- && !ret) {
		r = push(&t->rows, TUI_ROW_SLOW);
		if (!r)
			return -ENOMEM;
		r->w = t->slow.v[n].w;
		r->page = TUI_SLOW;
		r->id = (t->slow.gone + n + 1) * 0x9e3779b97f4a7c15ULL;
		if (!wanted(t, r))
			t->rows.n--;
	}
	return ret;
}

/* ---- in what order: by the column that was chosen, within each section ---- */

static int rank(const struct tui_row *r)
{
	return r->kind == TUI_ROW_HEADING ? 0 : r->kind == TUI_ROW_REST ? 2 : 1;
}

static int by_weight(const void *x, const void *y)
{
	const struct tui_row *a = x, *b = y;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (rank(a) != rank(b))
		return rank(a) - rank(b);
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_name(const void *x, const void *y, void *ctx)
{
	const struct tui_row *a = x, *b = y;
	const struct tui *t = ctx;
	int ret;

	if (a->section != b->section || rank(a) != rank(b))
		return by_weight(x, y);
	ret = strcmp(t->rows.names + a->weight, t->rows.names + b->weight);
	if (!ret)
		ret = a->order < b->order ? -1 : a->order > b->order;
	return t->place[t->page].reversed ? -ret : ret;
}

/* Each name is made once: a row's weight is where it begins. */
static int sort_by_name(struct tui *t)
{
	struct tui_rows *rows = &t->rows;
	size_t at = 0;

	for (size_t i = 0; i < rows->n; i++) {
		struct tui_row *r = &rows->v[i];
		char *v = array_room(rows->names, &rows->names_cap, at, TUI_NAME, 1);

		if (!v)
			return -ENOMEM;
		rows->names = v;
		r->weight = at;
		at += strlen(tui_name(t, r, v + at, TUI_NAME)) + 1;
	}
	qsort_r(rows->v, rows->n, sizeof(*rows->v), by_name, t);
	return 0;
}

static int sort_rows(struct tui *t)
{
	const struct tui_place *p = &t->place[t->page];
	const struct tui_column *c = NULL;
	struct tui_rows *rows = &t->rows;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (p->sort && t->column[i].number + 1 == p->sort)
			c = &t->column[i];
	if (!rows->n || (!c && !p->reversed))
		return 0;
	if (c && c->kind == TUI_COLUMN_NAME)
		return sort_by_name(t);
	for (size_t i = 0; i < rows->n; i++) {
		struct tui_row *r = &rows->v[i];

		r->weight = c ? tui_weight(t, r, c) : UINT64_MAX - r->order;
		if (p->reversed)
			r->weight = UINT64_MAX - r->weight;
	}
	qsort(rows->v, rows->n, sizeof(*rows->v), by_weight);
	return 0;
}

/* ---- all of it ---- */

/* Of what they were made; the widths of columns are none of theirs. */
static struct tui_made made_of(const struct tui *t)
{
	struct tui_made m = {.number = t->number,
			     .page = t->page,
			     .body = t->page == TUI_OVERVIEW ? t->body : 0,
			     .total = t->follow && t->total,
			     .sort = t->place[t->page].sort,
			     .reversed = t->place[t->page].reversed,
			     .valid = true};

	for (size_t i = 0; i < t->ncolumns; i++)
		m.columns |= 1U << t->column[i].number; /* one that is not shown is not sorted by */
	(void)snprintf(m.filter, sizeof(m.filter), "%s", t->filter); /* fits */
	return m;
}

static bool same_made(const struct tui_made *a, const struct tui_made *b)
{
	return a->valid && b->valid && a->number == b->number && a->page == b->page &&
	       a->body == b->body && a->total == b->total && a->sort == b->sort &&
	       a->reversed == b->reversed && a->columns == b->columns &&
	       !strcmp(a->filter, b->filter);
}

void tui_rows_drop(struct tui *t)
{
	t->rows.n = t->rows.left = 0;
	t->rows.sections = 0;
	t->made.valid = false;
}

/* Each source has its first rows before any has more. */
static int overview(struct tui *t)
{
	int ret = 0;

	for (size_t most = OVERVIEW_MOST; most >= OVERVIEW_LEAST; most -= 2) {
		tui_rows_drop(t);
		for (enum tui_page p = TUI_SCHED; p <= TUI_MORE && !ret; p++)
			ret = overview_source(t, p, most);
		if (ret || t->rows.n <= t->body)
			break;
	}
	return ret;
}

static int make(struct tui *t, const struct frame *f)
{
	int ret;

	if (t->page == TUI_GROUPS)
		return groups_page(t, f);
	if (t->page == TUI_SLOW)
		return slow_page(t);
	ret = view_make(&t->view, f, t->cfg);
	if (ret)
		return ret;
	return t->page == TUI_OVERVIEW ? overview(t) : source_page(t, t->page);
}

int tui_rows_make(struct tui *t)
{
	const struct tui_made now = made_of(t);
	const struct frame *f = tui_frame(t);
	int ret;

	if (same_made(&now, &t->made))
		return 0;
	tui_rows_drop(t);
	if (!f)
		return 0;
	ret = make(t, f);
	if (!ret)
		ret = sort_rows(t);
	if (ret)
		tui_rows_drop(t); /* half of them */
	else
		t->made = now;
	return ret;
}
