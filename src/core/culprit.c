// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/culprit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

static const struct {
	const char *kind;
	const char *words; /* in a table, and in a sentence */
} words[] = {
	{"idle-exit", "way out of idle"}, {"irq", "hard interrupts"},
	{"softirq", "soft interrupts"},	  {"steal", "hypervisor"},
	{"throttle", "out of quota"},	  {"kernel", "kernel: reschedule due"},
	{"unexplained", "unexplained"},
};

static bool is_kind(const struct culprit *k, const char *kind)
{
	return !strcmp(k->kind, kind);
}

const char *culprit_name(const struct culprit *k, char *out, size_t len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_kind(k, words[i].kind)) {
			(void)snprintf(out, len, "(%s)", words[i].words); /* fits */
			return out;
		}
	/* A cgroup's path may be longer than there is room: its start is enough. */
	if (k->pid)
		(void)snprintf(out, len, "%s %" PRIu32, k->comm ? k->comm : "?",
			       k->tid ? k->tid : k->pid);
	else if (k->comm || k->cgroup)
		(void)snprintf(out, len, "%s", k->comm ? k->comm : k->cgroup);
	else
		(void)snprintf(out, len, "(other tasks)");
	return out;
}

const char *holder_name(const struct holder *h)
{
	return h->comm ? h->comm : h->tid ? "?" : "holder not known";
}

const struct culprit *culprit_most(const struct slow *w)
{
	const struct culprit *most = w->culprits;

	for (size_t i = 1; i < w->nculprits; i++)
		if (w->culprits[i].wait_ns > most->wait_ns)
			most = &w->culprits[i];
	return w->nculprits ? most : NULL;
}

const struct holder *holder_longest(const struct slow_held *held)
{
	for (size_t i = 0; i < held->nholders; i++) /* they are sorted */
		if (held->holders[i].tid)
			return &held->holders[i];
	return NULL;
}

/* ---- the verdict ---- */

int culprit_compare(const struct culprit *x, const struct culprit *y)
{
	int order = strcmp(x->kind, y->kind);

	if (!order && x->pid != y->pid)
		order = x->pid < y->pid ? -1 : 1;
	if (!order && x->tid != y->tid)
		order = x->tid < y->tid ? -1 : 1;
	if (!order && !x->pid)
		order = strcmp(x->comm ? x->comm : "", y->comm ? y->comm : "");
	if (!order && !x->pid)
		order = strcmp(x->cgroup ? x->cgroup : "", y->cgroup ? y->cgroup : "");
	return order;
}

static int compare_who(const void *a, const void *b)
{
	return culprit_compare(*(const struct culprit *const *)a,
			       *(const struct culprit *const *)b);
}

/* Who is to blame most, of all who waited together. What is unexplained is nobody. */
static int find_largest(const struct culprit *rows, size_t n, struct culprit *out)
{
	const struct culprit **v = calloc(n + 1, sizeof(*v));
	uint64_t sum = 0;

	*out = (struct culprit){0};
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		v[i] = &rows[i];
	qsort(v, n, sizeof(*v), compare_who);
	for (size_t i = 0; i < n; i++) {
		sum = i && !compare_who(&v[i - 1], &v[i]) ? sum + v[i]->wait_ns : v[i]->wait_ns;
		if (sum > out->wait_ns && !is_kind(v[i], "unexplained")) {
			*out = *v[i];
			out->wait_ns = sum;
		}
	}
	free(v);
	return 0;
}

uint64_t culprit_sum(const struct frame *f, const char *kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->nculprits; i++)
		if (!kind || is_kind(&f->culprits[i], kind))
			sum += f->culprits[i].wait_ns;
	return sum;
}

#define SHARE_BYTES 16

static const char *share(uint64_t part, uint64_t all, char out[SHARE_BYTES])
{
	return format_share(out, SHARE_BYTES, part, all, 1);
}

static char *next_line(struct verdict *v)
{
	return v->line[v->n++];
}

static int say_largest(struct verdict *v, const struct frame *f, uint64_t all)
{
	char name[CULPRIT_NAME_BYTES], percent[SHARE_BYTES], waited[32];
	struct culprit most;
	int ret = find_largest(f->culprits, f->nculprits, &most);

	if (ret || !most.wait_ns)
		return ret;
	(void)snprintf(next_line(v), VERDICT_BYTES,
		       "most of the waiting for a CPU: %s, %s %% of %s",
		       culprit_name(&most, name, sizeof(name)), share(most.wait_ns, all, percent),
		       format_duration(waited, sizeof(waited), all));
	return 0;
}

/* Two of the five lines are left, for what is known of locks. */
int verdict_make(struct verdict *v, const struct frame *f)
{
	uint64_t all = culprit_sum(f, NULL), part;
	char a[SHARE_BYTES], b[SHARE_BYTES];
	int ret;

	v->n = 0;
	if (!f->why || !all)
		return 0;
	ret = say_largest(v, f, all);
	if (ret)
		return ret;
	part = culprit_sum(f, "irq") + culprit_sum(f, "softirq");
	(void)snprintf(next_line(v), VERDICT_BYTES,
		       "interrupts: %s %% of it; taken by the hypervisor: %s %%",
		       share(part, all, a), share(culprit_sum(f, "steal"), all, b));
	(void)snprintf(next_line(v), VERDICT_BYTES, "unexplained: %s %%",
		       share(culprit_sum(f, "unexplained"), all, a));
	return 0;
}
