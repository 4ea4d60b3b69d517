// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler source: its life cycle, and reports out of banks and groups. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf/cgroup_paths.h"
#include "source/bpf/groups.h"
#include "source/bpf/ledgers.h"
#include "source/sys/map_setup.h"
#include "source/sched/sched.h"

static struct sched *sched_of(struct source *src)
{
	return (struct sched *)src;
}

static int open_banks(struct sched *s, struct err *e)
{
	const struct banks_args args = {
		.map_fd = sched_object_map(&s->bpf, "banks"),
		.nhists = ABI_SCHED_HISTS,
		.schema = s->cfg->precision,
		.ncpus = s->ncpus,
		.metrics = metric_list,
		.nmetrics = SCHED_METRICS,
		.optional = 1U << METRIC_SCHED_THROTTLE_WAIT,
		.all_cpus = true,
		.derive = sched_derive,
	};

	return banks_open(&s->banks, &args, e);
}

static int open_keys(struct sched *s, struct err *e)
{
	struct sched_keys_args args = {
		.by = s->cfg->by,
		.ncpus = s->ncpus,
		.names = s->base.filters.names,
	};

	map_setup_keyed_fds(s->bpf.obj, args.fds);
	return sched_keys_open(&s->keys, &args, e);
}

static int open_why(struct sched *s, struct err *e)
{
	struct bpf_map *even = bpf_object__find_map_by_name(s->bpf.obj, "why_even");
	struct bpf_program *pairs = bpf_object__find_program_by_name(s->bpf.obj, "ws_why_pairs");
	const struct sched_why_args args = {
		.fds = {bpf_map__fd(even), sched_object_map(&s->bpf, "why_odd")},
		.culprits_fd = sched_object_map(&s->bpf, "why_culprits"),
		.pairs_fd = s->why_pairs ? bpf_program__fd(pairs) : -1,
		.by = s->cfg->by,
		.ncpus = s->ncpus,
		.room = bpf_map__max_entries(even),
		.names = s->base.filters.names,
	};

	return sched_why_open(&s->why, &args, e);
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
	s->ncpus = (uint32_t)ret;
	ret = filters_open(&s->base.filters, &s->args, s->ncpus, s->cfg->slower || s->cfg->why, e);
	if (!ret)
		cgroup_paths_use(s->args.shared, s->cfg, s->base.filters.names);
	if (!ret)
		ret = sched_load(s, e);
	if (ret)
		return ret;
	ret = open_banks(s, e);
	if (ret)
		return ret;
	if (group_abi(s->cfg->by) != ABI_BY_NONE) /* files are not its groups */
		ret = open_keys(s, e);
	if (!ret && s->cfg->why)
		ret = open_why(s, e);
	if (!ret && s->cfg->slower)
		ret = sched_slow_open(s, e);
	if (!ret)
		ret = bpf_source_poll(&s->base, ring_fd(&s->slow), e);
	return ret ? ret : sched_attach(s, e);
}

static void sched_close(struct source *src)
{
	struct sched *s = sched_of(src);

	if (!s)
		return;
	ring_close(&s->slow);
	sched_object_close(&s->bpf);
	sched_keys_close(s->keys);
	sched_why_close(s->why);
	banks_close(&s->banks);
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
		if (s->keeps_tasks)
			ledgers_drop(s->args.shared);
		sched_close(&s->base.source);
		return ret;
	}
	*out = &s->base.source;
	return 0;
}

static int collect(struct sched *s, bool ends, struct err *e)
{
	uint64_t ended = bpf_source_ended(&s->base);
	int ret = banks_collect(&s->banks, ended, ends, e);

	if (!ret && s->keys)
		ret = sched_keys_collect(s->keys, ended, ends, e);
	return ret || !s->why ? ret : sched_why_collect(s->why, ended, ends, e);
}

static int sched_drain_banks(struct source *src, struct err *e)
{
	return collect(sched_of(src), false, e);
}

/* First call: begin. Later (the warm-up is over; a change of epoch and the grace time are behind
 * us): forget. */
static int sched_start(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);
	int ret;

	if (!s->base.epoch) {
		ret = sched_stamp_tasks(s);
		if (ret)
			return err_sys(e, ret, "sched: tasks that are there already");
		*sched_object_started(&s->bpf) = bpf_source_now(&s->base);
	}
	if (bpf_source_begin(&s->base))
		return 0;
	ret = collect(s, true, e);
	if (ret)
		return ret;
	banks_forget(&s->banks);
	if (s->keys)
		sched_keys_forget(s->keys);
	if (s->why)
		sched_why_forget(s->why);
	return 0;
}

static int sched_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct sched *s = sched_of(src);
	struct abi_in_flight flight;
	int ret = sched_in_flight(s, &flight);

	if (ret)
		return err_sys(e, ret, "sched: tasks still waiting");
	ret = collect(s, true, e);
	if (ret)
		return ret;
	ret = banks_push(&s->banks, r);
	if (!ret && s->keys)
		ret = sched_keys_push(s->keys, r);
	if (!ret && s->why)
		ret = sched_why_push(s->why, r);
	if (ret)
		return err_sys(e, ret, "sched: report");
	bpf_source_quality(&s->base, &s->banks.counts, &flight, r);
	return 0;
}

static int sched_drain(struct source *src, struct err *e)
{
	return ring_drain(&sched_of(src)->slow, e);
}

static const char *const *sched_lacks(const struct source *src)
{
	const struct sched *s = (const struct sched *)src;

	return s->why_lacks[0] ? s->why_lacks : NULL;
}

static const char *sched_how(const struct source *src)
{
	const struct sched *s = (const struct sched *)src;

	if (s->bpf.raw)
		return "raw tracepoints: this kernel has no BTF";
	return s->by_record ? NULL : "queued at sched_wakeup: this kernel keeps no record of waits";
}

const struct source_ops source_sched = {
	.name = "sched",
	.summary = "scheduler waits: wakeup latency and run-queue delay",
	.by_default = true,
	.fds = 60,
	.fds_why = 60,
	.metrics = SOURCE_METRICS(0, SCHED_METRICS - 1),
	.groups = true,
	.slow = true,
	.why = true,
	.culprits = true,
	.probe = bpf_probe_call,
	.open = sched_open,
	.start = sched_start,
	.next_epoch = bpf_source_next_epoch,
	.drain_banks = sched_drain_banks,
	.collect = sched_collect,
	.stop = bpf_source_stop,
	.event_fd = bpf_source_event_fd,
	.drain = sched_drain,
	.cost_begin = bpf_source_cost_begin,
	.cost_end = bpf_source_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = bpf_source_hooks,
	.how = sched_how,
	.lacks = sched_lacks,
	.close = sched_close,
};
