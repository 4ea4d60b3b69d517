// SPDX-License-Identifier: GPL-2.0-or-later
/* Made-up operations of two file systems, and look-ups in a cache: rows and counters as ext4's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/synth/synth.h"

#define LOOKUPS 100 /* for each operation */
#define VALUES 6    /* of both pivots */

static const struct {
	enum { LOOKUP_HIT, LOOKUP_MISS, HIT_WRITTEN, HIT_UNWRITTEN, HIT_DELAYED, HIT_HOLE } value;
	const char *name;
	uint32_t metric;
} values[VALUES] = {
	{LOOKUP_HIT, "hit", METRIC_EXT4_ES_LOOKUPS},
	{LOOKUP_MISS, "miss", METRIC_EXT4_ES_LOOKUPS},
	{HIT_WRITTEN, "written", METRIC_EXT4_ES_HITS},
	{HIT_UNWRITTEN, "unwritten", METRIC_EXT4_ES_HITS},
	{HIT_DELAYED, "delayed", METRIC_EXT4_ES_HITS},
	{HIT_HOLE, "hole", METRIC_EXT4_ES_HITS},
};

static const struct {
	const char *dev, *mount; /* a device may be mounted where we cannot see it */
} devices[] = {{"7:0", "/data\033[1m"}, {"8:1", NULL}};

static const char *const ops[] = {"fsync", "write-segment", "commit"};

#define DEVICES 2
#define OPS 3
#define SETS (1 + SYNTH_CPUS + SYNTH_TASKS) /* the whole, CPUs, groups */

struct timing {
	struct hist hist;
	struct split split;
};

/* The whole, a CPU or a group: its operations and look-ups on each device. */
struct set {
	struct synth_group group;
	struct timing ops[DEVICES][OPS][2]; /* interval, total */
	uint64_t counts[DEVICES][VALUES][2];
};

struct synth_files {
	struct bucket_table table;
	uint64_t random;
	enum by_key by;
	int nsets;
	struct set sets[SETS];
};

static int each_timing(struct synth_files *f, int (*do_it)(struct timing *t, void *arg), void *arg)
{
	int ret = 0;

	for (int i = 0; i < SETS && !ret; i++)
		for (int k = 0; k < DEVICES * OPS * 2 && !ret; k++)
			ret = do_it(&(&f->sets[i].ops[0][0][0])[k], arg);
	return ret;
}

static int timing_reserve(struct timing *t, void *schema)
{
	hist_init(&t->hist, *(uint32_t *)schema);
	return hist_reserve_all(&t->hist);
}

static int timing_free(struct timing *t, void *arg)
{
	hist_free(&t->hist);
	return 0;
}

static void forget(struct synth_files *f, int view)
{
	for (int i = 0; i < SETS; i++) {
		for (int d = 0; d < DEVICES; d++) {
			for (int o = 0; o < OPS; o++) {
				hist_reset(&f->sets[i].ops[d][o][view].hist);
				f->sets[i].ops[d][o][view].split = (struct split){0};
			}
			for (int v = 0; v < VALUES; v++)
				f->sets[i].counts[d][v][view] = 0;
		}
	}
}

/* One made-up operation. */
struct event {
	const struct synth_task *task;
	uint32_t cpu, dev, op;
	uint64_t ns;
	struct split split;
	uint64_t counts[VALUES];
};

static struct event draw_event(struct synth_files *f)
{
	uint64_t *r = &f->random;
	struct event v = {
		.task = &synth_tasks[synth_draw(r, SYNTH_TASKS)],
		.cpu = synth_draw(r, SYNTH_CPUS),
		.dev = synth_draw(r, 8) == 0,
		.op = synth_draw(r, OPS),
		.ns = synth_draw_wait(r),
	};

	if (v.op != 1) /* a write does not wait here */
		v.split.blocked_ns = v.ns * synth_draw(r, 100) / 100;
	v.split.run_queue_ns = (v.ns - v.split.blocked_ns) * synth_draw(r, 100) / 100;
	v.counts[LOOKUP_MISS] = !v.dev && !synth_draw(r, 50);
	v.counts[LOOKUP_HIT] = LOOKUPS - v.counts[LOOKUP_MISS];
	v.counts[HIT_WRITTEN] = synth_draw(r, 10);
	v.counts[HIT_DELAYED] = !synth_draw(r, 100);
	v.counts[HIT_HOLE] = v.counts[LOOKUP_HIT] - v.counts[HIT_WRITTEN] - v.counts[HIT_DELAYED];
	return v;
}

static int count_in_set(struct synth_files *f, struct set *s, const struct event *v)
{
	int ret = 0;

	for (int view = 0; view < 2 && !ret; view++) {
		struct timing *t = &s->ops[v->dev][v->op][view];

		ret = hist_add(&t->hist, &f->table, v->ns);
		t->split.blocked_ns += v->split.blocked_ns;
		t->split.run_queue_ns += v->split.run_queue_ns;
		for (int k = 0; k < VALUES; k++)
			s->counts[v->dev][k][view] += v->counts[k];
	}
	return ret;
}

static int tell_slow(const struct event *v, const struct source_args *args,
		     const struct slow *stamp)
{
	struct slow_op op = {
		.op = ops[v->op],
		.dev = devices[v->dev].dev,
		.mount = devices[v->dev].mount,
		.path = v->op == 2 ? NULL : v->task->file,
		.bytes = v->op == 1 ? 4096 : 0,
		.split = v->split,
	};
	struct slow w = *stamp;

	if (!args->cfg->slower || v->ns < args->cfg->slower_ns || !args->on_slow)
		return 0;
	w.metric = metric_list[METRIC_EXT4_OP_LATENCY].name;
	w.kind = "op";
	w.cpu = v->cpu;
	w.pid = v->task->pid;
	w.tid = v->task->tid;
	w.comm = v->task->comm;
	w.cgroup = v->task->cgroup;
	w.wait_ns = v->ns;
	w.op = &op;
	return args->on_slow(args->slow_ctx, &w);
}

int synth_files_make(struct synth_files *f, uint32_t n, const struct source_args *args,
		     const struct slow *stamp)
{
	int ret = 0;

	forget(f, 0);
	for (; n && !ret; n--) {
		struct event v = draw_event(f);
		uint32_t group = synth_group_of((uint32_t)(v.task - synth_tasks), f->by);

		ret = count_in_set(f, &f->sets[0], &v);
		if (!ret)
			ret = count_in_set(f, &f->sets[1 + v.cpu], &v);
		if (!ret && f->by > BY_CPU)
			ret = count_in_set(f, &f->sets[1 + SYNTH_CPUS + group], &v);
		if (!ret)
			ret = tell_slow(&v, args, stamp);
	}
	return ret;
}

/* ---- series ---- */

static struct series series_of(const struct set *s, uint32_t metric, uint32_t dev, const char *key,
			       const char *value)
{
	struct series one = {.desc = &metric_list[metric], .nlabels = s->group.nlabels};

	memcpy(one.labels, s->group.labels, sizeof(one.labels));
	if (metric == METRIC_EXT4_OP_LATENCY)
		one.labels[one.nlabels++] = (struct label){key, value};
	one.labels[one.nlabels++] = (struct label){"dev", devices[dev].dev};
	if (devices[dev].mount)
		one.labels[one.nlabels++] = (struct label){"mount", devices[dev].mount};
	if (metric != METRIC_EXT4_OP_LATENCY && one.nlabels < SERIES_LABELS)
		one.labels[one.nlabels++] = (struct label){key, value};
	return one;
}

static int push_ops(struct series_list *l, const struct set *s, uint32_t dev, int view)
{
	int ret = 0;

	for (uint32_t o = 0; o < OPS && !ret; o++) {
		const struct timing *t = &s->ops[dev][o][view];
		struct series one = series_of(s, METRIC_EXT4_OP_LATENCY, dev, "op", ops[o]);

		one.hist = &t->hist;
		one.split = &t->split;
		if (t->hist.count || !s->group.nlabels)
			ret = series_push(l, &one);
	}
	return ret;
}

static int push_counts(struct series_list *l, const struct set *s, uint32_t dev, int view)
{
	int ret = 0;

	for (uint32_t v = 0; v < VALUES && !ret; v++) {
		struct series one = series_of(s, values[v].metric, dev,
					      metric_list[values[v].metric].pivot, values[v].name);

		one.value = s->counts[dev][v][view];
		if (one.value || !s->group.nlabels)
			ret = series_push(l, &one);
	}
	return ret;
}

static int push_view(const struct synth_files *f, struct series_list *l, int view)
{
	int ret = 0;

	for (int i = 0; i < f->nsets && !ret; i++)
		for (uint32_t d = 0; d < DEVICES && !ret; d++)
			ret = push_ops(l, &f->sets[i], d, view);
	for (int i = 0; i < f->nsets && !ret; i++)
		for (uint32_t d = 0; d < DEVICES && !ret; d++)
			ret = push_counts(l, &f->sets[i], d, view);
	return ret;
}

int synth_files_collect(const struct synth_files *f, struct source_report *r)
{
	int ret = push_view(f, &r->interval.series, 0);

	return ret ? ret : push_view(f, &r->total.series, 1);
}

/* ---- begin and end ---- */

void synth_files_start(struct synth_files *f)
{
	forget(f, 0);
	forget(f, 1);
	f->random = SYNTH_SEED + 1;
}

void synth_files_close(struct synth_files *f)
{
	if (!f)
		return;
	(void)each_timing(f, timing_free, NULL); /* cannot fail */
	free(f);
}

int synth_files_open(struct synth_files **out, const struct config *cfg)
{
	struct synth_files *f = calloc(1, sizeof(*f));
	uint32_t schema = cfg->precision;
	int ret;

	if (!f)
		return -ENOMEM;
	f->by = cfg->by;
	f->nsets = f->by > BY_CPU ? SETS : SETS - SYNTH_TASKS;
	for (uint32_t cpu = 0; cpu < SYNTH_CPUS; cpu++) {
		struct synth_group *g = &f->sets[1 + cpu].group;

		(void)snprintf(g->id, sizeof(g->id), "%u", cpu); /* fits */
		synth_add_label(g, "cpu", g->id);
	}
	for (uint32_t i = 0; i < SYNTH_TASKS; i++)
		synth_label_group(&f->sets[1 + SYNTH_CPUS + i].group, &synth_tasks[i], cfg->by);
	ret = bucket_table_init(&f->table, schema);
	if (!ret)
		ret = each_timing(f, timing_reserve, &schema);
	if (ret) {
		synth_files_close(f);
		return ret;
	}
	synth_files_start(f);
	*out = f;
	return 0;
}
