// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/times/times.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "abi_times.h"
#include "core/clock.h"
#include "core/array.h"
#include "core/cache.h"
#include "core/fields.h"
#include "source/bpf/counts.h"
#include "source/bpf/groups.h"
#include "source/filter/filters.h"
#include "source/sys/bpf_util.h"
#include "source/sys/cpus.h"
#include "source/sys/map_setup.h"
#include "source/times/times_cpus.h"

#include "times.skel.h" /* needs abi_times.h */

#define BATCH 256U
#define FIRST_WALKS 16 /* at most, before counting */

/*
 * What the kernel sums up as waiting has the time out of CPU quota in it. The scheduler source
 * measures waits of that kind when they end; with what those have waited that last, it is known up
 * to now.
 */
struct share {
	uint64_t late_ns; /* of tasks that ended: asleep as it was told, but they ran */
	uint64_t done_ns; /* of waits that ended */
	uint64_t now_ns;  /* of those that last */
	uint64_t told_ns;
	struct times interval, total;
};

struct group {
	struct cache_item item;
	struct abi_key key;
	struct group_text text;
	char comm[ABI_COMM_LEN + 1];
	uint64_t pid;
	uint64_t seq; /* the interval that it was there in last */
	struct share share;
};

struct batch {
	struct abi_key keys[BATCH];
	struct abi_times times[BATCH];
};

struct times_run {
	struct config cfg; /* without --cpu: a task's time is no CPU's */
	struct cpus_run cpus;
	bool whole;	/* of threads; else of CPUs */
	struct err why; /* threads are not told of, though they were asked for; "": they are */
	struct filters filters;
	struct times_bpf *skel; /* NULL: CPUs alone */
	struct counts lost;
	uint64_t epoch, ended, seq;
	struct abi_times seen[ABI_BANKS]; /* of all threads, as last read */
	struct share all;
	struct cache groups;
	struct group **here; /* of this interval */
	size_t nhere, here_cap;
	struct batch *batch;
};

/* ---- groups ---- */

static int compare_groups(const void *a, const void *b)
{
	return memcmp(&((const struct group *)a)->key, &((const struct group *)b)->key,
		      sizeof(struct abi_key));
}

static void drop_group(void *item)
{
	group_text_free(&((struct group *)item)->text);
	free(item);
}

static struct group *group_get(struct times_run *t, const struct abi_key *key)
{
	struct group like = {.key = *key}, *g = cache_find(&t->groups, &like);

	if (g)
		return g;
	g = cache_get(&t->groups, &like, sizeof(like));
	if (g)
		group_text_init(&g->text, t->cfg.by, key, t->filters.names);
	return g;
}

static int compare_labels(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return strcmp(x->share.interval.labels[0].value, y->share.interval.labels[0].value);
}

static struct group *find_label(const struct times_run *t, const char *value)
{
	size_t from = 0, to = t->nhere;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		struct group *g = t->here[middle];
		int order = strcmp(value, g->share.interval.labels[0].value);

		if (!order)
			return g;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

/* ---- open ---- */

static int configure(struct times_run *t, uint32_t ncpus, struct err *e)
{
	struct times_bpf__rodata *ro = t->skel->rodata;
	int ret = filters_setup(&t->filters, t->skel->obj, (struct abi_filter *)&ro->filter, e);

	if (ret)
		return ret;
	ro->by = group_abi(t->cfg.by);
	ret = map_setup_banks(t->skel->obj, ncpus, sizeof(struct abi_counts));
	if (!ret && ro->by != ABI_BY_NONE)
		ret = map_setup_entries(t->skel->obj, "times_even", t->cfg.max_keys)
			      ?: map_setup_entries(t->skel->obj, "times_odd", t->cfg.max_keys);
	return ret ? err_sys(e, ret, "times: maps") : 0;
}

static int load(struct times_run *t, uint32_t ncpus, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = t->cfg.btf);
	int ret;

	t->skel = times_bpf__open_opts(&opts);
	if (!t->skel)
		return err_sys(e, -errno, "times: open BPF object");
	ret = configure(t, ncpus, e);
	if (ret)
		return ret;
	ret = times_bpf__load(t->skel);
	(void)malloc_trim(0); /* of the kernel's BTF: several MB */
	if (ret)
		return bpf_fail(e, ret, "times: load BPF programs");
	ret = counts_open(&t->lost, bpf_map__fd(t->skel->maps.banks), ncpus,
			  sizeof(struct abi_counts), e);
	if (!ret)
		ret = filters_fill(&t->filters, t->skel->obj, e);
	if (ret)
		return ret;
	ret = times_bpf__attach(t->skel);
	return ret ? bpf_fail(e, ret, "times: attach BPF programs")
		   : filters_follow(&t->filters, e);
}

static void close_threads(struct times_run *t)
{
	counts_close(&t->lost);
	times_bpf__destroy(t->skel);
	t->skel = NULL;
	t->whole = false;
}

/* What a kernel cannot tell is left out, and told by times_why: no source depends on it. */
static int open_threads(struct times_run *t, const struct source_args *args)
{
	struct source_args own = *args;
	int ncpus = possible_cpus(&t->why), ret;

	own.cfg = &t->cfg;
	ret = ncpus < 0 ? ncpus : filters_open(&t->filters, &own, (uint32_t)ncpus, false, &t->why);
	if (ret)
		return 0;
	t->whole = filters_any(&t->filters);
	if (!t->whole && group_abi(t->cfg.by) == ABI_BY_NONE)
		return 0;
	t->batch = malloc(sizeof(*t->batch));
	if (!t->batch)
		return -ENOMEM;
	ret = kernel_has_btf() ? load(t, (uint32_t)ncpus, &t->why)
			       : err_set(&t->why, EXIT_CANNOT, -EOPNOTSUPP,
					 "this kernel has no BTF of its own");
	if (ret)
		close_threads(t);
	return 0;
}

int times_open(struct times_run **out, const struct source_args *args, struct err *e)
{
	struct times_run *t = calloc(1, sizeof(*t));
	int ret;

	*out = t;
	if (!t)
		return err_sys(e, -ENOMEM, "times");
	filters_init(&t->filters);
	t->cfg = *args->cfg;
	t->cfg.filter.late[ABI_FILTER_CPU] = (struct str_list){0};
	cache_init(&t->groups, t->cfg.max_keys, compare_groups, drop_group);
	ret = cpus_run_open(&t->cpus, args->cfg, e);
	if (ret)
		return ret;
	ret = open_threads(t, args);
	return ret ? err_sys(e, ret, "times") : 0;
}

const char *times_why(const struct times_run *t)
{
	return t->why.text[0] ? t->why.text : NULL;
}

void times_close(struct times_run *t)
{
	if (!t)
		return;
	close_threads(t);
	cache_clear(&t->groups);
	filters_close(&t->filters);
	free(t->here);
	free(t->batch);
	free(t);
}

/* ---- counting ---- */

/* An interval's sums into those of the group. */
static void share_add(struct share *s, const struct abi_times *now)
{
	s->interval.running_ns += now->running_ns;
	s->interval.waiting_ns += now->waiting_ns;
	s->interval.asleep_ns += now->asleep_ns;
	s->now_ns += now->throttled_ns;
	s->late_ns += now->late_ns;
}

static void share_begin(struct share *s)
{
	s->interval = (struct times){.of = TIMES_THREADS};
	s->now_ns = 0;
}

static int read_group(struct times_run *t, const struct abi_key *key, const struct abi_times *now)
{
	struct group *g = group_get(t, key);
	struct keyed_row row = {0};
	struct group **here;

	here = g ? array_room(t->here, &t->here_cap, t->nhere, 1, sizeof(*here)) : NULL;
	if (!here)
		return -ENOMEM;
	t->here = here;
	here[t->nhere++] = g;
	share_begin(&g->share);
	share_add(&g->share, now);
	memcpy(g->comm, now->comm, ABI_COMM_LEN);
	memcpy(row.comm, g->comm, sizeof(row.comm));
	row.pid = now->pid;
	g->share.interval.nlabels =
		group_labels(&g->text, t->cfg.by, &row, g->share.interval.labels);
	for (uint32_t i = 0; i < g->share.interval.nlabels; i++) /* the row's is not kept */
		if (g->share.interval.labels[i].value == row.comm)
			g->share.interval.labels[i].value = g->comm;
	return 0;
}

static int read_groups(struct times_run *t, uint32_t bank)
{
	int fd = bpf_map__fd(bank ? t->skel->maps.times_odd : t->skel->maps.times_even), ret = 0;
	struct batch *b = t->batch;
	uint32_t at = 0, n;
	bool end = false, begun = false;

	t->nhere = 0;
	while (!ret && !end && t->skel->rodata->by != ABI_BY_NONE) {
		n = BATCH;
		ret = bpf_map_lookup_and_delete_batch(fd, begun ? &at : NULL, &at, b->keys,
						      b->times, &n, NULL);
		begun = true;
		end = ret == -ENOENT;
		if (end)
			ret = 0;
		for (uint32_t i = 0; !ret && i < n; i++)
			ret = read_group(t, &b->keys[i], &b->times[i]);
	}
	return ret;
}

static int read_all(struct times_run *t, uint32_t bank)
{
	struct abi_times now, *seen = &t->seen[bank];
	int fd = bpf_map__fd(t->skel->maps.times_all);

	if (bpf_map_lookup_elem(fd, &bank, &now))
		return -errno;
	share_begin(&t->all);
	share_add(&t->all, &(struct abi_times){
				   .running_ns = now.running_ns - seen->running_ns,
				   .waiting_ns = now.waiting_ns - seen->waiting_ns,
				   .asleep_ns = now.asleep_ns - seen->asleep_ns,
				   .throttled_ns = now.throttled_ns - seen->throttled_ns,
				   .late_ns = now.late_ns - seen->late_ns,
			   });
	*seen = now;
	return 0;
}

/* What the interval that ended had. */
static int read_ended(struct times_run *t)
{
	uint32_t bank = (uint32_t)(t->ended & 1);
	int ret = read_all(t, bank);

	counts_collect(&t->lost, t->epoch ? t->ended : 0, true);
	return ret ?: read_groups(t, bank);
}

/*
 * Every task gets its stamp, or its time would count from the end of the first interval on. A
 * task's storage is not made while another program is at that of the same CPU
 * (bpf_task_storage_trylock, kernel/bpf/bpf_task_storage.c).
 */
static int first_walk(struct times_run *t)
{
	int ret = 0;

	for (int i = 0; !ret && i < FIRST_WALKS; i++) {
		t->skel->bss->unseen = 0;
		ret = bpf_iter_run(t->skel->links.ws_times);
		if (!t->skel->bss->unseen)
			break;
	}
	return ret;
}

int times_start(struct times_run *t, struct err *e)
{
	uint64_t now = clock_mono_ns();
	int ret = 0;

	if (t->skel && !t->epoch) {
		ret = first_walk(t);
		if (!ret && !t->skel->bss->recorded) /* no CONFIG_SCHED_INFO */
			close_threads(t);
	} else if (t->skel) {
		ret = read_ended(t);
		counts_forget(&t->lost);
		cache_clear(&t->groups);
		t->all.total = (struct times){0};
	}
	if (ret)
		return err_sys(e, ret, "times: tasks");
	if (t->skel && !t->epoch) {
		t->skel->bss->started_ns = now;
		t->skel->bss->epoch = t->epoch = 1;
	}
	ret = t->whole ? 0 : cpus_run_next(&t->cpus, now, e);
	cpus_run_forget(&t->cpus);
	return ret;
}

int times_next_epoch(struct times_run *t, bool last, struct err *e)
{
	char why[128];
	int ret;

	if (!t->whole) {
		ret = cpus_run_next(&t->cpus, clock_mono_ns(), e);
		if (ret)
			return ret;
	}
	if (!t->skel || !t->epoch)
		return 0;
	(void)filters_alive(&t->filters, why, sizeof(why)); /* sources tell of it */
	ret = bpf_iter_run(t->skel->links.ws_times);
	if (ret)
		return err_sys(e, ret, "times: tasks");
	t->ended = t->epoch;
	t->epoch = last ? 0 : t->epoch + 1;
	__atomic_store_n(&t->skel->bss->epoch, t->epoch, __ATOMIC_SEQ_CST);
	return 0;
}

/* ---- reports ---- */

/* Waits out of quota that ended in this interval, as the scheduler source has them. */
static void add_throttled(struct times_run *t, const struct source_report *r)
{
	const struct series_list *l = &r->interval.series;
	bool sorted = false;

	for (size_t i = 0; i < l->n; i++) {
		const struct series *s = &l->v[i];
		struct share *to = &t->all;
		struct group *g;

		if (s->desc != &metric_list[METRIC_SCHED_THROTTLE_WAIT])
			continue;
		if (s->nlabels) {
			if (!sorted && t->nhere)
				qsort(t->here, t->nhere, sizeof(t->here[0]), compare_labels);
			sorted = true;
			g = find_label(t, s->labels[0].value);
			to = g ? &g->share : NULL;
		}
		if (to)
			to->done_ns += s->hist->sum_ns;
	}
}

/* The time out of quota is taken from what was waited; what tasks ran that ended, from what they
 * slept. */
static void share_divide(struct share *s)
{
	struct times *i = &s->interval;
	uint64_t known = s->done_ns + s->now_ns;
	uint64_t more = known > s->told_ns ? known - s->told_ns : 0;

	i->throttled_ns = more < i->waiting_ns ? more : i->waiting_ns;
	i->waiting_ns -= i->throttled_ns;
	s->told_ns += i->throttled_ns;
	more = s->late_ns < i->asleep_ns ? s->late_ns : i->asleep_ns;
	i->running_ns += more;
	i->asleep_ns -= more;
	s->late_ns -= more; /* the rest is of the next interval */
	s->total.of = i->of;
	s->total.nlabels = i->nlabels;
	memcpy(s->total.labels, i->labels, sizeof(i->labels));
	fields_add(&times_fields, &s->total, i);
}

static int push_groups(struct times_run *t, struct source_report *r)
{
	struct cache_item *item;
	int ret = 0;

	for (size_t i = 0; i < t->nhere; i++)
		share_divide(&t->here[i]->share);
	for (size_t i = 0; !ret && i < t->nhere; i++)
		ret = times_push(&r->interval.times, &t->here[i]->share.interval);
	for (item = t->groups.oldest; !ret && item; item = item->newer)
		ret = times_push(&r->total.times, &((struct group *)item)->share.total);
	return ret;
}

static void count_lost(struct times_run *t, struct source_report *r)
{
	struct quality of_interval = {0}, of_total = {0};

	counts_quality(&t->lost.interval, &of_interval);
	counts_quality(&t->lost.total, &of_total);
	r->quality_interval = of_interval;
	r->quality_total = of_total;
}

int times_collect(struct times_run *t, struct source_report *r, struct err *e)
{
	const struct times *interval = &t->cpus.interval, *total = &t->cpus.total;
	int ret = 0;

	r->quality_interval = r->quality_total = (struct quality){0};
	cache_trim(&t->groups); /* what the last report had is not used any more */
	if (t->skel) {
		ret = read_ended(t);
		if (ret)
			return err_sys(e, ret, "times: tasks");
		add_throttled(t, r);
		share_divide(&t->all);
		count_lost(t, r);
	}
	if (t->whole) {
		interval = &t->all.interval;
		total = &t->all.total;
	}
	ret = times_push(&r->interval.times, interval) ?: times_push(&r->total.times, total);
	if (!ret && t->skel)
		ret = push_groups(t, r);
	return ret ? err_sys(e, ret, "report") : 0;
}
