// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/cacheline/line_model.h"
#include "source/sys/cpus.h"
#include "source/inodes/ext4_places.h"

#define LINES_MAX 262144
#define MEMBERS_MAX 16
#define OTHERS "(others)" /* threads and code that found no room on their line */

/* ---- life ---- */

/* First CPU of each CPU's core, by sysfs; a CPU that says nothing is its own core. */
int line_model_table(struct line_table **out, uint32_t ncpus)
{
	uint32_t *core = calloc(ncpus, sizeof(*core)), c;
	char path[96];
	int ret;

	if (!core)
		return -ENOMEM;
	for (c = 0; c < ncpus; c++) {
		FILE *f;

		core[c] = c;
		(void)snprintf(path, sizeof(path),
			       "/sys/devices/system/cpu/cpu%u/topology/core_cpus_list", c);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%u", &core[c]) != 1 || core[c] >= ncpus)
			core[c] = c;
		fclose(f);
	}
	ret = line_table_open(out, core, ncpus, LINES_MAX);
	free(core);
	return ret;
}

int line_model_open(struct line_model *m, uint32_t ncpus)
{
	int ret = line_model_table(&m->table, ncpus);

	m->ncpus = ncpus;
	return ret ? ret : numa_open(&m->numa, NUMA_SYSTEM, ncpus);
}

int line_model_names(struct line_model *m, struct names_shared *names, struct err *e)
{
	m->places = ext4_places_new();
	return m->places ? names_borrow(names, &m->names, e) : err_sys(e, -ENOMEM, "names");
}

void line_model_lend(struct line_model *to, const struct line_model *from)
{
	to->names = from->names;
	to->places = from->places;
	to->lent = true;
}

void line_model_close(struct line_model *m)
{
	line_table_close(m->table);
	numa_close(m->numa);
	if (!m->lent)
		ext4_places_close(m->places);
	arena_free(&m->arena);
}

void line_model_report(struct line_model *m)
{
	arena_reset(&m->arena);
	if (!m->lent)
		ext4_places_begin(m->places);
}

/* ---- rows ---- */

static void name_data(struct line_model *m, const struct line *l, struct name_process who,
		      uint64_t addr, struct name *out)
{
	struct kernel_hint none = {0};

	if (line_is_kernels(l))
		names_kernel_data(m->names, addr, &none, out);
	else
		names_user_data(m->names, who, addr, out);
}

void line_model_code(struct line_model *m, const struct line_use *u, uint64_t ip, struct name *out)
{
	if (ip & KERNEL_HALF) {
		names_kernel_code(m->names, ip, out);
		return;
	}
	names_user_code(m->names, (struct name_process){u->pid, u->space}, ip, NAME_INSN, 0, out);
	name_add_place(out);
}

static const struct hist *not_empty(const struct hist *h)
{
	return h && h->count ? h : NULL;
}

static int fill_threads(struct line_model *m, const struct line_thread_sum *sums, size_t n,
			struct line_accesses *a)
{
	struct line_thread *out = arena_take(&m->arena, n * sizeof(*out));

	if (!out)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		out[k] = (struct line_thread){
			.pid = sums[k].pid,
			.tid = sums[k].tid,
			.cpu = sums[k].cpu,
			.comm = arena_text(&m->arena, sums[k].comm),
			.samples = sums[k].s.samples,
			.writes = sums[k].s.writes,
			.read_bytes = sums[k].s.read_bytes,
			.write_bytes = sums[k].s.write_bytes,
		};
	a->threads = out;
	a->nthreads = n;
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct line_spot *x = a, *y = b;

	if (!x->ip != !y->ip) /* the others last */
		return x->ip ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->reads + x->writes != y->reads + y->writes)
		return x->reads + x->writes < y->reads + y->writes ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int fill_use(struct line_model *m, const struct line *l, const struct line_use *u,
		    enum line_view v, struct line_spot *out)
{
	const struct line_samples *n = &u->view[v];
	uint64_t bytes = n->read_bytes | n->write_bytes;
	struct name name;

	*out = (struct line_spot){
		.offset = u->offset,
		.tid = u->tid,
		.ip = u->ip - u->back,
		.samples = n->samples,
		.reads = n->reads,
		.writes = n->writes,
		.locked = n->locked,
		.hitm = line_hitm_of(n),
		.latency = not_empty(u->latency ? &u->latency[v] : NULL),
	};
	if (u == &l->others) {
		out->name = out->sym = OTHERS;
		out->tid = 0;
		out->offset = bytes ? (uint32_t)__builtin_ctzll(bytes) : 0;
	}
	out->size = bytes ? 64 - (uint32_t)__builtin_clzll(bytes) - out->offset : 0;
	if (u == &l->others)
		return 0;
	name_data(m, l, (struct name_process){u->pid, u->space}, line_address(u) + out->offset,
		  &name);
	out->name = arena_text(&m->arena, name.text);
	line_model_code(m, u, out->ip, &name);
	out->sym = arena_text(&m->arena, name.text);
	return out->name && out->sym ? 0 : -ENOMEM;
}

/* c2c's second level: offset, then code and thread. */
static int fill_uses(struct line_model *m, const struct line *l, enum line_view v,
		     struct line_accesses *a)
{
	struct line_spot *out;
	const struct line_use *u;
	size_t n = 0;
	int ret = 0;

	for (u = l->uses; u; u = u->next)
		n += u->view[v].samples > 0;
	n += l->others.view[v].samples > 0;
	out = arena_take(&m->arena, n * sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (n = 0, u = l->uses; !ret && u; u = u->next)
		if (u->view[v].samples)
			ret = fill_use(m, l, u, v, &out[n++]);
	if (!ret && l->others.view[v].samples)
		ret = fill_use(m, l, &l->others, v, &out[n++]);
	qsort(out, n, sizeof(*out), by_offset);
	a->uses = out;
	a->nuses = n;
	return ret;
}

/* Of the memory: that of the use sampled most of those whose page is known. */
static int32_t memory_node(struct line_model *m, const struct line *l, enum line_view v)
{
	const struct line_use *u, *best = NULL;

	for (u = l->uses; u; u = u->next)
		if (u->phys && u->view[v].samples &&
		    (!best || u->view[v].samples > best->view[v].samples))
			best = u;
	return best ? numa_of_memory(m->numa, best->phys) : -1;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int fill_nodes(struct line_model *m, const struct line *l, enum line_view v,
		      struct line_accesses *a)
{
	uint32_t *out, cpu;
	size_t n = 0, k, kept = 0;

	a->memory_node = -1;
	if (!numa_many(m->numa))
		return 0;
	out = arena_take(&m->arena, m->ncpus * sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (cpu = 0; cpu < m->ncpus; cpu++) {
		bool touched = l->cpus[v][cpu / 64] >> (cpu % 64) & 1;
		int32_t node = touched ? numa_of_cpu(m->numa, cpu) : -1;

		if (node >= 0)
			out[n++] = (uint32_t)node;
	}
	qsort(out, n, sizeof(*out), compare_u32);
	for (k = 0; k < n; k++)
		if (!kept || out[kept - 1] != out[k])
			out[kept++] = out[k];
	a->nodes = out;
	a->nnodes = kept;
	a->memory_node = memory_node(m, l, v);
	return 0;
}

static int compare_site(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (!x->ip != !y->ip) /* the others last */
		return x->ip ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->sym, y->sym);
}

/* The code alone, of all threads and offsets together. */
static int fill_sites(struct line_model *m, const struct line_accesses *a, struct contended *c)
{
	struct site *out = arena_take(&m->arena, a->nuses * sizeof(*out));
	size_t k, at, n = 0;

	if (!out)
		return -ENOMEM;
	for (k = 0; k < a->nuses; k++) {
		const struct line_spot *u = &a->uses[k];

		for (at = 0; at < n && strcmp(out[at].sym, u->sym); at++)
			;
		if (at == n)
			out[n++] = (struct site){.ip = u->ip, .sym = u->sym};
		out[at].count += u->samples;
	}
	qsort(out, n, sizeof(*out), compare_site);
	c->sites = out;
	c->nsites = n;
	return 0;
}

static int fill_members(struct line_model *m, const struct name *name, uint64_t addr,
			struct contended *c)
{
	struct name_member found[MEMBERS_MAX];
	struct line_member *out;
	size_t k, n;

	if (!name->object)
		return 0;
	n = names_members_on_line(m->names, name->type, name->object, addr, found, MEMBERS_MAX);
	out = arena_take(&m->arena, n * sizeof(*out));
	if (n && !out)
		return -ENOMEM;
	for (k = 0; k < n; k++)
		out[k] = (struct line_member){
			.name = arena_text(&m->arena, found[k].name),
			.offset = found[k].offset,
			.size = found[k].size,
			.hot = found[k].hot,
		};
	c->members = out;
	c->nmembers = n;
	return 0;
}

static const char *const sharing_words[] = {
	[SHARING_NONE] = NULL,
	[SHARING_FALSE] = "false",
	[SHARING_TRUE] = "true",
};

/* What its main thread is called, not one of the others; NULL: not known. */
static const char *process_comm(struct line_model *m, const struct line_accesses *a, uint32_t pid)
{
	char comm[64];

	for (size_t k = 0; k < a->nthreads; k++)
		if (a->threads[k].tid == pid && a->threads[k].pid == pid)
			return a->threads[k].comm;
	return names_process_comm(m->names, pid, comm, sizeof(comm)) ? NULL
								     : arena_text(&m->arena, comm);
}

/* 1: a short watch saw somebody write to it who has no sample there. */
static uint32_t written_unseen(const struct line *l, const struct line_accesses *a)
{
	for (size_t k = 0; k < a->nthreads; k++)
		if (a->threads[k].tid == l->written_by)
			return 0;
	return l->written_by != 0;
}

static int describe(struct line_model *m, const struct line *l, enum line_view v,
		    struct name_process who, struct contended *c)
{
	const struct line_accesses *a = c->accesses;
	struct name name;
	int ret;

	name_data(m, l, who, c->addr, &name);
	c->name = arena_text(&m->arena, name.text);
	if (name.place[0])
		c->place = arena_text(&m->arena, ext4_place(m->places, &name.inode, name.place));
	if (!line_is_kernels(l) && a->nthreads)
		c->owner = process_comm(m, a, who.pid);
	c->ntasks = a->nthreads + written_unseen(l, a);
	ret = cpus_fill(&m->arena, l->cpus[v], m->ncpus, c);
	if (!ret)
		ret = fill_sites(m, a, c);
	return ret ? ret : fill_members(m, &name, c->addr, c);
}

/* Where a short watch saw it written, of 8 bytes each: who reads others of them does not share. */
static const char *sharing_of(const struct line *l, enum line_view v,
			      const struct line_thread_sum *threads, size_t n)
{
	enum line_sharing found = line_sharing(threads, n);

	if (found != SHARING_NONE || !l->written_by || !n || l->view[v].unplaced)
		return sharing_words[found];
	for (size_t k = 0; k < n; k++)
		if (threads[k].tid != l->written_by && threads[k].s.read_bytes & l->written_bytes)
			return NULL;
	return sharing_words[SHARING_FALSE];
}

int line_model_row(struct line_model *m, const struct line *l, enum line_view v,
		   struct name_process who, struct contended *c, struct line_accesses *a)
{
	size_t n;
	const struct line_thread_sum *threads = line_threads(m->table, l, v, &n);
	int ret;

	c->accesses = a;
	c->count = l->view[v].samples;
	*a = (struct line_accesses){
		.sharing = sharing_of(l, v, threads, n),
		.reads = l->view[v].reads,
		.writes = l->view[v].writes,
		.locked = l->view[v].locked,
		.inferred = l->view[v].inferred,
		.share = -1,
		.interleave = line_interleave(l, v),
		.rank = line_rank(l, v, threads, n),
		.cores = line_cores(m->table, l, v),
		.hitm = line_hitm_of(&l->view[v]),
		.latency = not_empty(&l->latency[v]),
	};
	ret = fill_threads(m, threads, n, a);
	if (!ret)
		ret = fill_uses(m, l, v, a);
	if (!ret)
		ret = fill_nodes(m, l, v, a);
	return ret ? ret : describe(m, l, v, who, c);
}
