// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prometheus: the text that node exporter's textfile collector and every server take, and the
 * protocol buffers that native histograms need. A file is replaced with each report, as a whole;
 * standard output has the final one alone.
 */
#include "sink/prom.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sink/sink.h"

struct prom_sink {
	struct sink base;
	void (*put)(struct out *o, const struct export *x);
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

/* ---- the sink ---- */

static struct prom_sink *prom_sink(struct sink *s)
{
	return (struct prom_sink *)s;
}

static void prom_free(struct sink *s)
{
	export_free(prom_sink(s)->x);
}

static int prom_open_as(struct sink **out, const struct sink_args *args, const struct sink_ops *ops,
			void (*put)(struct out *o, const struct export *x), struct err *e)
{
	int ret = sink_new(out, ops, args, e);
	struct prom_sink *p;

	if (ret)
		return ret;
	p = prom_sink(*out);
	p->put = put;
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
	return prom_open_as(out, args, &sink_prom, prom_put_text, e);
}

static int prom_proto_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	return prom_open_as(out, args, &sink_prom_proto, prom_put_proto, e);
}

static int prom_write(struct prom_sink *p, int added, struct err *e)
{
	if (added)
		return sink_failed(&p->base, added, e);
	p->put(p->base.out, p->x);
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
