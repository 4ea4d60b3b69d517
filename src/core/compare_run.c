// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "core/compare_inside.h"
#include "core/packed.h"

/* ---- runs ---- */

void compare_run_init(struct compare_run *r)
{
	*r = (struct compare_run){.span = 1};
}

void compare_run_next(struct compare_run *r, uint64_t dur_ns)
{
	uint32_t i;

	if (!r->ncells || r->taken == r->span) {
		if (r->ncells == COMPARE_CELLS) {
			for (i = 0; i < COMPARE_CELLS / 2; i++)
				r->dur_ns[i] = r->dur_ns[2 * i] + r->dur_ns[2 * i + 1];
			r->ncells = COMPARE_CELLS / 2;
			r->span *= 2;
		}
		r->dur_ns[r->ncells++] = 0;
		r->taken = 0;
	}
	r->dur_ns[r->ncells - 1] += dur_ns;
	r->taken++;
}

/* ---- rows: packed cells ---- */

/*
 * A cell, in numbers of packed.h:
 *
 *	its number less that of the cell before, zeros, sum, buckets that follow, and these
 */
static int pack(struct compare_row *w, uint32_t cell, const struct hist *h)
{
	size_t need = (4 + 2 * (size_t)h->len) * PACKED_U64_BYTES, cap = w->cap * 2;
	struct hist_walk count = {0}, bucket = {0};
	uint32_t before = 0, n = 0;
	uint8_t *to;

	if (w->cap - w->len < need) {
		if (cap < w->len + need)
			cap = w->len + need;
		to = realloc(w->packed, cap);
		if (!to)
			return -ENOMEM;
		w->packed = to;
		w->cap = cap;
	}
	while (hist_next(h, &count))
		n++;
	to = w->packed + w->len;
	to = packed_put_number(to, cell - w->last);
	to = packed_put_number(to, h->zero);
	to = packed_put_number(to, h->sum_ns);
	to = packed_put_number(to, n);
	for (; hist_next(h, &bucket); before = bucket.slot)
		to = packed_put(to, before, bucket.slot, bucket.n);
	w->last = cell;
	w->len = (size_t)(to - w->packed);
	return 0;
}

bool compare_unpack(struct compare_cursor *c, const struct compare_row *w)
{
	uint64_t cell, left;

	if (!c->at)
		c->at = w->packed;
	if (!w->len || c->at == w->packed + w->len)
		return false;
	c->at = packed_get_number(c->at, &cell);
	c->at = packed_get_number(c->at, &c->zero);
	c->at = packed_get_number(c->at, &c->sum_ns);
	c->at = packed_get_number(c->at, &left);
	c->cell += (uint32_t)cell;
	c->left = (uint32_t)left;
	c->slot = 0;
	return true;
}

uint64_t compare_unpack_slot(struct compare_cursor *c)
{
	uint64_t n;

	if (!c->left)
		return 0;
	c->left--;
	c->at = packed_get(c->at, &c->slot, &n);
	return n;
}

static int flush(struct compare_row *w)
{
	int ret = w->now.count ? pack(w, w->cell, &w->now) : 0;

	hist_reset(&w->now);
	return ret;
}

/* One packed cell added to the one that is being filled, whose schema may be coarser. */
static int take_cell(struct compare_row *w, struct compare_cursor *c, struct hist *cell)
{
	uint64_t n;
	int ret = 0;

	hist_reset(cell);
	cell->zero = cell->count = c->zero;
	cell->sum_ns = c->sum_ns;
	while (!ret && (n = compare_unpack_slot(c)))
		ret = hist_add_slot(cell, c->slot, n);
	return ret ? ret : hist_merge(&w->now, cell);
}

/*
 * Packed cells as the run has them now, each of which is what two, four, ... were; or coarser ones.
 */
static int rejoin(struct compare_row *w, uint32_t span, uint32_t schema)
{
	struct compare_row old = *w;
	struct compare_cursor c = {0};
	uint32_t by = span / w->span;
	struct hist cell;
	int ret = 0;

	hist_init(&w->now, schema);
	hist_init(&cell, old.schema);
	w->packed = NULL;
	w->len = w->cap = w->last = 0;
	w->cell = 0;
	w->span = span;
	w->schema = schema;
	while (!ret && compare_unpack(&c, &old)) {
		if (c.cell / by != w->cell)
			ret = flush(w);
		w->cell = c.cell / by;
		if (!ret)
			ret = take_cell(w, &c, &cell);
	}
	hist_free(&cell);
	hist_free(&old.now); /* empty: it was flushed */
	free(old.packed);
	if (!ret && w->cap > 2 * w->len) { /* the old one was larger by as much */
		uint8_t *fits = realloc(w->packed, w->len);

		w->packed = fits ? fits : w->packed;
		w->cap = fits ? w->len : w->cap;
	}
	return ret;
}

/* What is being filled is packed, at the run's cells. */
int compare_row_settle(struct compare_row *w, const struct compare_run *r, uint32_t schema)
{
	int ret = flush(w);

	if (ret || !w->span || (w->span == r->span && w->schema == schema))
		return ret;
	ret = rejoin(w, r->span, schema);
	return ret ? ret : flush(w);
}

void compare_row_init(struct compare_row *w)
{
	*w = (struct compare_row){0};
}

int compare_row_add(struct compare_row *w, const struct compare_run *r, const struct hist *h)
{
	int ret = 0;

	if (!h->count || !r->ncells)
		return 0;
	if (!w->span) {
		hist_init(&w->now, h->schema);
		w->schema = h->schema;
		w->span = r->span;
		w->min_ns = h->min_ns;
	}
	if (w->span != r->span || h->schema < w->schema) {
		ret = flush(w);
		if (!ret)
			ret = rejoin(w, r->span, h->schema < w->schema ? h->schema : w->schema);
	}
	if (!ret && w->cell != r->ncells - 1) {
		ret = flush(w);
		w->cell = r->ncells - 1;
	}
	if (!ret)
		ret = hist_merge(&w->now, h);
	if (ret)
		return ret;
	w->count += h->count;
	if (h->min_ns < w->min_ns)
		w->min_ns = h->min_ns;
	if (h->max_ns > w->max_ns)
		w->max_ns = h->max_ns;
	return 0;
}

void compare_row_free(struct compare_row *w)
{
	if (!w)
		return;
	hist_free(&w->now);
	free(w->packed);
	compare_row_init(w);
}
