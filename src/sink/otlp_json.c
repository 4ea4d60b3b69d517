// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OTLP/JSON: keys in camel case, enums as numbers, 64-bit numbers as strings. Counts are cumulative,
 * since the start that each series says. Bucket i of an exponential histogram is Prometheus' i + 1.
 *
 * Names are those of Prometheus without unit and _total: its receiver, as other translators, adds
 * them, so that both ways lead to the same series.
 */
#include <inttypes.h>
#include <stdio.h>

#include "sink/otlp.h"

#define NS_PER_S 1e9
#define CUMULATIVE "\"aggregationTemporality\":2,"

static void put_attribute(struct out *o, const char *sep, const char *key, const char *value)
{
	out_text(o, sep);
	out_text(o, "{\"key\":\"");
	out_text(o, key);
	out_text(o, "\",\"value\":{\"stringValue\":");
	out_quoted(o, value);
	out_text(o, "}}");
}

/* "name":"123" */
static void put_u64(struct out *o, const char *before, uint64_t v)
{
	out_text(o, before);
	out_text(o, "\"");
	out_u64(o, v);
	out_text(o, "\"");
}

static void put_counts(struct out *o, const struct hist *h, uint32_t schema)
{
	struct hist_buckets w = {0};
	const char *before = "";
	int32_t next = 0;

	while (hist_next_bucket(h, schema, &w)) {
		if (!*before) {
			out_printf(o, ",\"positive\":{\"offset\":%" PRId32 ",\"bucketCounts\":[",
				   w.bucket - 1);
			next = w.bucket;
		}
		for (; next < w.bucket; next++)
			out_text(o, ",\"0\"");
		put_u64(o, before, w.n);
		before = ",";
		next = w.bucket + 1;
	}
	if (*before)
		out_text(o, "]}");
}

static void put_hist(struct out *o, const struct export_series *s, uint32_t schema)
{
	const struct hist *h = &s->hist;

	put_u64(o, ",\"count\":", h->count);
	out_printf(o, ",\"sum\":%.17g,\"scale\":%" PRIu32, (double)h->sum_ns / NS_PER_S, schema);
	put_u64(o, ",\"zeroCount\":", h->zero);
	out_text(o,
		 ",\"zeroThreshold\":9.3132257461547852e-10"); /* 2^-30, as prom_proto.c has it */
	put_counts(o, h, schema);
	if (h->count)
		out_printf(o, ",\"min\":%.17g,\"max\":%.17g", (double)h->min_ns / NS_PER_S,
			   (double)h->max_ns / NS_PER_S);
}

static void put_point(struct out *o, const struct export *x, enum export_type type,
		      const struct export_series *s)
{
	out_text(o, "{\"attributes\":[");
	for (uint32_t i = 0; i < s->nlabels; i++)
		put_attribute(o, i ? "," : "", s->labels[i].key, s->labels[i].value);
	put_u64(o, "],\"startTimeUnixNano\":", s->start_ns);
	put_u64(o, ",\"timeUnixNano\":", export_time_ns(x));
	if (type == EXPORT_HISTOGRAM)
		put_hist(o, s, export_schema(x, &s->hist));
	else if (type == EXPORT_COUNTER)
		put_u64(o, ",\"asInt\":", s->value < INT64_MAX ? s->value : INT64_MAX);
	else
		out_printf(o, ",\"asDouble\":%.17g", s->gauge);
	out_text(o, "}");
}

static void put_family(struct out *o, const struct export *x, const struct export_family *f)
{
	static const char *const kinds[] = {
		[EXPORT_COUNTER] = "sum\":{" CUMULATIVE "\"isMonotonic\":true,",
		[EXPORT_GAUGE] = "gauge\":{",
		[EXPORT_HISTOGRAM] = "exponentialHistogram\":{" CUMULATIVE,
	};
	const struct export_series *s;

	out_text(o, "{\"name\":\"waitscope_");
	out_text(o, f->name);
	out_text(o, "\",\"description\":");
	out_quoted(o, f->help);
	out_text(o, ",\"unit\":");
	out_quoted(o, f->unit ? f->unit : "");
	out_text(o, ",\"");
	out_text(o, kinds[f->type]);
	out_text(o, "\"dataPoints\":[");
	for (s = f->first; s; s = s->next) {
		if (s != f->first)
			out_text(o, ",");
		put_point(o, x, f->type, s);
	}
	out_text(o, "]}}");
}

void otlp_put(struct out *o, const struct otlp_resource *r, const struct export *x)
{
	const struct export_family *f;
	const char *sep = "";

	out_text(o, "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[");
	put_attribute(o, "", "service.name", "waitscope");
	put_attribute(o, ",", "service.version", r->version);
	put_attribute(o, ",", "service.instance.id", r->instance);
	put_attribute(o, ",", "host.name", r->host);
	put_attribute(o, ",", "os.type", "linux");
	put_attribute(o, ",", "os.version", r->kernel);
	out_text(o, "]},\"scopeMetrics\":[{\"scope\":{\"name\":\"waitscope\",\"version\":");
	out_quoted(o, r->version);
	out_text(o, "},\"metrics\":[");
	for (size_t i = 0; (f = export_family(x, i)); i++) {
		if (!f->first)
			continue;
		out_text(o, sep);
		put_family(o, x, f);
		sep = ",";
	}
	out_text(o, "]}]}]}");
}
