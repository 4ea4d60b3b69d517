// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A trace for Perfetto's UI and trace_processor: each wait and operation that --slower tells is a
 * slice on its thread's track, its waker a flow that leads there; a wait for a CPU also one on the
 * CPU's track. Beside them counters, a value an interval, so that a trace without slow waits shows
 * when it was worse:
 *
 *	fio 4711	|--- wakeup wait ---|			<- waking, on the track of who woke it
 *			|w|-- queue-to-run -|
 *	  operations	  |------ fsync ------|
 *	CPU 1		  |----- fio -------|
 *			  |- cc1 -|(irq)|ld|		<- --why: how long it waited for whom
 *	sched_wakeup_latency p99  __--__-___
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/culprit.h"
#include "core/fields.h"
#include "core/view.h"
#include "sink/perfetto.h"

#define NS_PER_S 1e9

static struct perfetto *perfetto(struct sink *s)
{
	return (struct perfetto *)s;
}

static void perfetto_free(struct sink *s)
{
	cache_clear(&perfetto(s)->tracks);
}

static int perfetto_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	int ret = sink_new(out, &sink_perfetto, args, e);

	if (!ret)
		perfetto_tracks_init(perfetto(*out));
	return ret;
}

static int perfetto_meta(struct sink *s, const struct meta *m, struct err *e)
{
	perfetto_put_head(s->out, m);
	return sink_flush_head(s, e);
}

/*
 * Before the first event: nothing has a time without. Later ones tell how the wall clock was set.
 */
static void note_clocks(struct perfetto *p, const struct timespec *wall, uint64_t mono_ns)
{
	if (p->clocks && mono_ns <= p->clock_ns)
		return;
	p->clocks = true;
	p->clock_ns = mono_ns;
	perfetto_put_clocks(p->base.out, wall, mono_ns);
}

/* ---- slow waits ---- */

static const char *wait_name(const struct slow *w)
{
	static const char *const names[][2] = {
		{"wakeup", "wakeup wait"},
		{"new", "first wait"},
		{"preempt", "preempt wait"},
		{"throttle", "throttle wait"},
	};

	if (w->held)
		return w->held->name ? w->held->name : w->kind;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i][0], w->kind))
			return names[i][1];
	return w->kind;
}

static uint64_t before(uint64_t ns, uint64_t by)
{
	return ns > by ? ns - by : 0; /* a clock does not begin below 0 */
}

static void note_task(struct out *o, enum perfetto_word comm, const char *name, uint32_t pid,
		      uint32_t tid)
{
	perfetto_note(o, comm, name);
	perfetto_note_u64(o, comm + 1, pid);
	perfetto_note_u64(o, comm + 2, tid);
}

static void note_prev(struct out *o, const struct slow *w)
{
	if (w->prev_comm && !w->prev_tid)
		perfetto_note(o, WORD_PREV_COMM, "(idle)");
	else if (w->prev_comm)
		note_task(o, WORD_PREV_COMM, w->prev_comm, w->prev_pid, w->prev_tid);
}

static void note_wait(struct out *o, const struct slow *w)
{
	perfetto_note(o, WORD_WAKER, w->waker);
	if (w->waker && !strcmp(w->waker, "task"))
		note_task(o, WORD_WAKER_COMM, w->waker_comm, w->waker_pid, w->waker_tid);
	note_prev(o, w);
	if (w->last_cpu_known)
		perfetto_note_u64(o, WORD_LAST_CPU, w->last_cpu);
}

static void note_op(struct out *o, const struct slow *w)
{
	const struct slow_op *op = w->op;

	perfetto_note(o, WORD_DEV, op->dev);
	perfetto_note(o, WORD_MOUNT, op->mount);
	perfetto_note(o, WORD_PATH, op->path);
	if (op->bytes)
		perfetto_note_u64(o, WORD_BYTES, op->bytes);
	if (!op->has_split)
		return;
	perfetto_note_u64(o, WORD_BLOCKED_NS, op->split.blocked_ns);
	perfetto_note_u64(o, WORD_RUN_QUEUE_NS, op->split.run_queue_ns);
	perfetto_note_u64(o, WORD_CPU_NS,
			  w->wait_ns - op->split.blocked_ns - op->split.run_queue_ns);
}

static void note_held(struct out *o, const struct slow *w)
{
	const struct slow_held *held = w->held;
	const struct holder *h = held->holders;
	char addr[2 + 16 + 1];

	(void)snprintf(addr, sizeof(addr), "0x%" PRIx64, held->addr); /* fits */
	perfetto_note(o, WORD_KIND, w->kind);
	perfetto_note(o, WORD_NAME, held->name);
	perfetto_note(o, WORD_ADDR, addr);
	if (held->nholders && h->tid)
		note_task(o, WORD_HOLDER_COMM, h->comm, h->pid, h->tid);
}

/* The waker's own track has the moment, from which the flow starts. */
static uint64_t put_waking(struct perfetto *p, const struct slow *w, uint64_t ns)
{
	struct perfetto_event e;
	uint64_t track;

	if (!slow_is_of_cpu(w) || !w->waker || strcmp(w->waker, "task") != 0)
		return 0;
	track = perfetto_thread(p, w->waker_pid, w->waker_tid, w->waker_comm);
	e = perfetto_begin(p->base.out, PERFETTO_INSTANT, track, ns);
	perfetto_name(p->base.out, CATEGORY_WAKING, "wakes ", w->comm);
	perfetto_flow(p->base.out, ++p->flows, false);
	note_task(p->base.out, WORD_COMM, w->comm, w->pid, w->tid);
	perfetto_end(p->base.out, e);
	return p->flows;
}

static void put_leg(struct perfetto *p, uint64_t track, const char *name, uint64_t from,
		    uint64_t to)
{
	struct perfetto_event e = perfetto_begin(p->base.out, PERFETTO_BEGIN, track, from);

	perfetto_name(p->base.out, CATEGORY_LEG, name, NULL);
	perfetto_end(p->base.out, e);
	perfetto_put_end(p->base.out, track, to);
}

static void put_thread_slice(struct perfetto *p, const struct slow *w, uint64_t begin)
{
	uint64_t flow = put_waking(p, w, begin), track, queued;
	struct perfetto_event e;

	(void)perfetto_thread(p, w->pid, w->tid, w->comm); /* described before its lanes */
	track = perfetto_lane(p, w->op ? ROW_OPS : ROW_WAITS, w->pid, w->tid, begin, w->mono_ns);
	e = perfetto_begin(p->base.out, PERFETTO_BEGIN, track, begin);
	perfetto_name(p->base.out, w->op ? CATEGORY_OP : CATEGORY_WAIT,
		      w->op ? w->op->op : wait_name(w), NULL);
	if (flow)
		perfetto_flow(p->base.out, flow, true);
	perfetto_note(p->base.out, WORD_METRIC, w->metric);
	perfetto_note_u64(p->base.out, WORD_CPU, w->cpu);
	perfetto_note(p->base.out, WORD_CGROUP, w->cgroup);
	if (w->op)
		note_op(p->base.out, w);
	else if (w->held)
		note_held(p->base.out, w);
	else
		note_wait(p->base.out, w);
	perfetto_end(p->base.out, e);
	/* The legs lie within it, the first from its beginning on. */
	queued = before(w->mono_ns, w->queue_to_run_ns);
	if (slow_is_of_cpu(w) && w->has_legs && queued >= begin) {
		put_leg(p, track, "wake-to-queue", begin, queued);
		put_leg(p, track, "queue-to-run", queued, w->mono_ns);
	}
	perfetto_put_end(p->base.out, track, w->mono_ns);
}

/* One culprit of a wait, of all its parts in it. */
static void put_culprit(struct perfetto *p, uint64_t track, const struct culprit *k, uint64_t from)
{
	char name[CULPRIT_NAME_BYTES];
	struct perfetto_event e = perfetto_begin(p->base.out, PERFETTO_BEGIN, track, from);

	perfetto_name(p->base.out, CATEGORY_CULPRIT, culprit_name(k, name, sizeof(name)), NULL);
	perfetto_note(p->base.out, WORD_KIND, k->kind);
	perfetto_note(p->base.out, WORD_COMM, k->comm);
	if (k->pid)
		perfetto_note_u64(p->base.out, WORD_PID, k->pid);
	if (k->tid)
		perfetto_note_u64(p->base.out, WORD_TID, k->tid);
	perfetto_note(p->base.out, WORD_CGROUP, k->cgroup);
	perfetto_note(p->base.out, WORD_CLASS, k->rt_class);
	if (k->priority)
		perfetto_note_u64(p->base.out, WORD_PRIORITY, k->priority);
	perfetto_note(p->base.out, WORD_MEANING, "a sum over the wait, not a moment in it");
	perfetto_end(p->base.out, e);
	perfetto_put_end(p->base.out, track, from + k->wait_ns);
}

/* Do they fill the wait, as what --why tells does? */
static bool fill_wait(const struct slow *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->nculprits; i++)
		sum += w->culprits[i].wait_ns;
	return w->nculprits && sum == w->wait_ns && w->mono_ns >= w->wait_ns;
}

/*
 * On the CPU: who waited for it, from being queued there on; with --why from the beginning, since
 * culprits have the way to the queue, too. They stand one after another.
 */
static void put_cpu_slice(struct perfetto *p, const struct slow *w)
{
	bool why = fill_wait(w);
	uint64_t waited = w->has_legs && !why ? w->queue_to_run_ns : w->wait_ns;
	uint64_t begin = before(w->mono_ns, waited), at = begin;
	uint64_t track = perfetto_lane(p, ROW_CPU, 0, w->cpu, begin, w->mono_ns);
	struct perfetto_event e = perfetto_begin(p->base.out, PERFETTO_BEGIN, track, begin);

	perfetto_name(p->base.out, CATEGORY_CPU, w->comm, NULL);
	note_task(p->base.out, WORD_COMM, w->comm, w->pid, w->tid);
	note_prev(p->base.out, w);
	perfetto_end(p->base.out, e);
	for (size_t i = 0; why && i < w->nculprits; i++) {
		put_culprit(p, track, &w->culprits[i], at);
		at += w->culprits[i].wait_ns;
	}
	perfetto_put_end(p->base.out, track, w->mono_ns);
}

static int perfetto_slow(struct sink *s, const struct slow *w, struct err *e)
{
	struct perfetto *p = perfetto(s);

	note_clocks(p, &w->time, w->mono_ns);
	put_thread_slice(p, w, before(w->mono_ns, w->wait_ns));
	if (slow_is_of_cpu(w))
		put_cpu_slice(p, w);
	cache_trim(&p->tracks);
	return out_flush_soon(p->base.out, e);
}

/* ---- reports ---- */

/* CPUs and groups have no counters: there is no bound on how many there are. */
static bool of_all(const struct series *s)
{
	for (int by = BY_CPU; s->nlabels && by <= BY_CONTAINER; by++)
		if (!strcmp(s->labels[0].key, view_by(by)))
			return false;
	return true;
}

/* A counter holds from one value to the next: an interval's stands at its beginning. */
static void put_hist(struct perfetto *p, const struct series *s, uint64_t ns, double dur_s)
{
	const struct hist *h = s->hist;
	char stat[32];

	perfetto_put_value(p->base.out, perfetto_counter(p, s, "rate", false, "/s"), ns,
			   (double)h->count / dur_s);
	perfetto_put_value(p->base.out, perfetto_counter(p, s, "waited", false, "s/s"), ns,
			   (double)h->sum_ns / NS_PER_S / dur_s);
	for (size_t i = 0; i < p->base.cfg->nquantiles; i++) {
		(void)snprintf(stat, sizeof(stat), "p%s",
			       p->base.cfg->quantiles[i].text); /* fits */
		perfetto_put_count(p->base.out, perfetto_counter(p, s, stat, true, NULL), ns,
				   hist_quantile(h, &p->base.cfg->quantiles[i]).ns);
	}
	perfetto_put_count(p->base.out, perfetto_counter(p, s, "max", true, NULL), ns,
			   h->count ? h->max_ns : 0);
}

static void put_counters(struct perfetto *p, const struct frame *f, uint64_t ns)
{
	double dur_s = (double)f->dur_ns / NS_PER_S;

	for (size_t i = 0; i < f->nseries && dur_s > 0; i++) {
		const struct series *s = &f->series[i];

		if (!of_all(s))
			continue;
		if (s->hist)
			put_hist(p, s, ns, dur_s);
		else
			perfetto_put_value(p->base.out, perfetto_counter(p, s, "rate", false, "/s"),
					   ns, (double)s->value / dur_s);
	}
}

/* "lost: unpaired 3, map_full 1" */
static void put_losses(struct perfetto *p, const struct frame *f)
{
	char words[512] = "";
	size_t at = 0;
	struct perfetto_event e;

	if (quality_complete(&f->quality))
		return;
	for (size_t i = 0; i < quality_fields.n && at < sizeof(words); i++) {
		const struct field *field = &quality_fields.v[i];

		if (field->loss && field_u64(field, &f->quality))
			at += (size_t)snprintf(words + at, sizeof(words) - at, "%s%s %" PRIu64,
					       at ? ", " : "", field->key,
					       field_u64(field, &f->quality));
	}
	e = perfetto_begin(p->base.out, PERFETTO_INSTANT, perfetto_quality(p), f->mono_ns);
	perfetto_name(p->base.out, CATEGORY_QUALITY, "lost: ", words);
	perfetto_end(p->base.out, e);
}

static int perfetto_report(struct perfetto *p, const struct frame *f, bool last, struct err *e)
{
	note_clocks(p, &f->time, f->mono_ns);
	put_counters(p, f, before(f->mono_ns, f->dur_ns));
	if (last) /* so that the trace is as long as the run was */
		put_counters(p, f, f->mono_ns);
	put_losses(p, f);
	cache_trim(&p->tracks);
	return out_flush(p->base.out, e);
}

static int perfetto_interval(struct sink *s, const struct frame *interval,
			     const struct frame *total, struct err *e)
{
	perfetto(s)->any = true;
	return perfetto_report(perfetto(s), interval, interval->last, e);
}

/* A run without intervals is one itself. */
static int perfetto_final(struct sink *s, const struct frame *total, struct err *e)
{
	return perfetto(s)->any ? 0 : perfetto_report(perfetto(s), total, true, e);
}

/* A new file describes its tracks anew. */
static void perfetto_begin_file(struct sink *s)
{
	cache_clear(&perfetto(s)->tracks);
	perfetto(s)->clocks = false;
}

const struct sink_ops sink_perfetto = {
	.name = "perfetto",
	.summary = "trace for Perfetto's UI: slow waits (--slower) as slices, metrics as counters",
	.what = "as Perfetto trace",
	.size = sizeof(struct perfetto),
	.open = perfetto_open,
	.meta = perfetto_meta,
	.interval = perfetto_interval,
	.final = perfetto_final,
	.slow = perfetto_slow,
	.reopen = sink_reopen,
	.close = sink_close,
	.begin = perfetto_begin_file,
	.free = perfetto_free,
};
