// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a record has many of: metrics with their histograms, rows of the contended table, and who
 * made tasks wait. Joins of rows are not read: they follow from the addresses (view_join()).
 */
#include <errno.h>

#include "core/record_json.h"
#include "core/text.h"

/* ---- histograms ---- */

/* The slots are the tree's: read, never written. They must lie within what hist.h can hold. */
static void read_buckets(struct json_in *in, const struct json *buckets, struct hist *h)
{
	int64_t base = hist_schema_base(h->schema), end = base + (int64_t)BUCKET_SLOTS(h->schema);
	int64_t offset;
	size_t n;

	h->zero = json_in_u64(in, buckets, "zero");
	offset = json_in_i64(in, buckets, "offset");
	h->slots = (uint64_t *)json_in_numbers(in, buckets, "counts", &n);
	if (n && (offset < base || offset >= end || n > (uint64_t)(end - offset))) {
		json_in_bad(in, "offset", "buckets between 1 ns and 2^38 ns");
		return;
	}
	h->len = h->cap = (uint32_t)n;
	h->first = n ? (uint32_t)(offset - base) : 0;
}

/* Count, buckets, minimum and maximum must be of the same samples. */
static void check_hist(struct json_in *in, const struct hist *h)
{
	uint64_t sum = h->zero;

	for (uint32_t i = 0; i < h->len; i++)
		if (__builtin_add_overflow(sum, h->slots[i], &sum))
			json_in_bad(in, "counts", "a sum below 2^64");
	if (sum != h->count)
		json_in_bad(in, "counts", "the sum of buckets and zero to be count");
	if (h->count && h->min_ns > h->max_ns)
		json_in_bad(in, "min", "it not to be above max");
}

/* The percentiles that this line has, once: all its histograms have the same. */
static void read_quantiles(struct json_in *in, const struct json *o)
{
	const struct json *p = json_in_object_or_null(in, o, "p"), *one;
	struct record *r = in->record;
	struct quantile *q;
	size_t n = 0;

	if (!p || r->quantiles)
		return;
	q = json_in_alloc(in, p->n, sizeof(*q));
	for (one = p->first; one && !in->error; one = one->next) /* values follow from buckets */
		if (!parse_quantile(one->key, &q[n++]))
			json_in_bad(in, "p", "percentiles such as \"99.9\"");
	if (in->error)
		return;
	r->quantiles = q;
	r->nquantiles = n;
}

/* {"count":…,"buckets":…}; it may be read, never added to. NULL: an error. */
static const struct hist *read_hist(struct json_in *in, const struct json *o)
{
	const struct json *buckets = json_in_object(in, o, "buckets");
	struct hist *h = json_in_alloc(in, 1, sizeof(*h));
	uint32_t schema = json_in_u32(in, buckets, "schema");

	if (schema < BUCKET_SCHEMA_MIN || schema > BUCKET_SCHEMA_MAX)
		json_in_bad(in, "schema", "3 to 6");
	if (in->error)
		return NULL;
	hist_init(h, schema);
	h->count = json_in_u64(in, o, "count");
	h->sum_ns = json_in_u64(in, o, "sum");
	if (h->count) {
		h->min_ns = json_in_u64(in, o, "min");
		h->max_ns = json_in_u64(in, o, "max");
	}
	read_buckets(in, buckets, h);
	check_hist(in, h);
	read_quantiles(in, o);
	return in->error ? NULL : h;
}

static const struct hist *read_hist_member(struct json_in *in, const struct json *o,
					   const char *key)
{
	const struct json *value = json_in_object_or_null(in, o, key);

	return value ? read_hist(in, value) : NULL;
}

/* ---- metrics ---- */

void json_in_split(struct json_in *in, const struct json *o, uint64_t all_ns, struct split *out,
		   const char *expected)
{
	out->blocked_ns = json_in_u64(in, o, "blocked_ns");
	out->run_queue_ns = json_in_u64(in, o, "run_queue_ns");
	if (out->blocked_ns > all_ns || out->run_queue_ns > all_ns - out->blocked_ns)
		json_in_bad(in, "blocked_ns", expected);
}

static void read_series(struct json_in *in, const struct json *o, void *to)
{
	static const char *const parts = "it and run_queue_ns to be parts of sum";
	const char *name = json_in_text(in, o, "name");
	bool counter = json_in_has(in, o, "value");
	/* One that a newer version made is described by the record. */
	const struct metric_desc desc = {name, name, counter ? METRIC_COUNTS : METRIC_ROWS,
					 .counter = counter};
	struct series *out = to;
	struct split *split;

	if (name && !*name)
		json_in_bad(in, "name", "a metric's name");
	if (in->error)
		return;
	out->desc = metric_keep(&desc, &in->record->memory);
	if (!out->desc)
		in->error = err_sys(in->e, -ENOMEM, "record");
	out->nlabels =
		json_in_labels(in, o, "labels", out->labels, SERIES_LABELS, "at most 6 of them");
	if (counter)
		out->value = json_in_u64(in, o, "value");
	else
		out->hist = read_hist(in, o);
	if (!json_in_has(in, o, "blocked_ns"))
		return;
	split = json_in_alloc(in, 1, sizeof(*split));
	if (!split)
		return;
	json_in_split(in, o, out->hist ? out->hist->sum_ns : 0, split, parts);
	if (!out->hist)
		json_in_bad(in, "blocked_ns", parts);
	out->split = split;
}

void json_in_metrics(struct json_in *in, const struct json *o, struct frame *f)
{
	f->series =
		json_in_rows(in, o, "metrics", &f->nseries, sizeof(*f->series), NULL, read_series);
	if (!in->error)
		metric_share((struct series *)f->series, f->nseries); /* the record's own */
}

/* ---- rows of the contended table, with what a cache line has besides ---- */

/* Numbers of CPUs or nodes. */
static const uint32_t *read_u32s(struct json_in *in, const struct json *o, const char *key,
				 size_t *count)
{
	const uint64_t *numbers = json_in_numbers(in, o, key, count);
	uint32_t *v = json_in_alloc(in, *count, sizeof(*v));

	for (size_t i = 0; v && i < *count; i++) {
		if (numbers[i] > UINT32_MAX)
			json_in_bad(in, key, "whole numbers below 2^32");
		v[i] = (uint32_t)numbers[i];
	}
	return v;
}

static void read_hitm(struct json_in *in, const struct json *o, struct line_hitm *out)
{
	const struct json *hitm = json_in_object_or_null(in, o, "hitm");

	out->told = hitm;
	if (hitm)
		json_in_fields(in, hitm, &hitm_fields, out);
}

static void read_spot(struct json_in *in, const struct json *o, void *to)
{
	struct line_spot *s = to;

	s->samples = s->reads + s->writes;
	read_hitm(in, o, &s->hitm);
	s->latency = read_hist_member(in, o, "latency_cycles");
}

static const struct line_accesses *read_accesses(struct json_in *in, const struct json *o)
{
	struct line_accesses *a = json_in_alloc(in, 1, sizeof(*a));

	if (!a)
		return NULL;
	json_in_fields(in, o, &accesses_fields, a);
	a->memory_node = -1;
	if (json_in_has(in, o, "nodes")) {
		a->nodes = read_u32s(in, o, "nodes", &a->nnodes);
		if (json_in_given(in, o, "memory_node"))
			a->memory_node = json_in_i32(in, o, "memory_node");
	}
	if (a->exact)
		json_in_fields(in, o, &exact_fields, a);
	if (json_in_has(in, o, "unconfirmed"))
		a->unconfirmed = json_in_text(in, o, "unconfirmed");
	read_hitm(in, o, &a->hitm);
	a->latency = read_hist_member(in, o, "latency_cycles");
	a->threads = json_in_rows(in, o, "tids", &a->nthreads, sizeof(*a->threads), &thread_fields,
				  NULL);
	a->uses = json_in_rows(in, o, "offsets", &a->nuses, sizeof(*a->uses), &spot_fields,
			       read_spot);
	return a;
}

static void read_futex(struct json_in *in, const struct json *o, struct contended *c)
{
	const struct json *futex = json_in_object(in, o, "futex");
	struct futex_counts *f = json_in_alloc(in, 1, sizeof(*f));

	c->op = json_in_text_or_null(in, futex, "op");
	json_in_fields(in, futex, &futex_fields, f);
	c->futex = f;
}

static void read_contended(struct json_in *in, const struct json *o, void *to)
{
	struct contended *out = to;
	const struct json *line;

	json_in_fields(in, o, &contended_fields, out);
	if (!out->other)
		out->addr = json_in_hex(in, o, "addr");
	json_in_fields(in, o, &contended_name_fields, out);
	(void)json_in_labels(in, o, "labels", &out->group, 1, "one group");
	out->count = json_in_u64(in, o, "count");
	out->wait = read_hist_member(in, o, "wait_ns");
	out->cpus = read_u32s(in, o, "cpus", &out->ncpus);
	json_in_fields(in, o, &contended_number_fields, out);
	out->sites =
		json_in_rows(in, o, "sites", &out->nsites, sizeof(*out->sites), &site_fields, NULL);
	if (json_in_has(in, o, "holders"))
		out->holders = json_in_rows(in, o, "holders", &out->nholders, sizeof(*out->holders),
					    &holder_fields, NULL);
	if (json_in_has(in, o, "futex"))
		read_futex(in, o, out);
	if (json_in_has(in, o, "sampler"))
		out->accesses = read_accesses(in, o);
	if (!json_in_has(in, o, "line"))
		return;
	line = json_in_object(in, o, "line");
	out->line = json_in_hex(in, line, "addr");
	out->members = json_in_rows(in, line, "members", &out->nmembers, sizeof(*out->members),
				    &member_fields, NULL);
}

void json_in_contended(struct json_in *in, const struct json *tables, struct frame *f)
{
	f->contended = json_in_rows(in, tables, "contended", &f->ncontended, sizeof(*f->contended),
				    NULL, read_contended);
}

/* ---- who made tasks wait ---- */

/* What of it was of waits how long; records of older versions do not tell. */
static void read_lengths(struct json_in *in, const struct json *o, struct culprit *c)
{
	const int64_t end = CULPRIT_LENGTH_FIRST + CULPRIT_LENGTHS;
	const struct json *lengths = json_in_object(in, o, "lengths");
	int64_t offset = json_in_i64(in, lengths, "offset");
	const uint64_t *ns;
	uint64_t sum = 0;
	size_t n;

	ns = json_in_numbers(in, lengths, "ns", &n);
	if (!n)
		return;
	if (offset < CULPRIT_LENGTH_FIRST || offset >= end || n > (uint64_t)(end - offset)) {
		json_in_bad(in, "offset", "lengths of waits from -20 to 11");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		c->length_ns[(size_t)(offset - CULPRIT_LENGTH_FIRST) + i] = ns[i];
		if (__builtin_add_overflow(sum, ns[i], &sum))
			sum = UINT64_MAX;
	}
	if (sum > c->wait_ns)
		json_in_bad(in, "lengths", "a sum of at most wait_ns");
}

static void read_culprit(struct json_in *in, const struct json *o, void *to)
{
	struct culprit *c = to;

	c->nvictim = json_in_labels(in, o, "victim", c->victim, CULPRIT_LABELS, "at most 3 labels");
	json_in_fields(in, o, &culprit_fields, c);
	if (json_in_has(in, o, "lengths"))
		read_lengths(in, o, c);
}

void json_in_culprits(struct json_in *in, const struct json *tables, struct frame *f)
{
	f->culprits = json_in_rows(in, tables, "culprits", &f->nculprits, sizeof(*f->culprits),
				   NULL, read_culprit);
}

static void read_times(struct json_in *in, const struct json *o, void *to)
{
	struct times *t = to;

	json_in_fields(in, o, &times_fields, t);
	t->nlabels = json_in_labels(in, o, "labels", t->labels, TIMES_LABELS, "at most 3 labels");
}

void json_in_times(struct json_in *in, const struct json *tables, struct frame *f)
{
	f->times =
		json_in_rows(in, tables, "times", &f->ntimes, sizeof(*f->times), NULL, read_times);
}

static void read_part(struct json_in *in, const struct json *o, void *to)
{
	struct culprit *c = to;

	json_in_fields(in, o, &culprit_part_fields, c);
	c->count = 1;
}

void json_in_slow_culprits(struct json_in *in, const struct json *o, struct slow *w)
{
	uint64_t sum = 0;

	w->culprits = json_in_rows(in, o, "culprits", &w->nculprits, sizeof(*w->culprits), NULL,
				   read_part);
	for (size_t i = 0; !in->error && i < w->nculprits; i++)
		if (__builtin_add_overflow(sum, w->culprits[i].wait_ns, &sum))
			json_in_bad(in, "ns", "a sum below 2^64");
	if (sum != w->wait_ns)
		json_in_bad(in, "culprits", "their sum to be wait_ns");
}
