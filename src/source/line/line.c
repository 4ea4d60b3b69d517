// SPDX-License-Identifier: GPL-2.0-or-later
/* The line source: contended cache lines from samples of the CPU clock; its life cycle. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/sys/cpus.h"
#include "source/line/line.h"

#include "line.skel.h" /* needs abi_line.h */

#define EARLY_TICKS 2 /* of 100 ms after samples were taken, to take some within an interval */

static struct line_source *line_of(struct source *src)
{
	return (struct line_source *)src;
}

static int open_all(struct line_source *s, struct err *e)
{
	int ret = line_sampler_open(s, e);

	if (ret)
		return ret;
	ret = possible_cpus(e);
	if (ret < 0)
		return ret;
	ret = line_model_open(&s->m, (uint32_t)ret);
	if (!ret)
		ret = line_take_alloc(s);
	if (!ret)
		ret = line_short_open(s, e);
	if (!ret)
		ret = line_shared_open(&s->shared);
	if (ret)
		return err_sys(e, ret, "line");
	ret = line_model_names(&s->m, s->args.names, e);
	if (!ret)
		ret = filters_open(&s->base.filters, &s->args, s->m.ncpus, false, e);
	if (!ret)
		ret = line_load(s, e);
	if (!ret)
		ret = counts_open(&s->counts, bpf_map__fd(s->skel->maps.line_counts), s->m.ncpus,
				  sizeof(struct abi_line_counts), e);
	if (!ret)
		ret = line_ips_open(s, e);
	if (!ret)
		ret = bpf_source_poll(&s->base, s->ips.timer_fd, e);
	if (!ret)
		ret = line_events_open(s, e);
	return ret ? ret : filters_follow(&s->base.filters, e);
}

static void line_close(struct source *src)
{
	struct line_source *s = line_of(src);

	if (!s)
		return;
	line_confirm_close(s);
	line_short_close(s);
	line_events_close(s);
	line_ips_close(&s->ips);
	counts_close(&s->counts);
	line_bpf__destroy(s->skel);
	line_table_close(s->maybe);
	line_shared_close(s->shared);
	line_model_close(&s->m);
	free(s->batch_keys);
	free(s->batch_values);
	bpf_source_close(&s->base);
	free(s);
}

static int open_with(struct line_source **out, const struct source_args *args, bool pmu,
		     struct err *e)
{
	struct line_source *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_sys(e, -ENOMEM, "line");
	bpf_source_init(&s->base, &source_line);
	s->ips.timer_fd = -1;
	s->args = *args;
	s->cfg = args->cfg;
	s->pmu = pmu;
	ret = open_all(s, e);
	if (ret) {
		line_close(&s->base.source);
		return ret;
	}
	*out = s;
	return 0;
}

/* A PMU where it works, else the clock; what was named explicitly, or not at all. */
static int line_open(struct source **out, const struct source_args *args, struct err *e)
{
	enum line_by by = args->cfg->line_by;
	struct line_source *s = NULL;
	struct err why = {0};
	int ret = -ENOTSUP;

	if (by != LINE_BY_CLOCK)
		ret = open_with(&s, args, true, by == LINE_BY_PMU ? e : &why);
	if (ret && by != LINE_BY_PMU)
		ret = open_with(&s, args, false, e);
	if (ret)
		return ret;
	line_sampler_say(s, why.text);
	*out = &s->base.source;
	return 0;
}

/* ---- collecting ---- */

/* What the programs counted in the bank that has ended, into the tables. */
static int take(struct line_source *s, bool ends, struct err *e)
{
	uint64_t ended = bpf_source_ended(&s->base);
	int ret;

	counts_collect(&s->counts, ended, ends);
	if (!s->begun) {
		line_table_begin(s->m.table);
		line_table_begin(s->maybe);
	}
	s->begun = !ends;
	s->early = false;
	s->ticks = 0;
	ret = line_take(s, ended);
	return ret ? err_sys(e, ret, "line: read the accesses") : 0;
}

static int collect(struct line_source *s, struct err *e)
{
	int ret = take(s, true, e);

	if (!ret && numa_turn(s->m.numa))
		ret = err_sys(e, -ENOMEM, "line: read the accesses");
	if (ret)
		return ret;
	line_table_end(s->m.table);
	line_table_end(s->maybe);
	return 0;
}

static int line_start(struct source *src, struct err *e)
{
	struct line_source *s = line_of(src);
	int ret;

	if (bpf_source_begin(&s->base)) {
		s->warm = !s->cfg->warmup_ns;
		return 0;
	}
	s->warm = true;
	ret = collect(s, e);
	if (ret)
		return ret;
	line_table_forget(s->m.table);
	line_table_forget(s->maybe);
	counts_forget(&s->counts);
	return 0;
}

static int line_next_epoch(struct source *src, struct err *e)
{
	struct line_source *s = line_of(src);
	int ret = s->early ? take(s, false, e) : 0;

	(void)bpf_source_next_epoch(src, e);	   /* cannot fail */
	return ret ? ret : line_events_open(s, e); /* CPUs that came back */
}

/*
 * What may be watched has to be known before the interval ends: it may be the only one. So a bank
 * is ended early, and taken a tick later, when programs that were in flight by then have left.
 */
static int tick(struct line_source *s, struct err *e)
{
	bool wanted =
		s->warm && !s->base.stopped && (line_short_wanted(s) || line_confirm_wanted(s));
	int ret;

	if (s->early) {
		ret = take(s, false, e);
		if (!ret && wanted && line_confirm_wanted(s))
			ret = line_confirm_next(s, e);
		return ret;
	}
	if (!wanted)
		return 0;
	ret = s->begun || s->m.table->n ? line_short_turn(s, e) : 0;
	if (!ret && ++s->ticks >= EARLY_TICKS) {
		(void)bpf_source_next_epoch(&s->base.source, e); /* cannot fail */
		s->early = true;
	}
	return ret;
}

static int line_stop(struct source *src, struct err *e)
{
	line_confirm_stop(line_of(src));
	return bpf_source_stop(src, e);
}

/* ---- what became of the samples: a metric of their own, and what was lost ---- */

/* In the order in which they are shown: what could be used, then why the others could not. */
static const struct {
	const char *name;
	uint32_t result;
} results[ABI_LINE_RESULTS] = {
	{"placed", ABI_IP_RECIPE},
	{"no-operand", ABI_IP_NO_OPERAND},
	{"not-computable", ABI_IP_NOT_COMPUTABLE},
	{"ambiguous", ABI_IP_AMBIGUOUS},
	{"undecoded", ABI_IP_UNDECODED},
	{"32-bit", ABI_LINE_COMPAT},
	{"pending", ABI_IP_PENDING},
	{"no-room", ABI_LINE_NO_ROOM},
};

static void fill_quality(const struct abi_counts *counts, struct quality *q)
{
	const struct abi_line_counts *c = line_counts_of(counts);

	*q = (struct quality){0};
	q->map_full = c->results[ABI_LINE_NO_ROOM] + c->ips_full + c->latencies_full;
	q->over_range = c->latencies_over;
	q->pending = c->results[ABI_IP_PENDING]; /* also those that found the ring full */
}

static int push_counts(const struct abi_counts *counts, struct series_list *to)
{
	const struct abi_line_counts *c = line_counts_of(counts);
	struct series one = {.desc = &metric_list[METRIC_LINE_SAMPLES], .value = c->samples};
	int ret = series_push(to, &one);

	one.nlabels = 1;
	for (size_t k = 0; !ret && k < ABI_LINE_RESULTS; k++) {
		one.labels[0] =
			(struct label){metric_list[METRIC_LINE_SAMPLES].pivot, results[k].name};
		one.value = c->results[results[k].result];
		ret = series_push(to, &one);
	}
	return ret;
}

static int line_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct line_source *s = line_of(src);
	uint64_t dropped;
	int ret = collect(s, e);

	if (ret)
		return ret;
	dropped = s->m.table->dropped;
	fill_quality(&s->counts.interval, &r->quality_interval);
	fill_quality(&s->counts.total, &r->quality_total);
	r->quality_interval.map_full += dropped - s->dropped_previous;
	r->quality_total.map_full += dropped;
	s->dropped_previous = dropped;
	line_short_report(s, r);
	ret = push_counts(&s->counts.interval, &r->interval.series);
	if (!ret)
		ret = push_counts(&s->counts.total, &r->total.series);
	if (!ret)
		ret = line_push_rows(s, r);
	if (ret)
		return err_sys(e, ret, "line: report");
	return s->cfg->confirm_lines ? line_confirm_report(s, r, e) : 0;
}

static int line_drain(struct source *src, struct err *e)
{
	struct line_source *s = line_of(src);
	int ret = line_confirm_drain(s, e);

	if (ret)
		return ret;
	ret = line_ips_drain(&s->ips, e);
	return ret > 0 ? tick(s, e) : ret;
}

static const char *const *line_hooks(const struct source *src)
{
	return ((const struct line_source *)src)->hooks;
}

static const char *const *line_lacks(const struct source *src)
{
	const struct line_source *s = (const struct line_source *)src;

	return s->lacks[0] ? s->lacks : NULL;
}

static const char *line_notice(const struct source *src)
{
	return line_lacks(src) ? line_lacks(src)[0] : NULL;
}

static const struct option_word by_words[] = {
	{"auto", LINE_BY_AUTO},
	{"clock", LINE_BY_CLOCK},
	{"pmu", LINE_BY_PMU},
	{NULL, 0},
};

static const struct option_row line_options[] = {
	{"freq", 0, "N", "line: samples a second on each CPU (default 997)", OPTION_U32,
	 .at = offsetof(struct config, freq), .min = 10, .max = 20000,
	 .value = 997}, /* a prime: not in step with the kernel's own ticks */
	{"line-source", 0, "WHAT", "line: samples of the clock or of a pmu; auto: pmu if it can",
	 OPTION_WORD, .at = offsetof(struct config, line_by), .words = by_words},
	LINE_OPTION_CONFIRM,
	{0},
};

static int line_settle(struct config *cfg, struct err *e)
{
	cfg->confirm_lines = cfg->confirm && cfg->confirm != CONFIRM_UNSAID && !cfg->watches.n;
	return 0;
}

const struct source_ops source_line = {
	.name = "line",
	.summary = "contended cache lines, by sampling",
	.options = line_options,
	.caps = LINE_CAPS,
	.fds = 60,
	.fds_cpu = 4,
	.metrics = SOURCE_METRICS(METRIC_LINE_SAMPLES, METRIC_LINE_SAMPLES),
	.lines = true,
	.settle = line_settle,
	.ungrouped = "its rows name their threads",
	.probe = bpf_probe,
	.open = line_open,
	.start = line_start,
	.next_epoch = line_next_epoch,
	.collect = line_collect,
	.stop = line_stop,
	.event_fd = bpf_source_event_fd,
	.drain = line_drain,
	.cost_begin = bpf_source_cost_begin,
	.cost_end = bpf_source_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = line_hooks,
	.lacks = line_lacks,
	.notice = line_notice,
	.close = line_close,
};
