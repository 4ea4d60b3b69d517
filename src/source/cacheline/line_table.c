// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "source/cacheline/line_table.h"

#define QUIET_TURNS 30	  /* intervals after which a line that is not contended is forgotten */
#define CONTENDED_MAX 256 /* lines, each named at each report; beyond that quiet ones leave */
#define USES_MAX 128	  /* of a line: threads come and go */

static int compare_line(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct line_key)); /* struct line begins with it */
}

int line_table_open(struct line_table **out, const uint32_t *core_of, uint32_t ncpus,
		    size_t max_lines)
{
	struct line_table *t = calloc(1, sizeof(*t));

	*out = t;
	if (!t)
		return -ENOMEM;
	t->ncpus = ncpus;
	t->words = (ncpus + 63) / 64;
	t->max = max_lines;
	t->core_of = calloc(ncpus, sizeof(*t->core_of));
	if (!t->core_of)
		return -ENOMEM;
	memcpy(t->core_of, core_of, ncpus * sizeof(*core_of));
	return 0;
}

static void latency_free(struct line_use *u)
{
	for (int v = 0; u->latency && v < LINE_VIEWS; v++)
		hist_free(&u->latency[v]);
	free(u->latency);
}

static void use_free(struct line_use *u)
{
	latency_free(u);
	free(u);
}

static void line_free(struct line *l)
{
	struct line_use *u, *next;

	for (u = l->uses; u; u = next) {
		next = u->next;
		use_free(u);
	}
	latency_free(&l->others);
	for (int v = 0; v < LINE_VIEWS; v++) {
		hist_free(&l->latency[v]);
		free(l->cores[v]);
		free(l->cpus[v]);
	}
	free(l);
}

static void free_nothing(void *p)
{
}

void line_table_close(struct line_table *t)
{
	struct line *l, *next;

	if (!t)
		return;
	tdestroy(t->tree, free_nothing); /* the lines go with the list */
	for (l = t->first; l; l = next) {
		next = l->next;
		line_free(l);
	}
	free(t->core_of);
	free(t->scratch);
	free(t);
}

static struct line *line_new(struct line_table *t, const struct line_key *key)
{
	struct line *l = calloc(1, sizeof(*l));
	bool ok = l != NULL;

	for (int v = 0; ok && v < LINE_VIEWS; v++) {
		hist_init(&l->latency[v], ABI_LATENCY_SCHEMA);
		l->cores[v] = calloc(t->words, sizeof(uint64_t));
		l->cpus[v] = calloc(t->words, sizeof(uint64_t));
		ok = l->cores[v] && l->cpus[v];
	}
	if (ok) {
		l->key = *key;
		ok = tsearch(l, &t->tree, compare_line) != NULL;
	}
	if (!ok) {
		if (l)
			line_free(l);
		return NULL;
	}
	l->next = t->first;
	t->first = l;
	t->n++;
	return l;
}

struct line *line_table_find(const struct line_table *t, const struct line_key *key)
{
	void *found = tfind(key, &t->tree, compare_line);

	return found ? *(struct line **)found : NULL;
}

static int line_get(struct line_table *t, const struct line_key *key, struct line **out)
{
	*out = line_table_find(t, key);
	if (*out)
		return 0;
	if (t->n >= t->max) {
		t->dropped++;
		return -ENOSPC;
	}
	*out = line_new(t, key);
	return *out ? 0 : -ENOMEM;
}

static uint32_t offset_of(const struct abi_access_key *key)
{
	return key->addr & ((1U << ABI_LINE_SHIFT) - 1);
}

static struct line_use *use_find(const struct line *l, const struct abi_access_key *key)
{
	struct line_use *u;

	for (u = l->uses; u; u = u->next)
		if (u->tid == key->tid && u->ip == key->ip && u->offset == offset_of(key) &&
		    u->space == key->space)
			return u;
	return NULL;
}

void line_samples_add(struct line_samples *to, const struct line_samples *s)
{
	to->samples += s->samples;
	to->reads += s->reads;
	to->writes += s->writes;
	to->locked += s->locked;
	to->inferred += s->inferred;
	to->told += s->told;
	to->unplaced += s->unplaced;
	to->hitm_local += s->hitm_local;
	to->hitm_remote += s->hitm_remote;
	to->read_bytes |= s->read_bytes;
	to->write_bytes |= s->write_bytes;
}

static struct hist *use_latency(struct line_use *u)
{
	if (!u->latency) {
		u->latency = calloc(LINE_VIEWS, sizeof(*u->latency));
		for (int v = 0; u->latency && v < LINE_VIEWS; v++)
			hist_init(&u->latency[v], ABI_LATENCY_SCHEMA);
	}
	return u->latency;
}

/* A thread's samples are about to join those of the others. */
static void others_note(struct line *l, uint32_t tid)
{
	l->others_many |= l->others.view[LINE_TOTAL].samples && l->others.tid != tid;
	l->others.tid = tid;
}

/* What it had goes to the others; it was not sampled in this interval. */
static void use_leaves(struct line *l, struct line_use **at)
{
	struct line_use *u = *at;

	others_note(l, u->tid);
	line_samples_add(&l->others.view[LINE_TOTAL], &u->view[LINE_TOTAL]);
	if (u->latency && use_latency(&l->others)) /* no memory: the line itself still has them */
		(void)hist_merge(&l->others.latency[LINE_TOTAL], &u->latency[LINE_TOTAL]);
	*at = u->next;
	l->nuses--;
	use_free(u);
}

/* The one with the fewest samples makes room, of those without any in this interval. */
static bool make_room(struct line *l)
{
	struct line_use **at, **fewest = NULL;

	for (at = &l->uses; *at; at = &(*at)->next)
		if (!(*at)->view[LINE_INTERVAL].samples &&
		    (!fewest ||
		     (*at)->view[LINE_TOTAL].samples < (*fewest)->view[LINE_TOTAL].samples))
			fewest = at;
	if (fewest)
		use_leaves(l, fewest);
	return fewest;
}

/* Without room: the others'. NULL: no memory. */
static struct line_use *use_get(struct line *l, const struct abi_access_key *key)
{
	struct line_use *u = use_find(l, key);

	if (u)
		return u;
	if (l->nuses == USES_MAX && !make_room(l)) {
		others_note(l, key->tid);
		return &l->others;
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->tid = key->tid;
	u->pid = key->pid;
	u->space = key->space;
	u->ip = key->ip;
	u->offset = offset_of(key);
	u->next = l->uses;
	l->uses = u;
	l->nuses++;
	return u;
}

static void set_bit(uint64_t *set, uint32_t bit)
{
	set[bit / 64] |= 1ULL << (bit % 64);
}

int line_table_add(struct line_table *t, const struct line_key *at,
		   const struct abi_access_key *key, const struct abi_access *a)
{
	struct line_samples s = {
		.samples = a->samples,
		.reads = a->reads,
		.writes = a->writes,
		.locked = a->locked,
		.inferred = a->inferred,
		.told = a->told,
		.hitm_local = a->hitm_local,
		.hitm_remote = a->hitm_remote,
		.read_bytes = a->read_bytes,
		.write_bytes = a->write_bytes,
		.unplaced = a->doubt == ABI_ACCESS_LINE ? a->samples : 0,
	};
	uint32_t cpu = key->cpu < t->ncpus ? key->cpu : 0;
	struct line_use *u;
	struct line *l;
	int v, ret;

	ret = line_get(t, at, &l);
	if (ret)
		return ret;
	u = use_get(l, key);
	if (!u)
		return -ENOMEM;
	u->cpu = key->cpu;
	u->back = a->back;
	l->decided |= a->doubt == ABI_ACCESS_MAYBE;
	u->line = key->addr >> ABI_LINE_SHIFT;
	if (a->phys)
		u->phys = a->phys;
	memcpy(u->comm, a->comm, sizeof(a->comm));
	for (v = 0; v < LINE_VIEWS; v++) {
		line_samples_add(&u->view[v], &s);
		line_samples_add(&l->view[v], &s);
		set_bit(l->cpus[v], cpu);
		set_bit(l->cores[v], t->core_of[cpu]);
	}
	l->idle_turns = 0;
	return 0;
}

void line_table_drop_use(struct line *l, struct line_use **at)
{
	struct line_use *u = *at;

	*at = u->next;
	l->nuses--;
	use_free(u);
}

static uint64_t part_of(uint64_t n, double share)
{
	return (uint64_t)((double)n * share + 0.5);
}

int line_table_adopt(struct line_table *t, const struct line *from, const struct line_use *u,
		     double share)
{
	struct abi_access_key key = {
		.addr = u->line << ABI_LINE_SHIFT | u->offset,
		.ip = u->ip,
		.tgid = from->key.tgid,
		.tid = u->tid,
		.cpu = u->cpu,
		.pid = u->pid,
		.space = u->space,
	};
	const struct line_samples *all = &u->view[LINE_TOTAL], *now = &u->view[LINE_INTERVAL];
	struct abi_access a = {.back = u->back, .doubt = ABI_ACCESS_MAYBE};
	struct line_samples earlier;
	struct line_use *to;
	struct line *l;
	int ret;

	memcpy(a.comm, u->comm, sizeof(a.comm));
	a.samples = (__u32)part_of(now->samples, share);
	a.reads = (__u32)part_of(now->reads, share);
	a.writes = (__u32)part_of(now->writes, share);
	a.locked = (__u32)part_of(now->locked, share);
	a.inferred = (__u32)part_of(now->inferred, share);
	a.read_bytes = now->read_bytes;
	a.write_bytes = now->write_bytes;
	ret = line_table_add(t, &from->key, &key, &a);
	if (ret || all->samples == now->samples)
		return ret;
	l = line_table_find(t, &from->key);
	to = l ? use_find(l, &key) : NULL;
	if (!to)
		return 0; /* joined the others */
	earlier = (struct line_samples){
		.samples = part_of(all->samples - now->samples, share),
		.reads = part_of(all->reads - now->reads, share),
		.writes = part_of(all->writes - now->writes, share),
		.locked = part_of(all->locked - now->locked, share),
		.inferred = part_of(all->inferred - now->inferred, share),
		.read_bytes = all->read_bytes,
		.write_bytes = all->write_bytes,
	};
	line_samples_add(&to->view[LINE_TOTAL], &earlier);
	line_samples_add(&l->view[LINE_TOTAL], &earlier);
	return 0;
}

static int add_latency(struct hist *h, const struct abi_latency *a)
{
	int ret = 0;

	if (!h->count || a->min < h->min_ns)
		h->min_ns = a->min;
	if (!h->count || a->max > h->max_ns)
		h->max_ns = a->max;
	h->sum_ns += a->sum;
	for (uint32_t slot = 0; !ret && slot < ABI_LATENCY_SLOTS; slot++)
		ret = hist_add_slot(h, slot, a->slots[slot]);
	return ret;
}

int line_table_add_latency(struct line_table *t, const struct line_key *at,
			   const struct abi_access_key *key, const struct abi_latency *a)
{
	struct line **found = tfind(at, &t->tree, compare_line);
	struct line_use *u = found ? use_find(*found, key) : NULL;
	struct hist *latency;
	int v, ret = 0;

	if (found && !u && (*found)->others.view[LINE_INTERVAL].samples)
		u = &(*found)->others;
	if (!u)
		return 0;
	latency = use_latency(u);
	if (!latency)
		return -ENOMEM;
	for (v = 0; !ret && v < LINE_VIEWS; v++) {
		ret = add_latency(&latency[v], a);
		if (!ret)
			ret = add_latency(&(*found)->latency[v], a);
	}
	return ret;
}

static void use_forget_view(struct line_use *u, enum line_view v)
{
	memset(&u->view[v], 0, sizeof(u->view[v]));
	if (u->latency)
		hist_reset(&u->latency[v]);
}

static void forget_view(struct line_table *t, struct line *l, enum line_view v)
{
	struct line_use *u;

	for (u = l->uses; u; u = u->next)
		use_forget_view(u, v);
	use_forget_view(&l->others, v);
	memset(&l->view[v], 0, sizeof(l->view[v]));
	memset(l->cores[v], 0, t->words * sizeof(uint64_t));
	memset(l->cpus[v], 0, t->words * sizeof(uint64_t));
	hist_reset(&l->latency[v]);
	l->pairs[v] = l->changes[v] = 0;
}

void line_table_begin(struct line_table *t)
{
	struct line *l;

	for (l = t ? t->first : NULL; l; l = l->next) {
		if (l->view[LINE_INTERVAL].samples)
			forget_view(t, l, LINE_INTERVAL);
		l->idle_turns++;
	}
}

void line_table_forget(struct line_table *t)
{
	struct line *l;

	if (!t)
		return;
	for (l = t->first; l; l = l->next)
		forget_view(t, l, LINE_TOTAL);
	t->dropped = 0;
	t->rest = (struct line_samples){0};
}

static void line_leaves(struct line_table *t, struct line **at)
{
	struct line *l = *at;

	*at = l->next;
	(void)tdelete(l, &t->tree, compare_line); /* it is there */
	line_free(l);
	t->n--;
}

/* The samples that a quiet contended line must have to stay, so that `n` of them leave. */
static uint64_t samples_to_stay(const struct line_table *t, size_t n)
{
	uint64_t less = 0, more = UINT64_MAX, mid;
	const struct line *l;
	size_t leave;

	while (less < more) { /* the least bound that lets n of them go */
		mid = less + (more - less) / 2;
		leave = 0;
		for (l = t->first; l; l = l->next)
			leave += l->idle_turns >= QUIET_TURNS && l->view[LINE_TOTAL].samples < mid;
		if (leave < n)
			less = mid + 1;
		else
			more = mid;
	}
	return less;
}

/* An eighth at a time, so that it is not done at each interval. */
static void trim_contended(struct line_table *t, size_t contended, size_t quiet)
{
	size_t many = contended - CONTENDED_MAX + CONTENDED_MAX / 8;
	uint64_t stay = samples_to_stay(t, many < quiet ? many : quiet);
	struct line **at = &t->first, *l;

	while ((l = *at)) {
		if (l->idle_turns < QUIET_TURNS || l->view[LINE_TOTAL].samples >= stay) {
			at = &l->next;
			continue;
		}
		line_samples_add(&t->rest, &l->view[LINE_TOTAL]);
		line_leaves(t, at);
	}
}

void line_table_end(struct line_table *t)
{
	struct line **at = t ? &t->first : NULL, *l;
	size_t contended = 0, quiet = 0;

	while (at && (l = *at)) {
		bool is_contended = line_contended(t, l, LINE_TOTAL);

		if (l->idle_turns >= QUIET_TURNS && !is_contended) {
			line_leaves(t, at);
			continue;
		}
		contended += is_contended;
		quiet += l->idle_turns >= QUIET_TURNS;
		at = &l->next;
	}
	if (contended > CONTENDED_MAX && quiet)
		trim_contended(t, contended, quiet);
}
