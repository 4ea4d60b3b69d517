// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON Lines, version 1: docs/waitscope.schema.json. */
#include <string.h>

#include "sink/json_build.h"
#include "sink/sink.h"

struct json_sink {
	struct sink base;
	struct view view; /* for its joins */
};

static void json_free(struct sink *s)
{
	view_free(&((struct json_sink *)s)->view);
}

static int json_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	return sink_new(out, &sink_json, args, e);
}

static struct json_object *json_new_strings(struct json_build *b, const char *const *v)
{
	struct json_object *array = json_new_array(b);

	for (; v && *v; v++)
		json_append(b, array, json_new_text(b, *v));
	return array;
}

static struct json_object *json_new_source(struct json_build *b, const struct meta_source *src)
{
	struct json_object *o = json_new_object(b);

	json_add_text(b, o, "name", src->name);
	json_add_text(b, o, "state", src->on ? "on" : "off");
	if (src->on)
		json_add(b, o, "hooks", json_new_strings(b, src->hooks));
	if (src->on && src->lacks)
		json_add(b, o, "lacks", json_new_strings(b, src->lacks));
	if (!src->on)
		json_add_text(b, o, "why", src->why ? src->why : "");
	return o;
}

/* {"pid":["1","7,9"],"cgroup":["/a"]}: an option may be given more than once. */
static struct json_object *json_new_filters(struct json_build *b, const struct meta *m)
{
	struct json_object *filters = json_new_object(b), *values;
	size_t i;

	for (i = 0; i < m->nfilters && !b->error; i++) {
		values = json_object_object_get(filters, m->filters[i].key);
		if (!values) {
			values = json_new_array(b);
			json_add(b, filters, m->filters[i].key, values);
		}
		if (!b->error)
			json_append(b, values, json_new_text(b, m->filters[i].value));
	}
	return filters;
}

static struct json_object *json_new_machine(struct json_build *b, const struct meta_machine *m)
{
	struct json_object *o = json_new_object(b), *flaws = json_new_object(b);

	json_add_text(b, o, "cpu", m->cpu);
	json_add_text(b, o, "governor", m->governor);
	json_add(b, o, "mitigations", json_new_strings(b, m->mitigations));
	for (size_t i = 0; i < m->nvulnerabilities; i++)
		json_add_text(b, flaws, m->vulnerabilities[i].key, m->vulnerabilities[i].value);
	json_add(b, o, "vulnerabilities", flaws);
	return o;
}

static int json_meta(struct sink *s, const struct meta *m, struct err *e)
{
	struct json_build b = {0};
	struct json_object *o = json_new_record(&b, "meta");
	struct json_object *sources = json_new_array(&b), *options;
	size_t i;

	for (i = 0; i < m->nsources; i++)
		json_append(&b, sources, json_new_source(&b, &m->sources[i]));
	json_add_text(&b, o, "tool", "waitscope");
	json_add_text(&b, o, "version", m->version);
	json_add_text(&b, o, "kernel", m->kernel);
	json_add_u64(&b, o, "cpus", m->cpus);
	json_add(&b, o, "argv", json_new_strings(&b, m->argv));
	json_add_time(&b, o, "start", &m->start);
	json_add(&b, o, "sources", sources);
	json_add(&b, o, "filters", json_new_filters(&b, m));
	if (m->options) {
		options = json_new_object(&b);
		json_add_text(&b, options, "by", m->options->by);
		json_add_u64(&b, options, "interval_ns", m->options->interval_ns);
		json_add_u64(&b, options, "precision", m->options->precision);
		json_add(&b, options, "percentiles", json_new_strings(&b, m->options->percentiles));
		json_add(&b, o, "options", options);
	}
	if (m->machine)
		json_add(&b, o, "machine", json_new_machine(&b, m->machine));
	if (m->hidden)
		json_add_text(&b, o, "addresses", "hidden");
	json_finish(&b, o, s->out);
	return sink_flush_head(s, e);
}

static void json_add_task(struct json_build *b, struct json_object *o, uint32_t pid, uint32_t tid,
			  const char *comm)
{
	json_add_u64(b, o, "pid", pid);
	json_add_u64(b, o, "tid", tid);
	json_add_text(b, o, "comm", comm);
}

static struct json_object *json_new_quality(struct json_build *b, const struct quality *q)
{
	struct json_object *o = json_new_object(b), *longest;
	char comm[sizeof(q->longest_comm) + 1] = {0};

	json_add_fields(b, o, &quality_edge_fields, q);
	if (q->in_flight) {
		memcpy(comm, q->longest_comm, sizeof(q->longest_comm));
		longest = json_new_object(b);
		json_add_u64(b, longest, "tid", q->longest_tid);
		json_add_text(b, longest, "comm", comm);
		json_add(b, o, "in_flight_longest", longest);
	}
	json_add_fields(b, o, &quality_fields, q);
	json_add_bool(b, o, "complete", quality_complete(q));
	return o;
}

/* Nulls until the kernel has measured. */
static struct json_object *json_new_self(struct json_build *b, const struct self_cost *c)
{
	struct json_object *o = json_new_object(b);

	if (c->bpf_known)
		json_add_fields(b, o, &self_fields, c);
	for (size_t i = 0; i < self_fields.n && !c->bpf_known; i++)
		json_add(b, o, self_fields.v[i].key, NULL);
	return o;
}

/* Two objects around the metrics, which are never objects all at once. */
static int json_report(struct sink *s, const struct frame *f, struct err *e)
{
	bool final = f->type == FRAME_FINAL;
	struct json_build b = {0};
	struct json_object *o = json_new_record(&b, final ? "final" : "interval");
	struct json_object *rest = json_new_object(&b);

	json_add_u64(&b, o, "seq", f->seq);
	json_add_time(&b, o, "ts", &f->time);
	json_add_u64(&b, o, "mono_ns", f->mono_ns);
	json_add_u64(&b, o, "dur_ns", f->dur_ns);
	if (final)
		json_add_text(&b, o, "end", f->end);
	json_add(&b, rest, "tables",
		 json_new_tables(&b, f, &((struct json_sink *)s)->view, s->cfg));
	json_add(&b, rest, "quality", json_new_quality(&b, &f->quality));
	json_add(&b, rest, "self", json_new_self(&b, &f->self));
	json_put(&b, o, 0, 1, s->out);
	out_text(s->out, ",");
	json_put_metrics(f, s->cfg, s->out);
	out_text(s->out, ",");
	json_put(&b, rest, 1, 0, s->out);
	out_text(s->out, "\n");
	json_object_put(o);
	json_object_put(rest);
	return out_flush(s->out, e);
}

static int json_interval(struct sink *s, const struct frame *interval, const struct frame *total,
			 struct err *e)
{
	return json_report(s, interval, e);
}

static struct json_object *json_new_waker(struct json_build *b, const struct slow *w)
{
	struct json_object *o;

	if (!w->waker)
		return NULL;
	o = json_new_object(b);
	json_add_text(b, o, "kind", w->waker);
	if (!strcmp(w->waker, "task"))
		json_add_task(b, o, w->waker_pid, w->waker_tid, w->waker_comm);
	return o;
}

/* null where the switch itself was not reported */
static struct json_object *json_new_prev(struct json_build *b, const struct slow *w)
{
	struct json_object *o;

	if (!w->prev_comm)
		return NULL;
	o = json_new_object(b);
	json_add_task(b, o, w->prev_pid, w->prev_tid, w->prev_comm);
	json_add_bool(b, o, "idle", w->prev_tid == 0);
	return o;
}

static void json_add_slow_wait(struct json_build *b, struct json_object *o, const struct slow *w)
{
	if (w->has_legs) {
		json_add_u64(b, o, "wake_to_queue_ns", w->wake_to_queue_ns);
		json_add_u64(b, o, "queue_to_run_ns", w->queue_to_run_ns);
	}
	json_add(b, o, "waker", json_new_waker(b, w));
	json_add(b, o, "prev", json_new_prev(b, w));
	json_add_bool(b, o, "migrated", w->migrated);
	json_add_known(b, o, "last_cpu", w->last_cpu_known, w->last_cpu);
}

static void json_add_slow_op(struct json_build *b, struct json_object *o, const struct slow *w)
{
	const struct slow_op *op = w->op;

	json_add_fields(b, o, &slow_op_fields, op);
	json_add_known(b, o, "blocked_ns", op->has_split, op->split.blocked_ns);
	json_add_known(b, o, "run_queue_ns", op->has_split, op->split.run_queue_ns);
	json_add_known(b, o, "cpu_ns", op->has_split,
		       w->wait_ns - op->split.blocked_ns - op->split.run_queue_ns);
}

static void json_add_slow_held(struct json_build *b, struct json_object *o, const struct slow *w)
{
	const struct slow_held *held = w->held;

	json_add_fields(b, o, &slow_held_fields, held);
	if (held->nholders)
		json_add_rows(b, o, "holders", &holder_fields, held->holders, held->nholders,
			      sizeof(*held->holders));
	if (held->nbehind)
		json_add_rows(b, o, "behind", &slow_link_fields, held->behind, held->nbehind,
			      sizeof(*held->behind));
}

static int json_slow(struct sink *s, const struct slow *w, struct err *e)
{
	struct json_build b = {0};
	struct json_object *o = json_new_record(&b, "slow");

	json_add_time(&b, o, "ts", &w->time);
	json_add_fields(&b, o, &slow_fields, w);
	if (w->op)
		json_add_slow_op(&b, o, w);
	else if (w->held)
		json_add_slow_held(&b, o, w);
	else
		json_add_slow_wait(&b, o, w);
	if (w->culprits)
		json_add_rows(&b, o, "culprits", &culprit_part_fields, w->culprits, w->nculprits,
			      sizeof(*w->culprits));
	json_finish(&b, o, s->out);
	return out_flush_soon(s->out, e); /* with the interval it is of */
}

const struct sink_ops sink_json = {
	.name = "json",
	.summary = "JSON Lines: one object a report, exact counts and buckets; FILE.gz: a record",
	.what = "in JSON",
	.size = sizeof(struct json_sink),
	.open = json_open,
	.meta = json_meta,
	.interval = json_interval,
	.final = json_report,
	.slow = json_slow,
	.reopen = sink_reopen,
	.close = sink_close,
	.free = json_free,
};
