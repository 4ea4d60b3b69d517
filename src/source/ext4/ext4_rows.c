// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations and counted events: entries of keyed.h into rows. The row of all groups and CPUs of
 * a device and kind is made here; with --by each of them is a row besides.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/ext4/ext4.h"

#define FILES_NAMED 256 /* rows that have a path, in each report */

/* A row: what it belongs to, and its words. */
struct group {
	struct keyed_row row;
	struct ext4_all *all;
	struct group_text text;
	char inode[32];	  /* --by file: "inode 42", or "-" */
	const char *file; /* its path in this report, or that */
	struct split split_interval, split_total;
};

struct ext4_rows {
	struct ext4_rows_args args;
	struct keyed *ops, *counted;
	struct ext4_all *first, **last;
	struct keyed_row **heavy; /* --by file: rows, by weight */
	size_t heavy_cap;
};

static struct ext4_all *all_get(struct ext4_rows *r, uint32_t kdev, uint32_t kind)
{
	struct ext4_all *w;

	for (w = r->first; w; w = w->next)
		if (w->kdev == kdev && w->kind == kind)
			return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->kdev = kdev;
	w->kind = kind;
	hist_init(&w->interval, r->args.schema);
	hist_init(&w->total, r->args.schema);
	*r->last = w;
	r->last = &w->next;
	return w;
}

static int group_appeared(void *ctx, struct keyed_row *row)
{
	struct ext4_rows *r = ctx;
	struct group *g = (struct group *)row;

	if (row->key.kind >= ABI_EXT4_KINDS)
		return -EINVAL;
	g->all = all_get(r, (uint32_t)row->key.obj, row->key.kind);
	if (!g->all)
		return -ENOMEM;
	group_text_init(&g->text, r->args.cfg->by, &row->key, r->args.cgroups);
	if (row->key.id)
		snprintf(g->inode, sizeof(g->inode), "inode %llu", (unsigned long long)row->key.id);
	else
		snprintf(g->inode, sizeof(g->inode), "-"); /* commits and handles have none */
	return 0;
}

static void group_leaves(void *ctx, struct keyed_row *row)
{
	group_text_free(&((struct group *)row)->text);
}

int ext4_rows_open(struct ext4_rows **out, const struct ext4_rows_args *args, struct err *e)
{
	struct ext4_rows *r = calloc(1, sizeof(*r));
	struct keyed_args keyed = {
		.fds = {args->op_fds[0], args->op_fds[1]},
		.nhists = 1,
		.row_bytes = sizeof(struct group),
		.schema = args->schema,
		.ncpus = args->ncpus,
		.per_cpu = args->cfg->by == BY_CPU,
		.what = "the operations of ext4",
		.appeared = group_appeared,
		.leaves = group_leaves,
		.ctx = r,
	};
	int ret;

	*out = r;
	if (!r)
		return err_sys(e, -ENOMEM, "ext4");
	r->args = *args;
	r->last = &r->first;
	ret = keyed_open(&r->ops, &keyed, e);
	if (ret)
		return ret;
	memcpy(keyed.fds, args->count_fds, sizeof(keyed.fds));
	keyed.nhists = 0;
	keyed.row_hists = 1; /* that stays empty */
	keyed.what = "the events of ext4";
	return keyed_open(&r->counted, &keyed, e);
}

/* ---- collecting ---- */

/* What came late is in the sums before it is in the histogram: never more than the whole. */
static struct split split_of(const uint64_t sums[ABI_SUMS], const struct hist *h)
{
	struct split s = {
		.blocked_ns = sums[ABI_EXT4_SUM_BLOCKED_NS],
		.run_queue_ns = sums[ABI_EXT4_SUM_RUN_QUEUE_NS],
	};

	if (s.blocked_ns > h->sum_ns)
		s.blocked_ns = h->sum_ns;
	if (s.run_queue_ns > h->sum_ns - s.blocked_ns)
		s.run_queue_ns = h->sum_ns - s.blocked_ns;
	return s;
}

static void begin_interval(struct ext4_rows *r)
{
	struct ext4_all *w;

	for (w = r->first; w; w = w->next) {
		hist_reset(&w->interval);
		memset(w->sums_interval, 0, sizeof(w->sums_interval));
	}
}

/* Active rows join the row of all. */
static int join_rows(struct keyed *k, bool timed)
{
	struct keyed_row *row;
	struct group *g;
	int i, ret = 0;

	for (row = keyed_first(k); !ret && row; row = row->next) {
		g = (struct group *)row;
		g->split_interval = split_of(row->sums_interval, &row->interval[0]);
		g->split_total = split_of(row->sums_total, &row->total[0]);
		if (!row->active)
			continue;
		for (i = 0; i < ABI_SUMS; i++)
			g->all->sums_interval[i] += row->sums_interval[i];
		if (timed)
			ret = hist_merge(&g->all->interval, &row->interval[0]);
	}
	return ret;
}

static int add_totals(struct ext4_rows *r)
{
	struct ext4_all *w;
	int i, ret = 0;

	for (w = r->first; !ret && w; w = w->next) {
		ret = hist_merge(&w->total, &w->interval);
		for (i = 0; i < ABI_SUMS; i++)
			w->sums_total[i] += w->sums_interval[i];
		w->split_interval = split_of(w->sums_interval, &w->interval);
		w->split_total = split_of(w->sums_total, &w->total);
	}
	return ret;
}

int ext4_rows_collect(struct ext4_rows *r, uint64_t epoch, bool ends, struct err *e)
{
	int ret = keyed_collect(r->ops, epoch, ends, e);

	if (!ret)
		ret = keyed_collect(r->counted, epoch, ends, e);
	if (ret || !ends)
		return ret;
	begin_interval(r);
	ret = join_rows(r->ops, true);
	if (!ret)
		ret = join_rows(r->counted, false);
	if (!ret)
		ret = add_totals(r);
	return ret ? err_sys(e, ret, "ext4: add up the operations") : 0;
}

void ext4_rows_forget(struct ext4_rows *r)
{
	struct ext4_all *w;

	keyed_forget(r->ops);
	keyed_forget(r->counted);
	for (w = r->first; w; w = w->next) {
		hist_reset(&w->interval);
		hist_reset(&w->total);
		memset(w->sums_interval, 0, sizeof(w->sums_interval));
		memset(w->sums_total, 0, sizeof(w->sums_total));
	}
}

/* ---- reporting ---- */

/* One row in one view. */
struct view {
	const struct hist *hist;
	const uint64_t *sums;
	const struct split *split;
};

static int push_bytes(struct series_list *to, const struct series *op, uint64_t bytes)
{
	struct series s = *op;

	if (!bytes)
		return 0;
	s.desc = &metric_list[METRIC_EXT4_OP_BYTES];
	s.hist = NULL;
	s.split = NULL;
	s.value = bytes;
	return series_push(to, &s);
}

static int push_view(struct series_list *to, const struct series *labelled, uint32_t kind,
		     const struct view *v)
{
	struct series s = *labelled;
	int ret;

	s.desc = ext4_kinds[kind].desc;
	if (s.desc->counter) {
		s.value = v->sums[ABI_EXT4_SUM_EVENTS];
		return s.value ? series_push(to, &s) : 0;
	}
	if (!v->hist->count)
		return 0;
	s.hist = v->hist;
	s.split = ext4_kinds[kind].split ? v->split : NULL;
	ret = series_push(to, &s);
	return ret ? ret : push_bytes(to, &s, v->sums[ABI_EXT4_SUM_BYTES]);
}

static int push_row(const struct ext4_rows *r, struct source_report *to, struct series *s,
		    const struct ext4_all *of, const struct view views[2])
{
	const struct ext4_kind *kind = &ext4_kinds[of->kind];
	int ret;

	if (kind->label)
		s->labels[s->nlabels++] = (struct label){kind->label, kind->value};
	s->nlabels = ext4_names_labels(r->args.names, of->kdev, s->labels, s->nlabels);
	ret = push_view(&to->interval.series, s, of->kind, &views[0]);
	return ret ? ret : push_view(&to->total.series, s, of->kind, &views[1]);
}

static uint32_t row_labels(struct ext4_rows *r, struct keyed_row *row, struct label *labels)
{
	struct group *g = (struct group *)row;

	if (r->args.cfg->by == BY_CPU) {
		labels[0] = (struct label){"cpu", r->args.cpu_names[row->key.cpu]};
		return 1;
	}
	if (r->args.cfg->by == BY_FILE) {
		labels[0] = (struct label){"file", g->file};
		return 1;
	}
	return group_labels(&g->text, r->args.cfg->by, row, labels);
}

static int push_group(struct ext4_rows *r, struct source_report *to, struct keyed_row *row)
{
	struct group *g = (struct group *)row;
	const struct view views[2] = {
		{&row->interval[0], row->sums_interval, &g->split_interval},
		{&row->total[0], row->sums_total, &g->split_total},
	};
	struct series s = {0};

	if (row->key.cpu >= r->args.ncpus)
		return 0;
	s.nlabels = row_labels(r, row, s.labels);
	if (row->key.kind != ABI_EXT4_ES)
		return push_row(r, to, &s, g->all, views);
	s.nlabels = ext4_names_labels(r->args.names, g->all->kdev, s.labels, s.nlabels);
	if (ext4_es_push_results(&to->interval.series, s.labels, s.nlabels, row->sums_interval,
				 true))
		return -ENOMEM;
	return ext4_es_push_results(&to->total.series, s.labels, s.nlabels, row->sums_total, true);
}

/* Time, or how often: counted events have no time. */
static uint64_t weight(const struct keyed_row *row)
{
	uint64_t n = row->total[0].sum_ns;
	int i;

	for (i = 0; !row->total[0].count && i < ABI_SUMS; i++)
		n += row->sums_total[i];
	return n;
}

static int compare_weight(const void *a, const void *b)
{
	uint64_t x = weight(*(struct keyed_row *const *)a);
	uint64_t y = weight(*(struct keyed_row *const *)b);

	return (x < y) - (x > y);
}

/* A path takes microseconds to find, and there may be a million inodes: the heaviest have one. */
static int name_files(struct ext4_rows *r, struct keyed *k)
{
	struct keyed_row *row;
	struct group *g;
	size_t n = 0, i;

	for (row = keyed_first(k); row; row = row->next, n++) {
		g = (struct group *)row;
		g->file = g->inode;
	}
	if (n > r->heavy_cap) {
		struct keyed_row **v = reallocarray(r->heavy, 2 * n, sizeof(*v));

		if (!v)
			return -ENOMEM;
		r->heavy = v;
		r->heavy_cap = 2 * n;
	}
	for (row = keyed_first(k), i = 0; row; row = row->next)
		r->heavy[i++] = row;
	if (n)
		qsort(r->heavy, n, sizeof(r->heavy[0]), compare_weight);
	for (i = 0; i < n && i < FILES_NAMED; i++) {
		g = (struct group *)r->heavy[i];
		if (r->heavy[i]->key.id)
			g->file = ext4_names_file(r->args.names, g->all->kdev, r->heavy[i]->key.id,
						  (uint32_t)r->heavy[i]->key.born);
	}
	return 0;
}

static int push_groups(struct ext4_rows *r, struct source_report *to, struct keyed *k)
{
	struct keyed_row *row;
	int ret = r->args.cfg->by == BY_FILE ? name_files(r, k) : 0;

	for (row = keyed_first(k); !ret && row; row = row->next)
		ret = push_group(r, to, row);
	return ret;
}

static int push_all(struct ext4_rows *r, struct source_report *to)
{
	struct ext4_all *w;
	int ret = 0;

	for (w = r->first; !ret && w; w = w->next) {
		const struct view views[2] = {
			{&w->interval, w->sums_interval, &w->split_interval},
			{&w->total, w->sums_total, &w->split_total},
		};
		struct series s = {0};

		if (w->kind != ABI_EXT4_ES) /* counted for all by ext4_es.c */
			ret = push_row(r, to, &s, w, views);
	}
	return ret;
}

int ext4_rows_push(struct ext4_rows *r, struct source_report *to)
{
	int ret = push_all(r, to);

	if (ret || r->args.cfg->by == BY_NONE)
		return ret;
	ret = push_groups(r, to, r->ops);
	return ret ? ret : push_groups(r, to, r->counted);
}

void ext4_rows_close(struct ext4_rows *r)
{
	struct ext4_all *w, *next;

	if (!r)
		return;
	keyed_close(r->ops);
	keyed_close(r->counted);
	for (w = r->first; w; w = next) {
		next = w->next;
		hist_free(&w->interval);
		hist_free(&w->total);
		free(w);
	}
	free(r->heavy);
	free(r);
}
