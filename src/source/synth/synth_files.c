// SPDX-License-Identifier: GPL-2.0-or-later
/* Made-up operations of two file systems, and look-ups in a cache: rows and counters as ext4's. */
#include <errno.h>
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
#define PLACES (SYNTH_ROWS * DEVICES) /* each row has all devices */
#define TIMINGS (PLACES * OPS)

struct timing {
	struct hist hist;
	struct split split;
};

/* Of interval or total: operations and look-ups of each place. */
struct view {
	struct timing ops[TIMINGS];
	uint64_t counts[PLACES][VALUES];
};

struct synth_files {
	struct bucket_table table;
	uint64_t random;
	enum by_key by;
	struct synth_group groups[SYNTH_ROWS];
	struct view views[2];
};

static void forget(struct view *v)
{
	for (int i = 0; i < TIMINGS; i++) {
		hist_reset(&v->ops[i].hist);
		v->ops[i].split = (struct split){0};
	}
	memset(v->counts, 0, sizeof(v->counts));
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

static int count_in_row(struct synth_files *f, uint32_t row, const struct event *v)
{
	uint32_t place = row * DEVICES + v->dev;
	int ret = 0;

	for (int view = 0; view < 2 && !ret; view++) {
		struct timing *t = &f->views[view].ops[place * OPS + v->op];

		ret = hist_add(&t->hist, &f->table, v->ns);
		t->split.blocked_ns += v->split.blocked_ns;
		t->split.run_queue_ns += v->split.run_queue_ns;
		for (int k = 0; k < VALUES; k++)
			f->views[view].counts[place][k] += v->counts[k];
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

	forget(&f->views[0]);
	for (; n && !ret; n--) {
		struct event v = draw_event(f);

		ret = count_in_row(f, 0, &v);
		if (!ret)
			ret = count_in_row(f, 1 + v.cpu, &v);
		if (!ret && f->by > BY_CPU)
			ret = count_in_row(f, synth_row_of((uint32_t)(v.task - synth_tasks), f->by),
					   &v);
		if (!ret)
			ret = tell_slow(&v, args, stamp);
	}
	return ret;
}

/* ---- series ---- */

static struct series series_of(const struct synth_group *g, uint32_t metric, uint32_t dev,
			       const char *key, const char *value)
{
	struct series one = {.desc = &metric_list[metric], .nlabels = g->nlabels};

	memcpy(one.labels, g->labels, sizeof(one.labels));
	if (metric == METRIC_EXT4_OP_LATENCY)
		one.labels[one.nlabels++] = (struct label){key, value};
	one.labels[one.nlabels++] = (struct label){"dev", devices[dev].dev};
	if (devices[dev].mount)
		one.labels[one.nlabels++] = (struct label){"mount", devices[dev].mount};
	if (metric != METRIC_EXT4_OP_LATENCY && one.nlabels < SERIES_LABELS)
		one.labels[one.nlabels++] = (struct label){key, value};
	return one;
}

/* Rows that were silent are left out, but for the whole. */
static int push_view(const struct synth_files *f, struct series_list *l, const struct view *of)
{
	int ret = 0;

	for (uint32_t i = 0; i < PLACES; i++) {
		const struct synth_group *g = &f->groups[i / DEVICES];

		for (uint32_t o = 0; o < OPS && !ret; o++) {
			const struct timing *t = &of->ops[i * OPS + o];
			struct series one =
				series_of(g, METRIC_EXT4_OP_LATENCY, i % DEVICES, "op", ops[o]);

			one.hist = &t->hist;
			one.split = &t->split;
			if (t->hist.count || i < DEVICES)
				ret = series_push(l, &one);
		}
	}
	for (uint32_t i = 0; i < PLACES; i++) {
		for (uint32_t v = 0; v < VALUES && !ret; v++) {
			uint32_t metric = values[v].metric;
			struct series one = series_of(&f->groups[i / DEVICES], metric, i % DEVICES,
						      metric_list[metric].pivot, values[v].name);

			one.value = of->counts[i][v];
			if (one.value || i < DEVICES)
				ret = series_push(l, &one);
		}
	}
	return ret;
}

int synth_files_collect(const struct synth_files *f, struct source_report *r)
{
	int ret = push_view(f, &r->interval.series, &f->views[0]);

	return ret ? ret : push_view(f, &r->total.series, &f->views[1]);
}

/* ---- begin and end ---- */

void synth_files_start(struct synth_files *f)
{
	forget(&f->views[0]);
	forget(&f->views[1]);
	f->random = SYNTH_SEED + 1;
}

void synth_files_close(struct synth_files *f)
{
	if (!f)
		return;
	for (int i = 0; i < 2 * TIMINGS; i++)
		hist_free(&f->views[i / TIMINGS].ops[i % TIMINGS].hist);
	free(f);
}

int synth_files_open(struct synth_files **out, const struct config *cfg)
{
	struct synth_files *f = calloc(1, sizeof(*f));
	int ret;

	*out = f;
	if (!f)
		return -ENOMEM;
	f->by = cfg->by;
	synth_label_rows(f->groups, cfg->by);
	ret = bucket_table_init(&f->table, cfg->precision);
	for (int i = 0; i < 2 * TIMINGS && !ret; i++) {
		struct hist *h = &f->views[i / TIMINGS].ops[i % TIMINGS].hist;

		hist_init(h, cfg->precision);
		ret = hist_reserve_all(h);
	}
	return ret;
}
