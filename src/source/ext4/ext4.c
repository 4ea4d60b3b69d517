// SPDX-License-Identifier: GPL-2.0-or-later
/* The ext4 source: its life cycle and its reports. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "source/ext4/ext4.h"
#include "source/inodes/ext4_dev.h"
#include "source/map_setup.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

static struct ext4 *ext4_of(struct source *src)
{
	return (struct ext4 *)src;
}

static int open_slow(struct ext4 *x, struct err *e)
{
	struct ext4_slow_args args = {
		.map_fd = bpf_map__fd(x->skel->maps.slow_events),
		.names = x->slow_names,
		.nnames = ABI_EXT4_OPS,
		.devs = ext4_names_devs(x->names),
		.cgroups = x->base.filters.names,
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

/* Slow operations, and mounts that change. */
static int open_poll(struct ext4 *x, struct err *e)
{
	int ret = bpf_source_poll(&x->base, x->slow ? ext4_slow_fd(x->slow) : -1, e);

	return ret ? ret : bpf_source_poll(&x->base, ext4_devs_fd(ext4_names_devs(x->names)), e);
}

static int open_rows(struct ext4 *x, struct err *e)
{
	struct ext4_rows_args args = {
		.cfg = x->cfg,
		.cgroups = x->base.filters.names,
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

	map_setup_keyed_fds(x->skel->obj, args.op_fds);
	ret = ext4_rows_open(&x->rows, &args, e);
	return ret ? ret : ext4_es_open(&x->es, &es, e);
}

static int open_all(struct ext4 *x, struct err *e)
{
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	x->ncpus = (uint32_t)ret;
	x->cpu_names = cpu_names(x->ncpus);
	if (!x->cpu_names)
		return err_sys(e, -ENOMEM, "ext4");
	ret = ext4_names_open(&x->names, x->cfg, e);
	if (!ret)
		ret = filters_open(&x->base.filters, &x->args, x->ncpus, x->cfg->slower, e);
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
	ext4_slow_close(x->slow);
	ext4_bpf__destroy(x->skel);
	ext4_rows_close(x->rows);
	ext4_es_close(x->es);
	counts_close(&x->counts);
	ext4_names_close(x->names);
	free(x->cpu_names);
	bpf_source_close(&x->base);
	free(x);
}

static int ext4_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct ext4 *x = calloc(1, sizeof(*x));
	int ret;

	if (!x)
		return err_sys(e, -ENOMEM, "ext4");
	bpf_source_init(&x->base, &source_ext4);
	x->args = *args;
	x->cfg = args->cfg;
	ret = open_all(x, e);
	if (ret) {
		ext4_close(&x->base.source);
		return ret;
	}
	*out = &x->base.source;
	return 0;
}

static int collect(struct ext4 *x, bool ends, struct err *e)
{
	uint64_t ended = bpf_source_ended(&x->base);
	int ret;

	counts_collect(&x->counts, ended, ends);
	ret = ends ? ext4_es_collect(x->es) : 0;
	if (ret)
		return err_sys(e, ret, "ext4: read the look-ups");
	return ext4_rows_collect(x->rows, ended, ends, e);
}

static int ext4_drain_banks(struct source *src, struct err *e)
{
	return collect(ext4_of(src), false, e);
}

/* First call: begin. Later (the warm-up is over; a change of epoch and the grace time are behind us): forget. */
static int ext4_start(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);
	int ret;

	if (bpf_source_begin(&x->base))
		return 0;
	ret = collect(x, true, e);
	if (ret)
		return ret;
	counts_forget(&x->counts);
	ext4_es_forget(x->es);
	ext4_rows_forget(x->rows);
	return 0;
}

static int ext4_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct ext4 *x = ext4_of(src);
	struct abi_in_flight flight;
	int ret = collect(x, true, e);

	if (ret)
		return ret;
	ext4_names_begin(x->names);
	ret = ext4_es_push(x->es, r);
	if (!ret)
		ret = ext4_rows_push(x->rows, r);
	if (ret)
		return err_sys(e, ret, "ext4: report");
	ret = ext4_in_flight(x, &flight);
	if (ret)
		return err_sys(e, ret, "ext4: operations in flight");
	bpf_source_quality(&x->base, &x->counts, &flight, r);
	return 0;
}

static int ext4_drain(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);

	ext4_devs_check(ext4_names_devs(x->names));
	return x->slow ? ext4_slow_drain(x->slow, e) : 0;
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

static const struct option_row ext4_options[] = {
	{"es-time", 0, NULL, "ext4: also how long extent status lookups take", OPTION_FLAG,
	 .at = offsetof(struct config, es_time), .value = true},
	{0},
};

const struct source_ops source_ext4 = {
	.name = "ext4",
	.summary = "ext4 and its journal: operations, extent status look-ups",
	.by_default = true,
	.options = ext4_options,
	.metrics = SOURCE_METRICS(METRIC_EXT4_OP_LATENCY, METRIC_EXT4_OP_BYTES),
	.groups = true,
	.files = true,
	.slow = true,
	.splits = true,
	.probe = ext4_probe,
	.open = ext4_open,
	.start = ext4_start,
	.next_epoch = bpf_source_next_epoch,
	.drain_banks = ext4_drain_banks,
	.collect = ext4_collect,
	.stop = bpf_source_stop,
	.event_fd = bpf_source_event_fd,
	.drain = ext4_drain,
	.cost_begin = bpf_source_cost_begin,
	.cost_end = bpf_source_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = bpf_source_hooks,
	.lacks = ext4_lacks,
	.notice = ext4_notice,
	.close = ext4_close,
};
