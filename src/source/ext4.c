// SPDX-License-Identifier: GPL-2.0-or-later
/* The ext4 source: its life cycle and its reports. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "source/ext4.h"
#include "source/ext4_dev.h"
#include "source/ext4_metrics.h"
#include "source/kmaps.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

static struct ext4 *ext4_of(struct source *src)
{
	return (struct ext4 *)src;
}

static int open_names(struct ext4 *x, struct err *e)
{
	uint32_t c;

	x->cpu_names = calloc(x->ncpus, sizeof(*x->cpu_names));
	if (!x->cpu_names)
		return err_sys(e, -ENOMEM, "ext4");
	for (c = 0; c < x->ncpus; c++)
		snprintf(x->cpu_names[c], sizeof(x->cpu_names[c]), "%u", c);
	return ext4_names_open(&x->names, x->cfg, e);
}

static int open_slow(struct ext4 *x, struct err *e)
{
	struct ext4_slow_args args = {
		.map_fd = bpf_map__fd(x->skel->maps.slow_events),
		.names = x->slow_names,
		.nnames = ABI_EXT4_OPS,
		.devs = ext4_names_devs(x->names),
		.cgroups = x->filters.names,
		.on_slow = x->args.on_slow,
		.slow_ctx = x->args.slow_ctx,
	};
	int i;

	if (!x->cfg->slower)
		return 0;
	for (i = 0; i < ABI_EXT4_OPS; i++)
		x->slow_names[i] = (struct ext4_slow_name){
			.metric = ext4_kinds[i].desc->name,
			.op = ext4_kinds[i].value,
		};
	return ext4_slow_open(&x->slow, &args, e);
}

/* Slow operations, targets that may be gone, mounts that change. */
static int open_poll(struct ext4 *x, struct err *e)
{
	const int fds[] = {x->slow ? ext4_slow_fd(x->slow) : -1, x->filters.targets.epoll_fd,
			   ext4_devs_fd(ext4_names_devs(x->names))};
	struct epoll_event ev = {.events = EPOLLIN};
	size_t i;

	x->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (x->event_fd < 0)
		return err_sys(e, -errno, "ext4: epoll");
	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0 && epoll_ctl(x->event_fd, EPOLL_CTL_ADD, fds[i], &ev))
			return err_sys(e, -errno, "ext4: epoll");
	return 0;
}

static int open_rows(struct ext4 *x, struct err *e)
{
	struct ext4_rows_args args = {
		.cfg = x->cfg,
		.cgroups = x->filters.names,
		.names = x->names,
		.count_fds = {bpf_map__fd(x->skel->maps.counted_even),
			      bpf_map__fd(x->skel->maps.counted_odd)},
		.schema = ext4_schema(x->cfg),
		.ncpus = x->ncpus,
		.cpu_names = x->cpu_names,
	};
	struct ext4_es_args es = {
		.map_fd = bpf_map__fd(x->skel->maps.es_counts),
		.cpu_kinds = x->cfg->by == BY_CPU,
		.ncpus = x->ncpus,
		.ndevs = x->ndevs,
		.names = x->names,
		.cpu_names = x->cpu_names,
	};
	int ret;

	kmaps_keyed_fds(x->skel->obj, args.op_fds);
	ret = ext4_rows_open(&x->rows, &args, e);
	return ret ? ret : ext4_es_open(&x->es, &es, e);
}

static int open_all(struct ext4 *x, struct err *e)
{
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	x->ncpus = (uint32_t)ret;
	ret = open_names(x, e);
	if (!ret)
		ret = filters_open(&x->filters, &x->args, x->ncpus, x->cfg->slower, e);
	if (!ret)
		ret = ext4_load(x, e);
	if (!ret)
		ret = counts_open(&x->counts, bpf_map__fd(x->skel->maps.banks), x->ncpus,
				  sizeof(struct abi_counts), e);
	if (!ret)
		ret = open_rows(x, e);
	if (!ret)
		ret = open_slow(x, e);
	if (!ret)
		ret = open_poll(x, e);
	if (!ret)
		ext4_lacks_init(&x->lacks, x->cfg, ext4_names_devs(x->names), x->files_why);
	return ret ? ret : ext4_attach(x, e);
}

static void ext4_close(struct source *src)
{
	struct ext4 *x = ext4_of(src);

	if (!x)
		return;
	cost_sampler_close(&x->cost);
	if (x->event_fd >= 0)
		close(x->event_fd);
	ext4_slow_close(x->slow);
	if (x->skel)
		ext4_unload(x);
	ext4_rows_close(x->rows);
	ext4_es_close(x->es);
	counts_close(&x->counts);
	filters_close(&x->filters);
	ext4_names_close(x->names);
	free(x->cpu_names);
	free(x);
}

static int ext4_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct ext4 *x = calloc(1, sizeof(*x));
	int ret;

	if (!x)
		return err_sys(e, -ENOMEM, "ext4");
	x->base.ops = &source_ext4;
	x->args = *args;
	x->cfg = args->cfg;
	x->event_fd = x->cost.stats_fd = -1;
	filters_init(&x->filters);
	ret = open_all(x, e);
	if (ret) {
		ext4_close(&x->base);
		return ret;
	}
	*out = &x->base;
	return 0;
}

/* The word the programs read; raising it ends the interval for them. */
static void set_epoch(struct ext4 *x, uint64_t epoch)
{
	__atomic_store_n(&x->skel->bss->epoch, epoch, __ATOMIC_SEQ_CST);
}

/* Running: the epoch before this one has ended; stopped: whatever is left, in both banks. */
static uint64_t ended_epoch(const struct ext4 *x)
{
	return x->stopped ? 0 : x->epoch - 1;
}

static int ext4_fold(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);

	counts_fold(&x->counts, ended_epoch(x));
	return ext4_rows_fold(x->rows, ended_epoch(x), e);
}

static int collect(struct ext4 *x, struct err *e)
{
	int ret;

	counts_collect(&x->counts, ended_epoch(x));
	ret = ext4_es_collect(x->es);
	if (ret)
		return err_sys(e, ret, "ext4: read the look-ups");
	return ext4_rows_collect(x->rows, ended_epoch(x), e);
}

/* First call: begin. Later (the warm-up is over; flip and the grace time are behind us): forget. */
static int ext4_start(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);
	int ret;

	x->misses_start = x->misses_seen = recursion_misses(x->skel->obj);
	if (!x->epoch) {
		x->epoch = 1;
		set_epoch(x, x->epoch);
		return 0;
	}
	ret = collect(x, e);
	if (ret)
		return ret;
	counts_forget(&x->counts);
	ext4_es_forget(x->es);
	ext4_rows_forget(x->rows);
	return 0;
}

static int ext4_flip(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);

	x->epoch++;
	set_epoch(x, x->epoch);
	return 0;
}

static int ext4_stop(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);

	x->stopped = true;
	set_epoch(x, 0);
	return 0;
}

static void fill_quality(const struct abi_counts *c, uint64_t misses,
			 const struct abi_in_flight *flight, struct quality *q)
{
	*q = (struct quality){.recursion_misses = misses};
	counts_quality(c, q);
	q->in_flight = flight->count;
	q->longest_ns = flight->longest_ns;
	q->longest_tid = flight->tid;
	memcpy(q->longest_comm, flight->comm, sizeof(q->longest_comm));
}

static int ext4_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct ext4 *x = ext4_of(src);
	struct abi_in_flight flight;
	uint64_t misses;
	int ret = collect(x, e);

	if (ret)
		return ret;
	ext4_names_begin(x->names);
	rows_forget(&r->interval);
	rows_forget(&r->total);
	ret = ext4_es_push(x->es, r);
	if (!ret)
		ret = ext4_rows_push(x->rows, r);
	if (ret)
		return err_sys(e, ret, "ext4: report");
	ret = ext4_in_flight(x, &flight);
	if (ret)
		return err_sys(e, ret, "ext4: operations in flight");
	misses = recursion_misses(x->skel->obj);
	fill_quality(&x->counts.interval, misses - x->misses_seen, &flight, &r->quality_interval);
	fill_quality(&x->counts.total, misses - x->misses_start, &flight, &r->quality_total);
	x->misses_seen = misses;
	return 0;
}

static int ext4_event_fd(const struct source *src)
{
	return ((const struct ext4 *)src)->event_fd;
}

static int ext4_drain(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);

	ext4_devs_check(ext4_names_devs(x->names));
	return x->slow ? ext4_slow_drain(x->slow, e) : 0;
}

static int ext4_cost_begin(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);

	return cost_sampler_begin(&x->cost, x->skel->obj, e);
}

static int ext4_cost_end(struct source *src, struct self_cost *cost, struct err *e)
{
	struct ext4 *x = ext4_of(src);

	return cost_sampler_end(&x->cost, x->skel->obj, cost);
}

static bool ext4_target_alive(struct source *src, char *why, size_t len)
{
	return filters_alive(&ext4_of(src)->filters, why, len);
}

static const char *const *ext4_hooks(const struct source *src)
{
	return ((const struct ext4 *)src)->hooks;
}

static const char *const *ext4_lacks(const struct source *src)
{
	const struct ext4 *x = (const struct ext4 *)src;

	return x->lacks.list[0] ? x->lacks.list : NULL;
}

static const char *ext4_notice(const struct source *src)
{
	return ((const struct ext4 *)src)->lacks.notice;
}

const struct source_ops source_ext4 = {
	.name = "ext4",
	.summary = "ext4 and its journal: operations, extent status look-ups",
	.by_default = true,
	.groups = true,
	.slow = true,
	.probe = ext4_probe,
	.open = ext4_open,
	.start = ext4_start,
	.flip = ext4_flip,
	.fold = ext4_fold,
	.collect = ext4_collect,
	.stop = ext4_stop,
	.event_fd = ext4_event_fd,
	.drain = ext4_drain,
	.cost_begin = ext4_cost_begin,
	.cost_end = ext4_cost_end,
	.target_alive = ext4_target_alive,
	.hooks = ext4_hooks,
	.lacks = ext4_lacks,
	.notice = ext4_notice,
	.close = ext4_close,
};
