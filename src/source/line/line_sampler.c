// SPDX-License-Identifier: GPL-2.0-or-later
/* What takes the samples, and what is said of that. */
#include <bpf/btf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "insn/insn.h"
#include "source/line/line.h"
#include "source/line/pmu.h"

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
