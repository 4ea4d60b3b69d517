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

uint64_t culprit_sum(const struct frame *f, const char *kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->nculprits; i++)
		if (!kind || is_kind(&f->culprits[i], kind))
			sum += f->culprits[i].wait_ns;
	return sum;
}
