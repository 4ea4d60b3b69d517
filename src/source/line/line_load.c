// SPDX-License-Identifier: GPL-2.0-or-later
/* The line source's BPF object: fitted to this machine and these filters, loaded. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "source/map_setup.h"
#include "source/line/line.h"

#include "line.skel.h" /* needs abi_line.h */

/* Waiting to be decoded: one turn of it. Others come again with their next sample, so that in a
 * storm of new code it is the hot that gets in. */
#define NEW_IPS_MAX 256

/* Accesses to lines seen on two CPUs; only a PMU's samples tell latencies. 600 bytes each, in two
 * banks. */
#define LATENCIES_MIN 4096
#define LATENCIES_PER_CPU 256

static int size_latencies(struct line_source *s)
{
	uint32_t n = LATENCIES_PER_CPU * s->m.ncpus;
	int ret;

	if (!s->pmu)
		return 0;
	s->base.schemas.hists = ABI_LATENCY_SCHEMA;
	if (n < LATENCIES_MIN)
		n = LATENCIES_MIN;
	ret = bpf_map__set_max_entries(s->skel->maps.latencies_even, n);
	if (!ret)
		ret = bpf_map__set_max_entries(s->skel->maps.latencies_odd, n);
	return ret ? ret
		   : map_setup_buckets((struct abi_buckets *)&s->skel->rodata->hists,
				       ABI_LATENCY_SCHEMA);
}

static int choose_programs(struct line_source *s)
{
	int ret = bpf_program__set_autoload(s->skel->progs.ws_clock, !s->pmu);

	if (!ret)
		ret = bpf_program__set_autoload(s->skel->progs.ws_pmu, s->pmu);
	return ret ? ret : bpf_program__set_autoload(s->skel->progs.ws_check_hist, s->pmu);
}

static int configure(struct line_source *s, struct err *e)
{
	struct line_bpf *skel = s->skel;
	int ret;

#ifdef __aarch64__
	skel->rodata->machine = 2; /* MACHINE_ARM64 of line_regs.bpf.h */
#endif
	skel->rodata->new_ips_bytes = NEW_IPS_MAX * sizeof(struct abi_window);
	skel->rodata->candidates = s->cfg->confirm_lines;
	ret = bpf_map__set_max_entries(skel->maps.line_counts, s->m.ncpus * ABI_BANKS);
	if (!ret)
		ret = map_setup_banks(skel->obj, s->m.ncpus, sizeof(struct abi_counts));
	if (!ret)
		ret = size_latencies(s);
	if (!ret)
		ret = choose_programs(s);
	if (!ret)
		ret = map_setup_preallocate(skel->maps.target_ids);
	if (ret)
		return err_sys(e, ret, "line: configure");
	return filters_setup(&s->base.filters, skel->obj,
			     (struct abi_filter *)&skel->rodata->filter, e);
}

int line_load(struct line_source *s, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = s->cfg->btf);
	int ret;

	s->skel = line_bpf__open_opts(&opts);
	ret = s->skel ? configure(s, e) : err_sys(e, -errno, "line: open BPF object");
	if (ret)
		return ret;
	ret = bpf_source_load(&s->base, s->skel->skeleton, e);
	if (ret)
		return ret;
	s->base.epoch_word = &s->skel->bss->epoch;
	/* those of follow.bpf.h; samplers have events of their own */
	ret = bpf_source_attach(&s->base, s->skel->skeleton, e);
	return ret ? ret : filters_fill(&s->base.filters, s->base.obj, e);
}
