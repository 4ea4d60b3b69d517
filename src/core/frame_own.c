// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/fields.h"
#include "core/frame_own_inside.h"
#include "core/text.h"

/* ---- texts and keys: one table of byte strings ---- */

static size_t own_place(const struct frame_own *o, const char *bytes, size_t len, uint64_t hash)
{
	size_t at = hash & (o->nplaces - 1);

	for (; o->places[at]; at = (at + 1) & (o->nplaces - 1))
		if (o->places[at]->hash == hash && o->places[at]->len == len &&
		    !memcmp(o->places[at]->bytes, bytes, len))
			break;
	return at;
}

static int own_more_places(struct frame_own *o)
{
	size_t old = o->nplaces, i;
	struct own_entry **from = o->places;

	o->nplaces = old ? 2 * old : 256;
	o->places = calloc(o->nplaces, sizeof(*o->places));
	for (i = 0; o->places && i < old; i++)
		if (from[i])
			o->places[own_place(o, from[i]->bytes, from[i]->len, from[i]->hash)] =
				from[i];
	free(from);
	return o->places ? 0 : -ENOMEM;
}

int own_key_entry(struct frame_own *o, bool add, struct own_entry **out)
{
	size_t at;

	if (add) {
		*out = own_entry(o, o->key, o->key_len);
		return *out ? 0 : -ENOMEM;
	}
	*out = NULL;
	if (!o->nplaces)
		return 0;
	at = own_place(o, o->key, o->key_len, text_hash(o->key, o->key_len));
	if (o->places[at] && o->places[at]->at)
		*out = o->places[at];
	return 0;
}

struct own_entry *own_entry(struct frame_own *o, const char *bytes, size_t len)
{
	uint64_t hash = text_hash(bytes, len);
	struct own_entry *e;
	size_t at;

	if (2 * o->nentries >= o->nplaces && own_more_places(o))
		return NULL;
	at = own_place(o, bytes, len, hash);
	if (o->places[at])
		return o->places[at];
	e = arena_take(&o->kept, sizeof(*e) + len);
	if (!e)
		return NULL;
	e->hash = hash;
	e->len = len;
	memcpy(e->bytes, bytes, len);
	o->places[at] = e;
	o->nentries++;
	return e;
}

int own_text(struct frame_own *o, const char **out, const char *text)
{
	struct own_entry *e = text ? own_entry(o, text, strlen(text) + 1) : NULL;

	*out = e ? e->bytes : NULL;
	return text && !e ? -ENOMEM : 0;
}

int own_key(struct frame_own *o, const void *bytes, size_t len)
{
	char *key = array_room(o->key, &o->key_cap, o->key_len, len, 1);

	if (!key)
		return -ENOMEM;
	o->key = key;
	memcpy(key + o->key_len, bytes, len);
	o->key_len += len;
	return 0;
}

/* ---- histograms ---- */

int own_hist_add(struct hist **p, const struct hist *h)
{
	if (!h)
		return 0;
	if (!*p) {
		*p = malloc(sizeof(**p));
		if (!*p)
			return -ENOMEM;
		hist_init_packed(*p, h->schema);
	}
	return hist_merge(*p, h);
}

void own_hist_free(struct hist *h)
{
	hist_free(h);
	free(h);
}

/* ---- series ---- */

int own_series_key(struct frame_own *o, const struct series *s)
{
	int ret;

	o->key_len = 0;
	ret = own_key(o, "s", 1) ?: own_key(o, s->desc->name, strlen(s->desc->name) + 1);
	for (uint32_t i = 0; i < s->nlabels && !ret; i++) {
		const struct label *l = &s->labels[i];

		if (!series_label_describes(s, i))
			ret = own_key(o, l->key, strlen(l->key) + 1)
				      ?: own_key(o, l->value, strlen(l->value) + 1);
	}
	return ret;
}

/* Its own of that key, *out; NULL: there is none, and `add` was not asked for. */
static int series_find(struct frame_own *o, const struct series *s, bool add,
		       struct own_series **out)
{
	struct own_entry *e = NULL;
	struct own_series *v;
	int ret = own_series_key(o, s) ?: own_key_entry(o, add, &e);

	*out = NULL;
	if (ret || !e)
		return ret;
	if (!e->at) {
		v = array_room(o->series, &o->series_cap, o->nseries, 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		o->series = v;
		v[o->nseries] = (struct own_series){0};
		v[o->nseries].s.desc = metric_keep(s->desc, &o->kept);
		if (!v[o->nseries].s.desc)
			return -ENOMEM;
		e->at = (uint32_t)++o->nseries;
	}
	*out = &o->series[e->at - 1];
	return 0;
}

static bool same_series(const struct series *a, const struct series *b)
{
	if (a->nlabels != b->nlabels || strcmp(a->desc->name, b->desc->name) != 0)
		return false;
	for (uint32_t i = 0; i < a->nlabels; i++)
		if (strcmp(a->labels[i].value, b->labels[i].value) != 0 ||
		    strcmp(a->labels[i].key, b->labels[i].key) != 0)
			return false;
	return true;
}

const struct series *frame_own_find_series(struct frame_own *o, const struct series *s, size_t near)
{
	struct own_series *own;

	if (near < o->frame.nseries && same_series(&o->frame.series[near], s))
		return &o->frame.series[near]; /* a third of the time that its key takes */
	if (o->copied)
		return own_copy_find(o, s);
	return series_find(o, s, false, &own) || !own ? NULL : &o->frame.series[own - o->series];
}

static int series_add(struct frame_own *o, const struct series *s)
{
	struct own_series *to;
	int ret = series_find(o, s, true, &to);

	for (uint32_t i = 0; i < s->nlabels && !ret; i++)
		ret = own_text(o, &to->s.labels[i].key, s->labels[i].key)
			      ?: own_text(o, &to->s.labels[i].value, s->labels[i].value);
	if (ret)
		return ret;
	to->s.nlabels = s->nlabels;
	if (to->s.desc->counter != s->desc->counter)
		return -EINVAL; /* one name, two types: only a damaged record has that */
	to->s.value += s->value;
	if (s->split) {
		to->has_split = true;
		to->split.blocked_ns += s->split->blocked_ns;
		to->split.run_queue_ns += s->split->run_queue_ns;
	}
	return own_hist_add(&to->hist, s->hist);
}

/* ---- quality and cost ---- */

void quality_add(struct quality *to, const struct quality *q)
{
	bool longer = q->longest_ns >= to->longest_ns;
	struct quality longest = longer ? *q : *to;

	fields_add(&quality_fields, to, q);
	fields_add(&quality_edge_fields, to, q);
	to->longest_ns = longest.longest_ns;
	to->longest_tid = longest.longest_tid;
	memcpy(to->longest_comm, longest.longest_comm, sizeof(to->longest_comm));
}

double own_mean(double a, double a_weight, double b, double b_weight)
{
	double all = a_weight + b_weight;

	if (a_weight <= 0)
		return b; /* exactly */
	return (a * a_weight + b * b_weight) / all;
}

/* Shares of time, weighted with it; a cost per event with the number of events. What a record has
 * as null is 0 and has no weight. */
static void self_add(struct frame_own *o, const struct frame *f)
{
	struct self_cost *to = &o->frame.self;
	const struct self_cost *c = &f->self;
	double now = (double)f->dur_ns, events, more;

	to->bpf_denied |= c->bpf_denied;
	if (c->bpf_known || c->user_cpu_ppm > 0) {
		to->user_cpu_ppm = own_mean(to->user_cpu_ppm, o->used_ns, c->user_cpu_ppm, now);
		o->used_ns += now;
	}
	if (!c->bpf_known)
		return;
	events = to->bpf_ns_per_event > 0 ? to->bpf_cpu_ppm * o->costed_ns / to->bpf_ns_per_event
					  : 0;
	more = c->bpf_ns_per_event > 0 ? c->bpf_cpu_ppm * now / c->bpf_ns_per_event : 0;
	to->bpf_ns_per_event = own_mean(to->bpf_ns_per_event, events, c->bpf_ns_per_event, more);
	to->bpf_cpu_ppm = own_mean(to->bpf_cpu_ppm, o->costed_ns, c->bpf_cpu_ppm, now);
	to->bpf_known = true;
	o->costed_ns += now;
}

/* ---- all of it ---- */

struct frame_own *frame_own_new(void)
{
	return calloc(1, sizeof(struct frame_own));
}

/* All but its series. */
static int add_rest(struct frame_own *o, const struct frame *f, enum frame_join how)
{
	struct frame *to = &o->frame;
	int ret = 0;

	self_add(o, f);
	for (size_t i = 0; i < f->ncontended && !ret; i++)
		ret = own_contended_add(o, &f->contended[i], f->dur_ns);
	for (size_t i = 0; i < f->nculprits && !ret; i++)
		ret = own_culprit_add(o, &f->culprits[i]);
	if (how == FRAME_THEN) {
		to->quality.in_flight = to->quality.longest_ns = 0;
		to->quality.longest_tid = 0;
		memset(to->quality.longest_comm, 0, sizeof(to->quality.longest_comm));
	}
	quality_add(&to->quality, &f->quality);
	to->type = f->type;
	to->seq = f->seq;
	to->time = f->time;
	to->mono_ns = f->mono_ns;
	to->dur_ns += f->dur_ns;
	to->last = f->last;
	to->why |= f->why;
	to->contends |= f->contends;
	to->lines |= f->lines;
	return ret ? ret : own_text(o, &to->end, f->end);
}

int frame_own_add(struct frame_own *o, const struct frame *f, enum frame_join how)
{
	int ret = o->copied ? -EINVAL : 0;

	for (size_t i = 0; i < f->nseries && !ret; i++)
		ret = series_add(o, &f->series[i]);
	return ret ? ret : add_rest(o, f, how);
}

struct frame_own *frame_own_copy(const struct frame *f)
{
	struct frame_own *o = frame_own_new();

	if (o && (own_copy_series(o, f) || add_rest(o, f, FRAME_THEN))) {
		frame_own_free(o);
		o = NULL;
	}
	return o;
}

const struct frame *frame_own_view(struct frame_own *o)
{
	struct series *v;

	arena_reset(&o->view);
	o->frame.culprits = o->culprits;
	o->frame.nculprits = o->nculprits;
	if (own_contended_view(o))
		return NULL;
	if (o->copied) {
		o->frame.series = o->copied;
		o->frame.nseries = o->ncopied;
		return &o->frame;
	}
	v = arena_take(&o->view, (o->nseries + 1) * sizeof(*v));
	if (!v)
		return NULL;
	for (size_t i = 0; i < o->nseries; i++) {
		const struct own_series *s = &o->series[i];

		v[i] = s->s;
		v[i].split = s->has_split ? &s->split : NULL;
		v[i].hist = s->hist;
	}
	o->frame.series = v;
	o->frame.nseries = o->nseries;
	return &o->frame;
}

void frame_own_reset(struct frame_own *o)
{
	struct frame_own fresh = {0};

	for (size_t i = 0; i < o->nseries; i++)
		own_hist_free(o->series[i].hist);
	own_contended_free(o);
	free(o->series);
	free(o->contended);
	free(o->culprits);
	free(o->places);
	free(o->key);
	arena_free(&o->kept);
	arena_free(&o->view);
	*o = fresh;
}

void frame_own_free(struct frame_own *o)
{
	if (o)
		frame_own_reset(o);
	free(o);
}
