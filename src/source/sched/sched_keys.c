// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups (--by): rows of keyed.h with the one metric that is made of others, under their labels. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "source/bpf/groups.h"
#include "source/bpf/keyed.h"
#include "source/sched/sched.h"

struct sched_keys {
	struct keyed *keyed;
	enum by_key by;
	struct cgroup_names *names;
};

struct group {
	struct keyed_row row;
	struct group_text text;
};

static struct group_text *text_of(struct keyed_row *row)
{
	return &((struct group *)row)->text;
}

static int group_appeared(void *ctx, struct keyed_row *row)
{
	const struct sched_keys *k = ctx;

	group_text_init(text_of(row), k->by, &row->key, k->names);
	return 0;
}

static void group_leaves(void *ctx, struct keyed_row *row)
{
	group_text_free(text_of(row));
}

int sched_keys_open(struct sched_keys **out, const struct sched_keys_args *args, struct err *e)
{
	struct sched_keys *k = calloc(1, sizeof(*k));
	struct keyed_args keyed = {
		.fds = {args->fds[0], args->fds[1]},
		.nhists = ABI_SCHED_HISTS,
		.row_hists = SCHED_METRICS,
		.row_bytes = sizeof(struct group),
		.schema = ABI_KEY_SCHEMA,
		.ncpus = args->ncpus,
		.what = "the groups of --by",
		.many = true,
		.appeared = group_appeared,
		.leaves = group_leaves,
		.ctx = k,
	};

	*out = k;
	if (!k)
		return err_sys(e, -ENOMEM, "--by");
	k->by = args->by;
	k->names = args->names;
	return keyed_open(&k->keyed, &keyed, e);
}

int sched_derive(struct hist *interval)
{
	struct hist *delay = &interval[METRIC_SCHED_RUN_DELAY];
	int ret = hist_merge(delay, &interval[METRIC_SCHED_QUEUE_TO_RUN]);

	return ret ? ret : hist_merge(delay, &interval[METRIC_SCHED_PREEMPT_WAIT]);
}

int sched_keys_collect(struct sched_keys *k, uint64_t epoch, bool ends, struct err *e)
{
	struct keyed_row *row;
	int ret = keyed_collect(k->keyed, epoch, ends, e);

	if (ret || !ends)
		return ret;
	for (row = keyed_first(k->keyed); !ret && row; row = row->next) {
		if (!row->active)
			continue;
		ret = sched_derive(row->interval);
		if (!ret)
			ret = hist_merge(&row->total[METRIC_SCHED_RUN_DELAY],
					 &row->interval[METRIC_SCHED_RUN_DELAY]);
	}
	return ret ? err_sys(e, ret, "the groups of --by") : 0;
}

void sched_keys_forget(struct sched_keys *k)
{
	keyed_forget(k->keyed);
}

int sched_keys_push(struct sched_keys *k, struct source_report *r)
{
	struct label labels[GROUP_LABELS];
	struct keyed_row *row;
	uint32_t n;
	int ret = 0;

	for (row = keyed_first(k->keyed); !ret && row; row = row->next) {
		n = group_labels(text_of(row), k->by, row, labels);
		ret = series_push_hists(r, metric_list, SCHED_METRICS, ~0U, row->interval,
					row->total, labels, n);
	}
	return ret;
}

void sched_keys_close(struct sched_keys *k)
{
	if (!k)
		return;
	keyed_close(k->keyed);
	free(k);
}
