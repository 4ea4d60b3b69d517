// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a page collects while the run goes on, in bounded memory: at most COMPARE_CELLS columns, of
 * neighbouring intervals joined exactly, of at most HTML_SERIES series, and the SLOW_MOST longest of slow
 * waits.
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

/* Has it a picture of its own on the page? Of CPUs and groups, the headlines alone. */
static bool has_figure(const struct series *s)
{
	enum metric_role role = s->desc->role;

	return s->hist && s->hist->count &&
	       (!s->nlabels || role == METRIC_HEADLINE || role == METRIC_ROWS);
}

/* Of a group that was not woken the page shows its run delay instead. */
static bool stands_in(const struct frame *f, const struct series *s)
{
	const struct series *head;

	if (!s->nlabels || !s->hist || !s->hist->count || !s->desc->ranks)
		return false;
	for (head = s; head > f->series; head--)
		if (!head[-1].nlabels || strcmp(head[-1].labels[0].key, s->labels[0].key) != 0 ||
		    strcmp(head[-1].labels[0].value, s->labels[0].value) != 0)
			break;
	return head->desc->role != METRIC_HEADLINE || !head->hist || !head->hist->count;
}

struct html_row *html_data_row(const struct html_data *d, const struct series *s)
{
	char key[KEY_LEN];
	struct html_row wanted = {.key = key}, **found;

	if (!series_key_text(key, sizeof(key), s))
		return NULL;
	found = tfind(&wanted, &d->index, by_key);
	return found ? *found : NULL;
}

static int add_series(struct html_data *d, const struct series *s)
{
	struct html_row *r = html_data_row(d, s);
	char key[KEY_LEN];

	if (!r && !series_key_text(key, sizeof(key), s))
		return 0; /* it has its curve; the page says that there is no map */
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
		if (has_figure(&f->series[i]) || stands_in(f, &f->series[i]))
			ret = add_series(d, &f->series[i]);
	return ret;
}

/* ---- slow waits: the longest, a heap whose first is the shortest ---- */

static void slow_swap(struct html_data *d, size_t a, size_t b)
{
	uint64_t ns = d->slow_ns[a];
	char *row = d->slow[a];

	d->slow_ns[a] = d->slow_ns[b];
	d->slow[a] = d->slow[b];
	d->slow_ns[b] = ns;
	d->slow[b] = row;
}

static void slow_sink(struct html_data *d, size_t at, size_t n)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && d->slow_ns[child + 1] < d->slow_ns[child])
			child++;
		if (d->slow_ns[at] <= d->slow_ns[child])
			return;
		slow_swap(d, at, child);
	}
}

static void slow_rise(struct html_data *d, size_t at)
{
	for (; at && d->slow_ns[at] < d->slow_ns[(at - 1) / 2]; at = (at - 1) / 2)
		slow_swap(d, at, (at - 1) / 2);
}

bool html_data_wants(struct html_data *d, const struct slow *w)
{
	d->slow_seen++;
	return d->nslow < SLOW_MOST || w->wait_ns > d->slow_ns[0];
}

int html_data_keep(struct html_data *d, const struct slow *w, const char *row, size_t len)
{
	char *copy = strndup(row, len);

	if (!d->slow)
		d->slow = calloc(SLOW_MOST, sizeof(d->slow[0]));
	if (!d->slow_ns)
		d->slow_ns = calloc(SLOW_MOST, sizeof(d->slow_ns[0]));
	if (!d->slow || !d->slow_ns || !copy) {
		free(copy);
		return -ENOMEM;
	}
	if (d->nslow < SLOW_MOST) {
		d->slow[d->nslow] = copy;
		d->slow_ns[d->nslow] = w->wait_ns;
		slow_rise(d, d->nslow++);
		return 0;
	}
	free(d->slow[0]);
	d->slow[0] = copy;
	d->slow_ns[0] = w->wait_ns;
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
		free(d->slow[i]);
	free(d->slow);
	free(d->slow_ns);
	*d = (struct html_data){0};
}
