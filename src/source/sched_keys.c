// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Groups (--by). The kernel keeps one entry per group and CPU in a map per bank; here they come
 * together into one row per group. Entries only grow: each one's last reading is kept and
 * subtracted.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/sched.h"

#define BATCH 64

/* The non-zero stretch of a histogram's 32-bit slots, as last read. */
struct window {
	uint64_t sum_ns, zero;
	uint32_t first, len;
	uint32_t *slots;
};

struct group {
	struct abi_key key; /* cpu = 0 */
	char comm[ABI_COMM_LEN + 1];
	uint64_t pid;
	char id_text[24], pid_text[24];
	const char *cgroup;
	bool active; /* had samples in this interval */
	struct sched_row row;
	struct group *next; /* all groups, in order of appearance */
};

/* An entry of the kernel's map. */
struct keyed {
	struct abi_key key;
	struct group *group;
	struct window seen[ABI_SCHED_HISTS];
};

struct sched_keys {
	int fds[ABI_BANKS];
	enum by_key by;
	struct cgroup_names *names;
	void *entries[ABI_BANKS]; /* trees of struct keyed */
	void *groups;		  /* tree of struct group */
	struct group *first, **last;
	struct abi_key *batch_keys;
	struct abi_kentry *batch_values;
};

static int compare_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct abi_key)); /* both structs begin with it */
}

int sched_keys_open(struct sched_keys **out, const int map_fds[ABI_BANKS], enum by_key by,
		    struct cgroup_names *names, struct err *e)
{
	struct sched_keys *k = calloc(1, sizeof(*k));

	*out = k;
	if (!k)
		return err_sys(e, -ENOMEM, "--by");
	memcpy(k->fds, map_fds, sizeof(k->fds));
	k->by = by;
	k->names = names;
	k->last = &k->first;
	k->batch_keys = calloc(BATCH, sizeof(*k->batch_keys));
	k->batch_values = calloc(BATCH, sizeof(*k->batch_values));
	if (!k->batch_keys || !k->batch_values)
		return err_sys(e, -ENOMEM, "--by");
	return 0;
}

static struct group *group_get(struct sched_keys *k, const struct abi_key *entry_key)
{
	struct abi_key key = *entry_key;
	struct group *g;
	void *found;

	key.cpu = 0;
	found = tfind(&key, &k->groups, compare_key);
	if (found)
		return *(struct group **)found;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->key = key;
	sched_row_init(&g->row, ABI_KEY_SCHEMA);
	if (!tsearch(g, &k->groups, compare_key)) {
		free(g);
		return NULL;
	}
	if (k->by == BY_CGROUP)
		g->cgroup = cgroup_name(k->names, key.id);
	if (k->by == BY_COMM)
		memcpy(g->comm, key.comm, ABI_COMM_LEN);
	snprintf(g->id_text, sizeof(g->id_text), "%llu", (unsigned long long)key.id);
	*k->last = g;
	k->last = &g->next;
	return g;
}

static struct keyed *keyed_get(struct sched_keys *k, uint32_t bank, const struct abi_key *key)
{
	void *found = tfind(key, &k->entries[bank], compare_key);
	struct keyed *n;

	if (found)
		return *(struct keyed **)found;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->key = *key;
	n->group = group_get(k, key);
	if (!n->group || !tsearch(n, &k->entries[bank], compare_key)) {
		free(n);
		return NULL;
	}
	return n;
}

static uint32_t window_at(const struct window *w, uint32_t slot)
{
	return slot - w->first < w->len ? w->slots[slot - w->first] : 0;
}

/* Remember the slots of k; the stretch only gets longer. */
static int window_keep(struct window *w, const struct abi_khist *k)
{
	uint32_t lo = 0, hi = ABI_KEY_SLOTS, *slots;

	while (hi > lo && !k->slots[hi - 1])
		hi--;
	while (lo < hi && !k->slots[lo])
		lo++;
	if (hi - lo != w->len) {
		slots = realloc(w->slots, (hi - lo) * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		w->slots = slots;
	}
	w->first = lo;
	w->len = hi - lo;
	if (w->len)
		memcpy(w->slots, k->slots + lo, w->len * sizeof(*w->slots));
	w->sum_ns = k->h.sum_ns;
	w->zero = k->h.zero;
	return 0;
}

static int collect_khist(struct hist *to, const struct abi_khist *now, struct window *seen)
{
	uint64_t before = to->count, n;
	uint32_t i, d;
	int ret;

	for (i = 0; i < ABI_KEY_SLOTS; i++) {
		d = now->slots[i] - window_at(seen, i); /* modulo 2^32 */
		if (!d)
			continue;
		ret = hist_add_slot(to, i, d);
		if (ret)
			return ret;
	}
	n = now->h.zero - seen->zero;
	to->zero += n;
	to->count += n;
	to->sum_ns += now->h.sum_ns - seen->sum_ns;
	if (to->count == before)
		return 0;
	if (!before || now->h.min_ns < to->min_ns)
		to->min_ns = now->h.min_ns;
	if (!before || now->h.max_ns > to->max_ns)
		to->max_ns = now->h.max_ns;
	return window_keep(seen, now);
}

static int collect_keyed(struct sched_keys *k, uint32_t bank, const struct abi_key *key,
			 const struct abi_kentry *now, uint64_t epoch)
{
	struct keyed *n = keyed_get(k, bank, key);
	uint32_t m;
	int ret = 0;

	if (!n)
		return -ENOMEM;
	for (m = 0; !ret && m < ABI_SCHED_HISTS; m++) {
		if (!now->hist[m].h.epoch || (epoch && now->hist[m].h.epoch != epoch))
			continue;
		ret = collect_khist(&n->group->row.interval[m], &now->hist[m], &n->seen[m]);
		n->group->active = true;
	}
	if (k->by == BY_PID || k->by == BY_TID) {
		memcpy(n->group->comm, now->head.comm, ABI_COMM_LEN);
		n->group->pid = now->head.pid;
	}
	return ret;
}

/* All entries of one bank's map, some at a time. */
static int collect_bank(struct sched_keys *k, uint32_t bank, uint64_t epoch)
{
	struct abi_key cursor;
	void *in = NULL;
	__u32 n, i;
	int ret = 0, last;

	do {
		n = BATCH;
		last = bpf_map_lookup_batch(k->fds[bank], in, &cursor, k->batch_keys,
					    k->batch_values, &n, NULL);
		if (last && last != -ENOENT)
			return last;
		for (i = 0; !ret && i < n; i++)
			ret = collect_keyed(k, bank, &k->batch_keys[i], &k->batch_values[i], epoch);
		in = &cursor;
	} while (!ret && !last);
	return ret;
}

int sched_keys_collect(struct sched_keys *k, uint64_t epoch, struct err *e)
{
	struct group *g;
	uint32_t bank;
	int m, ret = 0;

	for (g = k->first; g; g = g->next) {
		for (m = 0; g->active && m < SCHED_METRICS; m++)
			hist_reset(&g->row.interval[m]);
		g->active = false;
	}
	for (bank = 0; !ret && bank < ABI_BANKS; bank++)
		if (!epoch || bank == (epoch & 1))
			ret = collect_bank(k, bank, epoch);
	for (g = k->first; !ret && g; g = g->next)
		if (g->active)
			ret = sched_row_finish(&g->row);
	return ret ? err_sys(e, ret, "read the groups of --by") : 0;
}

void sched_keys_forget(struct sched_keys *k)
{
	struct group *g;

	for (g = k->first; g; g = g->next)
		sched_row_reset(&g->row);
}

int sched_keys_push(struct sched_keys *k, struct source_report *r)
{
	struct group *g;
	int ret = 0;

	for (g = k->first; !ret && g; g = g->next) {
		struct label labels[SERIES_LABELS];
		uint32_t n = 0;

		snprintf(g->pid_text, sizeof(g->pid_text), "%llu", (unsigned long long)g->pid);
		if (k->by == BY_PID)
			labels[n++] = (struct label){"pid", g->id_text};
		if (k->by == BY_TID) {
			labels[n++] = (struct label){"tid", g->id_text};
			labels[n++] = (struct label){"pid", g->pid_text};
		}
		if (k->by == BY_CGROUP)
			labels[n++] = (struct label){"cgroup", g->cgroup};
		else
			labels[n++] = (struct label){"comm", g->comm};
		ret = sched_push_row(r, &g->row, labels, n, false);
	}
	return ret;
}

static void free_keyed(void *p)
{
	struct keyed *n = p;
	int m;

	for (m = 0; m < ABI_SCHED_HISTS; m++)
		free(n->seen[m].slots);
	free(n);
}

static void free_nothing(void *p)
{
}

void sched_keys_close(struct sched_keys *k)
{
	struct group *g, *next;
	int b;

	if (!k)
		return;
	for (b = 0; b < ABI_BANKS; b++)
		tdestroy(k->entries[b], free_keyed);
	tdestroy(k->groups, free_nothing); /* they go with the list */
	for (g = k->first; g; g = next) {
		next = g->next;
		sched_row_free(&g->row);
		free(g);
	}
	free(k->batch_keys);
	free(k->batch_values);
	free(k);
}
