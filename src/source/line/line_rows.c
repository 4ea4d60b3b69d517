// SPDX-License-Identifier: GPL-2.0-or-later
/* Contended lines in words: rows of the contended table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/inodes/ext4_places.h"
#include "source/line/line.h"
#include "source/line/line_device.h"

#define MEMBERS_MAX 16
#define OTHERS "(others)" /* threads and code that found no room on their line */

/* As the process of that use sees it. */
static uint64_t line_address(const struct line_use *u)
{
	return u->line << ABI_LINE_SHIFT;
}

int line_open_names(struct line_source *s, struct err *e)
{
	s->places = ext4_places_new();
	return s->places ? names_borrow(s->args.names, &s->names, e) : err_sys(e, -ENOMEM, "names");
}

static bool is_kernels(const struct line *l)
{
	return !l->key.tgid && !l->key.share;
}

static void name_data(struct line_source *s, const struct line *l, uint32_t pid, uint64_t addr,
		      struct name *out)
{
	struct kernel_hint none = {0};

	if (is_kernels(l))
		names_kernel_data(s->names, addr, &none, out);
	else
		names_user_data(s->names, pid, addr, out);
}

static void name_code(struct line_source *s, uint32_t pid, uint64_t ip, struct name *out)
{
	if (ip & KERNEL_HALF)
		names_kernel_code(s->names, ip, out);
	else
		names_user_code(s->names, pid, ip, out);
}

static struct line_hitm hitm_of(const struct line_samples *s)
{
	return (struct line_hitm){s->told > 0, s->hitm_local, s->hitm_remote};
}

static const struct hist *told(const struct hist *h)
{
	return h && h->count ? h : NULL;
}

int line_fill_threads(struct line_source *s, const struct line_thread_sum *sums, size_t n,
		      struct line_accesses *a)
{
	struct line_thread *out = arena_take(&s->arena, n * sizeof(*out));
	size_t k;

	if (!out)
		return -ENOMEM;
	for (k = 0; k < n; k++)
		out[k] = (struct line_thread){
			.pid = sums[k].pid,
			.tid = sums[k].tid,
			.cpu = sums[k].cpu,
			.comm = arena_text(&s->arena, sums[k].comm),
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

static int fill_use(struct line_source *s, const struct line *l, const struct line_use *u,
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
		.hitm = hitm_of(n),
		.latency = told(u->latency ? &u->latency[v] : NULL),
	};
	if (u == &l->others) {
		out->name = out->sym = OTHERS;
		out->tid = 0;
		out->offset = bytes ? (uint32_t)__builtin_ctzll(bytes) : 0;
	}
	out->size = bytes ? 64 - (uint32_t)__builtin_clzll(bytes) - out->offset : 0;
	if (u == &l->others)
		return 0;
	name_data(s, l, u->pid, line_address(u) + out->offset, &name);
	out->name = arena_text(&s->arena, name.text);
	name_code(s, u->pid, out->ip, &name);
	out->sym = arena_text(&s->arena, name.text);
	return out->name && out->sym ? 0 : -ENOMEM;
}

/* c2c's second level: offset, then code and thread. */
int line_fill_uses(struct line_source *s, const struct line *l, enum line_view v,
		   struct line_accesses *a)
{
	struct line_spot *out;
	const struct line_use *u;
	size_t n = 0;
	int ret = 0;

	for (u = l->uses; u; u = u->next)
		n += u->view[v].samples > 0;
	n += l->others.view[v].samples > 0;
	out = arena_take(&s->arena, n * sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (n = 0, u = l->uses; !ret && u; u = u->next)
		if (u->view[v].samples)
			ret = fill_use(s, l, u, v, &out[n++]);
	if (!ret && l->others.view[v].samples)
		ret = fill_use(s, l, &l->others, v, &out[n++]);
	qsort(out, n, sizeof(*out), by_offset);
	a->uses = out;
	a->nuses = n;
	return ret;
}

/* Of the memory: that of the use sampled most of those whose page is known. */
static int32_t memory_node(struct line_source *s, const struct line *l, enum line_view v)
{
	const struct line_use *u, *best = NULL;

	for (u = l->uses; u; u = u->next)
		if (u->phys && u->view[v].samples &&
		    (!best || u->view[v].samples > best->view[v].samples))
			best = u;
	return best ? numa_of_memory(s->numa, best->phys) : -1;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int line_fill_nodes(struct line_source *s, const struct line *l, enum line_view v,
		    struct line_accesses *a)
{
	uint32_t *out, cpu;
	size_t n = 0, k, kept = 0;

	a->memory_node = -1;
	if (!numa_many(s->numa))
		return 0;
	out = arena_take(&s->arena, s->ncpus * sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (cpu = 0; cpu < s->ncpus; cpu++) {
		bool touched = l->cpus[v][cpu / 64] >> (cpu % 64) & 1;
		int32_t node = touched ? numa_of_cpu(s->numa, cpu) : -1;

		if (node >= 0)
			out[n++] = (uint32_t)node;
	}
	qsort(out, n, sizeof(*out), compare_u32);
	for (k = 0; k < n; k++)
		if (!kept || out[kept - 1] != out[k])
			out[kept++] = out[k];
	a->nodes = out;
	a->nnodes = kept;
	a->memory_node = memory_node(s, l, v);
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
static int fill_sites(struct line_source *s, const struct line_accesses *a, struct contended *c)
{
	struct site *out = arena_take(&s->arena, a->nuses * sizeof(*out));
	size_t k, m, n = 0;

	if (!out)
		return -ENOMEM;
	for (k = 0; k < a->nuses; k++) {
		const struct line_spot *u = &a->uses[k];

		for (m = 0; m < n && strcmp(out[m].sym, u->sym); m++)
			;
		if (m == n)
			out[n++] = (struct site){.ip = u->ip, .sym = u->sym};
		out[m].count += u->samples;
	}
	qsort(out, n, sizeof(*out), compare_site);
	c->sites = out;
	c->nsites = n;
	return 0;
}

static int fill_cpus(struct line_source *s, const struct line *l, enum line_view v,
		     struct contended *c)
{
	uint32_t *out = arena_take(&s->arena, s->ncpus * sizeof(*out)), cpu;
	size_t n = 0;

	if (!out)
		return -ENOMEM;
	for (cpu = 0; cpu < s->ncpus; cpu++)
		if (l->cpus[v][cpu / 64] >> (cpu % 64) & 1)
			out[n++] = cpu;
	c->cpus = out;
	c->ncpus = n;
	return 0;
}

static int fill_members(struct line_source *s, const struct name *name, uint64_t addr,
			struct contended *c)
{
	struct name_member found[MEMBERS_MAX];
	struct line_member *out;
	size_t k, n;

	if (!name->object)
		return 0;
	n = names_members_on_line(s->names, name->type, name->object, addr, found, MEMBERS_MAX);
	out = arena_take(&s->arena, n * sizeof(*out));
	if (n && !out)
		return -ENOMEM;
	for (k = 0; k < n; k++)
		out[k] = (struct line_member){
			.name = arena_text(&s->arena, found[k].name),
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

static uint64_t busy_samples(const struct line_source *s, enum line_view v)
{
	return (v == LINE_INTERVAL ? &s->counts.interval : &s->counts.total)->samples;
}

/* A PMU's samples are of accesses, not of time. */
static double share_of(const struct line_source *s, enum line_view v, uint64_t samples)
{
	uint64_t busy = busy_samples(s, v);

	return busy && !s->pmu ? (double)samples / (double)busy : -1;
}

static int fill_accesses(struct line_source *s, const struct line *l, enum line_view v,
			 struct line_accesses *a)
{
	size_t n;
	const struct line_thread_sum *threads = line_threads(s->table, l, v, &n);
	int ret;

	*a = (struct line_accesses){
		.sampler = s->pmu ? s->plan.sampler : "clock",
		.sharing = sharing_words[line_sharing(threads, n)],
		.reads = l->view[v].reads,
		.writes = l->view[v].writes,
		.locked = l->view[v].locked,
		.inferred = l->view[v].inferred,
		.share = share_of(s, v, l->view[v].samples),
		.interleave = line_interleave(l, v),
		.rank = line_rank(l, v, threads, n),
		.cores = line_cores(s->table, l, v),
		.hitm = hitm_of(&l->view[v]),
		.latency = told(&l->latency[v]),
		.unconfirmed = line_confirm_why(s, &l->key),
	};
	ret = line_fill_threads(s, threads, n, a);
	if (!ret)
		ret = line_fill_uses(s, l, v, a);
	return ret ? ret : line_fill_nodes(s, l, v, a);
}

int line_describe(struct line_source *s, const struct line *l, enum line_view v, uint32_t pid,
		  struct contended *c)
{
	const struct line_accesses *a = c->accesses;
	struct name name;
	int ret;

	name_data(s, l, pid, c->addr, &name);
	c->name = arena_text(&s->arena, name.text);
	if (name.place[0])
		c->place = arena_text(&s->arena, ext4_place(s->places, &name.inode, name.place));
	if (!is_kernels(l) && a->nthreads)
		c->owner = a->threads[0].comm;
	c->ntasks = a->nthreads;
	ret = fill_cpus(s, l, v, c);
	if (!ret)
		ret = fill_sites(s, a, c);
	return ret ? ret : fill_members(s, &name, c->addr, c);
}

static int push_line(struct line_source *s, const struct line *l, enum line_view v,
		     struct contended_list *to)
{
	struct line_accesses *a = arena_take(&s->arena, sizeof(*a));
	struct contended c = {.source = "line", .kind = "line", .accesses = a};
	const struct line_use *busiest = line_busiest(l, v);
	int ret;

	if (!a)
		return -ENOMEM;
	c.line = line_address(busiest); /* contended: there is one */
	c.addr = c.line + busiest->offset;
	c.pid = l->key.tgid;
	c.count = l->view[v].samples;
	ret = fill_accesses(s, l, v, a);
	if (ret)
		return ret;
	ret = line_describe(s, l, v, busiest->pid, &c);
	return ret ? ret : contended_push(to, &c);
}

/* One sample in such code is enough: its address is a register's. */
static bool is_device(struct line_source *s, const struct line *l)
{
	const struct line_use *u;
	struct name name;

	if (!is_kernels(l))
		return false;
	for (u = l->uses; u; u = u->next) {
		if (!(u->ip & KERNEL_HALF))
			continue;
		name_code(s, u->pid, u->ip - u->back, &name);
		if (line_device_code(name.text))
			return true;
	}
	return false;
}

/* Contended lines that have left, in one row. */
static int push_rest(struct line_source *s, struct contended_list *to)
{
	const struct line_samples *rest = line_table_rest(s->table);
	struct line_accesses *a = arena_take(&s->arena, sizeof(*a));
	struct contended c = {
		.source = "line",
		.kind = "other",
		.other = true,
		.accesses = a,
		.count = rest->samples,
	};

	if (!rest->samples)
		return 0;
	if (!a)
		return -ENOMEM;
	*a = (struct line_accesses){
		.sampler = s->pmu ? s->plan.sampler : "clock",
		.reads = rest->reads,
		.writes = rest->writes,
		.locked = rest->locked,
		.inferred = rest->inferred,
		.share = share_of(s, LINE_TOTAL, rest->samples),
		.interleave = -1,
		.hitm = hitm_of(rest),
		.memory_node = -1,
	};
	return contended_push(to, &c);
}

int line_push_rows(struct line_source *s, struct source_report *r)
{
	const struct line *l;
	bool now, ever;
	int ret = 0;

	arena_reset(&s->arena);
	ext4_places_begin(s->places);
	for (l = line_table_first(s->table); !ret && l; l = l->next) {
		now = line_contended(s->table, l, LINE_INTERVAL);
		ever = line_contended(s->table, l, LINE_TOTAL);
		if ((!now && !ever) || is_device(s, l))
			continue;
		if (now)
			ret = push_line(s, l, LINE_INTERVAL, &r->interval.contended);
		if (!ret && ever)
			ret = push_line(s, l, LINE_TOTAL, &r->total.contended);
	}
	return ret ? ret : push_rest(s, &r->total.contended);
}
