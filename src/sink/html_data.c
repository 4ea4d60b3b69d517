// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a page collects while the run goes on, in bounded memory: at most COMPARE_CELLS columns, of
 * neighbouring intervals joined exactly, of at most HTML_SERIES series, and the SLOW_MOST longest
 * of slow waits.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "sink/html.h"

#define KEY_LEN 1024
#define SLOW_MOST 200

/* ---- series over time ---- */

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct html_row *)a)->key, ((const struct html_row *)b)->key);
}

static void row_free(struct html_row *r)
{
	compare_row_free(&r->cells);
	free(r);
}

static int fewest_last(const void *a, const void *b)
{
	uint64_t x = (*(struct html_row *const *)a)->cells.count;
	uint64_t y = (*(struct html_row *const *)b)->cells.count;

	return (x < y) - (x > y);
}

/* The half with the fewest waits goes: pages show those that have most. */
static void drop_half(struct html_data *d)
{
	qsort(d->rows, d->nrows, sizeof(d->rows[0]), fewest_last);
	for (size_t i = d->nrows / 2; i < d->nrows; i++) {
		tdelete(d->rows[i], &d->index, by_key);
		row_free(d->rows[i]);
	}
	d->nrows /= 2;
	d->full = true;
}

static struct html_row *new_row(struct html_data *d, const char *key)
{
	size_t len = strlen(key) + 1;
	struct html_row *r;

	if (!d->rows)
		d->rows = calloc(HTML_SERIES, sizeof(d->rows[0]));
	if (!d->rows)
		return NULL;
	if (d->nrows == HTML_SERIES)
		drop_half(d);
	r = malloc(sizeof(*r) + len);
	if (!r)
		return NULL;
	compare_row_init(&r->cells);
	r->key = memcpy(r + 1, key, len);
	if (!tsearch(r, &d->index, by_key)) {
		free(r);
		return NULL;
	}
	d->rows[d->nrows++] = r;
	return r;
}

/* Has its CPU or group samples of the metric that ranks groups? They stand after it. */
static bool is_ranked(const struct frame *f, const struct series *s)
{
	const struct series *end = f->series + f->nseries, *at;

	for (at = s + 1; at < end && view_is_group(at) && series_same_labels(s, at); at++)
		if (at->desc->ranks && at->hist->count)
			return true;
	return false;
}

/* Has it a picture of its own on the page? Of a CPU the headline alone (with --by cpu, that which
 * ranks), of a group what its row shows. */
static bool has_figure(const struct frame *f, const struct series *s)
{
	const struct metric_desc *d = s->desc;

	if (!s->hist || !s->hist->count)
		return false;
	if (!s->nlabels || d->role == METRIC_ROWS || d->ranks)
		return true;
	if (view_is_cpu(s))
		return d->role == METRIC_HEADLINE;
	return (d->role == METRIC_HEADLINE || d->ranks_as) && !is_ranked(f, s);
}

static struct html_row *find_row(const struct html_data *d, const char *key)
{
	struct html_row wanted = {.key = key}, **found = tfind(&wanted, &d->index, by_key);

	return found ? *found : NULL;
}

struct html_row *html_data_row(const struct html_data *d, const struct series *s)
{
	char key[KEY_LEN];

	return series_key_text(key, sizeof(key), s) ? find_row(d, key) : NULL;
}

static int add_series(struct html_data *d, const struct series *s)
{
	struct html_row *r;
	char key[KEY_LEN];

	if (!series_key_text(key, sizeof(key), s))
		return 0; /* it has its curve; the page says that there is no map */
	r = find_row(d, key);
	r = r ? r : new_row(d, key);
	return r ? compare_row_add(&r->cells, &d->run, s->hist) : -ENOMEM;
}

int html_data_add(struct html_data *d, const struct frame *f)
{
	int ret = 0;

	if (!d->intervals++)
		compare_run_init(&d->run);
	compare_run_next(&d->run, f->dur_ns);
	for (size_t i = 0; i < f->nseries && !ret; i++)
		if (has_figure(f, &f->series[i]))
			ret = add_series(d, &f->series[i]);
	return ret;
}

/* ---- slow waits: the longest, a heap whose first is the shortest ---- */

static void slow_swap(struct html_data *d, size_t a, size_t b)
{
	struct html_slow one = d->slow[a];

	d->slow[a] = d->slow[b];
	d->slow[b] = one;
}

static void slow_sink(struct html_data *d, size_t at, size_t n)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && d->slow[child + 1].ns < d->slow[child].ns)
			child++;
		if (d->slow[at].ns <= d->slow[child].ns)
			return;
		slow_swap(d, at, child);
	}
}

static void slow_rise(struct html_data *d, size_t at)
{
	for (; at && d->slow[at].ns < d->slow[(at - 1) / 2].ns; at = (at - 1) / 2)
		slow_swap(d, at, (at - 1) / 2);
}

bool html_data_wants(struct html_data *d, const struct slow *w)
{
	d->slow_seen++;
	return d->nslow < SLOW_MOST || w->wait_ns > d->slow[0].ns;
}

int html_data_keep(struct html_data *d, const struct slow *w, const char *row, size_t len)
{
	struct html_slow one = {w->wait_ns, strndup(row, len)};

	if (!d->slow)
		d->slow = calloc(SLOW_MOST, sizeof(d->slow[0]));
	if (!d->slow || !one.row) {
		free(one.row);
		return -ENOMEM;
	}
	if (d->nslow < SLOW_MOST) {
		d->slow[d->nslow] = one;
		slow_rise(d, d->nslow++);
		return 0;
	}
	free(d->slow[0].row);
	d->slow[0] = one;
	slow_sink(d, 0, d->nslow);
	return 0;
}

void html_data_sort_slow(struct html_data *d)
{
	for (size_t n = d->nslow; n-- > 1;) {
		slow_swap(d, 0, n);
		slow_sink(d, 0, n);
	}
}

void html_data_free(struct html_data *d)
{
	for (size_t i = 0; i < d->nrows; i++) {
		tdelete(d->rows[i], &d->index, by_key);
		row_free(d->rows[i]);
	}
	free(d->rows);
	for (size_t i = 0; i < d->nslow; i++)
		free(d->slow[i].row);
	free(d->slow);
	*d = (struct html_data){0};
}
