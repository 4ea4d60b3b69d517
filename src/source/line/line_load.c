// SPDX-License-Identifier: GPL-2.0-or-later
/* What takes the samples: what is said of it, and its BPF object, fitted to this machine. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "insn/insn.h"
#include "source/line/line.h"
#include "source/sys/map_setup.h"

#include "line.skel.h" /* needs abi_line.h */

/*
 * bpf_cast_to_kern_ctx is fd264ca02094 (6.2), sample_flags 3aac580d5cc3 ("perf: Add
 * sample_flags to indicate the PMU-filled sample data", 6.1): without them a program cannot tell
 * what was filled.
 */
static int kernel_can(const char *btf_file, struct err *e)
{
	struct btf *btf = kernel_btf(btf_file, e);
	bool can;

	if (!btf)
		return -ENOENT;
	can = btf__find_by_name_kind(btf, "bpf_cast_to_kern_ctx", BTF_KIND_FUNC) > 0 &&
	      struct_has_member(btf, "perf_sample_data", "sample_flags");
	btf__free(btf);
	(void)malloc_trim(0);
	if (can)
		return 0;
	return err_set(e, EXIT_CANNOT, -ENOTSUP,
		       "line: PMU: this kernel does not let BPF programs read samples' addresses "
		       "(bpf_cast_to_kern_ctx, Linux 6.2)");
}

int line_sampler_open(struct line_source *s, struct err *e)
{
	int ret;

	if (s->pmu) {
		ret = pmu_plan(PMU_DEVICES, s->cfg->freq, &s->plan, e);
		return ret ? ret : kernel_can(s->cfg->btf, e);
	}
	if (insn_available())
		return 0;
	return err_set(e, EXIT_CANNOT, -ENOTSUP,
		       "line: this build has no decoder of this machine's instructions (it was "
		       "built without Zydis)");
}

static const char *without_prefix(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) ? text : text + len;
}

void line_sampler_say(struct line_source *s, const char *why_no_pmu)
{
	uint32_t k, n = 0;

	s->hooks[0] = "cpu-clock";
	for (k = 0; s->pmu && k < s->plan.n; k++) {
		const struct pmu_sampled *one = &s->plan.v[k];

		(void)snprintf(s->hook_texts[k], sizeof(s->hook_texts[k]), "%s/%s/", one->device,
			       one->event ? one->event : ""); /* fits: our own words */
		s->hooks[k] = s->hook_texts[k];
	}
	if (!s->pmu && insn_doubt())
		s->lacks[n++] = insn_doubt();
	if (*why_no_pmu) {
		why_no_pmu = without_prefix(without_prefix(why_no_pmu, "line: "), "PMU: ");
		(void)snprintf(s->why_clock, sizeof(s->why_clock), "HITM and latency: %s",
			       why_no_pmu); /* has room */
		s->lacks[n++] = s->why_clock;
	}
	s->lacks[n] = names_code_why(s->m.names);
}

/* ---- the object ---- */

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

static int configure(struct line_source *s, struct err *e)
{
	struct line_bpf *skel = s->skel;
	int ret;

#ifdef __aarch64__
	skel->rodata->machine = 2; /* MACHINE_ARM64 of line_regs.bpf.h */
#endif
	skel->rodata->new_ips_bytes = NEW_IPS_MAX * sizeof(struct abi_window);
	skel->rodata->candidates = s->maybe != NULL;
	ret = bpf_map__set_max_entries(skel->maps.line_counts, s->m.ncpus * ABI_BANKS);
	if (!ret)
		ret = map_setup_banks(skel->obj, s->m.ncpus, sizeof(struct abi_counts));
	if (!ret)
		ret = s->pmu ? size_latencies(s) : 0;
	if (!ret)
		ret = bpf_program__set_autoload(skel->progs.ws_clock, !s->pmu);
	if (!ret)
		ret = bpf_program__set_autoload(skel->progs.ws_pmu, s->pmu);
	if (!ret)
		ret = bpf_program__set_autoload(skel->progs.ws_check_hist, s->pmu);
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
