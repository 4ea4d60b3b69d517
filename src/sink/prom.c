// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prometheus: the text that node exporter's textfile collector and every server take, and the
 * protocol buffers that native histograms need. A file is replaced with each report, as a whole;
 * standard output has the final one alone.
 */
#include "sink/prom.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sink/sink.h"

#define LE_TEXT 32

struct prom_sink {
	struct sink base;
	bool each; /* a file is replaced with each report */
	struct export *x;
};

/* As Prometheus' own conventions have them; of "By" and counts the names say it already. */
static const char *unit_word(const struct export_family *f)
{
	if (!f->unit)
		return "";
	if (!strcmp(f->unit, "s"))
		return "_seconds";
	return !strcmp(f->unit, "1") ? "_ratio" : "";
}

const char *prom_name(char out[PROM_NAME], const struct export_family *f)
{
	const char *end = f->type == EXPORT_COUNTER ? "_total" : "";
	char *s;

	(void)snprintf(out, PROM_NAME, "waitscope_%.100s%s%s", f->name, unit_word(f), end);
	for (s = out; *s; s++) /* of records: anything */
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *s))
			*s = '_';
	return out;
}

void prom_classic(const struct hist *h, uint64_t below[PROM_LES])
{
	struct hist_buckets w = {0};
	uint64_t n = h->zero;
	int edge = PROM_LE_FIRST;

	while (hist_next_bucket(h, 0, &w)) {
		for (; edge < w.bucket && edge <= PROM_LE_LAST; edge++)
			below[edge - PROM_LE_FIRST] = n;
		n += w.n;
	}
	for (; edge <= PROM_LE_LAST; edge++)
		below[edge - PROM_LE_FIRST] = n;
}

/*
 * ---- text, version 0.0.4 ----
 *
 *	# HELP waitscope_sched_wakeup_latency_seconds Time from ...
 *	# TYPE waitscope_sched_wakeup_latency_seconds histogram
 *	waitscope_sched_wakeup_latency_seconds_bucket{cgroup="/a",le="9.5367431640625e-07"} 3
 *
 * There may be hundreds of thousands of lines: what their beginnings have in common is put together
 * once, and no number goes through printf.
 */

struct text {
	struct out *out;
	const char *name;
	char le[PROM_LES][LE_TEXT];
};

/* NAME_SUFFIX{labels, and then `more` stands for one more */
static void put_start(const struct text *t, const char *suffix, const struct export_series *s,
		      const char *le)
{
	struct out *o = t->out;
	const char *sep = "{";

	out_text(o, t->name);
	out_text(o, suffix);
	for (uint32_t i = 0; i < s->nlabels; i++, sep = ",") {
		out_text(o, sep);
		out_text(o, s->labels[i].key);
		out_text(o, "=");
		out_quoted(o, s->labels[i].value);
	}
	if (le) {
		out_text(o, sep);
		out_text(o, "le=\"");
		out_text(o, le);
		out_text(o, "\"");
	}
	out_text(o, le || s->nlabels ? "} " : " ");
}

static void put_line(const struct text *t, const char *suffix, const struct export_series *s,
		     const char *le, uint64_t v)
{
	put_start(t, suffix, s, le);
	out_u64(t->out, v);
	out_text(t->out, "\n");
}

static void put_hist(const struct text *t, const struct export_series *s)
{
	const struct hist *h = &s->hist;
	uint64_t below[PROM_LES];

	prom_classic(h, below);
	for (int i = 0; i < PROM_LES; i++)
		put_line(t, "_bucket", s, t->le[i], below[i]);
	put_line(t, "_bucket", s, "+Inf", h->count);
	put_start(t, "_sum", s, NULL);
	out_printf(t->out, "%" PRIu64 ".%09" PRIu64 "\n", h->sum_ns / 1000000000,
		   h->sum_ns % 1000000000);
	put_line(t, "_count", s, NULL, h->count);
}

static void put_series(const struct text *t, enum export_type type, const struct export_series *s)
{
	switch (type) {
	case EXPORT_HISTOGRAM:
		put_hist(t, s);
		break;
	case EXPORT_COUNTER:
		put_line(t, "", s, NULL, s->value);
		break;
	case EXPORT_GAUGE:
		put_start(t, "", s, NULL);
		out_printf(t->out, "%.15g\n", s->gauge);
		break;
	}
}

void prom_put_text(struct out *o, const struct export *x)
{
	static const char *const types[] = {
		[EXPORT_COUNTER] = "counter",
		[EXPORT_GAUGE] = "gauge",
		[EXPORT_HISTOGRAM] = "histogram",
	};
	const struct export_family *f;
	const struct export_series *s;
	char name[PROM_NAME];
	struct text t = {.out = o};

	for (int i = 0; i < PROM_LES; i++) /* exact: a power of two has at most 14 digits here */
		(void)snprintf(t.le[i], LE_TEXT, "%.17g", ldexp(1, PROM_LE_FIRST + i));
	for (size_t i = 0; (f = export_family(x, i)); i++) {
		if (!f->first)
			continue;
		t.name = prom_name(name, f);
		out_printf(o, "# HELP %s %s\n# TYPE %s %s\n", t.name, f->help, t.name,
			   types[f->type]);
		for (s = f->first; s; s = s->next)
			put_series(&t, f->type, s);
	}
}

/* ---- the sink ---- */

static struct prom_sink *prom_sink(struct sink *s)
{
	return (struct prom_sink *)s;
}

static void prom_free(struct sink *s)
{
	export_free(prom_sink(s)->x);
}

static int open_as(const struct sink_ops *ops, struct sink **out, const struct sink_args *args,
		   struct err *e)
{
	int ret = sink_new(out, ops, args, e);
	struct prom_sink *p;

	if (ret)
		return ret;
	p = prom_sink(*out);
	p->each = args->path || args->memory;
	p->x = export_new(args->cfg);
	if (!p->x)
		ret = sink_failed(*out, -ENOMEM, e);
	else if (args->path)
		ret = out_replace((*out)->out, e);
	if (ret) {
		(void)sink_close(*out, NULL); /* nothing written: the open's error counts */
		*out = NULL;
	}
	return ret;
}

static int prom_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	return open_as(&sink_prom, out, args, e);
}

static int prom_proto_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	return open_as(&sink_prom_proto, out, args, e);
}

static int prom_write(struct prom_sink *p, int added, struct err *e)
{
	if (added)
		return sink_failed(&p->base, added, e);
	(p->base.ops == &sink_prom ? prom_put_text : prom_put_proto)(p->base.out, p->x);
	return out_flush(p->base.out, e);
}

static int prom_meta(struct sink *s, const struct meta *m, struct err *e)
{
	export_meta(prom_sink(s)->x, m);
	return 0;
}

static int prom_interval(struct sink *s, const struct frame *interval, const struct frame *total,
			 struct err *e)
{
	struct prom_sink *p = prom_sink(s);
	int ret = export_add(p->x, interval);

	if (!ret && !p->each)
		return 0;
	return prom_write(p, ret, e);
}

static int prom_final(struct sink *s, const struct frame *total, struct err *e)
{
	struct prom_sink *p = prom_sink(s);

	return prom_write(p, export_final(p->x, total), e);
}

static int prom_reopen(struct sink *s, struct err *e)
{
	return 0; /* each report is a file of its own */
}

const struct sink_ops sink_prom = {
	.name = "prom",
	.summary = "Prometheus' text of all that was counted; FILE is replaced with each report",
	.what = "for Prometheus",
	.size = sizeof(struct prom_sink),
	.open = prom_open,
	.meta = prom_meta,
	.interval = prom_interval,
	.final = prom_final,
	.reopen = prom_reopen,
	.close = sink_close,
	.free = prom_free,
};

const struct sink_ops sink_prom_proto = {
	.name = "prom-proto",
	.summary = "the same as delimited protocol buffers, with native histograms",
	.what = "for Prometheus",
	.size = sizeof(struct prom_sink),
	.open = prom_proto_open,
	.meta = prom_meta,
	.interval = prom_interval,
	.final = prom_final,
	.reopen = prom_reopen,
	.close = sink_close,
	.free = prom_free,
};
