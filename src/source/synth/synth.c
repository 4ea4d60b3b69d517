/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up waits for CPUs, files and locks, the same in every run: sinks, loop and command line can
 * be tested without a kernel, against names no kernel would dare to give. A period ended by `next_epoch`
 * has PERIOD_EVENTS waits, the last one, ended by `stop`, TAIL_EVENTS, however long they took.
 * Filters do not apply.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf_util.h"
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

#define ROWS_MAX (1 + SYNTH_CPUS + SYNTH_TASKS)

/* One line of a report: the whole, a CPU or a group. */
struct row {
	struct synth_group group;
	struct hist interval[SCHED_METRICS];
	struct hist total[SCHED_METRICS];
};

struct synth {
	struct source base;
	struct source_args args;
	struct bucket_table table;
	struct row rows[ROWS_MAX]; /* whole, CPUs, groups */
	uint32_t nrows;
	uint32_t group_row[SYNTH_TASKS]; /* 0: tasks are not grouped */
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

static int count_metric(struct synth *s, struct row *row, enum metric_id m, uint64_t ns)
{
	return hist_add(&row->interval[m], &s->table, ns);
}

static int count_in_row(struct synth *s, struct row *row, const struct event *v)
{
	int ret;

	if (v->kind == THROTTLE)
		return count_metric(s, row, METRIC_SCHED_THROTTLE_WAIT, v->wait_ns);
	ret = count_metric(s, row, METRIC_SCHED_RUN_DELAY,
			   v->kind == WAKEUP ? v->q2r_ns : v->wait_ns);
	if (ret)
		return ret;
	if (v->kind == PREEMPT)
		return count_metric(s, row, METRIC_SCHED_PREEMPT_WAIT, v->wait_ns);
	ret = count_metric(s, row, METRIC_SCHED_WAKEUP_LATENCY, v->wait_ns);
	if (!ret)
		ret = count_metric(s, row, METRIC_SCHED_WAKE_TO_QUEUE, v->w2q_ns);
	if (!ret)
		ret = count_metric(s, row, METRIC_SCHED_QUEUE_TO_RUN, v->q2r_ns);
	return ret;
}

static int count_event(struct synth *s, const struct event *v)
{
	uint32_t group = s->group_row[v->task - synth_tasks];
	int ret;

	ret = count_in_row(s, &s->rows[0], v);
	if (!ret)
		ret = count_in_row(s, &s->rows[1 + v->cpu], v);
	if (!ret && group)
		ret = count_in_row(s, &s->rows[group], v);
	return ret;
}

static void name_waker(struct slow *w, const struct event *v)
{
	if (v->waker) {
		w->waker = "task";
		w->waker_pid = v->waker->pid;
		w->waker_tid = v->waker->tid;
		w->waker_comm = v->waker->comm;
	} else {
		w->waker = v->irq ? "irq" : "unknown";
	}
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
		name_waker(&w, v);
	if (v->prev) {
		w.prev_pid = v->prev->pid;
		w.prev_tid = v->prev->tid;
		w.prev_comm = v->prev->comm;
	}
	return s->args.on_slow(s->args.slow_ctx, &w);
}

static int make_waits(struct synth *s)
{
	int ret = 0;

	for (uint32_t n = s->due; n && !ret; n--) {
		struct event v = draw_event(s);

		s->events++;
		ret = count_event(s, &v);
		if (!ret)
			ret = tell_slow(s, &v);
	}
	return ret;
}

/* Makes the period's waits: the interval is new, the total gains it. */
static int make_period(struct synth *s)
{
	struct slow end;
	int ret;

	for (uint32_t i = 0; i < s->nrows; i++)
		for (int m = 0; m < SCHED_METRICS; m++)
			hist_reset(&s->rows[i].interval[m]);
	ret = make_waits(s);
	end = stamp(s);
	if (!ret)
		ret = synth_files_make(s->files, s->due, &s->args, &end);
	if (!ret)
		ret = synth_locks_make(s->locks, s->due);
	s->due = 0;
	for (uint32_t i = 0; i < s->nrows; i++) {
		struct row *row = &s->rows[i];

		for (int m = 0; m < SCHED_METRICS && !ret; m++)
			ret = hist_merge(&row->total[m], &row->interval[m]);
	}
	return ret;
}

/* The row's series. Groups that were silent are left out, as they are in a real source. */
static int push_row(struct series_list *l, const struct row *row, const struct hist *hists,
		    bool group)
{
	uint64_t count = 0;
	int ret = 0;

	for (int m = 0; m < SCHED_METRICS; m++)
		count += hists[m].count;
	if (group && !count)
		return 0;
	for (int m = 0; m < SCHED_METRICS && !ret; m++) {
		struct series one = {
			.desc = &metric_list[m], .nlabels = row->group.nlabels, .hist = &hists[m]};

		memcpy(one.labels, row->group.labels, sizeof(one.labels));
		ret = series_push(l, &one);
	}
	return ret;
}

static int synth_collect(struct source *base, struct source_report *r, struct err *e)
{
	struct synth *s = (struct synth *)base;
	int ret = make_period(s);

	r->quality_interval = (struct quality){0};
	r->quality_total = (struct quality){0};
	for (uint32_t i = 0; i < s->nrows && !ret; i++) {
		const struct row *row = &s->rows[i];

		ret = push_row(&r->interval.series, row, row->interval, i > SYNTH_CPUS);
		if (!ret)
			ret = push_row(&r->total.series, row, row->total, i > SYNTH_CPUS);
	}
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

void synth_add_label(struct synth_group *g, const char *key, const char *value)
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
		synth_add_label(g, "pid", g->id);
		synth_add_label(g, "comm", t->comm);
		break;
	case BY_TID:
		synth_add_label(g, "tid", g->id);
		synth_add_label(g, "comm", t->comm);
		synth_add_label(g, "pid", g->pid);
		break;
	case BY_COMM:
		synth_add_label(g, "comm", t->comm);
		break;
	case BY_CGROUP:
		synth_add_label(g, "cgroup", t->cgroup);
		break;
	case BY_FILE:
		synth_add_label(g, "file", t->file);
		break;
	case BY_UNIT:
		cgroup_words(&g->words, t->cgroup);
		synth_add_label(g, "unit", *g->words.unit ? g->words.unit : CGROUP_NONE);
		break;
	case BY_CONTAINER:
		cgroup_words(&g->words, t->cgroup);
		synth_add_label(g, "container_id",
				*g->words.container_id ? g->words.container_id : CGROUP_NONE);
		break;
	default:
		break;
	}
}

uint32_t synth_group_of(uint32_t task, enum by_key by)
{
	for (uint32_t i = 0; i < task; i++)
		if (same_group(&synth_tasks[i], &synth_tasks[task], by))
			return i;
	return task;
}

/* The row of a task's group; a task that shares it may have come before. */
static uint32_t row_of_group(struct synth *s, uint32_t task, enum by_key by)
{
	uint32_t first = synth_group_of(task, by);

	if (first != task)
		return s->group_row[first];
	synth_label_group(&s->rows[s->nrows].group, &synth_tasks[task], by);
	return s->nrows++;
}

static void lay_out_rows(struct synth *s, enum by_key by)
{
	s->nrows = 1 + SYNTH_CPUS;
	for (uint32_t cpu = 0; cpu < SYNTH_CPUS; cpu++) {
		struct row *row = &s->rows[1 + cpu];

		(void)snprintf(row->group.id, sizeof(row->group.id), "%u", cpu); /* fits */
		synth_add_label(&row->group, "cpu", row->group.id);
	}
	if (by == BY_NONE || by == BY_CPU || by == BY_FILE) /* a wait for a CPU has no file */
		return;
	for (uint32_t i = 0; i < SYNTH_TASKS; i++)
		s->group_row[i] = row_of_group(s, i, by);
}

/* All memory at once: nothing is allocated while counting. */
static int reserve_hists(struct synth *s, uint32_t schema)
{
	int ret = 0;

	for (uint32_t i = 0; i < s->nrows; i++) {
		for (int m = 0; m < SCHED_METRICS && !ret; m++) {
			hist_init(&s->rows[i].interval[m], schema);
			hist_init(&s->rows[i].total[m], schema);
			ret = hist_reserve_all(&s->rows[i].interval[m]);
			if (!ret)
				ret = hist_reserve_all(&s->rows[i].total[m]);
		}
	}
	return ret;
}

static void synth_close(struct source *base)
{
	struct synth *s = (struct synth *)base;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->nrows; i++) {
		for (int m = 0; m < SCHED_METRICS; m++) {
			hist_free(&s->rows[i].interval[m]);
			hist_free(&s->rows[i].total[m]);
		}
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
	lay_out_rows(s, args->cfg->by);
	ret = reserve_hists(s, args->cfg->precision);
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

	for (uint32_t i = 0; i < s->nrows; i++)
		for (int m = 0; m < SCHED_METRICS; m++)
			hist_reset(&s->rows[i].total[m]);
	synth_files_start(s->files);
	synth_locks_start(s->locks);
	s->random = SYNTH_SEED;
	s->start_ns = mono_now_ns();
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
