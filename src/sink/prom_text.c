// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text, version 0.0.4:
 *
 *	# HELP waitscope_sched_wakeup_latency_seconds Time from ...
 *	# TYPE waitscope_sched_wakeup_latency_seconds histogram
 *	waitscope_sched_wakeup_latency_seconds_bucket{cgroup="/a",le="9.5367431640625e-07"} 3
 *
 * There may be hundreds of thousands of lines: what their beginnings have in common is put together
 * once, and no number goes through printf.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sink/prom.h"

#define LE_TEXT 32

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
