// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler's BPF object: fitted to this kernel and these filters, loaded and attached. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "source/groups.h"
#include "source/kmaps.h"
#include "source/sched.h"

#include "sched.skel.h" /* needs abi.h */

#define SLOW_RING_BYTES (2U << 20)

static int configure_slow(struct sched *s, const struct btf *btf)
{
	struct sched_bpf *skel = s->skel;
	int64_t from_rq;

	skel->rodata->slower = s->cfg->slower;
	skel->rodata->slower_ns = s->cfg->slower_ns;
	skel->rodata->slow_wake_bytes = SLOW_RING_BYTES / 8;
	if (!s->cfg->slower)
		return bpf_map__set_autocreate(skel->maps.slow_events, false);
	if (!preempt_count_offset(btf, &from_rq)) {
		skel->rodata->preempt_count_known = true;
		skel->rodata->preempt_count_from_rq = from_rq;
	}
	return bpf_map__set_max_entries(skel->maps.slow_events, SLOW_RING_BYTES);
}

static int configure_maps(struct sched *s, const struct btf *btf)
{
	struct sched_bpf *skel = s->skel;
	struct kmaps_keyed keyed = {
		.used = s->cfg->by > BY_CPU,
		.by = group_abi(s->cfg->by),
		.nhists = ABI_SCHED_HISTS,
		.schema = ABI_KEY_SCHEMA,
		.keys = s->cfg->max_keys,
		.per_cpu = s->cfg->by != BY_TID,
		.ncpus = s->banks.ncpus,
	};
	int ret = kmaps_buckets((struct abi_buckets *)&skel->rodata->hists, s->cfg->precision);

	if (!ret)
		ret = kmaps_banks(skel->obj, s->banks.ncpus, ABI_BANK_BYTES(s->cfg->precision));
	if (ret)
		return ret;
	return kmaps_keyed(skel->obj, (struct abi_keyed *)&skel->rodata->keyed, btf, &keyed);
}

static int configure(struct sched *s, const struct btf *btf, struct err *e)
{
	struct sched_bpf *skel = s->skel;
	int ret, args = tracepoint_args(btf, "sched_switch");

	if (args < 3)
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "sched: this kernel's BTF has no sched_switch tracepoint");
	skel->rodata->switch_has_state = args >= 4;
	ret = configure_maps(s, btf);
	if (ret)
		return err_sys(e, ret, "sched: histogram maps");
	ret = configure_slow(s, btf);
	if (ret)
		return err_sys(e, ret, "sched: --slower");
	return filters_setup(&s->filters, skel->obj, (struct abi_filter *)&skel->rodata->filter, e);
}

/* Opened and configured. The kernel's BTF is several MB of heap: it goes before libbpf loads its
 * own. */
static int open_object(struct sched *s, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = s->cfg->btf);
	struct btf *btf = kernel_btf(s->cfg->btf, e);
	int ret;

	if (!btf)
		return -ENOENT;
	s->skel = sched_bpf__open_opts(&opts);
	ret = s->skel ? configure(s, btf, e) : err_sys(e, -errno, "sched: open BPF object");
	btf__free(btf);
	return ret;
}

int sched_load(struct sched *s, struct err *e)
{
	int ret = open_object(s, e);

	if (ret)
		return ret;
	ret = sched_bpf__load(s->skel);
	(void)malloc_trim(0); /* of the kernel's BTF, again */
	if (ret)
		return bpf_fail(e, ret, "sched: load BPF programs");
	return filters_fill(&s->filters, s->skel->obj, e);
}

int sched_attach(struct sched *s, struct err *e)
{
	struct bpf_program *prog;
	size_t n = 0;
	int ret;

	bpf_object__for_each_program(prog, s->skel->obj)
	{
		const char *section = bpf_program__section_name(prog);

		if (bpf_program__fd(prog) >= 0 && !strncmp(section, "tp_btf/", 7) &&
		    n + 1 < sizeof(s->hooks) / sizeof(s->hooks[0]))
			s->hooks[n++] = section + 7;
	}
	ret = sched_bpf__attach(s->skel);
	if (ret)
		return bpf_fail(e, ret, "sched: attach BPF programs");
	return filters_follow(&s->filters, e);
}

void sched_unload(struct sched *s)
{
	sched_bpf__destroy(s->skel);
	s->skel = NULL;
}
