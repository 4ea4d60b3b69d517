// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the contended table: what they point to is joined, piece by piece. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/fields.h"
#include "core/frame_own_inside.h"

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* ---- what is in lists ---- */

static int u32_compare(const void *a, const void *b)
{
	return compare_u64(*(const uint32_t *)a, *(const uint32_t *)b);
}

static const struct own_kind u32s = {
	.size = sizeof(uint32_t), .from_size = sizeof(uint32_t), .compare = u32_compare};

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

static const struct own_kind sites = {
	.size = sizeof(struct site),
	.from_size = sizeof(struct site),
	.fields = &site_fields,
	.compare = site_compare,
	.order = site_order,
};

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

static const struct own_kind holders = {
	.size = sizeof(struct holder),
	.from_size = sizeof(struct holder),
	.fields = &holder_fields,
	.compare = holder_compare,
	.order = holder_order,
};

static const struct own_kind members = {
	.size = sizeof(struct line_member),
	.from_size = sizeof(struct line_member),
	.fields = &member_fields,
};

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

static const struct own_kind threads = {
	.size = sizeof(struct line_thread),
	.from_size = sizeof(struct line_thread),
	.fields = &thread_fields,
	.compare = thread_compare,
	.order = thread_order,
};

static int spot_take(struct frame_own *o, void *item)
{
	struct own_spot *s = item;
	const struct hist *latency = s->s.latency;

	s->s.latency = NULL;
	return own_hist_add(&s->latency, latency);
}

static int spot_compare(const void *a, const void *b)
{
	const struct line_spot *x = a, *y = b;

	return compare_u64(x->offset, y->offset) ?: compare_u64(x->ip, y->ip) ?:
	       compare_u64(x->tid, y->tid);
}

static int spot_absorb(struct frame_own *o, void *to, void *later)
{
	struct own_spot *s = to, *l = later;
	int ret;

	s->s.samples += l->s.samples;
	s->s.hitm.told |= l->s.hitm.told;
	fields_add(&hitm_fields, &s->s.hitm, &l->s.hitm);
	ret = own_hist_add(&s->latency, l->latency);
	own_hist_free(l->latency);
	l->latency = NULL;
	return ret;
}

static int spot_order(const void *a, const void *b)
{
	const struct line_spot *x = a, *y = b;

	return compare_u64(x->offset, y->offset) ?: compare_u64(y->samples, x->samples) ?:
	       spot_compare(a, b);
}

static const struct own_kind spots = {
	.size = sizeof(struct own_spot),
	.from_size = sizeof(struct line_spot),
	.fields = &spot_fields,
	.compare = spot_compare,
	.order = spot_order,
	.take = spot_take,
	.absorb = spot_absorb,
};

/* ---- rows ---- */

static int row_key(struct frame_own *o, const struct contended *c)
{
	const char *texts[] = {c->source, c->kind, c->group.key ? c->group.key : "",
			       c->group.key ? c->group.value : ""};
	uint64_t numbers[] = {c->other ? 0 : c->addr, c->pid, c->other};
	int ret;

	o->key_len = 0;
	ret = own_key(o, "c", 1) ?: own_key(o, numbers, sizeof(numbers));
	for (size_t i = 0; i < 4 && !ret; i++)
		ret = own_key(o, texts[i], strlen(texts[i]) + 1);
	return ret;
}

static int row_find(struct frame_own *o, const struct contended *c, bool add,
		    struct own_contended **out)
{
	struct own_entry *e = NULL;
	struct own_contended *v;
	int ret = row_key(o, c) ?: own_key_entry(o, add, &e);

	*out = NULL;
	if (ret || !e)
		return ret;
	if (!e->at) {
		v = array_room(o->contended, &o->contended_cap, o->ncontended, 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		o->contended = v;
		v[o->ncontended] = (struct own_contended){0};
		e->at = (uint32_t)++o->ncontended;
	}
	*out = &o->contended[e->at - 1];
	return 0;
}

const struct contended *frame_own_find_row(struct frame_own *o, const struct contended *c)
{
	struct own_contended *own;

	return row_find(o, c, false, &own) || !own ? NULL : &o->frame.contended[own - o->contended];
}

static int row_head(struct frame_own *o, struct contended *to, const struct contended *c)
{
	struct contended copy = *c;
	int ret = own_texts(o, &contended_fields, &copy) ?:
		  own_texts(o, &contended_name_fields, &copy) ?: own_text(o, &copy.op, c->op) ?:
		  own_text(o, &copy.group.key, c->group.key) ?:
		  own_text(o, &copy.group.value, c->group.value);

	if (ret)
		return ret;
	fields_add(&contended_fields, to, &copy);
	fields_add(&contended_name_fields, to, &copy);
	if (c->name)
		to->name_inferred = c->name_inferred;
	to->group = copy.group;
	to->op = c->op ? copy.op : to->op;
	to->addr = c->addr;
	to->count += c->count;
	to->ntasks = c->ntasks > to->ntasks ? c->ntasks : to->ntasks; /* at least */
	to->line = c->line ? c->line : to->line;
	return 0;
}

/* A share of 0 to 1, or below 0: not known. */
static double share_add(double a, double a_weight, double b, double b_weight)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return own_mean(a, a_weight, b, b_weight);
}

static int accesses_add(struct frame_own *o, struct own_contended *row,
			const struct line_accesses *a, uint64_t dur_ns)
{
	struct line_accesses *to = &row->accesses, copy = *a;
	uint64_t before = to->reads + to->writes;
	int ret = own_texts(o, &accesses_fields, &copy)
			  ?: own_text(o, &copy.unconfirmed, a->unconfirmed);

	if (ret)
		return ret;
	if (!row->has_accesses)
		*to = (struct line_accesses){
			.share = a->share, .interleave = a->interleave, .memory_node = -1};
	else if (to->sharing && !strcmp(to->sharing, "true"))
		copy.sharing = NULL; /* it was */
	copy.cores = a->cores > to->cores ? a->cores : to->cores;
	to->share = share_add(to->share, row->share_ns, a->share, (double)dur_ns);
	to->interleave = share_add(to->interleave, (double)before, a->interleave,
				   (double)(a->reads + a->writes));
	to->rank += a->rank;
	fields_add(&accesses_fields, to, &copy);
	fields_add(&exact_fields, to, &copy);
	to->bound = a->bound;
	to->foreign = a->foreign; /* of the whole run */
	to->unconfirmed = copy.unconfirmed;
	to->memory_node = a->memory_node >= 0 ? a->memory_node : to->memory_node;
	to->hitm.told |= a->hitm.told;
	fields_add(&hitm_fields, &to->hitm, &a->hitm);
	row->share_ns += (double)dur_ns;
	row->has_accesses = true;
	return own_hist_add(&row->latency, a->latency) ?:
	       own_list_add(o, &u32s, &row->nodes, a->nodes, a->nnodes) ?:
	       own_list_add(o, &threads, &row->threads, a->threads, a->nthreads) ?:
	       own_list_add(o, &spots, &row->spots, a->uses, a->nuses);
}

/* Their sum stays that of the waits, also where only some of the frames have them. */
static int holders_add(struct frame_own *o, struct own_contended *to, const struct contended *c)
{
	int ret = own_list_add(o, &holders, &to->holders, c->holders, c->nholders);

	if (!c->nholders && c->wait) {
		to->unheld.count += c->wait->count;
		to->unheld.wait_ns += c->wait->sum_ns;
	}
	if (ret || !to->holders.n || !to->unheld.count)
		return ret;
	ret = own_list_add(o, &holders, &to->holders, &to->unheld, 1);
	to->unheld = (struct holder){0};
	return ret;
}

int own_contended_add(struct frame_own *o, const struct contended *c, uint64_t dur_ns)
{
	struct own_contended *to;
	int ret = row_find(o, c, true, &to);

	if (!ret)
		ret = row_head(o, &to->c, c) ?: own_hist_add(&to->wait, c->wait) ?:
		      own_list_add(o, &u32s, &to->cpus, c->cpus, c->ncpus) ?:
		      own_list_add(o, &sites, &to->sites, c->sites, c->nsites) ?:
		      holders_add(o, to, c);
	if (ret)
		return ret;
	if (c->futex) {
		to->has_futex = true;
		fields_add(&futex_fields, &to->futex, c->futex);
	}
	if (c->nmembers) {
		to->members.n = 0; /* the latest */
		ret = own_list_add(o, &members, &to->members, c->members, c->nmembers);
	}
	return ret || !c->accesses ? ret : accesses_add(o, to, c->accesses, dur_ns);
}

static int view_accesses(struct frame_own *o, const struct own_contended *row, struct contended *to)
{
	struct line_accesses *a = arena_take(&o->view, sizeof(*a));
	struct line_spot *v = arena_take(&o->view, (row->spots.n + 1) * sizeof(*v));
	const struct own_spot *s = row->spots.v;
	double whole = (double)o->frame.dur_ns;

	if (!a || !v)
		return -ENOMEM;
	*a = row->accesses;
	/* In the rest of the time nobody touched it. */
	if (a->share > 0 && row->share_ns < whole)
		a->share = a->share * row->share_ns / whole;
	a->nodes = row->nodes.v;
	a->nnodes = row->nodes.n;
	a->threads = row->threads.v;
	a->nthreads = row->threads.n;
	a->uses = v;
	a->nuses = row->spots.n;
	a->latency = row->latency;
	for (size_t i = 0; i < row->spots.n; i++) {
		v[i] = s[i].s;
		v[i].latency = s[i].latency;
	}
	to->accesses = a;
	return 0;
}

int own_contended_view(struct frame_own *o)
{
	struct contended *v = arena_take(&o->view, (o->ncontended + 1) * sizeof(*v)), *to = v;
	int ret = v ? 0 : -ENOMEM;

	for (size_t i = 0; i < o->ncontended && !ret; i++) {
		const struct own_contended *row = &o->contended[i];

		*to = row->c;
		to->futex = row->has_futex ? &row->futex : NULL;
		to->cpus = row->cpus.v;
		to->ncpus = row->cpus.n;
		to->sites = row->sites.v;
		to->nsites = row->sites.n;
		to->holders = row->holders.v;
		to->nholders = row->holders.n;
		to->members = row->members.v;
		to->nmembers = row->members.n;
		to->wait = row->wait;
		if (row->has_accesses)
			ret = view_accesses(o, row, to);
		to++;
	}
	o->frame.contended = v;
	o->frame.ncontended = v ? (size_t)(to - v) : 0;
	return ret;
}

void own_contended_free(struct frame_own *o)
{
	for (size_t i = 0; i < o->ncontended; i++) {
		struct own_contended *row = &o->contended[i];
		struct own_list *lists[] = {&row->cpus,	   &row->nodes,	  &row->sites,
					    &row->holders, &row->members, &row->threads,
					    &row->spots};
		struct own_spot *s = row->spots.v;

		own_hist_free(row->wait);
		own_hist_free(row->latency);
		for (size_t k = 0; k < row->spots.n; k++)
			own_hist_free(s[k].latency);
		for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
			free(lists[k]->v);
	}
}
