// SPDX-License-Identifier: GPL-2.0-or-later
/* What grids of series share: their cells, labels and order. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define KEYS_MAX 16

static const char *const part_keys[] = {
	[BY_CPU] = "cpu",   [BY_PID] = "pid",	    [BY_TID] = "tid",
	[BY_COMM] = "comm", [BY_CGROUP] = "cgroup", [BY_FILE] = "file",
};

int table_rows_push(struct table_rows *r, const struct table_row *row)
{
	size_t cap = r->cap ? 2 * r->cap : 64;
	struct table_row *v;

	if (r->n == r->cap) {
		v = reallocarray(r->v, cap, sizeof(*v));
		if (!v)
			return -ENOMEM;
		r->v = v;
		r->cap = cap;
	}
	r->v[r->n++] = *row;
	return 0;
}

/* ---- cells ---- */

/* Blocked, run queue, CPU: what the sum was spent on. */
static const char *split_cell(const struct series *s, uint32_t index, char *out, size_t len)
{
	const struct split *split = s->split;
	uint64_t sum = s->hist->sum_ns, part;

	if (!split)
		return "-";
	if (index == 0)
		part = split->blocked_ns;
	else if (index == 1)
		part = split->run_queue_ns;
	else
		part = sum - split->blocked_ns - split->run_queue_ns;
	return format_share(out, len, part, sum, 1);
}

static const char *hist_cell(const struct grid_column *c, struct table_page *page,
			     const struct series *s, char *out, size_t len)
{
	const struct hist *h = s->hist;

	if (c->kind == GRID_COUNT)
		return format_count(out, len, h->count);
	if (!h->count)
		return c->kind == GRID_QUANTILE ? "- " : "-";
	if (c->kind == GRID_QUANTILE)
		return table_quantile(page, out, len, h, &c->q);
	if (c->kind == GRID_MAX)
		return format_time(out, len, h->max_ns, page->cfg->unit);
	if (c->kind == GRID_SHARE)
		return split_cell(s, c->index, out, len);
	return format_duration(out, len, h->sum_ns);
}

/* A mount point says more than the device; where there is none the device stands in its place. */
static const char *label_cell(const struct series *s, const char *key, char *out, size_t len)
{
	const char *value = series_label(s, key);

	if (!value && !strcmp(key, "mount"))
		value = series_label(s, "dev");
	return value ? text_clean(out, len, value, SIZE_MAX) : "";
}

const char *table_series_cell(const struct grid_column *c, struct table_page *page,
			      const struct table_row *row, char *out, size_t len)
{
	const struct series *s = row->s;

	if (c->kind == GRID_TITLE)
		return s->desc->title;
	if (c->kind == GRID_LABEL)
		return label_cell(s, c->key, out, len);
	if (!s->desc->counter)
		return hist_cell(c, page, s, out, len);
	return c->kind == GRID_COUNT ? format_count(out, len, s->value) : "";
}

/* ---- labels ---- */

static bool is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

/* A label's column is a number's only if all its values are. */
static bool label_is_number(const struct table_rows *r, const char *key)
{
	const char *value;
	size_t i;

	for (i = 0; i < r->n; i++) {
		value = series_label(r->v[i].s, key);
		if (!value || !is_number(value))
			return false;
	}
	return true;
}

static size_t find_key(const char *const *keys, size_t n, const char *key)
{
	size_t i;

	for (i = 0; i < n && strcmp(keys[i], key); i++)
		;
	return i;
}

/* The key of --by comes first, wherever a source has it. */
static void lead_with(const char **keys, size_t n, const char *key)
{
	size_t i = key ? find_key(keys, n, key) : n;

	if (i == n)
		return;
	memmove(keys + 1, keys, i * sizeof(*keys));
	keys[0] = key;
}

void table_label_columns(struct grid *g, const struct table_page *page)
{
	const struct table_rows *r = page->rows;
	const char *keys[KEYS_MAX];
	size_t i, n = 0;
	uint32_t k;

	for (i = 0; i < r->n; i++) {
		const struct series *s = r->v[i].s;

		for (k = 0; k < s->nlabels && n < KEYS_MAX; k++) {
			const char *key = s->labels[k].key;

			if ((!s->desc->pivot || strcmp(key, s->desc->pivot)) &&
			    find_key(keys, n, key) == n)
				keys[n++] = key;
		}
	}
	lead_with(keys, n, part_keys[page->cfg->by]);
	for (i = 0; i < n; i++) {
		if (strcmp(keys[i], "dev") || find_key(keys, n, "mount") == n)
			grid_add_label(g, keys[i], label_is_number(r, keys[i]));
	}
}

bool table_in_part(const struct table_page *page, const struct series *s, enum table_part part)
{
	enum by_key by = page->cfg->by;
	size_t i;

	if (part == PART_GROUPS)
		return by != BY_NONE && series_label(s, part_keys[by]);
	for (i = BY_CPU; i < sizeof(part_keys) / sizeof(part_keys[0]); i++)
		if (series_label(s, part_keys[i]))
			return false;
	return true;
}

/* ---- order ---- */

bool table_series_empty(const struct series *s)
{
	return s->desc->counter ? !s->value : !s->hist->count;
}

uint64_t table_hist_weight(const struct hist *h, enum sort_key sort)
{
	static const struct quantile p50 = {.ppb = PPB_P50}, p99 = {.ppb = PPB_P99};

	switch (sort) {
	case SORT_P99:
		return hist_quantile(h, &p99).ns;
	case SORT_P50:
		return hist_quantile(h, &p50).ns;
	case SORT_COUNT:
		return h->count;
	case SORT_SUM:
		return h->sum_ns;
	case SORT_MAX:
		return h->count ? h->max_ns : 0;
	case SORT_DEFAULT:
	case SORT_NAME:
		break;
	}
	return 0;
}

uint64_t table_series_weight(const struct series *s, enum sort_key sort)
{
	if (s->desc->counter)
		return sort == SORT_NAME ? 0 : s->value;
	return table_hist_weight(s->hist, sort);
}

/* 9 before 10, "a" before "b". */
int table_compare_names(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	if (is_number(a) && is_number(b) && la != lb)
		return la < lb ? -1 : 1;
	return strcmp(a, b);
}

int table_compare_series(const void *a, const void *b)
{
	const struct table_row *x = a, *y = b;
	bool ex = table_series_empty(x->s), ey = table_series_empty(y->s);
	uint32_t i;
	int ret = 0;

	if (ex != ey)
		return ex ? 1 : -1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	for (i = 0; !ret && i < x->s->nlabels && i < y->s->nlabels; i++)
		ret = table_compare_names(x->s->labels[i].value, y->s->labels[i].value);
	return ret;
}

void table_rest(struct table_page *page, size_t rest, const char *what)
{
	char count[32];
	struct line l;

	if (!rest || page->density >= DENSITY_FOLDED)
		return;
	line_start(&l);
	line_add(&l, "… %s more%s (%s)", format_count(count, sizeof(count), rest), what,
		 table_cut_by_window(page) ? "the window is full" : "-n 0 shows all");
	paper_line(&page->paper, STYLE_DIM, &l);
}
