/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up scheduler waits, the same in every run: sinks, loop and command line can be tested
 * without a kernel, against names no kernel would dare to give. A period ended by `flip` has
 * PERIOD_EVENTS waits, the last one, ended by `stop`, TAIL_EVENTS, however long they took. Filters
 * do not apply.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/sched_metrics.h"
#include "source/source.h"

#define CPUS 4
#define PERIOD_EVENTS 1000
#define TAIL_EVENTS 100
#define SEED 20120601
#define EVENT_STEP_NS 1000000 /* of the made-up clock */
#define EPOCH_SEC 1767225600  /* 2026-01-01T00:00:00Z, when that clock starts */
#define NS_PER_S 1000000000

struct task {
	uint32_t pid, tid;
	const char *comm; /* at most 15 bytes, as the kernel's */
	const char *cgroup;
};

/* An escape sequence, broken UTF-8, quotes, markup, a spreadsheet formula and line breaks. */
static const struct task tasks[] = {
	{100, 100, "worker", "/app"},
	{100, 101, "worker/1", "/app"},
	{200, 200, "a\033[31mred\007", "/app/\033]0;x\007"},
	{300, 300, "bad\377\303(", "/bad\355\240\200"},
	{400, 400, "\"q\",'x'\\", "/quo\"te,d"},
	{500, 500, "<b>&amp;</b>", "/<svc>.slice"},
	{600, 600, "=1+2\r\n\t,x", "/sys"},
};

#define TASKS (sizeof(tasks) / sizeof(tasks[0]))
#define ROWS_MAX (1 + CPUS + TASKS)

/* One line of a report: the whole, a CPU or a group. */
struct row {
	struct label labels[SERIES_LABELS];
	uint32_t nlabels;
	char id[12], pid[12]; /* what labels of numbers point to */
	struct hist interval[SCHED_METRICS];
	struct hist total[SCHED_METRICS];
};

struct synth {
	struct source base;
	struct source_args args;
	struct bucket_table table;
	struct row rows[ROWS_MAX]; /* whole, CPUs, groups */
	uint32_t nrows;
	uint32_t group_row[TASKS]; /* 0: tasks are not grouped */
	uint64_t random;
	uint64_t events; /* so far: the made-up clock */
	uint32_t due;	 /* events of the period that ended, not made yet */
};

/* One made-up wait. */
struct event {
	const struct task *task, *prev, *waker;
	uint32_t cpu, last_cpu;
	enum { WAKEUP, PREEMPT, THROTTLE } kind;
	bool irq;
	uint64_t w2q_ns, q2r_ns; /* of a wakeup */
	uint64_t wait_ns;
};

/* 64-bit linear congruential generator; its high bits are the good ones. */
static uint32_t draw(struct synth *s, uint32_t below)
{
	s->random = s->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((s->random >> 33) % below);
}

/* Mostly microseconds, with a tail of milliseconds and a few of 0 ns. */
static uint64_t draw_wait(struct synth *s)
{
	if (!draw(s, 200))
		return 0;
	return (1000ULL << draw(s, 12)) + draw(s, 1000);
}

static struct event draw_event(struct synth *s)
{
	struct event v = {
		.task = &tasks[draw(s, TASKS)],
		.prev = draw(s, 3) ? &tasks[draw(s, TASKS)] : NULL,
		.waker = draw(s, 4) ? &tasks[draw(s, TASKS)] : NULL,
		.cpu = draw(s, CPUS),
		.last_cpu = draw(s, CPUS),
		.kind = draw(s, 4)   ? WAKEUP
			: draw(s, 5) ? PREEMPT
				     : THROTTLE,
		.irq = draw(s, 2),
	};

	v.wait_ns = draw_wait(s);
	if (v.kind == WAKEUP) {
		v.q2r_ns = v.wait_ns;
		v.w2q_ns = v.wait_ns ? 500 + draw(s, 2000) : 0;
		v.wait_ns += v.w2q_ns;
	}
	return v;
}

static int count_metric(struct synth *s, struct row *row, enum sched_metric m, uint64_t ns)
{
	return hist_add(&row->interval[m], &s->table, ns);
}

static int count_in_row(struct synth *s, struct row *row, const struct event *v)
{
	int ret;

	if (v->kind == THROTTLE)
		return count_metric(s, row, SCHED_THROTTLE_WAIT, v->wait_ns);
	ret = count_metric(s, row, SCHED_RUN_DELAY, v->kind == WAKEUP ? v->q2r_ns : v->wait_ns);
	if (ret)
		return ret;
	if (v->kind == PREEMPT)
		return count_metric(s, row, SCHED_PREEMPT_WAIT, v->wait_ns);
	ret = count_metric(s, row, SCHED_WAKEUP_LATENCY, v->wait_ns);
	if (!ret)
		ret = count_metric(s, row, SCHED_WAKE_TO_QUEUE, v->w2q_ns);
	if (!ret)
		ret = count_metric(s, row, SCHED_QUEUE_TO_RUN, v->q2r_ns);
	return ret;
}

static int count_event(struct synth *s, const struct event *v)
{
	uint32_t group = s->group_row[v->task - tasks];
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
	enum sched_metric metric;
} kinds[] = {
	[WAKEUP] = {"wakeup", SCHED_WAKEUP_LATENCY},
	[PREEMPT] = {"preempt", SCHED_PREEMPT_WAIT},
	[THROTTLE] = {"throttle", SCHED_THROTTLE_WAIT},
};

static int tell_slow(struct synth *s, const struct event *v)
{
	const struct config *cfg = s->args.cfg;
	uint64_t now_ns = s->events * EVENT_STEP_NS;
	struct slow w = {
		.time = {EPOCH_SEC + (time_t)(now_ns / NS_PER_S), (long)(now_ns % NS_PER_S)},
		.mono_ns = now_ns,
		.metric = sched_metrics[kinds[v->kind].metric].name,
		.kind = kinds[v->kind].name,
		.cpu = v->cpu,
		.pid = v->task->pid,
		.tid = v->task->tid,
		.comm = v->task->comm,
		.cgroup = v->task->cgroup,
		.wait_ns = v->wait_ns,
		.has_legs = v->kind == WAKEUP,
		.wake_to_queue_ns = v->w2q_ns,
		.queue_to_run_ns = v->q2r_ns,
		.migrated = v->cpu != v->last_cpu,
		.last_cpu_known = true,
		.last_cpu = v->last_cpu,
	};

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

/* Makes the period's waits: the interval is new, the total gains it. */
static int make_period(struct synth *s)
{
	int ret;

	for (uint32_t i = 0; i < s->nrows; i++)
		for (int m = 0; m < SCHED_METRICS; m++)
			hist_reset(&s->rows[i].interval[m]);
	for (; s->due; s->due--) {
		struct event v = draw_event(s);

		s->events++;
		ret = count_event(s, &v);
		if (!ret)
			ret = tell_slow(s, &v);
		if (ret)
			return ret;
	}
	for (uint32_t i = 0; i < s->nrows; i++) {
		struct row *row = &s->rows[i];

		for (int m = 0; m < SCHED_METRICS; m++) {
			ret = hist_merge(&row->total[m], &row->interval[m]);
			if (ret)
				return ret;
		}
	}
	return 0;
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
			.desc = &sched_metrics[m], .nlabels = row->nlabels, .hist = &hists[m]};

		memcpy(one.labels, row->labels, sizeof(one.labels));
		ret = series_push(l, &one);
	}
	return ret;
}

static int synth_collect(struct source *base, struct source_report *r, struct err *e)
{
	struct synth *s = (struct synth *)base;
	int ret = make_period(s);

	rows_forget(&r->interval);
	rows_forget(&r->total);
	r->quality_interval = (struct quality){0};
	r->quality_total = (struct quality){0};
	for (uint32_t i = 0; i < s->nrows && !ret; i++) {
		const struct row *row = &s->rows[i];

		ret = push_row(&r->interval.series, row, row->interval, i > CPUS);
		if (!ret)
			ret = push_row(&r->total.series, row, row->total, i > CPUS);
	}
	if (ret == -ENOMEM) /* else the words are those of who took the slow waits */
		return err_sys(e, ret, "synth");
	return ret;
}

static bool same_group(const struct task *a, const struct task *b, enum by_key by)
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
	default:
		return false;
	}
}

static void add_label(struct row *row, const char *key, const char *value)
{
	row->labels[row->nlabels++] = (struct label){key, value};
}

static void label_group(struct row *row, const struct task *t, enum by_key by)
{
	/* a 32-bit number always fits */
	(void)snprintf(row->id, sizeof(row->id), "%u", by == BY_TID ? t->tid : t->pid);
	(void)snprintf(row->pid, sizeof(row->pid), "%u", t->pid);
	switch (by) {
	case BY_PID:
		add_label(row, "pid", row->id);
		add_label(row, "comm", t->comm);
		break;
	case BY_TID:
		add_label(row, "tid", row->id);
		add_label(row, "comm", t->comm);
		add_label(row, "pid", row->pid);
		break;
	case BY_COMM:
		add_label(row, "comm", t->comm);
		break;
	default:
		add_label(row, "cgroup", t->cgroup);
		break;
	}
}

/* The row of a task's group; a task that shares it may have come before. */
static uint32_t group_of(struct synth *s, uint32_t task, enum by_key by)
{
	for (uint32_t i = 0; i < task; i++)
		if (same_group(&tasks[i], &tasks[task], by))
			return s->group_row[i];
	label_group(&s->rows[s->nrows], &tasks[task], by);
	return s->nrows++;
}

static void lay_out_rows(struct synth *s, enum by_key by)
{
	s->nrows = 1 + CPUS;
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		struct row *row = &s->rows[1 + cpu];

		(void)snprintf(row->id, sizeof(row->id), "%u", cpu); /* fits */
		add_label(row, "cpu", row->id);
	}
	if (by == BY_NONE || by == BY_CPU)
		return;
	for (uint32_t i = 0; i < TASKS; i++)
		s->group_row[i] = group_of(s, i, by);
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
	s->random = SEED;
	s->events = 0;
	s->due = 0;
	return 0;
}

static int synth_flip(struct source *base, struct err *e)
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
	.summary = "made-up scheduler waits, the same in every run: for tests, needs no kernel",
	.by_default = false,
	.probe = synth_probe,
	.open = synth_open,
	.start = synth_start,
	.flip = synth_flip,
	.collect = synth_collect,
	.stop = synth_stop,
	.hooks = synth_hooks,
	.close = synth_close,
};
