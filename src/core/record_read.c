// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <json-c/json_tokener.h>
#include <limits.h>
#include <string.h>

#include "core/record_json.h"

#define RECORD_VERSION 1
#define NESTED_MAX 12 /* a record of ours has 9 */

void record_init(struct record *r)
{
	*r = (struct record){0};
}

void record_free(struct record *r)
{
	if (r->parser)
		json_tokener_free(r->parser);
	arena_free(&r->memory);
	*r = (struct record){0};
}

/* ---- meta ---- */

/* An array of texts, NULL-terminated. */
static const char *const *read_texts(struct json_in *in, struct json_object *o, const char *key)
{
	struct json_object *array = json_in_array(in, o, key);
	size_t n = array ? json_object_array_length(array) : 0, i;
	const char **v = json_in_alloc(in, n + 1, sizeof(*v));

	for (i = 0; v && i < n; i++)
		v[i] = json_in_text_of(in, json_object_array_get_idx(array, i), key);
	return v;
}

static void read_source(struct json_in *in, struct json_object *o, struct meta_source *out)
{
	const char *state;

	if (!in->error && !json_object_is_type(o, json_type_object))
		json_in_bad(in, "sources", "objects");
	out->name = json_in_text(in, o, "name");
	state = json_in_text(in, o, "state");
	if (in->error)
		return;
	if (strcmp(state, "on") && strcmp(state, "off")) {
		json_in_bad(in, "state", "\"on\" or \"off\"");
		return;
	}
	out->on = !strcmp(state, "on");
	if (out->on)
		out->hooks = read_texts(in, o, "hooks");
	else
		out->why = json_in_text(in, o, "why");
	if (out->on && json_in_has(o, "lacks"))
		out->lacks = read_texts(in, o, "lacks");
}

static void read_sources(struct json_in *in, struct json_object *o, struct meta *m)
{
	struct json_object *array = json_in_array(in, o, "sources");
	size_t n = array ? json_object_array_length(array) : 0, i;
	struct meta_source *v = json_in_alloc(in, n, sizeof(*v));

	for (i = 0; i < n && !in->error; i++)
		read_source(in, json_object_array_get_idx(array, i), &v[i]);
	m->sources = v;
	m->nsources = n;
}

/* {"pid":["1","7,9"]}: a label for each time that an option was given. */
static void read_filters(struct json_in *in, struct json_object *o, struct meta *m)
{
	struct json_object *filters = json_in_object(in, o, "filters", false);
	struct label *v;
	size_t n = 0, i;

	if (in->error)
		return;
	json_object_object_foreach(filters, key, values)
	{
		(void)key;
		n += json_object_is_type(values, json_type_array) ? json_object_array_length(values)
								  : 0;
	}
	v = json_in_alloc(in, n, sizeof(*v));
	json_object_object_foreach(filters, option, texts)
	{
		if (!json_object_is_type(texts, json_type_array))
			json_in_bad(in, "filters", "arrays");
		for (i = 0; !in->error && i < json_object_array_length(texts); i++) {
			v[m->nfilters].key = json_in_copy(in, option);
			v[m->nfilters++].value =
				json_in_text_of(in, json_object_array_get_idx(texts, i), "filters");
		}
	}
	m->filters = v;
}

static void read_meta(struct json_in *in, struct json_object *o, struct meta *m)
{
	const char *addresses;

	m->version = json_in_text(in, o, "version");
	m->kernel = json_in_text(in, o, "kernel");
	m->cpus = json_in_u32(in, o, "cpus");
	m->argv = read_texts(in, o, "argv");
	m->start = json_in_time(in, o, "start");
	read_sources(in, o, m);
	read_filters(in, o, m);
	m->hidden = json_in_has(o, "addresses");
	addresses = m->hidden ? json_in_text(in, o, "addresses") : NULL;
	if (addresses && strcmp(addresses, "hidden"))
		json_in_bad(in, "addresses", "'hidden'");
}

/* ---- reports ---- */

static void read_quality(struct json_in *in, struct json_object *o, struct quality *q)
{
	struct json_object *longest;
	const char *comm;

	json_in_fields(in, o, &quality_edge_fields, q);
	json_in_fields(in, o, &quality_fields, q);
	if (in->error || !q->in_flight)
		return;
	longest = json_in_object(in, o, "in_flight_longest", false);
	q->longest_tid = json_in_u32(in, longest, "tid");
	comm = json_in_text(in, longest, "comm");
	if (comm)
		memcpy(q->longest_comm, comm, strnlen(comm, sizeof(q->longest_comm)));
}

static void read_self(struct json_in *in, struct json_object *o, struct self_cost *c)
{
	static const struct field rows[] = {
		{"bpf_ns_per_event", FIELD_DECIMAL, FIELD_NEVER_NULL,
		 offsetof(struct self_cost, bpf_ns_per_event)},
		{"bpf_cpu_ppm", FIELD_DECIMAL, FIELD_NEVER_NULL,
		 offsetof(struct self_cost, bpf_cpu_ppm)},
		{"user_cpu_ppm", FIELD_DECIMAL, FIELD_NEVER_NULL,
		 offsetof(struct self_cost, user_cpu_ppm)},
	};
	static const struct field_table fields = {rows, sizeof(rows) / sizeof(rows[0])};

	if (in->error || !json_object_object_get(o, "bpf_ns_per_event"))
		return; /* null: it was not measured yet */
	c->bpf_known = true;
	json_in_fields(in, o, &fields, c);
}

static void read_metrics(struct json_in *in, struct json_object *o, struct frame *f)
{
	struct json_object *array = json_in_array(in, o, "metrics");
	size_t n = array ? json_object_array_length(array) : 0, i;
	struct series *v = json_in_alloc(in, n, sizeof(*v));

	for (i = 0; i < n && !in->error; i++)
		json_in_series(in, json_object_array_get_idx(array, i), &v[i]);
	f->series = v;
	f->nseries = n;
}

static void read_tables(struct json_in *in, struct json_object *o, struct frame *f)
{
	struct json_object *tables = json_in_object(in, o, "tables", false), *array;
	struct contended *v;
	size_t n, i;

	if (in->error || !json_in_has(tables, "contended"))
		return;
	array = json_in_array(in, tables, "contended");
	n = array ? json_object_array_length(array) : 0;
	v = json_in_alloc(in, n, sizeof(*v));
	for (i = 0; i < n && !in->error; i++)
		json_in_contended(in, json_object_array_get_idx(array, i), &v[i]);
	f->contends = f->lines = true;
	f->contended = v;
	f->ncontended = n;
}

static void read_report(struct json_in *in, struct json_object *o, struct record *r)
{
	struct frame *f = &r->frame;
	struct json_object *part;

	f->type = r->type == RECORD_FINAL ? FRAME_FINAL : FRAME_INTERVAL;
	f->seq = json_in_u64(in, o, "seq");
	f->time = json_in_time(in, o, "ts");
	f->mono_ns = json_in_u64(in, o, "mono_ns");
	f->dur_ns = json_in_u64(in, o, "dur_ns");
	if (r->type == RECORD_FINAL)
		f->end = json_in_text_or_null(in, o, "end");
	read_metrics(in, o, f);
	read_tables(in, o, f);
	part = json_in_object(in, o, "quality", false);
	read_quality(in, part, &f->quality);
	part = json_in_object(in, o, "self", false);
	read_self(in, part, &f->self);
}

/* ---- slow waits ---- */

static void read_legs(struct json_in *in, struct json_object *o, struct slow *w)
{
	struct json_object *part;
	struct json_object *last = NULL;

	w->has_legs = json_in_has(o, "wake_to_queue_ns");
	if (w->has_legs) {
		w->wake_to_queue_ns = json_in_u64(in, o, "wake_to_queue_ns");
		w->queue_to_run_ns = json_in_u64(in, o, "queue_to_run_ns");
	}
	part = json_in_object(in, o, "waker", true);
	if (part)
		w->waker = json_in_text(in, part, "kind");
	if (w->waker && !strcmp(w->waker, "task")) {
		w->waker_pid = json_in_u32(in, part, "pid");
		w->waker_tid = json_in_u32(in, part, "tid");
		w->waker_comm = json_in_text(in, part, "comm");
	}
	part = json_in_object(in, o, "prev", true);
	if (part) {
		w->prev_pid = json_in_u32(in, part, "pid");
		w->prev_tid = json_in_u32(in, part, "tid");
		w->prev_comm = json_in_text_or_null(in, part, "comm");
	}
	w->migrated = json_in_bool(in, o, "migrated");
	if (in->error || !json_object_object_get_ex(o, "last_cpu", &last) || !last)
		return;
	w->last_cpu_known = true;
	w->last_cpu = json_in_u32(in, o, "last_cpu");
}

static void read_op(struct json_in *in, struct json_object *o, struct slow *w)
{
	struct slow_op *op = json_in_alloc(in, 1, sizeof(*op));

	if (!op)
		return;
	json_in_fields(in, o, &slow_op_fields, op);
	op->has_split = !in->error && json_object_object_get(o, "blocked_ns");
	if (op->has_split) {
		op->split.blocked_ns = json_in_u64(in, o, "blocked_ns");
		op->split.run_queue_ns = json_in_u64(in, o, "run_queue_ns");
	}
	if (!in->error && (op->split.blocked_ns > w->wait_ns ||
			   op->split.run_queue_ns > w->wait_ns - op->split.blocked_ns))
		json_in_bad(in, "blocked_ns", "it and run_queue_ns to be parts of wait_ns");
	w->op = op;
}

static void read_slow(struct json_in *in, struct json_object *o, struct slow *w)
{
	w->time = json_in_time(in, o, "ts");
	json_in_fields(in, o, &slow_fields, w);
	if (!in->error && json_in_has(o, "op"))
		read_op(in, o, w);
	else if (!in->error)
		read_legs(in, o, w);
}

/* ---- a line ---- */

static const struct {
	const char *name;
	enum record_type type;
} types[] = {
	{"meta", RECORD_META},
	{"interval", RECORD_INTERVAL},
	{"final", RECORD_FINAL},
	{"slow", RECORD_SLOW},
};

static enum record_type type_of(struct json_in *in, struct json_object *o)
{
	const char *type = NULL;
	size_t i;

	if (json_in_u64(in, o, "v") != RECORD_VERSION)
		json_in_bad(in, "v", "1, the version of records that this program reads");
	type = json_in_text(in, o, "type");
	for (i = 0; type && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, type))
			return types[i].type;
	json_in_bad(in, "type", "meta, interval, final or slow");
	return RECORD_META;
}

static void read_record(struct json_in *in, struct json_object *o)
{
	struct record *r = in->record;

	r->type = type_of(in, o);
	switch (r->type) {
	case RECORD_META:
		read_meta(in, o, &r->meta);
		break;
	case RECORD_INTERVAL:
	case RECORD_FINAL:
		read_report(in, o, r);
		break;
	case RECORD_SLOW:
		read_slow(in, o, &r->slow);
		break;
	}
}

static void forget(struct record *r)
{
	arena_reset(&r->memory);
	r->meta = (struct meta){0};
	r->frame = (struct frame){0};
	r->slow = (struct slow){0};
	r->quantiles = NULL;
	r->nquantiles = 0;
}

int record_read(struct record *r, const char *line, size_t len, struct err *e)
{
	struct json_in in = {.record = r, .e = e};
	struct json_object *o;
	enum json_tokener_error bad;

	forget(r);
	if (!r->parser) {
		r->parser = json_tokener_new_ex(NESTED_MAX);
		if (!r->parser)
			return err_sys(e, -ENOMEM, "record");
		json_tokener_set_flags(r->parser, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	}
	json_tokener_reset(r->parser);
	if (len > INT_MAX - 1)
		return err_set(e, EXIT_FAILED, -EINVAL, "record: a line of %zu bytes", len);
	o = json_tokener_parse_ex(r->parser, line, (int)len);
	bad = json_tokener_get_error(r->parser);
	if (!o && bad == json_tokener_continue)
		return err_set(e, EXIT_FAILED, -EINVAL, "record: the line ends too early");
	if (!o)
		return err_set(e, EXIT_FAILED, -EINVAL, "record: no JSON at byte %zu: %s",
			       json_tokener_get_parse_end(r->parser), json_tokener_error_desc(bad));
	if (json_object_is_type(o, json_type_object) &&
	    json_tokener_get_parse_end(r->parser) == len)
		read_record(&in, o);
	else
		in.error =
			err_set(e, EXIT_FAILED, -EINVAL, "record: expected one JSON object a line");
	json_object_put(o);
	return in.error;
}
