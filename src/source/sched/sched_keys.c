// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups (--by): rows of keyed.h with the one metric that is made of others, under their labels. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "source/groups.h"
#include "source/keyed.h"
#include "source/sched/sched.h"

_Static_assert((int)SCHED_METRICS <= KEYED_HISTS, "run_delay has room behind the entry's own");

struct sched_keys {
	struct keyed *keyed;
	enum by_key by;
	struct cgroup_names *names;
};

static int group_appeared(void *ctx, struct keyed_row *row)
{
	struct sched_keys *k = ctx;

	row->user = malloc(sizeof(struct group_text));
	if (!row->user)
		return -ENOMEM;
	group_text_init(row->user, k->by, &row->key, k->names);
	return 0;
}

static void group_leaves(void *ctx, struct keyed_row *row)
{
	if (row->user)
		group_text_free(row->user);
	free(row->user);
}

int sched_keys_open(struct sched_keys **out, const struct sched_keys_args *args, struct err *e)
{
	struct sched_keys *k = calloc(1, sizeof(*k));
	struct keyed_args keyed = {
		.fds = {args->fds[0], args->fds[1]},
		.nhists = ABI_SCHED_HISTS,
		.schema = ABI_KEY_SCHEMA,
		.ncpus = args->ncpus,
		.what = "the groups of --by",
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

/* Histograms past an entry's own are ours: run_delay of the interval from its parts, and added up.
 */
static int add_run_delay(struct keyed_row *row)
{
	struct hist *delay = &row->interval[METRIC_SCHED_RUN_DELAY];
	int ret = hist_merge(delay, &row->interval[METRIC_SCHED_QUEUE_TO_RUN]);

	if (!ret)
		ret = hist_merge(delay, &row->interval[METRIC_SCHED_PREEMPT_WAIT]);
	return ret ? ret : hist_merge(&row->total[METRIC_SCHED_RUN_DELAY], delay);
}

int sched_keys_fold(struct sched_keys *k, uint64_t epoch, struct err *e)
{
	return keyed_fold(k->keyed, epoch, e);
}

int sched_keys_collect(struct sched_keys *k, uint64_t epoch, struct err *e)
{
	struct keyed_row *row;
	int ret = keyed_collect(k->keyed, epoch, e);

	if (ret)
		return ret;
	for (row = keyed_first(k->keyed); !ret && row; row = row->next)
		if (row->active)
			ret = add_run_delay(row);
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
		n = group_labels(row->user, k->by, row, labels);
		ret = sched_push_hists(r, row->interval, row->total, labels, n, false);
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
