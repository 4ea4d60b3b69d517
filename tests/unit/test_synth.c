/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The made-up source keeps the promises every source makes; sinks and loop are tested with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame_own.h"
#include "source/source.h"
#include "unit.h"

struct seen {
	size_t n;
	uint64_t least_ns;
	size_t wakeups, preempts, throttles, irqs, idles, ops;
};

static int note_slow(void *ctx, const struct slow *w)
{
	struct seen *seen = ctx;

	if (w->op) {
		seen->ops++;
		assert_true(w->op->split.blocked_ns + w->op->split.run_queue_ns <= w->wait_ns);
		assert_non_null(w->op->dev);
		return 0;
	}
	if (!seen->n || w->wait_ns < seen->least_ns)
		seen->least_ns = w->wait_ns;
	seen->n++;
	if (!strcmp(w->kind, "wakeup")) {
		seen->wakeups++;
		assert_true(w->has_legs);
		assert_int_equal(w->wake_to_queue_ns + w->queue_to_run_ns, w->wait_ns);
		assert_non_null(w->waker);
		seen->irqs += !strcmp(w->waker, "irq");
	} else {
		seen->preempts += !strcmp(w->kind, "preempt");
		seen->throttles += !strcmp(w->kind, "throttle");
		assert_false(w->has_legs);
		assert_null(w->waker);
	}
	seen->idles += !w->prev_tid;
	return 0;
}

struct fixture {
	struct config cfg;
	struct seen seen;
	struct source *s;
	struct source_report r;
};

static void begin(struct fixture *f, enum by_key by)
{
	struct source_args args = {.cfg = &f->cfg, .on_slow = note_slow, .slow_ctx = &f->seen};
	struct err e = {0};

	f->cfg.by = by;
	if (!f->cfg.precision)
		f->cfg.precision = BUCKET_SCHEMA_DEFAULT;
	assert_int_equal(source_synth.probe(&e), 0);
	assert_int_equal(source_synth.open(&f->s, &args, &e), 0);
	assert_ptr_equal(f->s->ops, &source_synth);
	assert_int_equal(source_synth.start(f->s, &e), 0);
}

static void collect(struct fixture *f, int (*end)(struct source *s, struct err *e))
{
	struct err e = {0};

	assert_int_equal(end(f->s, &e), 0);
	rows_forget(&f->r.interval);
	rows_forget(&f->r.total);
	assert_int_equal(source_synth.collect(f->s, &f->r, &e), 0);
}

static void end(struct fixture *f)
{
	source_synth.close(f->s);
	rows_free(&f->r.interval);
	rows_free(&f->r.total);
}

static const struct hist *find(const struct series_list *l, const char *name, const char *key,
			       const char *value)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct series *s = &l->v[i];

		if (strcmp(s->desc->name, name))
			continue;
		if (key ? s->nlabels && !strcmp(s->labels[0].key, key) &&
				    !strcmp(s->labels[0].value, value)
			: !s->nlabels)
			return s->hist;
	}
	return NULL;
}

static void same_hist(const struct hist *a, const struct hist *b)
{
	struct hist_walk x = {0}, y = {0};

	assert_int_equal(a->schema, b->schema);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->sum_ns, b->sum_ns);
	assert_int_equal(a->zero, b->zero);
	while (hist_next(a, &x)) { /* of whatever form */
		assert_true(hist_next(b, &y));
		assert_int_equal(x.slot, y.slot);
		assert_int_equal(x.n, y.n);
	}
	assert_false(hist_next(b, &y));
	if (a->count) {
		assert_int_equal(a->min_ns, b->min_ns);
		assert_int_equal(a->max_ns, b->max_ns);
	}
}

static bool is_group(const struct series *s, const char *key)
{
	return s->nlabels && !strcmp(s->labels[0].key, key);
}

/* All series of a key, merged, are the whole. */
static void parts_make_the_whole(const struct series_list *l, const char *key, uint32_t schema)
{
	for (int m = 0; m < SCHED_METRICS; m++) {
		struct hist sum;

		hist_init(&sum, schema);
		for (size_t i = 0; i < l->n; i++)
			if (l->v[i].desc == &metric_list[m] && is_group(&l->v[i], key))
				assert_int_equal(hist_merge(&sum, l->v[i].hist), 0);
		same_hist(&sum, find(l, metric_list[m].name, NULL, NULL));
		hist_free(&sum);
	}
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void same_series(const struct series *a, const struct series *b)
{
	assert_ptr_equal(a->desc, b->desc);
	assert_int_equal(a->nlabels, b->nlabels);
	for (uint32_t i = 0; i < a->nlabels; i++)
		assert_true(same_text(a->labels[i].value, b->labels[i].value));
	assert_int_equal(a->value, b->value);
	assert_int_equal(!a->hist, !b->hist);
	if (a->hist)
		same_hist(a->hist, b->hist);
	assert_int_equal(!a->split, !b->split);
	if (a->split)
		assert_memory_equal(a->split, b->split, sizeof(*a->split));
}

static void same_row(const struct contended *a, const struct contended *b)
{
	assert_int_equal(a->addr, b->addr);
	assert_int_equal(a->other, b->other);
	assert_true(same_text(a->name, b->name) && same_text(a->group.value, b->group.value));
	assert_int_equal(a->count, b->count);
	same_hist(a->wait, b->wait);
	assert_int_equal(a->ncpus, b->ncpus);
	assert_int_equal(!a->futex, !b->futex);
	if (a->futex)
		assert_memory_equal(a->futex, b->futex, sizeof(*a->futex));
}

static struct frame frame_of(const struct report_rows *r)
{
	return (struct frame){.series = r->series.v,
			      .nseries = r->series.n,
			      .contended = r->contended.v,
			      .ncontended = r->contended.n};
}

static const struct series *find_like(const struct frame *f, const struct series *s)
{
	for (size_t i = 0; i < f->nseries; i++) {
		const struct series *t = &f->series[i];
		uint32_t k = 0;

		while (k < s->nlabels && k < t->nlabels &&
		       same_text(s->labels[k].value, t->labels[k].value))
			k++;
		if (t->desc == s->desc && k == s->nlabels && k == t->nlabels)
			return t;
	}
	fail_msg("%s is not in the total", s->desc->name);
	return NULL;
}

/* Whatever there is: the intervals, added up by an owned frame, are the total the source keeps. */
TEST(intervals_make_the_total)
{
	for (enum by_key by = BY_NONE; by <= BY_FILE; by++) {
		struct frame_own *sum = frame_own_new();
		struct fixture f = {0};

		begin(&f, by);
		for (int i = 0; i < 5; i++) {
			struct frame interval, total;
			const struct frame *got;

			collect(&f, i < 4 ? source_synth.next_epoch : source_synth.stop);
			interval = frame_of(&f.r.interval);
			total = frame_of(&f.r.total);
			assert_int_equal(frame_own_add(sum, &interval, FRAME_THEN), 0);
			got = frame_own_view(sum);
			assert_non_null(got);
			assert_int_equal(got->nseries, total.nseries);
			assert_int_equal(got->ncontended, total.ncontended);
			for (size_t k = 0; k < got->nseries; k++)
				same_series(&got->series[k], find_like(&total, &got->series[k]));
			for (size_t k = 0; k < got->ncontended; k++)
				same_row(&got->contended[k], &total.contended[k]);
		}
		frame_own_free(sum);
		end(&f);
	}
}

/* A total that nobody looks at is not made; the next one is whole. */
TEST(totals_on_demand)
{
	struct fixture f = {0};
	size_t series, rows;

	begin(&f, BY_PID);
	collect(&f, source_synth.next_epoch);
	series = f.r.total.series.n;
	rows = f.r.total.contended.n;
	assert_true(series && rows);
	rows_want(&f.r.total, false);
	collect(&f, source_synth.next_epoch);
	assert_true(f.r.interval.series.n && f.r.interval.contended.n);
	assert_int_equal(f.r.total.series.n, 0);
	assert_int_equal(f.r.total.contended.n, 0);
	rows_want(&f.r.total, true);
	collect(&f, source_synth.next_epoch);
	assert_true(f.r.total.series.n >= series && f.r.total.contended.n >= rows);
	assert_true(find(&f.r.total.series, "sched_run_delay", NULL, NULL)->count >
		    2 * find(&f.r.interval.series, "sched_run_delay", NULL, NULL)->count);
	end(&f);
}

TEST(groups_make_the_whole)
{
	static const struct {
		enum by_key by;
		const char *key, *also; /* first label, one that describes it */
		size_t groups;
	} rows[] = {
		{BY_NONE, "cpu", NULL, 4},  {BY_CPU, "cpu", NULL, 4},
		{BY_PID, "pid", "comm", 6}, {BY_TID, "tid", "pid", 7},
		{BY_COMM, "comm", NULL, 7}, {BY_CGROUP, "cgroup", NULL, 6},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct fixture f = {.cfg = {.precision = 3 + (uint32_t)i % 4}};
		size_t groups = 0;

		begin(&f, rows[i].by);
		collect(&f, source_synth.next_epoch);
		collect(&f, source_synth.next_epoch);
		parts_make_the_whole(&f.r.interval.series, "cpu", f.cfg.precision);
		parts_make_the_whole(&f.r.interval.series, rows[i].key, f.cfg.precision);
		parts_make_the_whole(&f.r.total.series, rows[i].key, f.cfg.precision);
		for (size_t k = 0; k < f.r.total.series.n; k++) {
			const struct series *s = &f.r.total.series.v[k];

			if (s->desc != &metric_list[0] || !is_group(s, rows[i].key))
				continue;
			groups++;
			if (rows[i].also)
				assert_non_null(series_label(s, rows[i].also));
		}
		assert_int_equal(groups, rows[i].groups);
		end(&f);
	}
}

/* latency = wake-to-queue + queue-to-run, run-delay = queue-to-run + preempt-wait; no throttling */
TEST(legs_add_up)
{
	const struct hist *h[SCHED_METRICS];
	struct fixture f = {0};

	begin(&f, BY_NONE);
	collect(&f, source_synth.next_epoch);
	for (int m = 0; m < SCHED_METRICS; m++)
		h[m] = find(&f.r.interval.series, metric_list[m].name, NULL, NULL);
	assert_int_equal(h[METRIC_SCHED_WAKEUP_LATENCY]->sum_ns,
			 h[METRIC_SCHED_WAKE_TO_QUEUE]->sum_ns +
				 h[METRIC_SCHED_QUEUE_TO_RUN]->sum_ns);
	assert_int_equal(h[METRIC_SCHED_RUN_DELAY]->sum_ns,
			 h[METRIC_SCHED_QUEUE_TO_RUN]->sum_ns +
				 h[METRIC_SCHED_PREEMPT_WAIT]->sum_ns);
	assert_int_equal(h[METRIC_SCHED_WAKEUP_LATENCY]->count,
			 h[METRIC_SCHED_QUEUE_TO_RUN]->count);
	assert_int_equal(h[METRIC_SCHED_RUN_DELAY]->count,
			 h[METRIC_SCHED_QUEUE_TO_RUN]->count + h[METRIC_SCHED_PREEMPT_WAIT]->count);
	assert_true(h[METRIC_SCHED_WAKEUP_LATENCY]->zero >
		    0); /* the zero bucket is not left untested */
	end(&f);
}

/* Two runs are the same; after a warm-up it is as if it had not been. */
TEST(same_every_time)
{
	struct fixture a = {0}, b = {0};
	struct err e = {0};

	begin(&a, BY_TID);
	begin(&b, BY_TID);
	collect(&b, source_synth.next_epoch);
	assert_int_equal(source_synth.next_epoch(b.s, &e), 0);
	assert_int_equal(source_synth.start(b.s, &e), 0);
	collect(&a, source_synth.next_epoch);
	collect(&b, source_synth.next_epoch);
	assert_int_equal(a.r.total.series.n, b.r.total.series.n);
	for (size_t i = 0; i < a.r.total.series.n; i++) {
		assert_int_equal(a.r.total.series.v[i].value, b.r.total.series.v[i].value);
		if (!a.r.total.series.v[i].hist)
			continue;
		same_hist(a.r.total.series.v[i].hist, b.r.total.series.v[i].hist);
		same_hist(a.r.interval.series.v[i].hist, b.r.interval.series.v[i].hist);
	}
	end(&a);
	end(&b);
}

/* The whole, then CPUs in order, then groups; nothing else between. */
TEST(order)
{
	struct fixture f = {0};
	size_t i = 0;

	begin(&f, BY_PID);
	collect(&f, source_synth.next_epoch);
	for (; i < SCHED_METRICS; i++)
		assert_int_equal(f.r.interval.series.v[i].nlabels, 0);
	for (; i < 5 * SCHED_METRICS; i++) {
		assert_true(is_group(&f.r.interval.series.v[i], "cpu"));
		assert_int_equal(f.r.interval.series.v[i].labels[0].value[0],
				 '0' + i / SCHED_METRICS - 1);
	}
	assert_true(f.r.interval.series.n > i);
	for (; i < f.r.interval.series.n && f.r.interval.series.v[i].desc->role < METRIC_ROWS; i++)
		assert_true(is_group(&f.r.interval.series.v[i], "pid"));
	for (; i < f.r.interval.series.n; i++)
		assert_true(f.r.interval.series.v[i].desc->role >= METRIC_ROWS);
	end(&f);
}

static uint64_t series_value(const struct series *s)
{
	return s->desc->counter ? s->value : s->hist->count;
}

static uint64_t sum_of(const struct series_list *l, const char *name, const char *key)
{
	static const char *const parts[] = {"cpu", "pid", "tid", "comm", "cgroup", "file"};
	uint64_t sum = 0;

	for (size_t i = 0; i < l->n; i++) {
		bool part = false;

		for (size_t k = 0; k < ROWS(parts); k++)
			part |= series_label(&l->v[i], parts[k]) != NULL;
		if (!strcmp(l->v[i].desc->name, name) &&
		    (key ? series_label(&l->v[i], key) != NULL : !part))
			sum += series_value(&l->v[i]);
	}
	return sum;
}

/* CPUs and groups of operations and counters add up to the whole; splits stay within the sums. */
TEST(files_add_up)
{
	static const struct {
		enum by_key by;
		const char *key;
	} rows[] = {{BY_NONE, "cpu"},  {BY_CPU, "cpu"},	      {BY_PID, "pid"},	{BY_TID, "tid"},
		    {BY_COMM, "comm"}, {BY_CGROUP, "cgroup"}, {BY_FILE, "file"}};
	static const char *const names[] = {"ext4_op_latency", "ext4_es_lookups", "ext4_es_hits"};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct fixture f = {0};

		begin(&f, rows[i].by);
		collect(&f, source_synth.next_epoch);
		collect(&f, source_synth.stop);
		for (size_t k = 0; k < ROWS(names); k++) {
			uint64_t whole = sum_of(&f.r.total.series, names[k], NULL);

			assert_true(whole > sum_of(&f.r.interval.series, names[k], NULL));
			assert_int_equal(sum_of(&f.r.total.series, names[k], rows[i].key), whole);
		}
		for (size_t k = 0; k < f.r.total.series.n; k++) {
			const struct series *s = &f.r.total.series.v[k];

			assert_true(s->nlabels <= SERIES_LABELS);
			if (s->split)
				assert_true(s->split->blocked_ns + s->split->run_queue_ns <=
					    s->hist->sum_ns);
		}
		end(&f);
	}
}

static uint64_t waits(const struct contended_list *l, bool other, bool idle)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].other == other && (l->v[i].futex && l->v[i].futex->idle) == idle)
			n += l->v[i].count;
	return n;
}

/* All kinds of rows, in both views, and nothing is lost between them. */
TEST(contended_rows)
{
	struct fixture f = {0};
	const struct contended_list *total;
	uint64_t locks = 0, idle = 0, other = 0;

	begin(&f, BY_COMM);
	for (int i = 0; i < 3; i++) {
		collect(&f, source_synth.next_epoch);
		locks += waits(&f.r.interval.contended, false, false);
		idle += waits(&f.r.interval.contended, false, true);
		other += waits(&f.r.interval.contended, true, false);
	}
	total = &f.r.total.contended;
	assert_true(locks && idle && other);
	assert_int_equal(waits(total, false, false), locks);
	assert_int_equal(waits(total, false, true), idle);
	assert_int_equal(waits(total, true, false), other);
	assert_int_equal(locks + idle + other, 3000);
	for (size_t i = 0; i < total->n; i++) {
		assert_int_equal(total->v[i].count, total->v[i].wait->count);
		assert_string_equal(total->v[i].group.key, "comm");
	}
	end(&f);
}

TEST(slow_waits)
{
	struct fixture all = {.cfg = {.slower = true}};
	struct fixture some = {.cfg = {.slower = true, .slower_ns = 1000000}};
	struct fixture none = {0};

	begin(&all, BY_NONE);
	collect(&all, source_synth.next_epoch);
	assert_int_equal(
		all.seen.n,
		find(&all.r.interval.series, "sched_wakeup_latency", NULL, NULL)->count +
			find(&all.r.interval.series, "sched_preempt_wait", NULL, NULL)->count +
			find(&all.r.interval.series, "sched_throttle_wait", NULL, NULL)->count);
	assert_true(all.seen.wakeups && all.seen.preempts && all.seen.throttles);
	assert_true(all.seen.irqs && all.seen.idles);
	assert_int_equal(all.seen.ops, 1000);
	assert_int_equal(all.seen.least_ns, 0);
	begin(&some, BY_NONE);
	collect(&some, source_synth.next_epoch);
	assert_in_range(some.seen.n, 1, all.seen.n - 1);
	assert_true(some.seen.least_ns >= 1000000);
	begin(&none, BY_NONE);
	collect(&none, source_synth.next_epoch);
	assert_int_equal(none.seen.n, 0);
	end(&all);
	end(&some);
	end(&none);
}

static int reader_gone(void *ctx, const struct slow *w)
{
	return -EPIPE;
}

TEST(slow_error_goes_up)
{
	struct config cfg = {.precision = 5, .slower = true};
	struct source_args args = {.cfg = &cfg, .on_slow = reader_gone};
	struct source_report r = {0};
	struct err e = {0};
	struct source *s;

	assert_int_equal(source_synth.open(&s, &args, &e), 0);
	assert_int_equal(source_synth.start(s, &e), 0);
	assert_int_equal(source_synth.next_epoch(s, &e), 0);
	assert_int_equal(source_synth.collect(s, &r, &e), -EPIPE);
	assert_string_equal(e.text, ""); /* the words are the sink's */
	source_synth.close(s);
	rows_free(&r.interval);
	rows_free(&r.total);
}

TEST(contract)
{
	struct config cfg = {.precision = 9};
	struct source_args args = {.cfg = &cfg};
	struct source *s = NULL;
	struct err e = {0};

	assert_string_equal(source_synth.name, "synth");
	assert_false(source_synth.by_default);
	assert_string_equal(source_synth.hooks(NULL)[0], "synthetic");
	assert_null(source_synth.hooks(NULL)[1]);
	source_synth.close(NULL);
	assert_true(source_synth.open(&s, &args, &e) < 0);
	assert_null(s);
	assert_int_equal(err_exit(&e), EXIT_USAGE);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
