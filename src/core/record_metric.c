// SPDX-License-Identifier: GPL-2.0-or-later
/* Metrics of a record: labels, histograms with their buckets, counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/metrics.h"
#include "core/record_json.h"
#include "core/text.h"

/* A schema as it is in the file: the buckets must lie within what hist.h can hold. */
static uint32_t schema_of(struct json_in *in, const struct json *buckets)
{
	uint32_t schema = json_in_u32(in, buckets, "schema");

	if (!in->error && (schema < BUCKET_SCHEMA_MIN || schema > BUCKET_SCHEMA_MAX)) {
		json_in_bad(in, "schema", "3 to 6");
		return 0;
	}
	return schema;
}

int64_t json_in_i64(struct json_in *in, const struct json *o, const char *key)
{
	const struct json *value = in->error ? NULL : json_member(o, key);

	if (value && value->type == JSON_NEGATIVE)
		return value->negative;
	if (value && value->type == JSON_WHOLE && value->whole <= INT64_MAX)
		return (int64_t)value->whole;
	json_in_bad(in, key, "a whole number");
	return 0;
}

/* The slots are the tree's: read, never written. */
static void read_counts(struct json_in *in, const struct json *buckets, struct hist *h)
{
	int64_t offset = json_in_i64(in, buckets, "offset"), base, end;
	size_t n;

	h->slots = (uint64_t *)json_in_numbers(in, buckets, "counts", &n);
	if (in->error)
		return;
	base = hist_schema_base(h->schema);
	end = base + (int64_t)BUCKET_SLOTS(h->schema);
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
	uint32_t i;

	for (i = 0; i < h->len; i++)
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
	const struct json *p = json_in_object(in, o, "p", true), *one;
	struct record *r = in->record;
	struct quantile *q;
	size_t n = 0;

	if (in->error || !p || r->quantiles)
		return;
	q = json_in_alloc(in, p->n, sizeof(*q));
	for (one = p->first; one; one = one->next) /* its value follows from the buckets */
		if (!in->error && !parse_quantile(one->key, &q[n++]))
			json_in_bad(in, "p", "percentiles such as \"99.9\"");
	if (in->error)
		return;
	r->quantiles = q;
	r->nquantiles = n;
}

const struct hist *json_in_hist(struct json_in *in, const struct json *o)
{
	const struct json *buckets = json_in_object(in, o, "buckets", false);
	struct hist *h = json_in_alloc(in, 1, sizeof(*h));

	if (in->error)
		return NULL;
	hist_init(h, schema_of(in, buckets));
	h->count = json_in_u64(in, o, "count");
	h->sum_ns = json_in_u64(in, o, "sum");
	if (h->count) {
		h->min_ns = json_in_u64(in, o, "min");
		h->max_ns = json_in_u64(in, o, "max");
	}
	if (!in->error)
		h->zero = json_in_u64(in, buckets, "zero");
	if (!in->error)
		read_counts(in, buckets, h);
	if (!in->error)
		check_hist(in, h);
	read_quantiles(in, o);
	return in->error ? NULL : h;
}

const struct hist *json_in_hist_member(struct json_in *in, const struct json *o, const char *key)
{
	const struct json *value = json_in_object(in, o, key, true);

	return value ? json_in_hist(in, value) : NULL;
}

static void read_labels(struct json_in *in, const struct json *o, struct series *out)
{
	const struct json *labels = json_in_object(in, o, "labels", false), *one;

	if (!in->error && labels->n > SERIES_LABELS)
		json_in_bad(in, "labels", "at most 6 of them");
	if (in->error)
		return;
	for (one = labels->first; one; one = one->next)
		out->labels[out->nlabels++] =
			(struct label){one->key, json_in_text_of(in, one, "labels")};
}

static void read_split(struct json_in *in, const struct json *o, struct series *out)
{
	struct split *split = json_in_alloc(in, 1, sizeof(*split));

	if (!split)
		return;
	split->blocked_ns = json_in_u64(in, o, "blocked_ns");
	split->run_queue_ns = json_in_u64(in, o, "run_queue_ns");
	if (!in->error && (!out->hist || split->blocked_ns > out->hist->sum_ns ||
			   split->run_queue_ns > out->hist->sum_ns - split->blocked_ns))
		json_in_bad(in, "blocked_ns", "it and run_queue_ns to be parts of sum");
	out->split = split;
}

/* From the registry; a metric that a newer version made is described by the record. */
static const struct metric_desc *desc_of(struct json_in *in, const char *name, bool counter)
{
	const struct metric_desc read = {
		.name = name,
		.title = name,
		.role = counter ? METRIC_COUNTS : METRIC_ROWS,
		.counter = counter,
	};
	const struct metric_desc *desc = metric_keep(&read, &in->record->memory);

	if (!desc)
		in->error = err_sys(in->e, -ENOMEM, "record");
	return desc;
}

void json_in_series(struct json_in *in, const struct json *o, struct series *out)
{
	const char *name;
	bool counter;

	if (!in->error && o->type != JSON_OBJECT)
		json_in_bad(in, "metrics", "objects");
	name = json_in_text(in, o, "name");
	if (!in->error && !*name)
		json_in_bad(in, "name", "a metric's name");
	if (in->error)
		return;
	counter = json_in_has(o, "value");
	out->desc = desc_of(in, name, counter);
	read_labels(in, o, out);
	if (counter)
		out->value = json_in_u64(in, o, "value");
	else
		out->hist = json_in_hist(in, o);
	if (!in->error && json_in_has(o, "blocked_ns"))
		read_split(in, o, out);
}
