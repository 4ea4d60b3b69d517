// SPDX-License-Identifier: GPL-2.0-or-later
/* --slower: a wait for a lock or futex, with --why taken apart (abi_held.h), into struct slow. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/culprit.h"
#include "source/sys/bpf_util.h"
#include "source/sys/cgroup.h"
#include "source/contend/contend.h"

#define HOLDERS_MOST (ABI_HELD_PIECES + 2) /* released, and not known */
#define CHAIN_LINKS (ABI_STRETCHES + 3)

int contend_slow_setup(struct contend *c, struct bpf_object *obj, const struct contend_rodata *ro)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(obj, "slow_events");
	struct bpf_map *work = bpf_object__find_map_by_name(obj, "slow_works");

	*ro->slower = c->cfg->slower;
	*ro->slower_ns = c->cfg->slower_ns;
	*ro->slow_wake_bytes = SLOW_WAKE_BYTES;
	if (!ring || !work)
		return -ENOENT;
	if (c->cfg->slower)
		return bpf_map__set_max_entries(ring, SLOW_RING_BYTES);
	return bpf_map__set_autocreate(ring, false) | bpf_map__set_autocreate(work, false);
}

/* ---- who held it ---- */

static void add_piece(struct holder *h, const struct abi_held_piece *p)
{
	h->wait_ns += p->to_ns - p->from_ns;
	h->took_ns += p->took_ns;
	h->running_ns += p->did.ns[ABI_DID_RUN];
	h->runnable_ns += p->did.ns[ABI_DID_QUEUE];
	h->throttled_ns += p->did.ns[ABI_DID_THROTTLE];
	h->blocked_ns += p->did.ns[ABI_DID_BLOCK];
}

static struct holder holder_of(const struct abi_held_piece *p)
{
	if (p->tid == ABI_HOLDER_READERS)
		return (struct holder){.comm = "(readers)", .count = 1};
	return (struct holder){
		.pid = p->pid, .tid = p->tid, .comm = p->comm[0] ? p->comm : NULL, .count = 1};
}

/* A thread may have held it several times. */
static size_t add_holders(const struct abi_held_slow *r, struct holder *v)
{
	uint64_t rest = r->wait_ns, released = r->released_ns;
	size_t n = 0, i, at;

	for (i = 0; i < r->n && i < ABI_HELD_PIECES; i++) {
		const struct abi_held_piece *p = &r->pieces[i];
		struct holder h = holder_of(p);

		if (p->to_ns - p->from_ns > rest)
			return 0;
		rest -= p->to_ns - p->from_ns;
		for (at = 0; at < n && (v[at].tid != h.tid || v[at].pid != h.pid); at++)
			;
		if (at == n)
			v[n++] = h;
		add_piece(&v[at], p);
	}
	if (released > rest)
		return 0;
	if (released)
		v[n++] = (struct holder){.comm = "(released)", .count = 1, .wait_ns = released};
	if (rest > released)
		v[n++] = (struct holder){.count = 1, .wait_ns = rest - released};
	qsort(v, n, sizeof(*v), holders_longest_first);
	return n;
}

/* Where they took it and gave it up, as the row's stacks say. */
static void add_code(const struct contend_row *row, struct holder *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; v[i].tid && k < row->holders.n; k++) {
			const struct row_holder *one = &row->holders.v[k];

			if (one->tid != v[i].tid)
				continue;
			v[i].took_at = v[i].took_ns ? sites_most(&one->took) : NULL;
			v[i].released_at = sites_most(&one->released);
		}
}

/*
 * ---- the last link of its chain: what the thread waited for itself that held the lock longest,
 * from its log (abi_held.h), as far as that falls into the time that it held it. Whatever is not in
 * the log is said not to be known. ----
 */

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

static int links_longest_first(const void *a, const void *b)
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

/* What `h`, which held it longest, waited for itself; how many. */
static size_t chain(struct contend *c, const struct abi_held_slow *r, const struct holder *h,
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
	qsort(out, to.n, sizeof(*out), links_longest_first);
	return to.n;
}

/* ---- a record ---- */

static int tell(struct contend *c, const struct abi_held_slow *r)
{
	struct holder holders[HOLDERS_MOST];
	struct slow_link links[CHAIN_LINKS];
	struct slow_held held = {.source = c->ops->source->name, .addr = r->addr};
	struct slow w = {.held = &held};
	const struct holder *longest;
	struct contend_row *row;

	row = r->key.obj ? contend_row_described(c, &r->key) : NULL;
	if (row && c->ops->unheld >> row->keyed.key.kind & 1)
		return 0; /* it turned out to have waited for no lock */
	if (row && row->keyed.key.obj != ABI_OBJ_OTHER) {
		held.name = row->name;
		held.place = row->place;
	}
	held.class = c->ops->class ? c->ops->class(row ? row->keyed.key.kind : r->key.kind) : NULL;
	if (c->holders && !(c->ops->unheld >> r->key.kind & 1)) {
		held.nholders = add_holders(r, holders);
		if (row)
			add_code(row, holders, held.nholders);
		held.holders = holders;
		longest = holder_longest(&held);
		if (longest)
			held.nbehind = chain(c, r, longest, links);
		held.behind = links;
	}
	w.mono_ns = bpf_source_time(&c->base, r->end_ns);
	w.time = wall_at(w.mono_ns);
	w.metric = c->ops->metrics[0].name;
	w.kind = c->ops->kind(r->key.kind);
	w.cpu = r->cpu;
	w.pid = r->pid;
	w.tid = r->tid;
	w.comm = r->comm;
	w.cgroup = r->cgroup_id ? cgroup_name(c->base.filters.names, r->cgroup_id) : NULL;
	w.wait_ns = r->wait_ns;
	return c->args.on_slow ? c->args.on_slow(c->args.slow_ctx, &w) : 0;
}

static int on_record(void *ctx, const void *data, size_t len)
{
	struct abi_held_slow r = {0};
	struct contend *c = ctx;
	int ret;

	if (len < offsetof(struct abi_held_slow, pieces))
		return -EINVAL;
	memcpy(&r, data, len < sizeof(r) ? len : sizeof(r));
	r.comm[ABI_COMM_LEN - 1] = '\0';
	ret = contend_describe_later(c); /* what they say of its address */
	return ret ? ret : tell(c, &r);
}

int contend_slow_open(struct contend *c, struct err *e)
{
	int ret;

	if (!c->cfg->slower)
		return 0;
	c->slow = (struct ring){
		.what = "--slower: ring buffer", .fn = on_record, .ctx = c, .most = SLOW_RING_MOST};
	ret = ring_open(&c->slow, bpf_object__find_map_fd_by_name(c->base.obj, "slow_events"), e);
	return ret ? ret : bpf_source_poll(&c->base, ring_fd(&c->slow), e);
}
