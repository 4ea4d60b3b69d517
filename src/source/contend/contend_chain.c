// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The last link of a slow wait's chain: what the thread waited for itself that held the lock longest,
 * from its log (abi_held.h), as far as that falls into the time that it held it. Whatever is not in
 * the log is said not to be known.
 */
#include <stdlib.h>
#include <string.h>

#include "source/contend/contend.h"

struct links {
	struct slow_link *v;
	size_t n;
};

static uint64_t overlap(const struct abi_stretch *s, const struct abi_held_piece *p)
{
	uint64_t from = s->from_ns > p->from_ns ? s->from_ns : p->from_ns;
	uint64_t to = s->to_ns < p->to_ns ? s->to_ns : p->to_ns;

	return to > from ? to - from : 0;
}

/* What is new; NULL: it joined one that is there. */
static struct slow_link *add(struct links *to, const struct slow_link *link)
{
	size_t i;

	for (i = 0; i < to->n; i++)
		if (!strcmp(to->v[i].kind, link->kind) && to->v[i].tid == link->tid &&
		    to->v[i].addr == link->addr)
			break;
	if (i < to->n) {
		to->v[i].ns += link->ns;
		return NULL;
	}
	to->v[to->n++] = *link;
	return &to->v[i];
}

/* A row of this source; a lock of another has its address alone. Looked for among all rows. */
static const char *name_of(struct contend *c, const struct abi_stretch *s, const char *kind)
{
	struct abi_key key = {.obj = s->obj};
	struct keyed_row *k;

	if (!s->obj || strcmp(kind, c->ops->source->name) != 0)
		return NULL;
	contend_join(c, &key);
	for (k = keyed_first(c->keyed); k; k = k->next)
		if (k->key.obj == key.obj)
			return ((struct contend_row *)k)->name;
	return NULL;
}

static struct slow_link link_of(const struct abi_stretch *s)
{
	static const char *const kinds[] = {
		[ABI_STRETCH_TASK] = "task",
		[ABI_STRETCH_IDLE] = "idle-exit",
		[ABI_STRETCH_LOCK] = "lock",
		[ABI_STRETCH_FUTEX] = "futex",
	};
	const char *kind = s->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[s->kind] : NULL;

	if (!kind)
		return (struct slow_link){0};
	return (struct slow_link){
		.kind = kind,
		.pid = s->pid,
		.tid = s->tid,
		.comm = s->tid && s->comm[0] ? s->comm : NULL,
		.addr = s->addr,
	};
}

static int longest_first(const void *a, const void *b)
{
	const struct slow_link *x = a, *y = b;

	return x->ns < y->ns ? 1 : -(x->ns > y->ns);
}

/* Of stretches for which it was queued, or for which it was not. */
static uint64_t add_stretches(struct contend *c, const struct abi_held_slow *r, bool queued,
			      struct links *to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->log.n && i < ABI_STRETCHES; i++) {
		const struct abi_stretch *s = &r->log.v[i];
		struct slow_link link, *new;
		uint64_t ns = 0;

		for (size_t at = 0; at < r->n && at < ABI_HELD_PIECES; at++)
			if (r->pieces[at].tid == r->log_tid)
				ns += overlap(s, &r->pieces[at]);
		if (!ns || (s->kind <= ABI_STRETCH_IDLE) != queued)
			continue;
		link = link_of(s);
		if (!link.kind)
			continue;
		link.ns = ns;
		new = add(to, &link);
		if (new)
			new->name = name_of(c, s, link.kind);
		sum += ns;
	}
	return sum;
}

size_t contend_chain(struct contend *c, const struct abi_held_slow *r, const struct holder *h,
		     struct slow_link out[CHAIN_LINKS])
{
	struct links to = {.v = out};
	uint64_t sum = 0;

	if (r->log_tid == h->tid)
		sum = add_stretches(c, r, true, &to);
	if (sum > h->runnable_ns) { /* read while it was written */
		to.n = 0;
		sum = 0;
	}
	if (h->runnable_ns > sum)
		(void)add(&to,
			  &(struct slow_link){.kind = "unexplained", .ns = h->runnable_ns - sum});
	if (h->throttled_ns)
		(void)add(&to, &(struct slow_link){.kind = "throttle", .ns = h->throttled_ns});
	sum = r->log_tid == h->tid ? add_stretches(c, r, false, &to) : 0;
	if (!sum && h->blocked_ns)
		(void)add(&to, &(struct slow_link){.kind = "blocked", .ns = h->blocked_ns});
	qsort(out, to.n, sizeof(*out), longest_first);
	return to.n;
}
