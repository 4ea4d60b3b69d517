// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why: who held what a row's waits were for. The programs count by row and holder in a map for
 * each bank (bpf/lib/holder.bpf.h). What lies in the bank of an interval that has ended nobody
 * writes: it is taken out. That goes before the rows' own counters are read, so that a row never
 * has less than its holders; what it has more, nobody is known to have held.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "source/contend/contend.h"

#define ROW_HOLDERS_MAX 256 /* threads that a row tells apart */
#define BATCH 256

static const char *const maps[ABI_BANKS] = {"holders_even", "holders_odd"};

struct holders {
	int fds[ABI_BANKS];
	struct abi_holder_key *keys; /* of entries as they were taken out */
	struct abi_holder *values;
	size_t n, keys_cap, values_cap;
	uint32_t batch; /* so many at a time */
	bool goes_on;	/* the interval that the last ones are of */
	uint64_t lost;	/* that a row had no place for, in the interval */
};

/* ---- maps ---- */

int holders_setup(struct contend *c, struct bpf_object *obj)
{
	static const char *const unused[] = {
		"tasks",	"tasks_at",    "tasks_kept",   "vtids",	      "timelines",
		"holders_even", "holders_odd", "holder_works", "holder_over", "held_logs",
		"releases",	"released",    "takes"};
	uint32_t n = c->ncpus * HOLDER_ENTRIES_OF_CPU;
	int ret;

	if (!c->cfg->why)
		return map_setup_leave_out(obj, unused, sizeof(unused) / sizeof(unused[0]));
	ret = map_setup_entries(obj, "timelines", HOLDER_LINES);
	if (!ret && !c->cfg->slower)
		ret = map_setup_create(obj, "held_logs", false);
	for (size_t i = 0; !ret && i < ABI_BANKS; i++)
		ret = map_setup_entries(obj, maps[i], n > HOLDER_ENTRIES ? n : HOLDER_ENTRIES);
	return ret ? ret : ledgers_reuse(c->args.shared, obj);
}

static int make_room(struct holders *h)
{
	void *keys = array_room(h->keys, &h->keys_cap, h->n, h->batch, sizeof(*h->keys));
	void *values = array_room(h->values, &h->values_cap, h->n, h->batch, sizeof(*h->values));

	h->keys = keys ? keys : h->keys;
	h->values = values ? values : h->values;
	return keys && values ? 0 : -ENOMEM;
}

int holders_open(struct contend *c)
{
	struct holders *h;

	if (!c->cfg->why)
		return 0;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	c->holders = h;
	for (size_t i = 0; i < ABI_BANKS; i++)
		h->fds[i] = bpf_object__find_map_fd_by_name(c->base.obj, maps[i]);
	h->batch = BATCH;
	return make_room(h);
}

void holders_close(struct holders *h)
{
	if (!h)
		return;
	free(h->keys);
	free(h->values);
	free(h);
}

/* ---- taken out ---- */

static int take_bank(struct holders *h, int fd)
{
	uint32_t at = 0, next = 0, n;
	bool begun = false;
	int ret = 0;

	while (ret != -ENOENT) {
		if (make_room(h))
			return -ENOMEM;
		n = h->batch;
		ret = bpf_map_lookup_and_delete_batch(fd, begun ? &at : NULL, &next, h->keys + h->n,
						      h->values + h->n, &n, NULL);
		if (ret == -ENOSPC) { /* a bucket of the map holds more */
			h->batch *= 2;
			continue;
		}
		if (ret && ret != -ENOENT)
			return ret;
		h->n += n;
		at = next;
		begun = true;
	}
	return 0;
}

int holders_take(struct holders *h, uint64_t epoch)
{
	int ret = 0;

	for (uint32_t bank = 0; h && !ret && bank < ABI_BANKS; bank++)
		if (counts_bank_ended(bank, epoch))
			ret = take_bank(h, h->fds[bank]);
	return ret;
}

/* ---- into rows ---- */

static void add(struct abi_holder *to, const struct abi_holder *h)
{
	to->count += h->count;
	to->wait_ns += h->wait_ns;
	to->took_ns += h->took_ns;
	for (int i = 0; i < ABI_DIDS; i++)
		to->did.ns[i] += h->did.ns[i];
}

static struct row_holder *row_holder_get(struct row_holders *r, uint32_t tid)
{
	struct row_holder *v;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].tid == tid)
			return &r->v[i];
	if (r->n >= ROW_HOLDERS_MAX)
		return NULL;
	v = array_room(r->v, &r->cap, r->n, 1, sizeof(*v));
	if (!v)
		return NULL;
	r->v = v;
	v[r->n] = (struct row_holder){.tid = tid};
	return &v[r->n++];
}

static void into_row(struct holders *h, struct contend_row *r, uint32_t tid,
		     const struct abi_holder *taken)
{
	struct row_holder *one = row_holder_get(&r->holders, tid);

	if (!one) {
		h->lost += taken->count;
		return;
	}
	add(&one->interval, taken);
	add(&one->total, taken);
	if (!taken->pid)
		return;
	one->pid = taken->pid;
	memcpy(one->comm, taken->comm, sizeof(taken->comm));
}

/* Rows that were merged into "(others)" lose their holders: the merged row does not list any. */
void holders_place(struct contend *c, bool ends)
{
	struct holders *h = c->holders;
	struct keyed_row *k;

	if (!h)
		return;
	for (k = keyed_first(c->keyed); k && !h->goes_on; k = k->next) {
		struct row_holders *r = &((struct contend_row *)k)->holders;

		for (size_t i = 0; i < r->n; i++)
			memset(&r->v[i].interval, 0, sizeof(r->v[i].interval));
	}
	if (!h->goes_on)
		h->lost = 0;
	for (size_t i = 0; i < h->n; i++) {
		struct abi_key key = h->keys[i].row;

		key.cpu = 0;
		contend_join(c, &key);
		k = keyed_find(c->keyed, &key);
		if (k && key.obj != ABI_OBJ_OTHER)
			into_row(h, (struct contend_row *)k, h->keys[i].tid, &h->values[i]);
	}
	h->n = 0;
	h->goes_on = !ends;
}

int holders_describe(struct contend *c, struct contend_row *r, const struct abi_contend_sample *s)
{
	struct row_holder *one = row_holder_get(&r->holders, s->tid);
	const struct code *code;

	if (!one)
		return 0; /* nor is there a place for its waits, which is told */
	code = codes_site(c, s);
	if (!code)
		return -ENOMEM;
	return sites_count(s->role == ABI_ROLE_TOOK ? &one->took : &one->released, code);
}

static void row_holders_clear(struct row_holders *r)
{
	for (size_t i = 0; i < r->n; i++) {
		sites_free(&r->v[i].took);
		sites_free(&r->v[i].released);
	}
	r->n = 0;
}

void row_holders_free(struct row_holders *r)
{
	row_holders_clear(r);
	free(r->v);
	*r = (struct row_holders){0};
}

void holders_forget(struct contend *c)
{
	struct keyed_row *k;

	for (k = c->holders ? keyed_first(c->keyed) : NULL; k; k = k->next)
		row_holders_clear(&((struct contend_row *)k)->holders);
}

uint64_t holders_lost(const struct holders *h)
{
	return h ? h->lost : 0;
}

/* ---- for a frame ---- */

int holders_longest_first(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns < y->wait_ns ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static struct holder shown(const struct row_holder *one, const struct abi_holder *h)
{
	struct holder out = {
		.count = h->count,
		.wait_ns = h->wait_ns,
		.running_ns = h->did.ns[ABI_DID_RUN],
		.runnable_ns = h->did.ns[ABI_DID_QUEUE],
		.throttled_ns = h->did.ns[ABI_DID_THROTTLE],
		.blocked_ns = h->did.ns[ABI_DID_BLOCK],
		.took_ns = h->took_ns,
		.took_at = h->took_ns ? sites_most(&one->took) : NULL,
		.released_at = sites_most(&one->released),
	};

	if (one->tid == ABI_HOLDER_READERS) {
		out.comm = "(readers)";
	} else if (one->tid == ABI_HOLDER_RELEASED) {
		out.comm = "(released)";
	} else {
		out.tid = one->tid;
		out.pid = one->pid;
		out.comm = one->comm[0] ? one->comm : NULL;
	}
	return out;
}

int holders_fill(struct contend *c, const struct contend_row *r, bool total, struct contended *out)
{
	uint64_t sum = out->wait->sum_ns, known = 0, unknown = 0;
	struct holder *v;
	size_t n = 0;

	if (!c->holders || !out->count || c->ops->unheld >> r->keyed.key.kind & 1)
		return 0;
	if (c->ops->unsure >> r->keyed.key.kind & 1 && !r->holders.n)
		return 0;
	v = arena_take(&c->arena, (r->holders.n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < r->holders.n; i++) {
		const struct row_holder *one = &r->holders.v[i];
		const struct abi_holder *h = total ? &one->total : &one->interval;

		if (one->tid == ABI_HOLDER_UNKNOWN) {
			unknown = h->count;
		} else if (h->count) {
			v[n++] = shown(one, h);
			known += h->wait_ns;
		}
	}
	if (known > sum) /* a program was that late: it is not known whose they are */
		n = known = unknown = 0;
	if (known < sum)
		v[n++] = (struct holder){.count = unknown ? unknown : out->count,
					 .wait_ns = sum - known};
	qsort(v, n, sizeof(*v), holders_longest_first);
	out->holders = v;
	out->nholders = n;
	return 0;
}
