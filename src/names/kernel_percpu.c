// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Per-CPU variables. Their addresses are in no symbol table without CONFIG_KALLSYMS_ALL, but BTF
 * knows where each lies in the section, and the run queue of a CPU is one of them.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "names/kernel.h"

#define TRIES 8 /* a task may have moved to another CPU in between */

static const struct btf_type *section(struct names_kernel *k)
{
	uint32_t id = btf_view_find(&k->btf, ".data..percpu", BTF_KIND_DATASEC);

	return btf_view_type(&k->btf, id);
}

/* The variable at `offset` of the section, or of that name. */
static const struct btf_var_secinfo *find_var(struct names_kernel *k, const char *name,
					      uint64_t offset)
{
	const struct btf_type *sec = section(k);
	const struct btf_var_secinfo *v = sec ? btf_var_secinfos(sec) : NULL;

	for (uint32_t i = 0; sec && i < btf_vlen(sec); i++) {
		if (name ? !strcmp(btf_view_name(&k->btf, btf_view_type(&k->btf, v[i].type)), name)
			 : offset >= v[i].offset && offset - v[i].offset < v[i].size)
			return &v[i];
	}
	return NULL;
}

static uint64_t find_rq(struct names_kernel *k, uint32_t cpu, int64_t cpu_offset)
{
	uint64_t rq;

	for (int i = 0; i < TRIES; i++) {
		rq = peek_rq(&k->peek, cpu);
		if (rq && peek_u32(&k->peek, rq + (uint64_t)cpu_offset) == cpu)
			return rq;
	}
	return 0;
}

static int find_bases(struct names_kernel *k)
{
	const struct btf_var_secinfo *runqueues;
	struct percpu *p = &k->percpu;
	int64_t cpu_offset = kernel_offset(k, "rq", "cpu");
	int ncpus = libbpf_num_possible_cpus();
	uint32_t cpu, known = 0;

	if (!kernel_btf_ready(k) || !section(k))
		return -ENOENT;
	runqueues = find_var(k, "runqueues", 0);
	if (!runqueues || cpu_offset < 0 || ncpus <= 0)
		return -ENOENT;
	p->bases = calloc((size_t)ncpus, sizeof(*p->bases));
	if (!p->bases)
		return -ENOMEM;
	p->ncpus = (uint32_t)ncpus;
	p->size = section(k)->size;
	for (cpu = 0; cpu < p->ncpus; cpu++) {
		uint64_t rq = find_rq(k, cpu, cpu_offset);

		p->bases[cpu] = rq ? rq - runqueues->offset : 0;
		known += rq != 0;
	}
	return known ? 0 : -ENOTSUP;
}

static bool ready(struct names_kernel *k)
{
	if (!k->percpu.state && kernel_peek_ready(k))
		k->percpu.state = find_bases(k) ?: 1;
	return k->percpu.state > 0;
}

/* Such a pointer counts from where the section would be: 0 on x86 until 6.15. */
uint64_t percpu_address(struct names_kernel *k, uint64_t pointer, uint32_t cpu)
{
	uint64_t start = ksyms_ready(k, false) ? ksyms_addr(&k->syms, "__per_cpu_start") : 0;

	if (!pointer || !ready(k) || cpu >= k->percpu.ncpus || !k->percpu.bases[cpu])
		return 0;
	return k->percpu.bases[cpu] + pointer - start;
}

/* "percpu runqueues.__lock (cpu 1)" */
static void name_var(struct names_kernel *k, const struct btf_var_secinfo *var, uint64_t offset,
		     uint32_t cpu, struct name *out)
{
	const struct btf_type *t = btf_view_type(&k->btf, var->type);
	struct member_at m = {0};
	char rest[24] = "";

	if (!t || !btf_is_var(t) ||
	    btf_member_at(&k->btf, t->type, (uint32_t)offset - var->offset, &m))
		m.rest = (uint32_t)offset - var->offset; /* no struct: the whole variable */
	if (m.kind == MEMBER_NONE && m.rest)
		name_print(rest, sizeof(rest), false, "+0x%x", m.rest);
	name_print(out->text, sizeof(out->text), false, "percpu %s%s%s%s (cpu %u)",
		   btf_view_name(&k->btf, t), m.path[0] ? "." : "", m.path, rest, cpu);
	out->found = m.path[0] ? NAME_MEMBER : NAME_OBJECT;
	out->object = k->percpu.bases[cpu] + var->offset;
	t = t ? btf_view_type(&k->btf, btf_view_strip(&k->btf, t->type)) : NULL;
	if (t && btf_is_composite(t))
		name_print(out->type, sizeof(out->type), false, "%s", btf_view_name(&k->btf, t));
}

bool percpu_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	const struct btf_var_secinfo *var;

	if (!ready(k))
		return false;
	for (uint32_t cpu = 0; cpu < k->percpu.ncpus; cpu++) {
		uint64_t base = k->percpu.bases[cpu];

		if (!base || addr < base || addr - base >= k->percpu.size)
			continue;
		*out = (struct name){.found = NAME_REGION};
		var = find_var(k, NULL, addr - base);
		if (var) {
			name_var(k, var, addr - base, cpu, out);
			return true;
		}
		name_print(out->text, sizeof(out->text), false, "percpu+0x%" PRIx64 " (cpu %u)",
			   addr - base, cpu);
		return true;
	}
	return false;
}

void percpu_close(struct percpu *p)
{
	free(p->bases);
	memset(p, 0, sizeof(*p));
}
