// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/frame_own_inside.h"
#include "core/text.h"

void own_fail(struct frame_own *o, int error)
{
	o->error = o->error ? o->error : error;
}

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

static bool own_more_places(struct frame_own *o)
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
	return o->places;
}

/* The entry of a byte string, made if there is none; NULL: no memory. */
static struct own_entry *own_entry(struct frame_own *o, const char *bytes, size_t len)
{
	uint64_t hash = text_hash(bytes, len);
	struct own_entry *e = NULL;
	size_t at;

	if (!o->error && (2 * o->nentries < o->nplaces || own_more_places(o))) {
		at = own_place(o, bytes, len, hash);
		if (o->places[at])
			return o->places[at];
		e = arena_take(&o->kept, sizeof(*e) + len);
	}
	if (!e) {
		own_fail(o, -ENOMEM);
		return NULL;
	}
	e->hash = hash;
	e->len = len;
	memcpy(e->bytes, bytes, len);
	o->places[at] = e;
	o->nentries++;
	return e;
}

const char *own_text(struct frame_own *o, const char *text)
{
	struct own_entry *e = text ? own_entry(o, text, strlen(text) + 1) : NULL;

	return e ? e->bytes : NULL;
}

void own_texts(struct frame_own *o, const struct field_table *t, void *item)
{
	for (size_t i = 0; i < t->n; i++) {
		const char **text = (const char **)((char *)item + t->v[i].offset);

		if (t->v[i].type == FIELD_TEXT)
			*text = own_text(o, *text);
	}
}

void own_key(struct frame_own *o, const void *bytes, size_t len)
{
	char *key = array_room(o->key, &o->key_cap, o->key_len, len, 1);

	if (!key) {
		own_fail(o, -ENOMEM);
		return;
	}
	o->key = key;
	memcpy(key + o->key_len, bytes, len);
	o->key_len += len;
}

void own_key_text(struct frame_own *o, const char *text)
{
	text = text ? text : "";
	own_key(o, text, strlen(text) + 1);
}

struct own_entry *own_key_entry(struct frame_own *o, bool add)
{
	size_t at;

	if (add)
		return own_entry(o, o->key, o->key_len);
	if (o->error || !o->nplaces)
		return NULL;
	at = own_place(o, o->key, o->key_len, text_hash(o->key, o->key_len));
	return o->places[at] && o->places[at]->at ? o->places[at] : NULL;
}

void *own_item(struct frame_own *o, struct own_array *a, size_t size, bool add)
{
	struct own_entry *e = own_key_entry(o, add);
	void *v;

	if (!e)
		return NULL;
	if (!e->at) {
		v = array_room(a->v, &a->cap, a->n, 1, size);
		if (!v) {
			own_fail(o, -ENOMEM);
			return NULL;
		}
		a->v = v;
		memset((char *)v + a->n * size, 0, size);
		e->at = (uint32_t)++a->n;
	}
	return (char *)a->v + (e->at - 1) * size;
}

/* ---- histograms ---- */

void own_hist_add(struct frame_own *o, const struct hist **p, const struct hist *h)
{
	struct hist *to = (struct hist *)*p;

	if (!h || o->error)
		return;
	if (!to) {
		to = malloc(sizeof(*to));
		if (!to) {
			own_fail(o, -ENOMEM);
			return;
		}
		hist_init_packed(to, h->schema);
		*p = to;
	}
	own_fail(o, hist_merge(to, h));
}

void own_hist_free(const struct hist *h)
{
	hist_free((struct hist *)h);
	free((void *)h);
}

/* ---- series ---- */

void own_series_key(struct frame_own *o, const struct series *s)
{
	o->key_len = 0;
	own_key(o, "s", 1);
	own_key_text(o, s->desc->name);
	for (uint32_t i = 0; i < s->nlabels; i++)
		if (!series_label_describes(s, i)) {
			own_key_text(o, s->labels[i].key);
			own_key_text(o, s->labels[i].value);
		}
}

const struct series *frame_own_find_series(struct frame_own *o, const struct series *s, size_t near)
{
	const struct series *same = near < o->frame.nseries ? &o->frame.series[near] : NULL;

	/* A third of the time that its key takes. */
	if (same && !strcmp(same->desc->name, s->desc->name) && series_same_labels(same, s))
		return same;
	if (o->copied)
		return own_copy_find(o, s);
	own_series_key(o, s);
	return own_item(o, &o->series, sizeof(*s), false);
}

static void series_add(struct frame_own *o, const struct series *s)
{
	struct series *to;
	struct split *split;

	own_series_key(o, s);
	to = own_item(o, &o->series, sizeof(*to), true);
	if (to && !to->desc)
		to->desc = metric_keep(s->desc, &o->kept);
	if (!to || !to->desc) {
		own_fail(o, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < s->nlabels; i++) {
		to->labels[i].key = own_text(o, s->labels[i].key);
		to->labels[i].value = own_text(o, s->labels[i].value);
	}
	to->nlabels = s->nlabels;
	if (to->desc->counter != s->desc->counter) {
		own_fail(o, -EINVAL); /* one name, two types: only a damaged record has that */
		return;
	}
	to->value += s->value;
	own_hist_add(o, &to->hist, s->hist);
	if (!s->split)
		return;
	split = to->split ? (struct split *)to->split : arena_take(&o->kept, sizeof(*split));
	if (!split) {
		own_fail(o, -ENOMEM);
		return;
	}
	split->blocked_ns += s->split->blocked_ns;
	split->run_queue_ns += s->split->run_queue_ns;
	to->split = split;
}

/* ---- who made tasks wait: a row for each pair of who waited and what for ---- */

/* A process or thread is its number, whatever it is called now; so is one that waited. */
static struct culprit *culprit_item(struct frame_own *o, const struct culprit *c, bool add)
{
	const uint32_t ids[] = {c->pid, c->tid};

	o->key_len = 0;
	own_key(o, "w", 1);
	own_key_text(o, c->kind);
	own_key(o, ids, sizeof(ids));
	if (!c->pid) {
		own_key_text(o, c->comm);
		own_key_text(o, c->cgroup);
	}
	own_key_text(o, c->rt_class);
	own_key(o, &c->priority, sizeof(c->priority));
	if (c->nvictim) {
		own_key_text(o, c->victim[0].key);
		own_key_text(o, c->victim[0].value);
	}
	return own_item(o, &o->culprits, sizeof(*c), add);
}

const struct culprit *frame_own_find_culprit(struct frame_own *o, const struct culprit *c)
{
	return culprit_item(o, c, false);
}

static void culprit_add(struct frame_own *o, const struct culprit *c)
{
	struct culprit *to = culprit_item(o, c, true);

	if (!to)
		return;
	for (uint32_t i = 0; i < c->nvictim; i++) {
		to->victim[i].key = own_text(o, c->victim[i].key);
		to->victim[i].value = own_text(o, c->victim[i].value);
	}
	to->nvictim = c->nvictim;
	to->kind = own_text(o, c->kind);
	to->comm = own_text(o, c->comm);
	to->cgroup = own_text(o, c->cgroup);
	to->rt_class = own_text(o, c->rt_class);
	to->priority = c->priority;
	to->pid = c->pid;
	to->tid = c->tid;
	to->count += c->count;
	to->wait_ns += c->wait_ns;
	for (size_t i = 0; i < CULPRIT_LENGTHS; i++)
		to->length_ns[i] += c->length_ns[i];
}

static void culprits_view(struct frame_own *o)
{
	const struct culprit *all = o->culprits.v;
	struct culprit *left;
	size_t n = 0;

	o->frame.culprits = all;
	o->frame.nculprits = o->culprits.n;
	if (!o->subtracted)
		return;
	left = arena_take(&o->view, (o->culprits.n + 1) * sizeof(*left));
	if (!left) {
		own_fail(o, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < o->culprits.n; i++)
		if (all[i].wait_ns)
			left[n++] = all[i];
	o->frame.culprits = left;
	o->frame.nculprits = n;
}

/* ---- where the time went ---- */

static struct times *times_item(struct frame_own *o, const struct times *t, bool add)
{
	o->key_len = 0;
	own_key(o, "t", 1);
	own_key_text(o, t->of);
	if (t->nlabels) { /* the others describe it */
		own_key_text(o, t->labels[0].key);
		own_key_text(o, t->labels[0].value);
	}
	return own_item(o, &o->times, sizeof(*t), add);
}

struct times *own_times_find(struct frame_own *o, const struct times *t)
{
	return times_item(o, t, false);
}

static void times_add(struct frame_own *o, const struct times *t)
{
	struct times *to = times_item(o, t, true);

	if (!to)
		return;
	fields_add(&times_fields, to, t);
	own_texts(o, &times_fields, to);
	to->nlabels = t->nlabels;
	for (uint32_t i = 0; i < t->nlabels; i++) {
		to->labels[i].key = own_text(o, t->labels[i].key);
		to->labels[i].value = own_text(o, t->labels[i].value);
	}
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
	if (a_weight <= 0)
		return b; /* exactly */
	return (a * a_weight + b * b_weight) / (a_weight + b_weight);
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
static void add_rest(struct frame_own *o, const struct frame *f, enum frame_join how)
{
	struct frame *to = &o->frame;

	self_add(o, f);
	for (size_t i = 0; i < f->ncontended; i++)
		own_row_add(o, &f->contended[i], f->dur_ns);
	for (size_t i = 0; i < f->nculprits; i++)
		culprit_add(o, &f->culprits[i]);
	for (size_t i = 0; i < f->ntimes; i++)
		times_add(o, &f->times[i]);
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
	to->end = own_text(o, f->end);
}

int frame_own_add(struct frame_own *o, const struct frame *f, enum frame_join how)
{
	if (o->copied)
		return -EINVAL;
	for (size_t i = 0; i < f->nseries; i++)
		series_add(o, &f->series[i]);
	add_rest(o, f, how);
	return o->error;
}

struct frame_own *frame_own_copy(const struct frame *f)
{
	struct frame_own *o = frame_own_new();

	if (!o)
		return NULL;
	own_copy_series(o, f);
	add_rest(o, f, FRAME_THEN);
	if (!o->error)
		return o;
	frame_own_free(o);
	return NULL;
}

const struct frame *frame_own_view(struct frame_own *o)
{
	own_rows_view(o);
	if (!o->error)
		metric_share(o->series.v, o->series.n);
	o->frame.series = o->series.v;
	o->frame.nseries = o->series.n;
	o->frame.times = o->times.v;
	o->frame.ntimes = o->times.n;
	culprits_view(o);
	return o->error ? NULL : &o->frame;
}

void frame_own_reset(struct frame_own *o)
{
	const struct series *s = o->series.v;

	for (size_t i = 0; i < o->series.n && !o->copied; i++)
		own_hist_free(s[i].hist);
	if (!o->copied)
		free(o->series.v);
	own_rows_free(o);
	free(o->culprits.v);
	free(o->times.v);
	free(o->places);
	free(o->key);
	arena_free(&o->kept);
	arena_free(&o->view);
	*o = (struct frame_own){0};
}

void frame_own_free(struct frame_own *o)
{
	if (o)
		frame_own_reset(o);
	free(o);
}
