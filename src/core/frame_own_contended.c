// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the contended table: what they point to is joined, piece by piece. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame_own_inside.h"

/* ---- lists that rows point to: sites, threads, holders ... ---- */

/* Which items of a list are one. What they say is joined by their table. */
struct kind {
	size_t size;
	const struct field_table *fields;	      /* NULL: numbers */
	int (*compare)(const void *a, const void *b); /* 0: one */
	int (*order)(const void *a, const void *b);   /* as a frame has it; NULL: as compare */
	/* What is not in the table, of an item that is a frame's still, and of two that are one. */
	void (*take)(struct frame_own *o, void *item);
	void (*absorb)(struct frame_own *o, void *to, void *later);
};

/* Two lists of ours, in the order of `compare`, become one in `all`: its length. */
static size_t list_merge(struct frame_own *o, const struct kind *k, char *all, char *a,
			 const char *a_end, char *b, const char *b_end)
{
	char *last = NULL;
	size_t n = 0;

	while (a < a_end || b < b_end) {
		bool old = b == b_end || (a < a_end && k->compare(a, b) <= 0);
		char *next = old ? a : b;

		if (!last || k->compare(last, next)) {
			last = all + n++ * k->size;
			memcpy(last, next, k->size);
		} else {
			if (k->absorb)
				k->absorb(o, last, next);
			if (k->fields)
				fields_add(k->fields, last, next);
		}
		a += old ? k->size : 0;
		b += old ? 0 : k->size;
	}
	return n;
}

/* A list of ours, with *n items, and a frame's. The first ones stay in the order they have. */
static void *list_add(struct frame_own *o, const struct kind *k, const void *list, size_t *n,
		      const void *from, size_t more)
{
	char *a = (char *)list, *b, *all;
	size_t size = k->size, i;

	if (!more || o->error)
		return a;
	b = reallocarray(NULL, more, size);
	all = *n ? reallocarray(NULL, *n + more, size) : b;
	if (!b || !all) {
		own_fail(o, -ENOMEM);
		free(all != b ? all : NULL);
		free(b);
		return a;
	}
	memcpy(b, from, more * size);
	for (i = 0; i < more; i++) {
		if (k->fields)
			own_texts(o, k->fields, b + i * size);
		if (k->take)
			k->take(o, b + i * size);
	}
	if (all == b) {
		*n = more;
	} else {
		qsort(a, *n, size, k->compare);
		qsort(b, more, size, k->compare);
		*n = list_merge(o, k, all, a, a + *n * size, b, b + more * size);
		if (k->order)
			qsort(all, *n, size, k->order);
		free(b);
	}
	free(a);
	return all;
}

/* ---- what is in them ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int u32_compare(const void *a, const void *b)
{
	return compare_u64(*(const uint32_t *)a, *(const uint32_t *)b);
}

static const struct kind u32s = {sizeof(uint32_t), NULL, u32_compare};

static int site_compare(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return compare_u64(x->ip, y->ip) ?: strcmp(x->sym, y->sym);
}

static int site_order(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return compare_u64(y->count, x->count) ?: site_compare(a, b);
}

static const struct kind sites = {sizeof(struct site), &site_fields, site_compare, site_order};

static int holder_compare(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return compare_u64(x->pid, y->pid) ?: compare_u64(x->tid, y->tid) ?:
	       x->tid			   ? 0
					   : strcmp(x->comm ?: "", y->comm ?: "");
}

static int holder_order(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return compare_u64(y->wait_ns, x->wait_ns) ?: holder_compare(a, b);
}

static const struct kind holders = {sizeof(struct holder), &holder_fields, holder_compare,
				    holder_order};

static const struct kind members = {sizeof(struct line_member), &member_fields};

static int thread_compare(const void *a, const void *b)
{
	const struct line_thread *x = a, *y = b;

	return compare_u64(x->pid, y->pid) ?: compare_u64(x->tid, y->tid);
}

static int thread_order(const void *a, const void *b)
{
	const struct line_thread *x = a, *y = b;

	return compare_u64(y->samples, x->samples) ?: thread_compare(a, b);
}

static const struct kind threads = {sizeof(struct line_thread), &thread_fields, thread_compare,
				    thread_order};

static void spot_take(struct frame_own *o, void *item)
{
	struct line_spot *s = item;
	const struct hist *latency = s->latency;

	s->latency = NULL;
	own_hist_add(o, &s->latency, latency);
}

static void spot_absorb(struct frame_own *o, void *to, void *later)
{
	struct line_spot *s = to, *l = later;

	s->samples += l->samples;
	s->hitm.told |= l->hitm.told;
	fields_add(&hitm_fields, &s->hitm, &l->hitm);
	own_hist_add(o, &s->latency, l->latency);
	own_hist_free(l->latency);
}

static int spot_compare(const void *a, const void *b)
{
	const struct line_spot *x = a, *y = b;

	return compare_u64(x->offset, y->offset) ?: compare_u64(x->ip, y->ip) ?:
	       compare_u64(x->tid, y->tid);
}

static int spot_order(const void *a, const void *b)
{
	const struct line_spot *x = a, *y = b;

	return compare_u64(x->offset, y->offset) ?: compare_u64(y->samples, x->samples) ?:
	       spot_compare(a, b);
}

static const struct kind spots = {
	sizeof(struct line_spot), &spot_fields, spot_compare, spot_order, spot_take, spot_absorb};

/* ---- rows ---- */

static struct own_row *row_item(struct frame_own *o, const struct contended *c, bool add)
{
	const uint64_t numbers[] = {c->other ? 0 : c->addr, c->pid, c->other};

	o->key_len = 0;
	own_key(o, "c", 1);
	own_key(o, numbers, sizeof(numbers));
	own_key_text(o, c->source);
	own_key_text(o, c->kind);
	own_key_text(o, c->accesses ? NULL : wait_class_words[contended_class(c)]);
	own_key_text(o, c->group.key);
	own_key_text(o, c->group.key ? c->group.value : NULL);
	return own_item(o, &o->rows, sizeof(struct own_row), add);
}

const struct contended *frame_own_find_row(struct frame_own *o, const struct contended *c)
{
	const struct own_row *row = row_item(o, c, false);

	return row ? &o->frame.contended[row - (struct own_row *)o->rows.v] : NULL;
}

/* A share of 0 to 1, or below 0: not known. */
static double share_add(double a, double a_weight, double b, double b_weight)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return own_mean(a, a_weight, b, b_weight);
}

static void accesses_add(struct frame_own *o, struct own_row *row, const struct line_accesses *a,
			 uint64_t dur_ns)
{
	struct own_accesses *own = row->accesses ?: arena_take(&o->kept, sizeof(*own));
	struct line_accesses *to, copy = *a;
	double before;

	if (!own) {
		own_fail(o, -ENOMEM);
		return;
	}
	to = &own->a;
	own_texts(o, &accesses_fields, &copy);
	if (!row->accesses) {
		own->share = a->share;
		to->interleave = a->interleave;
		to->memory_node = -1;
		row->accesses = own;
		row->c.accesses = to;
	} else if (to->sharing && !strcmp(to->sharing, "true")) {
		copy.sharing = NULL; /* it was */
	}
	copy.cores = a->cores > to->cores ? a->cores : to->cores;
	before = (double)(to->reads + to->writes);
	own->share = share_add(own->share, own->share_ns, a->share, (double)dur_ns);
	own->share_ns += (double)dur_ns;
	to->interleave =
		share_add(to->interleave, before, a->interleave, (double)(a->reads + a->writes));
	to->rank += a->rank;
	fields_add(&accesses_fields, to, &copy);
	fields_add(&exact_fields, to, &copy);
	to->bound = a->bound;
	to->foreign = a->foreign; /* of the whole run */
	to->unconfirmed = own_text(o, a->unconfirmed);
	to->memory_node = a->memory_node >= 0 ? a->memory_node : to->memory_node;
	to->hitm.told |= a->hitm.told;
	fields_add(&hitm_fields, &to->hitm, &a->hitm);
	own_hist_add(o, &to->latency, a->latency);
	to->nodes = list_add(o, &u32s, to->nodes, &to->nnodes, a->nodes, a->nnodes);
	to->threads = list_add(o, &threads, to->threads, &to->nthreads, a->threads, a->nthreads);
	to->uses = list_add(o, &spots, to->uses, &to->nuses, a->uses, a->nuses);
}

/* Their sum stays that of the waits, also where only some of the frames have them. */
static void holders_add(struct frame_own *o, struct own_row *row, const struct contended *c)
{
	struct contended *to = &row->c;

	to->holders = list_add(o, &holders, to->holders, &to->nholders, c->holders, c->nholders);
	if (!c->nholders && c->wait) {
		row->unheld.count += c->wait->count;
		row->unheld.wait_ns += c->wait->sum_ns;
	}
	if (!to->nholders || !row->unheld.count)
		return;
	to->holders = list_add(o, &holders, to->holders, &to->nholders, &row->unheld, 1);
	row->unheld = (struct holder){0};
}

void own_row_add(struct frame_own *o, const struct contended *c, uint64_t dur_ns)
{
	struct own_row *row = row_item(o, c, true);
	struct contended copy = *c, *to;

	if (!row)
		return;
	to = &row->c;
	own_texts(o, &contended_fields, &copy);
	own_texts(o, &contended_name_fields, &copy);
	fields_add(&contended_fields, to, &copy);
	fields_add(&contended_name_fields, to, &copy);
	if (c->name)
		to->name_inferred = c->name_inferred;
	to->group.key = own_text(o, c->group.key);
	to->group.value = own_text(o, c->group.value);
	to->op = c->op ? own_text(o, c->op) : to->op;
	to->addr = c->addr;
	to->count += c->count;
	to->ntasks = c->ntasks > to->ntasks ? c->ntasks : to->ntasks; /* at least */
	to->line = c->line ? c->line : to->line;
	own_hist_add(o, &to->wait, c->wait);
	to->cpus = list_add(o, &u32s, to->cpus, &to->ncpus, c->cpus, c->ncpus);
	to->sites = list_add(o, &sites, to->sites, &to->nsites, c->sites, c->nsites);
	holders_add(o, row, c);
	if (c->nmembers) {
		to->nmembers = 0; /* the latest */
		to->members =
			list_add(o, &members, to->members, &to->nmembers, c->members, c->nmembers);
	}
	if (c->futex && !row->futex) {
		row->futex = arena_take(&o->kept, sizeof(*row->futex));
		to->futex = row->futex;
	}
	if (c->futex && row->futex)
		fields_add(&futex_fields, row->futex, c->futex);
	else if (c->futex)
		own_fail(o, -ENOMEM);
	if (c->accesses)
		accesses_add(o, row, c->accesses, dur_ns);
}

static bool holders_subtract(struct contended *from, const struct contended *c)
{
	struct holder *v = (struct holder *)from->holders;
	size_t i, k, left = 0;

	for (i = 0; i < c->nholders; i++) {
		for (k = 0; k < from->nholders && holder_compare(&v[k], &c->holders[i]); k++)
			;
		if (k == from->nholders || !fields_subtract(&holder_fields, &v[k], &c->holders[i]))
			return false;
		if (!v[k].took_ns)
			v[k].took_at = NULL;
	}
	for (k = 0; k < from->nholders; k++)
		if (v[k].count || v[k].wait_ns)
			v[left++] = v[k];
	from->nholders = left;
	if (left)
		qsort(v, left, sizeof(*v), holder_order);
	return true;
}

void own_row_subtract(struct frame_own *o, const struct contended *c)
{
	struct own_row *row = row_item(o, c, false);
	struct futex_counts no_futex = {0};
	struct own_accesses none = {0}, *accesses;

	if (!row) {
		own_fail(o, c->count ? -EINVAL : 0);
		return;
	}
	accesses = row->accesses ?: &none;
	if (__builtin_sub_overflow(row->c.count, c->count, &row->c.count) ||
	    (c->futex && !fields_subtract(&futex_fields, row->futex ?: &no_futex, c->futex)) ||
	    (c->accesses && !fields_subtract(&accesses_fields, &accesses->a, c->accesses)) ||
	    !holders_subtract(&row->c, c))
		own_fail(o, -EINVAL);
	own_hist_subtract(o, row->c.wait, c->wait);
}

void own_rows_rescale(struct frame_own *o, uint32_t schema)
{
	const struct own_row *row = o->rows.v;

	for (size_t i = 0; i < o->rows.n; i++, row++) {
		const struct line_accesses *a = row->c.accesses;

		own_hist_rescale(o, row->c.wait, schema);
		if (!a)
			continue;
		own_hist_rescale(o, a->latency, schema);
		for (size_t k = 0; k < a->nuses; k++)
			own_hist_rescale(o, a->uses[k].latency, schema);
	}
}

void own_rows_view(struct frame_own *o)
{
	struct own_row *row = o->rows.v;
	double whole = (double)o->frame.dur_ns;
	struct contended *v;
	size_t n = 0;

	arena_reset(&o->view);
	v = arena_take(&o->view, (o->rows.n + 1) * sizeof(*v));
	if (!v)
		own_fail(o, -ENOMEM);
	for (size_t i = 0; v && i < o->rows.n; i++, row++) {
		struct own_accesses *a = row->accesses;

		if (o->subtracted && !row->c.count)
			continue; /* nothing came */
		v[n++] = row->c;
		if (!a)
			continue;
		a->a.share = a->share;
		if (a->share > 0 && a->share_ns < whole) /* else nobody touched it */
			a->a.share = a->share * a->share_ns / whole;
	}
	o->frame.contended = v;
	o->frame.ncontended = n;
}

void own_rows_free(struct frame_own *o)
{
	const struct own_row *row = o->rows.v;

	for (size_t i = 0; i < o->rows.n; i++, row++) {
		const struct line_accesses *a = row->c.accesses;

		own_hist_free(row->c.wait);
		free((void *)row->c.cpus);
		free((void *)row->c.sites);
		free((void *)row->c.holders);
		free((void *)row->c.members);
		if (!a)
			continue;
		own_hist_free(a->latency);
		for (size_t k = 0; k < a->nuses; k++)
			own_hist_free(a->uses[k].latency);
		free((void *)a->nodes);
		free((void *)a->threads);
		free((void *)a->uses);
	}
	free(o->rows.v);
}
