// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for futexes: the user-space side of locks, condition variables and the like. */
#include "source/contend/futex.h"

_Static_assert(METRIC_FUTEX_IDLE - METRIC_FUTEX_WAIT == ABI_FUTEX_HISTS - 1, "as in abi_futex.h");

static const struct contend_spec spec = {
	.ops = &source_futex,
	.rows = &futex_rows,
	.metrics = &metric_list[METRIC_FUTEX_WAIT],
	.nmetrics = ABI_FUTEX_HISTS,
	.others = ABI_FUTEX_KINDS,
	.ring_bytes = 64U << 10, /* each new address is told of at once */
	.size = sizeof(struct futex),
	.object = futex_object,
	.configure = futex_configure,
	.loaded = futex_loaded,
	.attach = futex_attach,
	.unload = futex_unload,
};

static int futex_open(struct source **out, const struct source_args *args, struct err *e)
{
	return contend_source_open(out, args, &spec, e);
}

static int futex_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct futex *f = (struct futex *)src;
	int ret;

	arena_reset(&f->arena);
	ret = contend_source_collect(src, r, e);
	futex_addrs_tidy(f->addrs, f->s.rows, f->s.whole.counts.interval.keys_full);
	return ret;
}

const struct source_ops source_futex = {
	.name = "futex",
	.summary = "waits in user-space locks and condition variables, by address",
	.groups = true,
	.contends = true,
	.probe = bpf_probe,
	.open = futex_open,
	.start = contend_source_start,
	.flip = bpf_source_flip,
	.fold = contend_source_fold,
	.collect = futex_collect,
	.stop = bpf_source_stop,
	.event_fd = bpf_source_event_fd,
	.drain = contend_source_drain,
	.cost_begin = bpf_source_cost_begin,
	.cost_end = bpf_source_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = bpf_source_hooks,
	.close = contend_source_close,
};
