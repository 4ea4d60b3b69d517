// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "source/line_table.h"

#define QUIET_TURNS 30 /* intervals after which a line of one thread is forgotten */

struct line_table {
	uint32_t *core_of;
	uint32_t ncpus;
	size_t words; /* of a bit set of CPUs */
	size_t n, max;
	uint64_t dropped;
	void *tree;
	struct line *first;
	struct line_thread_sum *scratch;
	size_t scratch_cap;
};

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

static void use_free(struct line_use *u)
{
	int v;

	for (v = 0; u->latency && v < LINE_VIEWS; v++)
		hist_free(&u->latency[v]);
	free(u->latency);
	free(u);
}

static void line_free(struct line *l)
{
	struct line_use *u, *next;
	int v;

	for (u = l->uses; u; u = next) {
		next = u->next;
		use_free(u);
	}
	for (v = 0; v < LINE_VIEWS; v++) {
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
	int v;

	for (v = 0; ok && v < LINE_VIEWS; v++) {
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

static int line_get(struct line_table *t, const struct line_key *key, struct line **out)
{
	void *found = tfind(key, &t->tree, compare_line);

	if (found) {
		*out = *(struct line **)found;
		return 0;
	}
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
		if (u->tid == key->tid && u->ip == key->ip && u->offset == offset_of(key))
			return u;
	return NULL;
}

static struct line_use *use_get(struct line *l, const struct abi_access_key *key)
{
	struct line_use *u = use_find(l, key);

	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->tid = key->tid;
	u->pid = key->pid;
	u->ip = key->ip;
	u->offset = offset_of(key);
	u->next = l->uses;
	l->uses = u;
	return u;
}

static void samples_add(struct line_samples *to, const struct line_samples *s)
{
	to->samples += s->samples;
	to->reads += s->reads;
	to->writes += s->writes;
	to->locked += s->locked;
	to->inferred += s->inferred;
	to->told += s->told;
	to->hitm_local += s->hitm_local;
	to->hitm_remote += s->hitm_remote;
	to->read_bytes |= s->read_bytes;
	to->write_bytes |= s->write_bytes;
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
	u->line = key->addr >> ABI_LINE_SHIFT;
	if (a->phys)
		u->phys = a->phys;
	memcpy(u->comm, a->comm, sizeof(a->comm));
	for (v = 0; v < LINE_VIEWS; v++) {
		samples_add(&u->view[v], &s);
		samples_add(&l->view[v], &s);
		set_bit(l->cpus[v], cpu);
		set_bit(l->cores[v], t->core_of[cpu]);
	}
	l->idle_turns = 0;
	return 0;
}

static int add_latency(struct hist *h, const struct abi_latency *a)
{
	uint32_t slot;
	int ret = 0;

	if (!h->count || a->min < h->min_ns)
		h->min_ns = a->min;
	if (!h->count || a->max > h->max_ns)
		h->max_ns = a->max;
	h->sum_ns += a->sum;
	for (slot = 0; !ret && slot < ABI_LATENCY_SLOTS; slot++)
		ret = hist_add_slot(h, slot, a->slots[slot]);
	return ret;
}

static struct hist *use_latency(struct line_use *u)
{
	int v;

	if (!u->latency) {
		u->latency = calloc(LINE_VIEWS, sizeof(*u->latency));
		for (v = 0; u->latency && v < LINE_VIEWS; v++)
			hist_init(&u->latency[v], ABI_LATENCY_SCHEMA);
	}
	return u->latency;
}

int line_table_add_latency(struct line_table *t, const struct line_key *at,
			   const struct abi_access_key *key, const struct abi_latency *a)
{
	struct line **found = tfind(at, &t->tree, compare_line);
	struct line_use *u = found ? use_find(*found, key) : NULL;
	struct hist *latency = u ? use_latency(u) : NULL;
	int v, ret = u && !latency ? -ENOMEM : 0;

	if (!latency)
		return ret;
	for (v = 0; !ret && v < LINE_VIEWS; v++) {
		ret = add_latency(&latency[v], a);
		if (!ret)
			ret = add_latency(&(*found)->latency[v], a);
	}
	return ret;
}

static void forget_view(struct line_table *t, struct line *l, enum line_view v)
{
	struct line_use *u;

	for (u = l->uses; u; u = u->next) {
		memset(&u->view[v], 0, sizeof(u->view[v]));
		if (u->latency)
			hist_reset(&u->latency[v]);
	}
	memset(&l->view[v], 0, sizeof(l->view[v]));
	memset(l->cores[v], 0, t->words * sizeof(uint64_t));
	memset(l->cpus[v], 0, t->words * sizeof(uint64_t));
	hist_reset(&l->latency[v]);
	l->pairs[v] = l->changes[v] = 0;
}

void line_table_begin(struct line_table *t)
{
	struct line *l;

	for (l = t->first; l; l = l->next) {
		if (l->view[LINE_INTERVAL].samples)
			forget_view(t, l, LINE_INTERVAL);
		l->idle_turns++;
	}
}

void line_table_forget(struct line_table *t)
{
	struct line *l;

	for (l = t->first; l; l = l->next)
		forget_view(t, l, LINE_TOTAL);
	t->dropped = 0;
}

static bool one_thread(const struct line *l)
{
	const struct line_use *u;

	for (u = l->uses; u; u = u->next)
		if (u->tid != l->uses->tid)
			return false;
	return true;
}

void line_table_end(struct line_table *t)
{
	struct line **link = &t->first, *l;

	while ((l = *link)) {
		if (l->idle_turns < QUIET_TURNS || !one_thread(l)) {
			link = &l->next;
			continue;
		}
		*link = l->next;
		(void)tdelete(l, &t->tree, compare_line); /* it is there */
		line_free(l);
		t->n--;
	}
}

uint64_t line_table_dropped(const struct line_table *t)
{
	return t->dropped;
}

struct line *line_table_first(const struct line_table *t)
{
	return t->first;
}

/* ---- what it means ---- */

static int busiest_first(const void *a, const void *b)
{
	const struct line_thread_sum *x = a, *y = b;

	if (x->s.samples != y->s.samples)
		return x->s.samples < y->s.samples ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Room for as many threads as the line has uses. */
static bool scratch_reserve(struct line_table *t, const struct line *l)
{
	const struct line_use *u;
	struct line_thread_sum *v;
	size_t n = 0;

	for (u = l->uses; u; u = u->next)
		n++;
	if (n <= t->scratch_cap)
		return true;
	v = realloc(t->scratch, 2 * n * sizeof(*v));
	if (!v)
		return false;
	t->scratch = v;
	t->scratch_cap = 2 * n;
	return true;
}

const struct line_thread_sum *line_threads(struct line_table *t, const struct line *l,
					   enum line_view v, size_t *n)
{
	struct line_thread_sum *out;
	const struct line_use *u;
	size_t k;

	*n = 0;
	if (!scratch_reserve(t, l))
		return NULL;
	out = t->scratch;
	for (u = l->uses; u; u = u->next) {
		if (!u->view[v].samples)
			continue;
		for (k = 0; k < *n && out[k].tid != u->tid; k++)
			;
		if (k == *n)
			out[(*n)++] = (struct line_thread_sum){
				.tid = u->tid, .pid = u->pid, .cpu = u->cpu, .comm = u->comm};
		samples_add(&out[k].s, &u->view[v]);
	}
	qsort(out, *n, sizeof(*out), busiest_first);
	return out;
}

uint32_t line_cores(const struct line_table *t, const struct line *l, enum line_view v)
{
	uint32_t n = 0;
	size_t w;

	for (w = 0; w < t->words; w++)
		n += (uint32_t)__builtin_popcountll(l->cores[v][w]);
	return n;
}

void line_turns(struct line *l, uint32_t pairs, uint32_t changes)
{
	int v;

	if (pairs < l->pairs_seen)
		l->pairs_seen = l->changes_seen = 0;
	for (v = 0; v < LINE_VIEWS; v++) {
		l->pairs[v] += pairs - l->pairs_seen;
		l->changes[v] += changes - l->changes_seen;
	}
	l->pairs_seen = pairs;
	l->changes_seen = changes;
}

static bool two_threads(const struct line *l, enum line_view v)
{
	const struct line_use *u, *one = NULL;

	for (u = l->uses; u; u = u->next) {
		if (!u->view[v].samples)
			continue;
		if (one && one->tid != u->tid)
			return true;
		one = u;
	}
	return false;
}

const struct line_use *line_busiest(const struct line *l, enum line_view v)
{
	const struct line_use *u, *best = NULL;

	for (u = l->uses; u; u = u->next)
		if (u->view[v].samples && (!best || u->view[v].samples > best->view[v].samples))
			best = u;
	return best;
}

bool line_contended(struct line_table *t, const struct line *l, enum line_view v)
{
	return l->view[v].writes && line_cores(t, l, v) >= 2 && two_threads(l, v);
}

double line_interleave(const struct line *l, enum line_view v)
{
	return l->pairs[v] ? (double)l->changes[v] / (double)l->pairs[v] : -1;
}

/* Two threads that touch a line at random change places at every second sample. */
#define INTERLEAVE_UNKNOWN 0.5
#define RANK_HITM 1e6  /* above whatever samples can make */
#define RANK_FLOOR 0.1 /* nothing is vetoed: rare samples say little about turns */

double line_rank(const struct line *l, enum line_view v, const struct line_thread_sum *threads,
		 size_t n)
{
	double interleave = line_interleave(l, v), stake;
	uint64_t hitm = l->view[v].hitm_local + l->view[v].hitm_remote;

	if (n < 2)
		return 0;
	if (interleave < 0)
		interleave = INTERLEAVE_UNKNOWN;
	stake = (double)threads[1].s.samples * (RANK_FLOOR + interleave);
	return hitm ? (double)hitm * RANK_HITM + stake : stake;
}

/* Does one write what the other touches? */
static bool overlap(const struct line_samples *a, const struct line_samples *b)
{
	return (a->write_bytes & (b->read_bytes | b->write_bytes)) ||
	       (b->write_bytes & (a->read_bytes | a->write_bytes));
}

enum line_sharing line_sharing(const struct line_thread_sum *threads, size_t n)
{
	bool writer = false;
	size_t a, b;

	for (a = 0; a < n; a++) {
		writer |= threads[a].s.writes > 0;
		for (b = a + 1; b < n; b++)
			if (overlap(&threads[a].s, &threads[b].s))
				return SHARING_TRUE;
	}
	return n > 1 && writer ? SHARING_FALSE : SHARING_NONE;
}
