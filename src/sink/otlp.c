// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenTelemetry: each report as an export request of all that was counted, in JSON; to a collector
 * by HTTP, or a line each into a file, as the collector's otlpjsonfile receiver reads them.
 */
#include "sink/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "core/export.h"
#include "core/text.h"
#include "sink/sink.h"

#define NS_PER_S 1e9
#define CUMULATIVE "\"aggregationTemporality\":2,"

/* Who counted: resource attributes. */
struct otlp_resource {
	char host[256], kernel[128], version[32]; /* clean texts */
	char instance[272];			  /* host and process: no two send as one */
};

struct otlp_sink {
	struct sink base;
	struct export *x;
	struct otlp_resource resource;
	struct otlp_sender *sender; /* NULL: to a file */
	bool replay;
};

static struct otlp_sink *otlp_sink(struct sink *s)
{
	return (struct otlp_sink *)s;
}

/*
 * ---- a request ----
 *
 * OTLP/JSON: keys in camel case, enums as numbers, 64-bit numbers as strings. Counts are
 * cumulative, since the start that each series says. Bucket i of an exponential histogram is
 * Prometheus' i + 1.
 *
 * Names are those of Prometheus without unit and _total: its receiver, as other translators, adds
 * them, so that both ways lead to the same series.
 */

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

static void put_request(struct out *o, const struct otlp_resource *r, const struct export *x)
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

/* ---- the sink ---- */

static void otlp_free(struct sink *s)
{
	otlp_sender_close(otlp_sink(s)->sender);
	export_free(otlp_sink(s)->x);
}

static int otlp_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	bool url = args->path && otlp_is_url(args->path);
	struct sink_args to = *args;
	struct otlp_sink *p;
	int ret;

	to.memory |= url;
	ret = sink_new(out, &sink_otlp, &to, e);
	if (ret)
		return ret;
	p = otlp_sink(*out);
	p->replay = args->replay;
	p->x = export_new(args->cfg);
	if (!p->x)
		ret = sink_failed(*out, -ENOMEM, e);
	else if (url && !args->memory)
		ret = otlp_sender_open(&p->sender, args->base, args->path, e);
	if (ret) {
		(void)sink_close(*out, NULL); /* nothing written: the open's error counts */
		*out = NULL;
	}
	return ret;
}

static int otlp_meta(struct sink *s, const struct meta *m, struct err *e)
{
	struct otlp_sink *p = otlp_sink(s);
	char host[256] = "";

	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0'; /* longer than a name may be: then there is none */
	text_clean(p->resource.host, sizeof(p->resource.host), host, SIZE_MAX);
	(void)snprintf(p->resource.instance, sizeof(p->resource.instance), "%s:%d",
		       p->resource.host, (int)getpid()); /* fits */
	text_clean(p->resource.kernel, sizeof(p->resource.kernel), m->kernel, SIZE_MAX);
	text_clean(p->resource.version, sizeof(p->resource.version), m->version, SIZE_MAX);
	export_meta(p->x, m);
	return 0;
}

/* A replay has nobody to keep waiting, and no loop of its own: it waits for room. */
static int otlp_send(struct otlp_sink *p)
{
	size_t len;
	const char *text = out_whole(p->base.out, &len);

	if (p->replay)
		otlp_sender_run(p->sender, OTLP_QUEUE - 1, OTLP_FLUSH_NS);
	return otlp_sender_add(p->sender, text, len);
}

static int otlp_write(struct otlp_sink *p, int added, struct err *e)
{
	struct out *out = p->base.out;
	int ret = added;

	if (!ret) {
		put_request(out, &p->resource, p->x);
		if (!p->sender)
			out_text(out, "\n");
		ret = out_flush(out, e);
		if (ret)
			return ret;
		ret = p->sender ? otlp_send(p) : 0;
	}
	return ret ? sink_failed(&p->base, ret, e) : 0;
}

/* What became of the reports before goes with this one. */
static int add_counts(struct otlp_sink *p)
{
	const struct otlp_counts *c;

	if (!p->sender)
		return 0;
	c = otlp_sender_counts(p->sender);
	return export_set(p->x, RUN_REPORTS, "sent", c->sent)
		       ?: export_set(p->x, RUN_REPORTS, "refused", c->refused)
		       ?: export_set(p->x, RUN_REPORTS, "lost", c->lost)
		       ?: export_set(p->x, RUN_REJECTED, NULL, c->rejected);
}

static int otlp_interval(struct sink *s, const struct frame *interval, const struct frame *total,
			 struct err *e)
{
	struct otlp_sink *p = otlp_sink(s);

	return otlp_write(p, export_add(p->x, interval) ?: add_counts(p), e);
}

/* The last interval has brought it all, as a rule. */
static int otlp_final(struct sink *s, const struct frame *total, struct err *e)
{
	struct otlp_sink *p = otlp_sink(s);
	uint64_t before = export_time_ns(p->x);
	int ret = export_final(p->x, total);

	if (!ret && before && export_time_ns(p->x) == before)
		return 0;
	return otlp_write(p, ret, e);
}

/* Reports that have not gone yet have a last chance; then it is told what became of them. */
static bool otlp_finish(struct sink *s, char *note, size_t len)
{
	struct otlp_sink *p = otlp_sink(s);
	const struct otlp_counts *c;

	if (!p->sender)
		return false;
	otlp_sender_run(p->sender, 0, OTLP_FLUSH_NS);
	otlp_sender_give_up(p->sender);
	c = otlp_sender_counts(p->sender);
	if (!c->lost && !c->refused && !c->rejected)
		return false;
	(void)snprintf(note, len,
		       "otlp: of %" PRIu64 " reports %" PRIu64 " were lost and %" PRIu64
		       " refused, and %" PRIu64 " data points rejected (%s)",
		       c->sent + c->lost + c->refused, c->lost, c->refused, c->rejected,
		       c->why); /* fits */
	return true;
}

const struct sink_ops sink_otlp = {
	.name = "otlp",
	.summary = "OpenTelemetry's JSON of all that was counted: http://HOST:PORT, or a file",
	.what = "for OpenTelemetry",
	.size = sizeof(struct otlp_sink),
	.open = otlp_open,
	.meta = otlp_meta,
	.interval = otlp_interval,
	.final = otlp_final,
	.finish = otlp_finish,
	.reopen = sink_reopen,
	.close = sink_close,
	.free = otlp_free,
};
