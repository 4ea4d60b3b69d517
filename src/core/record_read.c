// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/record_json.h"

#define RECORD_VERSION 1

void record_init(struct record *r)
{
	*r = (struct record){0};
}

void record_free(struct record *r)
{
	free(r->line);
	arena_free(&r->memory);
	*r = (struct record){0};
}

/* ---- meta ---- */

/* An array of strings, NULL-terminated. */
static const char *const *read_strings(struct json_in *in, const struct json *o, const char *key)
{
	size_t n, i;
	const struct json *one = json_in_array(in, o, key, &n);
	const char **v = json_in_alloc(in, n + 1, sizeof(*v));

	for (i = 0; v && one; one = one->next)
		v[i++] = json_in_text_of(in, one, key);
	return v;
}

static void read_source(struct json_in *in, const struct json *o, void *to)
{
	struct meta_source *out = to;
	const char *state;

	out->name = json_in_text(in, o, "name");
	state = json_in_text(in, o, "state") ?: "";
	out->on = !strcmp(state, "on");
	if (!out->on && strcmp(state, "off"))
		json_in_bad(in, "state", "\"on\" or \"off\"");
	if (out->on)
		out->hooks = read_strings(in, o, "hooks");
	else
		out->why = json_in_text(in, o, "why");
	if (out->on && json_in_has(in, o, "lacks"))
		out->lacks = read_strings(in, o, "lacks");
}

/*
 * Which tables the reports that follow have: also empty ones are shown, of sources that fill them.
 */
static void note_sources(struct record *r)
{
	bool lines = false, watch = false, waits = false;

	for (size_t i = 0; i < r->meta.nsources; i++) {
		const char *name = r->meta.sources[i].on ? r->meta.sources[i].name : "";

		lines |= !strcmp(name, "line");
		watch |= !strcmp(name, "watch");
		waits |= !strcmp(name, "lock") || !strcmp(name, "futex") || !strcmp(name, "synth");
	}
	r->lines_off = !lines;
	r->waits_off = !waits && (lines || watch);
}

/* {"pid":["1","7,9"]}: a label for each time that an option was given. */
static void read_filters(struct json_in *in, const struct json *o, struct meta *m)
{
	const struct json *filters = json_in_object(in, o, "filters"), *option, *one;
	struct label *v;
	size_t n = 0;

	for (option = filters->first; option; option = option->next) {
		if (option->type != JSON_ARRAY)
			json_in_bad(in, "filters", "arrays of texts");
		n += option->n;
	}
	v = json_in_alloc(in, n, sizeof(*v));
	m->filters = v;
	for (option = filters->first; v && option; option = option->next)
		for (one = option->first; one && !in->error; one = one->next)
			v[m->nfilters++] =
				(struct label){option->key, json_in_text_of(in, one, "filters")};
}

static void read_machine(struct json_in *in, const struct json *o, struct meta *m)
{
	struct meta_machine *v = json_in_alloc(in, 1, sizeof(*v));
	const struct json *flaws = json_in_object(in, o, "vulnerabilities");
	struct label *l;

	if (in->error)
		return;
	v->cpu = json_in_text_or_null(in, o, "cpu");
	v->governor = json_in_text_or_null(in, o, "governor");
	v->mitigations = read_strings(in, o, "mitigations");
	l = json_in_alloc(in, flaws->n, sizeof(*l));
	v->nvulnerabilities = json_in_labels(in, o, "vulnerabilities", l, UINT32_MAX, "");
	v->vulnerabilities = l;
	m->machine = v;
}

static void read_options(struct json_in *in, const struct json *o, struct meta *m)
{
	struct meta_options *v = json_in_alloc(in, 1, sizeof(*v));

	if (!v)
		return;
	v->by = json_in_text_or_null(in, o, "by");
	v->interval_ns = json_in_u64(in, o, "interval_ns");
	v->precision = json_in_u32(in, o, "precision");
	v->percentiles = read_strings(in, o, "percentiles");
	m->options = v;
}

static void read_meta(struct json_in *in, const struct json *o, struct meta *m)
{
	const char *addresses;

	m->version = json_in_text(in, o, "version");
	m->kernel = json_in_text(in, o, "kernel");
	m->cpus = json_in_u32(in, o, "cpus");
	m->argv = read_strings(in, o, "argv");
	m->start = json_in_time(in, o, "start");
	m->sources = json_in_rows(in, o, "sources", &m->nsources, sizeof(*m->sources), NULL,
				  read_source);
	read_filters(in, o, m);
	if (json_in_has(in, o, "options"))
		read_options(in, json_in_object(in, o, "options"), m);
	if (json_in_has(in, o, "machine"))
		read_machine(in, json_in_object(in, o, "machine"), m);
	m->hidden = json_in_has(in, o, "addresses");
	addresses = m->hidden ? json_in_text(in, o, "addresses") : NULL;
	if (addresses && strcmp(addresses, "hidden"))
		json_in_bad(in, "addresses", "'hidden'");
}

/* ---- reports ---- */

static void read_quality(struct json_in *in, const struct json *o, struct quality *q)
{
	const struct json *longest;
	const char *comm;

	json_in_fields(in, o, &quality_edge_fields, q);
	json_in_fields(in, o, &quality_fields, q);
	if (!q->in_flight)
		return;
	longest = json_in_object(in, o, "in_flight_longest");
	q->longest_tid = json_in_u32(in, longest, "tid");
	comm = json_in_text(in, longest, "comm");
	if (comm)
		memcpy(q->longest_comm, comm, strnlen(comm, sizeof(q->longest_comm)));
}

static void read_report(struct json_in *in, const struct json *o, struct record *r)
{
	struct frame *f = &r->frame;
	const struct json *part;

	f->type = r->type == RECORD_FINAL ? FRAME_FINAL : FRAME_INTERVAL;
	f->seq = json_in_u64(in, o, "seq");
	f->time = json_in_time(in, o, "ts");
	f->mono_ns = json_in_u64(in, o, "mono_ns");
	f->dur_ns = json_in_u64(in, o, "dur_ns");
	if (r->type == RECORD_FINAL)
		f->end = json_in_text_or_null(in, o, "end");
	json_in_metrics(in, o, f);
	part = json_in_object(in, o, "tables");
	if (json_in_has(in, part, "times")) /* older versions do not tell */
		json_in_times(in, part, f);
	f->why = json_in_has(in, part, "culprits");
	if (f->why)
		json_in_culprits(in, part, f);
	if (json_in_has(in, part, "contended")) {
		f->contends = !r->waits_off;
		f->lines = !r->lines_off;
		json_in_contended(in, part, f);
	}
	read_quality(in, json_in_object(in, o, "quality"), &f->quality);
	part = json_in_object(in, o, "self");
	f->self.bpf_known = json_in_given(in, part, "bpf_ns_per_event");
	if (f->self.bpf_known) /* else it was not measured yet */
		json_in_fields(in, part, &self_fields, &f->self);
}

/* ---- slow waits ---- */

static void read_legs(struct json_in *in, const struct json *o, struct slow *w)
{
	const struct json *part;

	w->has_legs = json_in_has(in, o, "wake_to_queue_ns");
	if (w->has_legs) {
		w->wake_to_queue_ns = json_in_u64(in, o, "wake_to_queue_ns");
		w->queue_to_run_ns = json_in_u64(in, o, "queue_to_run_ns");
	}
	part = json_in_object_or_null(in, o, "waker");
	if (part)
		w->waker = json_in_text(in, part, "kind");
	if (w->waker && !strcmp(w->waker, "task")) {
		w->waker_pid = json_in_u32(in, part, "pid");
		w->waker_tid = json_in_u32(in, part, "tid");
		w->waker_comm = json_in_text(in, part, "comm");
	}
	part = json_in_object_or_null(in, o, "prev");
	if (part) {
		w->prev_pid = json_in_u32(in, part, "pid");
		w->prev_tid = json_in_u32(in, part, "tid");
		w->prev_comm = json_in_text_or_null(in, part, "comm");
	}
	w->migrated = json_in_bool(in, o, "migrated");
	w->last_cpu_known = json_in_given(in, o, "last_cpu");
	if (w->last_cpu_known)
		w->last_cpu = json_in_u32(in, o, "last_cpu");
}

static void read_op(struct json_in *in, const struct json *o, struct slow *w)
{
	struct slow_op *op = json_in_alloc(in, 1, sizeof(*op));

	if (!op)
		return;
	json_in_fields(in, o, &slow_op_fields, op);
	op->has_split = json_in_given(in, o, "blocked_ns");
	if (op->has_split)
		json_in_split(in, o, w->wait_ns, &op->split,
			      "it and run_queue_ns to be parts of wait_ns");
	w->op = op;
}

static void read_held(struct json_in *in, const struct json *o, struct slow *w)
{
	struct slow_held *held = json_in_alloc(in, 1, sizeof(*held));
	uint64_t sum = 0;

	if (!held)
		return;
	json_in_fields(in, o, &slow_held_fields, held);
	if (json_in_has(in, o, "holders"))
		held->holders = json_in_rows(in, o, "holders", &held->nholders,
					     sizeof(*held->holders), &holder_fields, NULL);
	for (size_t i = 0; !in->error && i < held->nholders; i++)
		if (__builtin_add_overflow(sum, held->holders[i].wait_ns, &sum))
			json_in_bad(in, "wait_ns", "a sum below 2^64");
	if (held->nholders && sum != w->wait_ns)
		json_in_bad(in, "holders", "the sum of their wait_ns to be that of the wait");
	if (json_in_has(in, o, "behind"))
		held->behind = json_in_rows(in, o, "behind", &held->nbehind, sizeof(*held->behind),
					    &slow_link_fields, NULL);
	w->held = held;
}

static void read_slow(struct json_in *in, const struct json *o, struct slow *w)
{
	w->time = json_in_time(in, o, "ts");
	json_in_fields(in, o, &slow_fields, w);
	if (json_in_has(in, o, "op"))
		read_op(in, o, w);
	else if (json_in_has(in, o, "addr"))
		read_held(in, o, w);
	else
		read_legs(in, o, w);
	if (json_in_has(in, o, "culprits"))
		json_in_slow_culprits(in, o, w);
}

/* ---- a line ---- */

static void read_record(struct json_in *in, const struct json *o)
{
	static const char *const types[] = {
		[RECORD_META] = "meta",
		[RECORD_INTERVAL] = "interval",
		[RECORD_FINAL] = "final",
		[RECORD_SLOW] = "slow",
	};
	struct record *r = in->record;
	const char *type;
	size_t i = 0;

	if (json_in_u64(in, o, "v") != RECORD_VERSION)
		json_in_bad(in, "v", "1, the version of records that this program reads");
	type = json_in_text(in, o, "type") ?: "";
	while (i < sizeof(types) / sizeof(types[0]) && strcmp(types[i], type))
		i++;
	r->type = (enum record_type)i;
	switch (i) {
	case RECORD_META:
		read_meta(in, o, &r->meta);
		if (!in->error)
			note_sources(r);
		break;
	case RECORD_INTERVAL:
	case RECORD_FINAL:
		read_report(in, o, r);
		break;
	case RECORD_SLOW:
		read_slow(in, o, &r->slow);
		break;
	default:
		r->type = RECORD_META;
		json_in_bad(in, "type", "meta, interval, final or slow");
	}
}

int record_read(struct record *r, const char *line, size_t len, struct err *e)
{
	struct json_in in = {.record = r, .e = e};
	char *own = array_room(r->line, &r->cap, 0, len + 1, 1);
	struct err why = {0};
	const struct json *o;
	int ret;

	arena_reset(&r->memory);
	r->meta = (struct meta){0};
	r->frame = (struct frame){0};
	r->slow = (struct slow){0};
	r->quantiles = NULL;
	r->nquantiles = 0;
	if (!own)
		return err_sys(e, -ENOMEM, "record");
	r->line = own;
	memcpy(own, line, len);
	own[len] = '\0';
	ret = json_read(&o, own, len, &r->memory, &why);
	if (ret)
		return err_set(e, EXIT_FAILED, ret, "record: %s", why.text);
	if (o->type == JSON_OBJECT)
		read_record(&in, o);
	else
		in.error =
			err_set(e, EXIT_FAILED, -EINVAL, "record: expected one JSON object a line");
	return in.error;
}
