// SPDX-License-Identifier: GPL-2.0-or-later
/* The ext4 source: its life cycle and its reports. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf/cgroup_paths.h"
#include "source/ext4/ext4.h"
#include "source/privs.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

static struct ext4 *ext4_of(struct source *src)
{
	return (struct ext4 *)src;
}

/* What cannot be had here, and what the user should know. */
static void note_lacks(struct ext4 *x)
{
	bool paths = x->cfg->slower || x->cfg->by == BY_FILE;
	size_t n = 0;

	if (*x->files_why) {
		snprintf(x->no_files, sizeof(x->no_files),
			 "reads, writes and opens: no source on this kernel: %s", x->files_why);
		x->lacks[n++] = x->no_files;
	}
	if (paths && !privs_have(CAP_DAC_READ_SEARCH)) {
		x->lacks[n++] = "paths: not permitted (CAP_DAC_READ_SEARCH)";
		x->notice = "files are named by inode number (their paths need "
			    "CAP_DAC_READ_SEARCH)";
	}
	if (!x->devs->any)
		x->notice = "no ext4 is mounted now: there are rows once one is";
}

static int open_all(struct ext4 *x, struct err *e)
{
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	x->ncpus = (uint32_t)ret;
	ret = ext4_devs_open(&x->devs, &x->cfg->filter.devs, e);
	if (ret)
		return ret;
	x->cpu_names = cpu_names(x->ncpus);
	if (x->cfg->by == BY_FILE)
		x->paths = ext4_paths_new(x->devs);
	if (!x->cpu_names || (x->cfg->by == BY_FILE && !x->paths))
		return err_sys(e, -ENOMEM, "ext4");
	ret = filters_open(&x->base.filters, &x->args, x->ncpus, x->cfg->slower, e);
	if (!ret)
		cgroup_paths_use(x->args.shared, x->cfg, x->base.filters.names);
	if (!ret)
		ret = ext4_load(x, e);
	if (!ret)
		ret = counts_open(&x->counts, bpf_map__fd(x->skel->maps.banks), x->ncpus,
				  sizeof(struct abi_counts), e);
	if (!ret)
		ret = ext4_rows_open(x, e);
	if (!ret)
		ret = ext4_es_open(x, e);
	if (!ret && x->cfg->slower)
		ret = ext4_slow_open(x, e);
	if (!ret)
		ret = bpf_source_poll(&x->base, x->devs->epoll_fd, e);
	if (ret)
		return ret;
	note_lacks(x);
	/* programs are attached as they stand in ext4.bpf.c: ends before begins */
	ret = bpf_source_attach(&x->base, x->skel->skeleton, e);
	if (!ret)
		ret = bpf_source_list_hooks(&x->base, e);
	return ret ? ret : filters_follow(&x->base.filters, e);
}

static void ext4_close(struct source *src)
{
	struct ext4 *x = ext4_of(src);

	if (!x)
		return;
	ring_close(&x->slow);
	ext4_bpf__destroy(x->skel);
	ext4_rows_close(&x->rows);
	ext4_es_close(&x->es);
	counts_close(&x->counts);
	ext4_paths_free(x->slow_paths);
	ext4_paths_free(x->paths);
	ext4_devs_close(x->devs);
	free(x->cpu_names);
	bpf_source_close(&x->base);
	free(x);
}

static int ext4_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct ext4 *x = calloc(1, sizeof(*x));

	if (!x)
		return err_sys(e, -ENOMEM, "ext4");
	bpf_source_init(&x->base, &source_ext4);
	x->args = *args;
	x->cfg = args->cfg;
	*out = &x->base.source;
	return open_all(x, e);
}

static int collect(struct ext4 *x, bool ends, struct err *e)
{
	uint64_t ended = bpf_source_ended(&x->base);
	int ret;

	counts_collect(&x->counts, ended, ends);
	ret = ends ? ext4_es_collect(x) : 0;
	if (ret)
		return err_sys(e, ret, "ext4: read the look-ups");
	return ext4_rows_collect(&x->rows, ended, ends, e);
}

static int ext4_drain_banks(struct source *src, struct err *e)
{
	return collect(ext4_of(src), false, e);
}

/* First call: begin. Later (the warm-up is over; a change of epoch and the grace time are behind
 * us): forget. */
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
	ext4_es_forget(x);
	ext4_rows_forget(&x->rows);
	return 0;
}

/* What is in flight: a walk over all tasks in the kernel, and direct I/O that nobody waits for. It
 * may end as we look: as much as is left. */
static int in_flight(const struct ext4 *x, struct abi_in_flight *out)
{
	uint32_t left = bpf_map__max_entries(x->skel->maps.dios);
	int fd = bpf_map__fd(x->skel->maps.dios);
	uint64_t key, *prev = NULL, at = x->base.ended_ns, ns;
	struct abi_ext4_dio d;
	int ret = bpf_source_in_flight(&x->base, x->skel->links.ws_in_flight,
				       bpf_map__fd(x->skel->maps.in_flight), out);

	/* bounded: where a key goes away under us the kernel begins anew */
	for (; !ret && left && !bpf_map_get_next_key(fd, prev, &key); left--) {
		prev = &key;
		if (bpf_map_lookup_elem(fd, &key, &d) || (d.start_ns > at && !x->base.stopped))
			continue;
		out->count++;
		ns = at > d.start_ns ? at - d.start_ns : 0;
		if (ns < out->longest_ns)
			continue;
		out->longest_ns = ns;
		out->tid = d.tid;
		out->pid = d.pid;
		memcpy(out->comm, d.comm, sizeof(out->comm));
	}
	return ret;
}

static int ext4_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct ext4 *x = ext4_of(src);
	struct abi_in_flight flight;
	int ret = in_flight(x, &flight);

	if (ret)
		return err_sys(e, ret, "ext4: operations in flight");
	ret = collect(x, true, e);
	if (ret)
		return ret;
	ext4_texts_drop(&x->devs->old);
	if (x->paths)
		ext4_paths_trim(x->paths);
	ret = ext4_es_push(x, r);
	if (!ret)
		ret = ext4_rows_push(x, r);
	if (ret)
		return err_sys(e, ret, "ext4: report");
	bpf_source_quality(&x->base, &x->counts, &flight, r);
	return 0;
}

static int ext4_drain(struct source *src, struct err *e)
{
	struct ext4 *x = ext4_of(src);

	ext4_devs_check(x->devs);
	if (x->slow_paths)
		ext4_paths_trim(x->slow_paths); /* nobody keeps what a record said */
	return ring_drain(&x->slow, e);
}

static const char *const *ext4_lacks(const struct source *src)
{
	const struct ext4 *x = (const struct ext4 *)src;

	return x->lacks[0] ? x->lacks : NULL;
}

static const char *ext4_notice(const struct source *src)
{
	return ((const struct ext4 *)src)->notice;
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
	.fds = 120,
	.fds_why = 20,
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
