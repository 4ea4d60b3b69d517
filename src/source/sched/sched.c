// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler source: its life cycle, and reports out of banks and groups. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/groups.h"
#include "source/kmaps.h"
#include "source/poll.h"
#include "source/sched/sched.h"

static struct sched *sched_of(struct source *src)
{
	return (struct sched *)src;
}

static int open_poll(struct sched *s, struct err *e)
{
	const int fds[] = {slow_ring_fd(&s->slow), s->base.filters.targets.epoll_fd};

	return poll_open(&s->base.event_fd, fds, sizeof(fds) / sizeof(fds[0]), "sched", e);
}

static int open_keys(struct sched *s, struct err *e)
{
	struct sched_keys_args args = {
		.by = s->cfg->by,
		.ncpus = s->banks.ncpus,
		.names = s->base.filters.names,
	};

	kmaps_keyed_fds(s->bpf.obj, args.fds);
	return sched_keys_open(&s->keys, &args, e);
}

/* Before anything else is missing: without the kernel's own types a file of them. */
static int need_types(const struct sched *s, struct err *e)
{
	struct btf *btf;

	if (s->cfg->btf || kernel_has_btf())
		return 0;
	btf = kernel_btf(NULL, e); /* libbpf knows of more places */
	btf__free(btf);
	return btf ? 0 : -ENOENT;
}

static int open_all(struct sched *s, struct err *e)
{
	int ret = need_types(s, e);

	if (ret)
		return ret;
	ret = possible_cpus(e);
	if (ret < 0)
		return ret;
	s->banks.ncpus = (uint32_t)ret;
	s->cpu_names = cpu_names(s->banks.ncpus);
	if (!s->cpu_names)
		return err_sys(e, -ENOMEM, "sched");
	ret = filters_open(&s->base.filters, &s->args, s->banks.ncpus, s->cfg->slower, e);
	if (!ret)
		ret = sched_load(s, e);
	if (ret)
		return ret;
	ret = sched_banks_open(&s->banks, sched_object_map(&s->bpf, "banks"), s->cfg->precision,
			       s->banks.ncpus, e);
	if (ret)
		return ret;
	if (group_abi(s->cfg->by) != ABI_BY_NONE) /* files are not its groups */
		ret = open_keys(s, e);
	if (!ret && s->cfg->slower)
		ret = sched_slow_open(s, e);
	if (!ret)
		ret = open_poll(s, e);
	return ret ? ret : sched_attach(s, e);
}

static void sched_close(struct source *src)
{
	struct sched *s = sched_of(src);

	if (!s)
		return;
	slow_ring_close(&s->slow);
	sched_object_close(&s->bpf);
	sched_keys_close(s->keys);
	sched_banks_close(&s->banks);
	free(s->cpu_names);
	bpf_source_close(&s->base);
	free(s);
}

static int sched_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct sched *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_sys(e, -ENOMEM, "sched");
	bpf_source_init(&s->base, &source_sched);
	s->args = *args;
	s->cfg = args->cfg;
	ret = open_all(s, e);
	if (ret) {
		sched_close(&s->base.source);
		return ret;
	}
	*out = &s->base.source;
	return 0;
}

static int sched_fold(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);
	uint64_t ended = bpf_source_ended(&s->base);
	int ret = sched_banks_fold(&s->banks, ended);

	if (ret)
		return err_sys(e, ret, "sched: read the histograms");
	return s->keys ? sched_keys_fold(s->keys, ended, e) : 0;
}

static int collect(struct sched *s, struct err *e)
{
	uint64_t ended = bpf_source_ended(&s->base);
	int ret = sched_banks_collect(&s->banks, ended);

	if (ret)
		return err_sys(e, ret, "sched: read the histograms");
	return s->keys ? sched_keys_collect(s->keys, ended, e) : 0;
}

/* First call: begin. Later (the warm-up is over; flip and the grace time are behind us): forget. */
static int sched_start(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);
	int ret;

	if (bpf_source_begin(&s->base))
		return 0;
	ret = collect(s, e);
	if (ret)
		return ret;
	sched_banks_forget(&s->banks);
	if (s->keys)
		sched_keys_forget(s->keys);
	return 0;
}

int sched_push_hists(struct source_report *r, const struct hist *interval, const struct hist *total,
		     const struct label *labels, uint32_t nlabels, bool all)
{
	struct series one = {.nlabels = nlabels};
	int m, ret = 0;

	if (nlabels)
		memcpy(one.labels, labels, nlabels * sizeof(*labels));
	for (m = 0; !ret && m < SCHED_METRICS; m++) {
		bool wanted = all && m != METRIC_SCHED_THROTTLE_WAIT;

		one.desc = &metric_list[m];
		one.hist = &interval[m];
		if (wanted || one.hist->count)
			ret = series_push(&r->interval.series, &one);
		one.hist = &total[m];
		if (!ret && (wanted || one.hist->count))
			ret = series_push(&r->total.series, &one);
	}
	return ret;
}

static int push_row(struct source_report *r, const struct sched_row *row,
		    const struct label *labels, uint32_t nlabels)
{
	return sched_push_hists(r, row->interval, row->total, labels, nlabels, true);
}

static int push_all(struct sched *s, struct source_report *r)
{
	struct label cpu = {.key = "cpu"};
	uint32_t c;
	int ret;

	rows_forget(&r->interval);
	rows_forget(&r->total);
	ret = push_row(r, &s->banks.whole, NULL, 0);
	for (c = 0; !ret && c < s->banks.ncpus; c++) {
		if (!s->banks.cpu_used[c])
			continue;
		cpu.value = s->cpu_names[c];
		ret = push_row(r, &s->banks.cpus[c], &cpu, 1);
	}
	if (!ret && s->keys)
		ret = sched_keys_push(s->keys, r);
	return ret;
}

static int sched_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct sched *s = sched_of(src);
	struct abi_in_flight flight;
	int ret;

	ret = collect(s, e);
	if (ret)
		return ret;
	ret = push_all(s, r);
	if (ret)
		return err_sys(e, ret, "sched: report");
	ret = sched_in_flight(s, &flight);
	if (ret)
		return err_sys(e, ret, "sched: tasks still waiting");
	bpf_source_quality(&s->base, &s->banks.counts, &flight, r);
	return 0;
}

static int sched_drain(struct source *src, struct err *e)
{
	return slow_ring_drain(&sched_of(src)->slow, e);
}

static const char *sched_how(const struct source *src)
{
	return ((const struct sched *)src)->bpf.raw ? "raw tracepoints: this kernel has no BTF"
						    : NULL;
}

const struct source_ops source_sched = {
	.name = "sched",
	.summary = "scheduler waits: wakeup latency and run-queue delay",
	.by_default = true,
	.groups = true,
	.slow = true,
	.probe = bpf_probe_call,
	.open = sched_open,
	.start = sched_start,
	.flip = bpf_source_flip,
	.fold = sched_fold,
	.collect = sched_collect,
	.stop = bpf_source_stop,
	.event_fd = bpf_source_event_fd,
	.drain = sched_drain,
	.cost_begin = bpf_source_cost_begin,
	.cost_end = bpf_source_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = bpf_source_hooks,
	.how = sched_how,
	.close = sched_close,
};
