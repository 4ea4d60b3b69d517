// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler source: its life cycle, and reports out of banks and groups. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "source/groups.h"
#include "source/flight.h"
#include "source/kmaps.h"
#include "source/sched.h"

static struct sched *sched_of(struct source *src)
{
	return (struct sched *)src;
}

static int open_poll(struct sched *s, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fds[2] = {slow_ring_fd(&s->slow), s->filters.targets.epoll_fd}, i;

	if (fds[0] < 0 && fds[1] < 0)
		return 0;
	s->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->event_fd < 0)
		return err_sys(e, -errno, "sched: epoll");
	for (i = 0; i < 2; i++)
		if (fds[i] >= 0 && epoll_ctl(s->event_fd, EPOLL_CTL_ADD, fds[i], &ev))
			return err_sys(e, -errno, "sched: epoll");
	return 0;
}

static int open_names(struct sched *s, struct err *e)
{
	uint32_t c;

	s->cpu_names = calloc(s->banks.ncpus, sizeof(*s->cpu_names));
	if (!s->cpu_names)
		return err_sys(e, -ENOMEM, "sched");
	for (c = 0; c < s->banks.ncpus; c++)
		snprintf(s->cpu_names[c], sizeof(s->cpu_names[c]), "%u", c);
	return 0;
}

static int open_keys(struct sched *s, struct err *e)
{
	struct sched_keys_args args = {
		.by = s->cfg->by,
		.ncpus = s->banks.ncpus,
		.names = s->filters.names,
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
	ret = open_names(s, e);
	if (!ret)
		ret = filters_open(&s->filters, &s->args, s->banks.ncpus, s->cfg->slower, e);
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
	cost_sampler_close(&s->cost);
	slow_ring_close(&s->slow);
	if (s->event_fd >= 0)
		close(s->event_fd);
	sched_unload(s);
	sched_keys_close(s->keys);
	if (s->banks.cpus)
		sched_banks_close(&s->banks);
	filters_close(&s->filters);
	free(s->cpu_names);
	free(s);
}

static int sched_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct sched *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_sys(e, -ENOMEM, "sched");
	s->base.ops = &source_sched;
	s->args = *args;
	s->cfg = args->cfg;
	s->event_fd = s->cost.stats_fd = -1;
	filters_init(&s->filters);
	ret = open_all(s, e);
	if (ret) {
		sched_close(&s->base);
		return ret;
	}
	*out = &s->base;
	return 0;
}

/* The word the programs read; raising it ends the interval for them. */
static void set_epoch(struct sched *s, uint64_t epoch)
{
	__atomic_store_n(s->bpf.epoch, epoch, __ATOMIC_SEQ_CST);
}

/* Running: the epoch before this one has ended; stopped: whatever is left, in both banks. */
static uint64_t ended_epoch(const struct sched *s)
{
	return s->stopped ? 0 : s->epoch - 1;
}

static int sched_fold(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);
	int ret = sched_banks_fold(&s->banks, ended_epoch(s));

	if (ret)
		return err_sys(e, ret, "sched: read the histograms");
	return s->keys ? sched_keys_fold(s->keys, ended_epoch(s), e) : 0;
}

static int collect(struct sched *s, struct err *e)
{
	uint64_t ended = ended_epoch(s);
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

	s->misses_start = s->misses_seen = recursion_misses(s->bpf.obj);
	if (!s->epoch) {
		s->epoch = 1;
		set_epoch(s, s->epoch);
		return 0;
	}
	ret = collect(s, e);
	if (ret)
		return ret;
	sched_banks_forget(&s->banks);
	if (s->keys)
		sched_keys_forget(s->keys);
	return 0;
}

static int sched_flip(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);

	s->epoch++;
	set_epoch(s, s->epoch);
	return 0;
}

static int sched_stop(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);

	s->stopped = true;
	set_epoch(s, 0);
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
		bool wanted = all && m != SCHED_THROTTLE_WAIT;

		one.desc = &sched_metrics[m];
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
	uint64_t misses;
	int ret;

	ret = collect(s, e);
	if (ret)
		return ret;
	ret = push_all(s, r);
	if (ret)
		return err_sys(e, ret, "sched: report");
	r->quality_interval = r->quality_total = (struct quality){0};
	counts_quality(&s->banks.counts.interval, &r->quality_interval);
	counts_quality(&s->banks.counts.total, &r->quality_total);
	misses = recursion_misses(s->bpf.obj);
	r->quality_interval.recursion_misses = misses - s->misses_seen;
	r->quality_total.recursion_misses = misses - s->misses_start;
	s->misses_seen = misses;
	ret = sched_in_flight(s, &flight);
	if (ret)
		return err_sys(e, ret, "sched: tasks still waiting");
	flight_quality(&flight, &r->quality_total);
	flight.unseen = 0; /* an edge of the run, not of an interval */
	flight_quality(&flight, &r->quality_interval);
	return 0;
}

static int sched_event_fd(const struct source *src)
{
	return ((const struct sched *)src)->event_fd;
}

static int sched_drain(struct source *src, struct err *e)
{
	return slow_ring_drain(&sched_of(src)->slow, e);
}

static int sched_cost_begin(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);

	return cost_sampler_begin(&s->cost, s->bpf.obj, e);
}

static int sched_cost_end(struct source *src, struct self_cost *cost, struct err *e)
{
	struct sched *s = sched_of(src);

	return cost_sampler_end(&s->cost, s->bpf.obj, cost);
}

static bool sched_target_alive(struct source *src, char *why, size_t len)
{
	return filters_alive(&sched_of(src)->filters, why, len);
}

static const char *const *sched_hooks(const struct source *src)
{
	return ((const struct sched *)src)->hooks;
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
	.flip = sched_flip,
	.fold = sched_fold,
	.collect = sched_collect,
	.stop = sched_stop,
	.event_fd = sched_event_fd,
	.drain = sched_drain,
	.cost_begin = sched_cost_begin,
	.cost_end = sched_cost_end,
	.target_alive = sched_target_alive,
	.hooks = sched_hooks,
	.how = sched_how,
	.close = sched_close,
};
