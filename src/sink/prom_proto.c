// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * io.prometheus.client.MetricFamily, each with its length before it; numbers of fields are those of
 * https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto.
 *
 * A native histogram is known by its zero threshold or its spans. The threshold is 2^-30 s, an edge
 * of buckets at every schema and less than a nanosecond, so that what is in the zero bucket are the
 * samples of 0 ns; a histogram without samples has one span of no buckets, {0, 0}.
 */
#include <math.h>

#include "sink/prom.h"
#include "sink/proto.h"

#define NS_PER_S 1000000000
#define ZERO_THRESHOLD 0x1p-30

enum { FAMILY_NAME = 1, FAMILY_HELP, FAMILY_TYPE, FAMILY_METRIC };
enum { METRIC_LABEL = 1, METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM = 7 };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { GAUGE_VALUE = 1 };
enum { COUNTER_VALUE = 1, COUNTER_START = 3 };
enum {
	HISTOGRAM_COUNT = 1,
	HISTOGRAM_SUM,
	HISTOGRAM_BUCKET,
	HISTOGRAM_SCHEMA = 5,
	HISTOGRAM_ZERO_THRESHOLD,
	HISTOGRAM_ZERO_COUNT,
	HISTOGRAM_SPAN = 12,
	HISTOGRAM_DELTA,
	HISTOGRAM_START = 15,
};
enum { BUCKET_COUNT = 1, BUCKET_EDGE };
enum { SPAN_OFFSET = 1, SPAN_LENGTH };

static void put_classic(struct out *o, const struct hist *h)
{
	uint64_t below[PROM_LES];
	size_t at;

	prom_classic(h, below);
	for (int i = 0; i < PROM_LES; i++) {
		at = proto_begin(o, HISTOGRAM_BUCKET);
		proto_u64(o, BUCKET_COUNT, below[i]);
		proto_double(o, BUCKET_EDGE, ldexp(1, PROM_LE_FIRST + i));
		proto_end(o, at);
	}
}

static void put_span(struct out *o, int32_t offset, uint32_t length)
{
	size_t at = proto_begin(o, HISTOGRAM_SPAN);

	proto_sint(o, SPAN_OFFSET, offset);
	proto_u64(o, SPAN_LENGTH, length);
	proto_end(o, at);
}

/* Runs of buckets: how far each begins behind the one before (the first: at which bucket), and its
 * length. */
static void put_spans(struct out *o, const struct hist *h, uint32_t schema)
{
	struct hist_buckets w = {0};
	int32_t offset = 0, end = 0; /* of the run so far */
	uint32_t length = 0;

	while (hist_next_bucket(h, schema, &w)) {
		if (length && w.bucket != end) {
			put_span(o, offset, length);
			offset = w.bucket - end;
			length = 0;
		} else if (!length) {
			offset = w.bucket;
		}
		length++;
		end = w.bucket + 1;
	}
	put_span(o, offset, length);
}

static void put_deltas(struct out *o, const struct hist *h, uint32_t schema)
{
	struct hist_buckets w = {0};
	size_t at = proto_begin(o, HISTOGRAM_DELTA);
	uint64_t before = 0;

	for (; hist_next_bucket(h, schema, &w); before = w.n)
		proto_packed_sint(o, (int64_t)(w.n - before));
	proto_end(o, at);
}

static void put_hist(struct out *o, const struct export_series *s, uint32_t schema)
{
	const struct hist *h = &s->hist;
	size_t at = proto_begin(o, METRIC_HISTOGRAM);

	proto_u64(o, HISTOGRAM_COUNT, h->count);
	proto_double(o, HISTOGRAM_SUM, (double)h->sum_ns / NS_PER_S);
	put_classic(o, h);
	proto_sint(o, HISTOGRAM_SCHEMA, (int64_t)schema);
	proto_double(o, HISTOGRAM_ZERO_THRESHOLD, ZERO_THRESHOLD);
	proto_u64(o, HISTOGRAM_ZERO_COUNT, h->zero);
	put_spans(o, h, schema);
	if (h->len)
		put_deltas(o, h, schema);
	/* A time: seconds, and nanoseconds. */
	proto_pair(o, HISTOGRAM_START, s->start_ns / NS_PER_S, s->start_ns % NS_PER_S);
	proto_end(o, at);
}

static void put_series(struct out *o, const struct export *x, enum export_type type,
		       const struct export_series *s)
{
	size_t at = proto_begin(o, FAMILY_METRIC), part;

	for (uint32_t i = 0; i < s->nlabels; i++) {
		part = proto_begin(o, METRIC_LABEL);
		proto_text(o, LABEL_NAME, s->labels[i].key);
		proto_text(o, LABEL_VALUE, s->labels[i].value);
		proto_end(o, part);
	}
	switch (type) {
	case EXPORT_HISTOGRAM:
		put_hist(o, s, export_schema(x, &s->hist));
		break;
	case EXPORT_COUNTER:
		part = proto_begin(o, METRIC_COUNTER);
		proto_double(o, COUNTER_VALUE, (double)s->value);
		proto_pair(o, COUNTER_START, s->start_ns / NS_PER_S, s->start_ns % NS_PER_S);
		proto_end(o, part);
		break;
	case EXPORT_GAUGE:
		part = proto_begin(o, METRIC_GAUGE);
		proto_double(o, GAUGE_VALUE, s->gauge);
		proto_end(o, part);
		break;
	}
	proto_end(o, at);
}

void prom_put_proto(struct out *o, const struct export *x)
{
	static const uint64_t types[] = {
		[EXPORT_COUNTER] = 0,
		[EXPORT_GAUGE] = 1,
		[EXPORT_HISTOGRAM] = 4,
	};
	const struct export_family *f;
	const struct export_series *s;
	char name[PROM_NAME];
	size_t at;

	for (size_t i = 0; (f = export_family(x, i)); i++) {
		if (!f->first)
			continue;
		at = proto_begin(o, 0);
		proto_text(o, FAMILY_NAME, prom_name(name, f));
		proto_text(o, FAMILY_HELP, f->help);
		proto_u64(o, FAMILY_TYPE, types[f->type]);
		for (s = f->first; s; s = s->next)
			put_series(o, x, f->type, s);
		proto_end(o, at);
	}
}
