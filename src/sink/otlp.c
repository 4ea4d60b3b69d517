// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenTelemetry: each report as an export request of all that was counted, in JSON; to a collector by
 * HTTP, or a line each into a file, as the collector's otlpjsonfile receiver reads them.
 */
#include "sink/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "core/text.h"
#include "sink/sink.h"

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
		otlp_put(out, &p->resource, p->x);
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
