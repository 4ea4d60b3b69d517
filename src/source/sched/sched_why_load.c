// SPDX-License-Identifier: GPL-2.0-or-later
/* --why: its maps, and which of its hooks this kernel has. A class without a hook stays
 * unexplained, or with the task that ran, and --check names it. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "abi_why.h"
#include "source/sys/bpf_util.h"
#include "source/sys/map_setup.h"
#include "source/sched/sched.h"

#include "sched.skel.h" /* needs abi.h */

#define CULPRITS 65536 /* descriptions */
#define UP_FRONT 65536 /* entries: 10 MB in each of two maps */
#define SPREAD 2       /* lengths of waits: few pairs are met in more than two */

static const char *const maps[] = {"why_even", "why_odd"};

/* Those without which there is no scheduler at all. */
static bool always_there(const char *hook)
{
	return !strncmp(hook, "sched_", 6) && strcmp(hook, "sched_set_need_resched_tp");
}

/* On PREEMPT_RT tasks do the work of soft interrupts, and may be preempted in it: theirs is the
 * blame. */
static bool is_rt(const struct btf *btf)
{
	return struct_has_member(btf, "task_struct", "softirq_disable_cnt");
}

static int configure_hooks(const struct sched *s, const struct btf *btf)
{
	struct bpf_program *p;
	int ret = 0;

	bpf_object__for_each_program(p, s->bpf.obj)
	{
		const char *section = bpf_program__section_name(p), *hook = section + 7;

		if (strncmp(section, "tp_btf/", 7) || always_there(hook))
			continue;
		if (strncmp(hook, "softirq_", 8) == 0 && is_rt(btf))
			ret = bpf_program__set_autoload(p, false);
		else if (tracepoint_args(btf, hook) < 0)
			ret = bpf_program__set_autoload(p, false);
		if (ret)
			return ret;
	}
	return 0;
}

/* Which of the two programs is at sched_switch? */
static int configure_switch(const struct sched *s, const struct btf *btf)
{
	bool casts = kernel_casts(btf, s->cfg->btf);
	struct bpf_program *cast = bpf_object__find_program_by_name(s->bpf.obj, "ws_switch_cast");
	struct bpf_program *p = bpf_object__find_program_by_name(s->bpf.obj, "ws_switch");
	int ret = bpf_program__set_autoload(cast, casts);

	return ret ? ret : bpf_program__set_autoload(p, !casts);
}

/* What hides what a hypervisor takes from us; NULL: nothing, or there is none. `from_rq`: bytes
 * from a CPU's struct rq to what it is told. */
static const char *steal_lack(const struct btf *btf, int64_t *from_rq)
{
	const char *untold = "the hypervisor: it does not tell what it took";
#ifdef __x86_64__
	const unsigned int hypervisor = 1U << 31, steal_time = 1U << 5;
	unsigned int a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & hypervisor))
		return NULL;
	__cpuid(0x40000000, a, b, c, d);
	if (b != 0x4b4d564b || c != 0x564b4d56 || d != 0x4d) /* "KVMKVMKVM" */
		return untold;
	__cpuid(0x40000001, a, b, c, d);
	if (!(a & steal_time))
		return untold;
	if (steal_offset(btf, from_rq))
		return "the hypervisor: the kernel's BTF does not say where it tells what it took";
	return NULL;
#else
	return untold;
#endif
}

static void find_lacks(struct sched *s, const struct btf *btf)
{
	const char **to = s->why_lacks, *lack;

	s->why_steal = 0;
	if (tracepoint_args(btf, "irq_handler_entry") < 0)
		*to++ = "hard interrupts of devices: no tracepoint irq_handler_entry";
	if (tracepoint_args(btf, "local_timer_entry") < 0 && tracepoint_args(btf, "ipi_entry") < 0)
		*to++ = "interrupts between CPUs: no tracepoints irq_vectors or ipi_entry";
	if (is_rt(btf))
		*to++ = "soft interrupts: on this kernel (PREEMPT_RT) tasks do their work";
	else if (tracepoint_args(btf, "softirq_entry") < 0)
		*to++ = "soft interrupts: no tracepoint softirq_entry";
	lack = steal_lack(btf, &s->why_steal);
	if (lack)
		*to++ = lack;
	if (tracepoint_args(btf, "sched_set_need_resched_tp") < 0)
		*to++ = "kernel: no tracepoint sched_set_need_resched_tp";
	if (!s->bpf.rodata->filter.task_storage)
		*to++ = "waits that are moved to another CPU: no task storage";
	*to = NULL;
}

static int configure_moves(const struct sched *s)
{
	if (s->bpf.rodata->filter.task_storage)
		return 0;
	return map_setup_create(s->bpf.obj, "why_moved", false);
}

static int configure_map(const struct sched *s, const char *name, uint32_t entries, bool on_demand)
{
	struct bpf_map *m = bpf_object__find_map_by_name(s->bpf.obj, name);
	int ret = m ? bpf_map__set_max_entries(m, entries) : -ENOENT;

	if (!ret && on_demand)
		ret = bpf_map__set_map_flags(m, BPF_F_NO_PREALLOC);
	return ret;
}

/* Room for lengths, where it takes little, or only what is used. */
static uint32_t entries_of(const struct sched *s, const struct btf *btf)
{
	uint32_t n = (s->cfg->max_keys + ABI_WHY_KINDS) * s->ncpus;

	if (n > UINT32_MAX / SPREAD || (n > UP_FRONT && !map_setup_on_demand(btf)))
		return n;
	return n > UP_FRONT || n * SPREAD < UP_FRONT ? n * SPREAD : UP_FRONT;
}

int sched_why_configure(struct sched *s, const struct btf *btf)
{
	uint32_t entries = entries_of(s, btf);
	/* Up front as long as it is little: on demand some are refused now and then. */
	bool on_demand = map_setup_on_demand(btf) && entries > UP_FRONT;
	int ret = configure_map(s, "why_cpus", s->ncpus, false);

	for (size_t i = 0; !ret && i < ABI_BANKS; i++) {
		ret = configure_map(s, maps[i], entries, on_demand);
		if (!ret)
			ret = bpf_map__set_value_size(
				bpf_object__find_map_by_name(s->bpf.obj, maps[i]),
				sizeof(struct abi_khead));
	}
	if (!ret)
		ret = configure_map(s, "why_culprits", entries < CULPRITS ? entries : CULPRITS,
				    on_demand);
	if (!ret)
		ret = configure_moves(s);
	if (!ret)
		ret = configure_hooks(s, btf);
	if (!ret)
		ret = configure_switch(s, btf);
	find_lacks(s, btf);
	s->why_pairs = !bpf_test_runs();
	return ret;
}

/* Each CPU's entry begins with where it is told what was stolen from it, and whether it counts by
 * itself. */
static int fill_cpus(const struct sched *s)
{
	const struct bpf_map *m = bpf_object__find_map_by_name(s->bpf.obj, "why_cpus");
	const uint64_t head[] = {(uint64_t)s->why_steal, !s->why_pairs};
	char *entry = calloc(1, bpf_map__value_size(m));
	uint32_t cpu;
	int ret = entry ? 0 : -ENOMEM;

	if (entry)
		memcpy(entry, head, sizeof(head));
	for (cpu = 0; !ret && cpu < s->ncpus; cpu++)
		if (bpf_map_update_elem(bpf_map__fd(m), &cpu, entry, BPF_ANY))
			ret = -errno;
	free(entry);
	return ret;
}

/* What finds no room counts there: sums stay true. */
static int fill_others(const struct sched *s)
{
	const struct abi_khead zero = {0};
	struct abi_key key = {.obj = ABI_OBJ_OTHER};
	size_t i;

	for (i = 0; i < ABI_BANKS; i++)
		for (key.kind = 0; key.kind < ABI_WHY_KINDS; key.kind++)
			for (key.cpu = 0; key.cpu < s->ncpus; key.cpu++)
				if (bpf_map_update_elem(sched_object_map(&s->bpf, maps[i]), &key,
							&zero, BPF_NOEXIST))
					return -errno;
	return 0;
}

int sched_why_fill(const struct sched *s)
{
	int ret = fill_cpus(s);

	return ret ? ret : fill_others(s);
}
