// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations and counted events: entries of keyed.h into rows. The row of all groups and CPUs of
 * a device and kind is made here; with --by each of them is a row besides.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "source/ext4/ext4.h"
#include "source/sys/map_setup.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

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

const struct ext4_kind ext4_kinds[ABI_EXT4_KINDS] = {
	[ABI_EXT4_FSYNC] = {METRIC_EXT4_OP_LATENCY, "fsync", true},
	[ABI_EXT4_WRITE] = {METRIC_EXT4_OP_LATENCY, "write", true},
	[ABI_EXT4_MAP] = {METRIC_EXT4_OP_LATENCY, "map-blocks", true},
	[ABI_EXT4_WRITEPAGES] = {METRIC_EXT4_OP_LATENCY, "writepages", true},
	[ABI_EXT4_TRUNCATE] = {METRIC_EXT4_OP_LATENCY, "truncate", true},
	[ABI_EXT4_UNLINK] = {METRIC_EXT4_OP_LATENCY, "unlink", true},
	[ABI_EXT4_FALLOCATE] = {METRIC_EXT4_OP_LATENCY, "fallocate", true},
	[ABI_EXT4_DIO_READ] = {METRIC_EXT4_OP_LATENCY, "dio-read", true},
	[ABI_EXT4_DIO_WRITE] = {METRIC_EXT4_OP_LATENCY, "dio-write", true},
	[ABI_EXT4_AIO_READ] = {METRIC_EXT4_OP_LATENCY, "aio-read", false},
	[ABI_EXT4_AIO_WRITE] = {METRIC_EXT4_OP_LATENCY, "aio-write", false},
	[ABI_EXT4_START_WAIT] = {METRIC_JBD2_START_WAIT, "start-wait", true},
	[ABI_EXT4_HANDLE_HELD] = {METRIC_JBD2_HANDLE_HELD, "handle-held", true},
	[ABI_EXT4_COMMIT] = {METRIC_JBD2_COMMIT, "commit", true},
	[ABI_EXT4_COMMIT_LOCKING] = {METRIC_JBD2_COMMIT_LOCKING, "commit-locking", true},
	[ABI_EXT4_COMMIT_FLUSHING] = {METRIC_JBD2_COMMIT_FLUSHING, "commit-flushing", true},
	[ABI_EXT4_COMMIT_LOGGING] = {METRIC_JBD2_COMMIT_LOGGING, "commit-logging", true},
	[ABI_EXT4_ES_LOOKUP] = {METRIC_EXT4_ES_LOOKUP_LATENCY, "es-lookup", true},
	[ABI_EXT4_FILE_READ] = {METRIC_EXT4_OP_LATENCY, "file-read", true},
	[ABI_EXT4_FILE_WRITE] = {METRIC_EXT4_OP_LATENCY, "file-write", true},
	[ABI_EXT4_FILE_OPEN] = {METRIC_EXT4_OP_LATENCY, "file-open", true},
	[ABI_EXT4_WRITE_RETRY] = {METRIC_EXT4_EVENTS, "write-retry", false},
	[ABI_EXT4_PUNCH_HOLE] = {METRIC_EXT4_EVENTS, "punch-hole", false},
	[ABI_EXT4_ZERO_RANGE] = {METRIC_EXT4_EVENTS, "zero-range", false},
	[ABI_EXT4_COLLAPSE_RANGE] = {METRIC_EXT4_EVENTS, "collapse-range", false},
	[ABI_EXT4_INSERT_RANGE] = {METRIC_EXT4_EVENTS, "insert-range", false},
};

static struct ext4_all *all_get(struct ext4 *x, uint64_t fs, uint32_t kind)
{
	struct ext4_rows *r = &x->rows;
	struct ext4_all *w;

	for (w = r->first; w; w = w->next)
		if (w->fs == fs && w->kind == kind)
			return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->fs = fs;
	w->kind = kind;
	hist_init(&w->interval, ext4_schema(x->cfg));
	hist_init(&w->total, ext4_schema(x->cfg));
	*r->last = w;
	r->last = &w->next;
	return w;
}

static int group_appeared(void *ctx, struct keyed_row *row)
{
	struct ext4 *x = ctx;
	struct group *g = (struct group *)row;

	if (row->key.kind >= ABI_EXT4_KINDS)
		return -EINVAL;
	g->all = all_get(x, row->key.obj, row->key.kind);
	if (!g->all)
		return -ENOMEM;
	group_text_init(&g->text, x->cfg->by, &row->key, x->base.filters.names);
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

int ext4_rows_open(struct ext4 *x, struct err *e)
{
	struct keyed_args keyed = {
		.nhists = 1,
		.row_bytes = sizeof(struct group),
		.schema = ext4_schema(x->cfg),
		.ncpus = x->ncpus,
		.per_cpu = x->cfg->by == BY_CPU,
		.what = "the operations of ext4",
		.appeared = group_appeared,
		.leaves = group_leaves,
		.ctx = x,
	};
	int ret;

	x->rows.last = &x->rows.first;
	map_setup_keyed_fds(x->skel->obj, keyed.fds);
	ret = keyed_open(&x->rows.ops, &keyed, e);
	if (ret)
		return ret;
	keyed.fds[0] = bpf_map__fd(x->skel->maps.counted_even);
	keyed.fds[1] = bpf_map__fd(x->skel->maps.counted_odd);
	keyed.nhists = 0;
	keyed.row_hists = 1; /* that stays empty */
	keyed.what = "the events of ext4";
	return keyed_open(&x->rows.counted, &keyed, e);
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
	for (struct ext4_all *w = r->first; w; w = w->next) {
		hist_reset(&w->interval);
		memset(w->sums_interval, 0, sizeof(w->sums_interval));
	}
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

static int push_view(struct series_list *to, const struct series *labelled, uint32_t kind,
		     const struct view *v)
{
	uint64_t bytes = v->sums[ABI_EXT4_SUM_BYTES];
	struct series s = *labelled;
	int ret;

	s.desc = &metric_list[ext4_kinds[kind].metric];
	if (s.desc->counter) {
		s.value = v->sums[ABI_EXT4_SUM_EVENTS];
		return s.value ? series_push(to, &s) : 0;
	}
	if (!v->hist->count)
		return 0;
	s.hist = v->hist;
	s.split = ext4_kinds[kind].split ? v->split : NULL;
	ret = series_push(to, &s);
	if (ret || !bytes)
		return ret;
	s.desc = &metric_list[METRIC_EXT4_OP_BYTES];
	s.hist = NULL;
	s.split = NULL;
	s.value = bytes;
	return series_push(to, &s);
}

void ext4_label_dev(struct ext4 *x, uint64_t fs, struct series *s)
{
	const struct ext4_dev *d = ext4_dev_get(x->devs, fs, 0);

	if (d)
		s->labels[s->nlabels++] = (struct label){"dev", d->id};
	if (d && d->mount)
		s->labels[s->nlabels++] = (struct label){"mount", d->mount};
}

static int push_row(struct ext4 *x, struct source_report *to, struct series *s,
		    const struct ext4_all *of, const struct view views[2])
{
	const struct ext4_kind *kind = &ext4_kinds[of->kind];
	bool event = metric_list[kind->metric].counter;
	int ret;

	s->labels[s->nlabels++] = (struct label){event ? "event" : "op", kind->value};
	ext4_label_dev(x, of->fs, s);
	ret = push_view(&to->interval.series, s, of->kind, &views[0]);
	return ret ? ret : push_view(&to->total.series, s, of->kind, &views[1]);
}

static int push_group(struct ext4 *x, struct source_report *to, struct keyed_row *row)
{
	struct group *g = (struct group *)row;
	const struct view views[2] = {
		{&row->interval[0], row->sums_interval, &g->split_interval},
		{&row->total[0], row->sums_total, &g->split_total},
	};
	struct series s = {.nlabels = 1};
	int ret;

	if (row->key.cpu >= x->ncpus)
		return 0;
	if (x->cfg->by == BY_CPU)
		s.labels[0] = (struct label){"cpu", x->cpu_names[row->key.cpu]};
	else if (x->cfg->by == BY_FILE)
		s.labels[0] = (struct label){"file", g->file};
	else
		s.nlabels = group_labels(&g->text, x->cfg->by, row, s.labels);
	if (row->key.kind != ABI_EXT4_ES)
		return push_row(x, to, &s, g->all, views);
	ext4_label_dev(x, g->all->fs, &s);
	ret = ext4_es_push_results(&to->interval.series, &s, row->sums_interval, true);
	return ret ? ret : ext4_es_push_results(&to->total.series, &s, row->sums_total, true);
}

/* Time, or how often: counted events have no time. */
static uint64_t weight(const struct keyed_row *row)
{
	uint64_t n = row->total[0].sum_ns;

	for (int i = 0; !row->total[0].count && i < ABI_SUMS; i++)
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
static int name_files(struct ext4 *x, struct keyed *k)
{
	struct ext4_rows *r = &x->rows;
	struct keyed_row *row;
	struct group *g;
	size_t n = 0;

	for (row = keyed_first(k); row; row = row->next) {
		void *v = array_room(r->heavy, &r->heavy_cap, n, 1, sizeof(row));

		if (!v)
			return -ENOMEM;
		g = (struct group *)row;
		g->file = g->inode;
		r->heavy = v;
		r->heavy[n++] = row;
	}
	if (n)
		qsort(r->heavy, n, sizeof(r->heavy[0]), compare_weight);
	for (size_t i = 0; i < n && i < FILES_NAMED; i++) {
		const struct abi_key *key = &r->heavy[i]->key;

		g = (struct group *)r->heavy[i];
		if (key->id)
			g->file = ext4_path(x->paths, g->all->fs, key->id, (uint32_t)key->born, 0);
	}
	return 0;
}

static int push_groups(struct ext4 *x, struct source_report *to, struct keyed *k)
{
	struct keyed_row *row;
	int ret = x->cfg->by == BY_FILE ? name_files(x, k) : 0;

	for (row = keyed_first(k); !ret && row; row = row->next)
		ret = push_group(x, to, row);
	return ret;
}

int ext4_rows_push(struct ext4 *x, struct source_report *to)
{
	int ret = 0;

	for (struct ext4_all *w = x->rows.first; !ret && w; w = w->next) {
		const struct view views[2] = {
			{&w->interval, w->sums_interval, &w->split_interval},
			{&w->total, w->sums_total, &w->split_total},
		};
		struct series s = {0};

		if (w->kind != ABI_EXT4_ES) /* counted for all by ext4_es.c */
			ret = push_row(x, to, &s, w, views);
	}
	if (!ret && x->cfg->by != BY_NONE)
		ret = push_groups(x, to, x->rows.ops);
	if (!ret && x->cfg->by != BY_NONE)
		ret = push_groups(x, to, x->rows.counted);
	return ret;
}

void ext4_rows_close(struct ext4_rows *r)
{
	struct ext4_all *w, *next;

	keyed_close(r->ops);
	keyed_close(r->counted);
	for (w = r->first; w; w = next) {
		next = w->next;
		hist_free(&w->interval);
		hist_free(&w->total);
		free(w);
	}
	free(r->heavy);
}
