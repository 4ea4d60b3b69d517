/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up waits for CPUs, files and locks, the same in every run: sinks, loop and command line can
 * be tested without a kernel, against names no kernel would dare to give. A period ended by
 * `next_epoch` has PERIOD_EVENTS waits, the last one, ended by `stop`, TAIL_EVENTS, however long
 * they took. Filters do not apply.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "source/sys/bpf_util.h"
#include "source/synth/synth.h"

#define PERIOD_EVENTS 1000
#define TAIL_EVENTS 100
#define EVENT_STEP_NS 1000000 /* of the made-up clock: a period is one second long */

/* An escape sequence, broken UTF-8, quotes, markup, a spreadsheet formula and line breaks. */
const struct synth_task synth_tasks[SYNTH_TASKS] = {
	{100, 100, "worker", "/app", "/data/a"},
	{100, 101, "worker/1", "/app", "/data/a"},
	{200, 200, "a\033[31mred\007", "/app/\033]0;x\007", "/data/\033]0;x\007"},
	{300, 300, "bad\377\303(", "/bad\355\240\200", "/data/bad\377"},
	{400, 400, "\"q\",'x'\\", "/quo\"te,d", "/data/\"q\",x"},
	{500, 500, "<b>&amp;</b>", "/<svc>.slice", "inode 42"},
	{600, 600, "=1+2\r\n\t,x", "/sys", "=1+2"},
};

#define HISTS (SYNTH_ROWS * SCHED_METRICS) /* of a view: of each row, those of all metrics */

struct synth {
	struct source base;
	struct source_args args;
	struct bucket_table table;
	struct synth_group groups[SYNTH_ROWS];
	struct hist hists[2][HISTS]; /* interval, total */
	bool grouped;		     /* a wait for a CPU has no file */
	struct synth_files *files;
	struct synth_locks *locks;
	uint64_t random;
	uint64_t start_ns; /* CLOCK_MONOTONIC, when the made-up clock starts */
	uint64_t events;   /* so far: the made-up clock */
	uint32_t due;	   /* events of the period that ended, not made yet */
};

/* One made-up wait. */
struct event {
	const struct synth_task *task, *prev, *waker;
	uint32_t cpu, last_cpu;
	enum { WAKEUP, PREEMPT, THROTTLE } kind;
	bool irq;
	uint64_t w2q_ns, q2r_ns; /* of a wakeup */
	uint64_t wait_ns;
};

static struct event draw_event(struct synth *s)
{
	struct event v = {
		.task = &synth_tasks[synth_draw(&s->random, SYNTH_TASKS)],
		.prev = synth_draw(&s->random, 3)
				? &synth_tasks[synth_draw(&s->random, SYNTH_TASKS)]
				: NULL,
		.waker = synth_draw(&s->random, 4)
				 ? &synth_tasks[synth_draw(&s->random, SYNTH_TASKS)]
				 : NULL,
		.cpu = synth_draw(&s->random, SYNTH_CPUS),
		.last_cpu = synth_draw(&s->random, SYNTH_CPUS),
		.kind = synth_draw(&s->random, 4)   ? WAKEUP
			: synth_draw(&s->random, 5) ? PREEMPT
						    : THROTTLE,
		.irq = synth_draw(&s->random, 2),
	};

	v.wait_ns = synth_draw_wait(&s->random);
	if (v.kind == WAKEUP) {
		v.q2r_ns = v.wait_ns;
		v.w2q_ns = v.wait_ns ? 500 + synth_draw(&s->random, 2000) : 0;
		v.wait_ns += v.w2q_ns;
	}
	return v;
}

static int count_in_row(struct synth *s, uint32_t row, const struct event *v)
{
	struct hist *h = &s->hists[0][row * SCHED_METRICS];
	int ret;

	if (v->kind == THROTTLE)
		return hist_add(&h[METRIC_SCHED_THROTTLE_WAIT], &s->table, v->wait_ns);
	ret = hist_add(&h[METRIC_SCHED_RUN_DELAY], &s->table,
		       v->kind == WAKEUP ? v->q2r_ns : v->wait_ns);
	if (ret)
		return ret;
	if (v->kind == PREEMPT)
		return hist_add(&h[METRIC_SCHED_PREEMPT_WAIT], &s->table, v->wait_ns);
	ret = hist_add(&h[METRIC_SCHED_WAKEUP_LATENCY], &s->table, v->wait_ns);
	if (!ret)
		ret = hist_add(&h[METRIC_SCHED_WAKE_TO_QUEUE], &s->table, v->w2q_ns);
	if (!ret)
		ret = hist_add(&h[METRIC_SCHED_QUEUE_TO_RUN], &s->table, v->q2r_ns);
	return ret;
}

static const struct {
	const char *name;
	enum metric_id metric;
} kinds[] = {
	[WAKEUP] = {"wakeup", METRIC_SCHED_WAKEUP_LATENCY},
	[PREEMPT] = {"preempt", METRIC_SCHED_PREEMPT_WAIT},
	[THROTTLE] = {"throttle", METRIC_SCHED_THROTTLE_WAIT},
};

static struct slow stamp(const struct synth *s)
{
	uint64_t now_ns = s->start_ns + s->events * EVENT_STEP_NS;

	return (struct slow){.time = wall_at(now_ns), .mono_ns = now_ns};
}

static int tell_slow(struct synth *s, const struct event *v)
{
	const struct config *cfg = s->args.cfg;
	struct slow w = stamp(s);

	w.metric = metric_list[kinds[v->kind].metric].name;
	w.kind = kinds[v->kind].name;
	w.cpu = v->cpu;
	w.pid = v->task->pid;
	w.tid = v->task->tid;
	w.comm = v->task->comm;
	w.cgroup = v->task->cgroup;
	w.wait_ns = v->wait_ns;
	w.has_legs = v->kind == WAKEUP;
	w.wake_to_queue_ns = v->w2q_ns;
	w.queue_to_run_ns = v->q2r_ns;
	w.migrated = v->cpu != v->last_cpu;
	w.last_cpu_known = true;
	w.last_cpu = v->last_cpu;
	if (!cfg->slower || v->wait_ns < cfg->slower_ns || !s->args.on_slow)
		return 0;
	if (v->kind == WAKEUP)
		w.waker = v->waker ? "task" : v->irq ? "irq" : "unknown";
	if (v->kind == WAKEUP && v->waker) {
		w.waker_pid = v->waker->pid;
		w.waker_tid = v->waker->tid;
		w.waker_comm = v->waker->comm;
	}
	if (v->prev) {
		w.prev_pid = v->prev->pid;
		w.prev_tid = v->prev->tid;
		w.prev_comm = v->prev->comm;
	}
	return s->args.on_slow(s->args.slow_ctx, &w);
}

/* Makes the period's waits: the interval is new, the total gains it. */
static int make_period(struct synth *s)
{
	struct slow end;
	int ret = 0;

	for (int i = 0; i < HISTS; i++)
		hist_reset(&s->hists[0][i]);
	for (uint32_t n = s->due; n && !ret; n--) {
		struct event v = draw_event(s);
		uint32_t task = (uint32_t)(v.task - synth_tasks);

		s->events++;
		ret = count_in_row(s, 0, &v);
		if (!ret)
			ret = count_in_row(s, 1 + v.cpu, &v);
		if (!ret && s->grouped)
			ret = count_in_row(s, synth_row_of(task, s->args.cfg->by), &v);
		if (!ret)
			ret = tell_slow(s, &v);
	}
	end = stamp(s);
	if (!ret)
		ret = synth_files_make(s->files, s->due, &s->args, &end);
	if (!ret)
		ret = synth_locks_make(s->locks, s->due);
	s->due = 0;
	for (int i = 0; i < HISTS && !ret; i++)
		ret = hist_merge(&s->hists[1][i], &s->hists[0][i]);
	return ret;
}

/* Groups that were silent are left out, as they are in a real source. */
static int push_view(struct synth *s, struct series_list *l, int view)
{
	int ret = 0;

	for (uint32_t i = 0; i < SYNTH_ROWS; i++) {
		const struct hist *hists = &s->hists[view][i * SCHED_METRICS];
		uint64_t count = 0;

		for (int m = 0; m < SCHED_METRICS; m++)
			count += hists[m].count;
		for (int m = 0; m < SCHED_METRICS && !ret && (count || i <= SYNTH_CPUS); m++) {
			struct series one = {.desc = &metric_list[m],
					     .nlabels = s->groups[i].nlabels,
					     .hist = &hists[m]};

			memcpy(one.labels, s->groups[i].labels, sizeof(one.labels));
			ret = series_push(l, &one);
		}
	}
	return ret;
}

static int synth_collect(struct source *base, struct source_report *r, struct err *e)
{
	struct synth *s = (struct synth *)base;
	int ret = make_period(s);

	r->quality_interval = (struct quality){0};
	r->quality_total = (struct quality){0};
	if (!ret)
		ret = push_view(s, &r->interval.series, 0);
	if (!ret)
		ret = push_view(s, &r->total.series, 1);
	if (!ret)
		ret = synth_files_collect(s->files, r);
	if (!ret)
		ret = synth_locks_collect(s->locks, r);
	if (ret == -ENOMEM) /* else the words are those of who took the slow waits */
		return err_sys(e, ret, "synth");
	return ret;
}

static bool same_group(const struct synth_task *a, const struct synth_task *b, enum by_key by)
{
	switch (by) {
	case BY_PID:
		return a->pid == b->pid;
	case BY_TID:
		return a->tid == b->tid;
	case BY_COMM:
		return !strcmp(a->comm, b->comm);
	case BY_CGROUP:
		return !strcmp(a->cgroup, b->cgroup);
	case BY_FILE:
		return !strcmp(a->file, b->file);
	case BY_UNIT: /* joined by their names, as of a real source */
	case BY_CONTAINER:
		return !strcmp(a->cgroup, b->cgroup);
	default:
		return false;
	}
}

static void add_label(struct synth_group *g, const char *key, const char *value)
{
	g->labels[g->nlabels++] = (struct label){key, value};
}

void synth_label_group(struct synth_group *g, const struct synth_task *t, enum by_key by)
{
	/* a 32-bit number always fits */
	(void)snprintf(g->id, sizeof(g->id), "%u", by == BY_TID ? t->tid : t->pid);
	(void)snprintf(g->pid, sizeof(g->pid), "%u", t->pid);
	switch (by) {
	case BY_PID:
		add_label(g, "pid", g->id);
		add_label(g, "comm", t->comm);
		break;
	case BY_TID:
		add_label(g, "tid", g->id);
		add_label(g, "comm", t->comm);
		add_label(g, "pid", g->pid);
		break;
	case BY_COMM:
		add_label(g, "comm", t->comm);
		break;
	case BY_CGROUP:
		add_label(g, "cgroup", t->cgroup);
		break;
	case BY_FILE:
		add_label(g, "file", t->file);
		break;
	case BY_UNIT:
		cgroup_words(&g->words, t->cgroup);
		add_label(g, "unit", *g->words.unit ? g->words.unit : CGROUP_NONE);
		break;
	case BY_CONTAINER:
		cgroup_words(&g->words, t->cgroup);
		add_label(g, "container_id",
			  *g->words.container_id ? g->words.container_id : CGROUP_NONE);
		break;
	default:
		break;
	}
}

void synth_label_rows(struct synth_group groups[SYNTH_ROWS], enum by_key by)
{
	for (uint32_t cpu = 0; cpu < SYNTH_CPUS; cpu++) {
		struct synth_group *g = &groups[1 + cpu];

		(void)snprintf(g->id, sizeof(g->id), "%u", cpu); /* fits */
		add_label(g, "cpu", g->id);
	}
	for (uint32_t i = 0; i < SYNTH_TASKS; i++)
		synth_label_group(&groups[1 + SYNTH_CPUS + i], &synth_tasks[i], by);
}

uint32_t synth_row_of(uint32_t task, enum by_key by)
{
	uint32_t i = 0;

	while (i < task && !same_group(&synth_tasks[i], &synth_tasks[task], by))
		i++;
	return 1 + SYNTH_CPUS + i;
}

static void synth_close(struct source *base)
{
	struct synth *s = (struct synth *)base;

	if (!s)
		return;
	for (int i = 0; i < HISTS; i++) {
		hist_free(&s->hists[0][i]);
		hist_free(&s->hists[1][i]);
	}
	synth_files_close(s->files);
	synth_locks_close(s->locks);
	free(s);
}

static int synth_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct synth *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_sys(e, -ENOMEM, "synth");
	s->base.ops = &source_synth;
	s->args = *args;
	ret = bucket_table_init(&s->table, args->cfg->precision);
	if (ret) {
		err_set(e, EXIT_USAGE, ret, "--precision '%u': expected %d to %d",
			args->cfg->precision, BUCKET_SCHEMA_MIN, BUCKET_SCHEMA_MAX);
		goto close;
	}
	s->grouped = args->cfg->by > BY_CPU && args->cfg->by != BY_FILE;
	synth_label_rows(s->groups, args->cfg->by);
	for (int i = 0; i < 2 * HISTS && !ret; i++) { /* nothing is allocated while counting */
		struct hist *h = &s->hists[i / HISTS][i % HISTS];

		hist_init(h, args->cfg->precision);
		if (s->grouped || i % HISTS < (1 + SYNTH_CPUS) * SCHED_METRICS)
			ret = hist_reserve_all(h);
	}
	if (!ret)
		ret = synth_files_open(&s->files, args->cfg);
	if (!ret)
		ret = synth_locks_open(&s->locks, args->cfg);
	if (ret) {
		err_sys(e, ret, "synth");
		goto close;
	}
	*out = &s->base;
	return 0;
close:
	synth_close(&s->base);
	return ret;
}

static int synth_probe(struct err *e)
{
	return 0;
}

static int synth_start(struct source *base, struct err *e)
{
	struct synth *s = (struct synth *)base;

	for (int i = 0; i < HISTS; i++)
		hist_reset(&s->hists[1][i]);
	synth_files_start(s->files);
	synth_locks_start(s->locks);
	s->random = SYNTH_SEED;
	s->start_ns = clock_mono_ns();
	s->events = 0;
	s->due = 0;
	return 0;
}

static int synth_next_epoch(struct source *base, struct err *e)
{
	((struct synth *)base)->due += PERIOD_EVENTS;
	return 0;
}

static int synth_stop(struct source *base, struct err *e)
{
	((struct synth *)base)->due += TAIL_EVENTS;
	return 0;
}

static const char *const *synth_hooks(const struct source *base)
{
	static const char *const hooks[] = {"synthetic", NULL};

	return hooks;
}

const struct source_ops source_synth = {
	.name = "synth",
	.summary = "made-up waits, the same in every run: for tests, needs no kernel",
	.made_up = true,
	.contends = true,
	.groups = true,
	.slow = true,
	.probe = synth_probe,
	.open = synth_open,
	.start = synth_start,
	.next_epoch = synth_next_epoch,
	.collect = synth_collect,
	.stop = synth_stop,
	.hooks = synth_hooks,
	.close = synth_close,
};
