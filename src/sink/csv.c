// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CSV (RFC 4180, but lines end in \n as Unix tools want): one header, then a row for every
 * series of every report. `type` is interval or final. All samples have no labels; a CPU has
 * label1_key `cpu`. Losses and cost of a report are repeated on each of its rows, so that any
 * choice of rows keeps them. Times are in nanoseconds; a cell without a meaning is empty.
 * Slow waits are not here: they are another kind of row (JSON has them).
 *
 * A contended address is a row too, of the metric SOURCE_wait (SOURCE_accesses where no time is
 * measured), with fixed places for its labels, so that a column is one thing: kind, addr, name,
 * owner_pid, place, group.
 *
 *	type,seq,ts,mono_ns,dur_ns,metric,label1_key,label1_value,…,count,sum_ns,min_ns,max_ns,p50_ns,…
 *
 * In label values \xNN stands for the byte NN: control characters and the backslash itself, always,
 * and = + - @ at the start, where a spreadsheet would take the cell for a formula. So a name cannot
 * become one, and nothing of it is lost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fields.h"
#include "core/text.h"
#include "core/view.h"
#include "sink/foreign.h"
#include "sink/sink.h"

struct csv_sink {
	struct sink base;
	struct view view;
};

static void csv_free(struct sink *s)
{
	view_free(&((struct csv_sink *)s)->view);
}

static int csv_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	return sink_new(out, &sink_csv, args, e);
}

static void csv_heads(struct out *out, const struct field_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		out_printf(out, ",%s", t->v[i].key);
}

static int csv_meta(struct sink *s, const struct meta *m, struct err *e)
{
	const struct config *cfg = s->cfg;
	struct out *out = s->out;
	size_t i;

	out_text(out, "type,seq,ts,mono_ns,dur_ns,metric");
	for (i = 1; i <= SERIES_LABELS; i++)
		out_printf(out, ",label%zu_key,label%zu_value", i, i);
	out_text(out, ",count,sum_ns,min_ns,max_ns");
	for (i = 0; i < cfg->nquantiles; i++)
		out_printf(out, ",p%s_ns", cfg->quantiles[i].text);
	out_text(out, ",few,value,blocked_ns,run_queue_ns,cpu_ns");
	csv_heads(out, &contended_number_fields);
	out_text(out, ",cpus,site,idle,complete");
	csv_heads(out, &quality_edge_fields);
	csv_heads(out, &quality_fields);
	csv_heads(out, &self_fields);
	out_text(out, ",sum_share,class\n");
	return sink_flush_head(s, e);
}

/* "text": quoted only where it must be */
static void csv_text(struct out *out, const char *text)
{
	bool quote = strpbrk(text, ",\"") != NULL;
	const char *s = text;
	uint32_t code;
	size_t n;

	if (quote)
		out_text(out, "\"");
	if (*s && strchr("=+-@", *s))
		foreign_bytes(out, s++, 1);
	for (; *s; s += n) {
		n = *s == '\\' ? 1 : text_unseen(s, &code);
		if (n) {
			foreign_bytes(out, s, n);
			continue;
		}
		n = 1;
		out_put(out, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	}
	if (quote)
		out_text(out, "\"");
}

static void csv_foreign(struct out *out, const char *text)
{
	char *clean = foreign_utf8(out, text);

	if (clean)
		csv_text(out, clean);
	free(clean);
}

static void csv_empty(struct out *out, size_t cells)
{
	while (cells--)
		out_text(out, ",");
}

/* Both cells are empty without a value. */
static void csv_label(struct out *out, const char *key, const char *value)
{
	if (!key || !value) {
		csv_empty(out, 2);
		return;
	}
	out_printf(out, ",%s,", key);
	csv_foreign(out, value);
}

static void csv_hist(struct out *out, const struct hist *h, const struct config *cfg)
{
	const char *sep = ",";

	out_printf(out, ",%" PRIu64 ",%" PRIu64, h->count, h->sum_ns);
	if (!h->count) {
		csv_empty(out, 2 + cfg->nquantiles + 2);
		return;
	}
	out_printf(out, ",%" PRIu64 ",%" PRIu64, h->min_ns, h->max_ns);
	for (size_t i = 0; i < cfg->nquantiles; i++)
		out_printf(out, ",%" PRIu64, hist_quantile(h, &cfg->quantiles[i]).ns);
	for (size_t i = 0; i < cfg->nquantiles; i++) {
		if (!hist_quantile(h, &cfg->quantiles[i]).few)
			continue;
		out_printf(out, "%s%s", sep, cfg->quantiles[i].text);
		sep = " ";
	}
	csv_empty(out, *sep == ',' ? 2 : 1); /* few (if none), value: not a counter */
}

/* The histogram's cells stay empty. */
static void csv_counter(struct out *out, uint64_t value, const struct config *cfg)
{
	csv_empty(out, 4 + cfg->nquantiles + 1);
	out_printf(out, ",%" PRIu64, value);
}

/* The cells of a struct; empty ones where there is none. */
static void csv_fields(struct out *out, const struct field_table *t, const void *from)
{
	char text[FIELD_TEXT_BYTES];

	for (size_t i = 0; i < t->n; i++) {
		out_text(out, ",");
		if (from && !field_is_null(&t->v[i], from))
			csv_foreign(out, field_text(&t->v[i], from, text));
	}
}

/* Losses and cost: the same on every row of a report. `h`: the row's own, whose sum is compared
 * with the time; or NULL. Last the class of its waits, or NULL. */
static void csv_row_end(struct out *out, const struct frame *f, const struct hist *h,
			const char *class)
{
	out_printf(out, ",%s", quality_complete(&f->quality) ? "true" : "false");
	csv_fields(out, &quality_edge_fields, &f->quality);
	csv_fields(out, &quality_fields, &f->quality);
	csv_fields(out, &self_fields, f->self.bpf_known ? &f->self : NULL);
	if (h && f->dur_ns)
		out_printf(out, ",%.6f,%s\n", (double)h->sum_ns / (double)f->dur_ns, class ?: "");
	else
		out_printf(out, ",,%s\n", class ?: "");
}

/* What every row of a report begins with. */
struct csv_start {
	const struct frame *f;
	const char *type;
	char ts[64];
};

static void csv_row_start(struct out *out, const struct csv_start *start, const char *metric,
			  const char *of)
{
	const struct frame *f = start->f;

	out_printf(out, "%s,%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%s%s", start->type, f->seq,
		   start->ts, f->mono_ns, f->dur_ns, metric, of);
}

static void csv_series(struct sink *sink, const struct csv_start *start, const struct series *s)
{
	const struct split *split = s->split;
	struct out *out = sink->out;

	csv_row_start(out, start, s->desc->name, "");
	for (uint32_t i = 0; i < SERIES_LABELS; i++)
		csv_label(out, i < s->nlabels ? s->labels[i].key : NULL, s->labels[i].value);
	if (s->desc->counter)
		csv_counter(out, s->value, sink->cfg);
	else
		csv_hist(out, s->hist, sink->cfg);
	if (split)
		out_printf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, split->blocked_ns,
			   split->run_queue_ns,
			   s->hist->sum_ns - split->blocked_ns - split->run_queue_ns);
	else
		csv_empty(out, 3);
	csv_empty(out, contended_number_fields.n + 3); /* cpus, site, idle */
	csv_row_end(out, start->f, s->desc->counter ? NULL : s->hist, NULL);
}

static void csv_contended_labels(struct out *out, const struct contended *c)
{
	char addr[32], pid[16];

	(void)snprintf(addr, sizeof(addr), "0x%" PRIx64, c->addr); /* fits */
	(void)snprintf(pid, sizeof(pid), "%" PRIu32, c->pid);	   /* fits */
	csv_label(out, "kind", c->kind);
	csv_label(out, "addr", c->other ? NULL : addr);
	csv_label(out, "name", c->name);
	csv_label(out, "owner_pid", c->pid ? pid : NULL);
	csv_label(out, "place", c->place);
	csv_label(out, c->group.key, c->group.value);
}

static void csv_contended(struct sink *sink, const struct csv_start *start,
			  const struct contended *c)
{
	struct out *out = sink->out;
	size_t i;

	csv_row_start(out, start, c->source, c->wait ? "_wait" : "_accesses");
	csv_contended_labels(out, c);
	if (c->wait)
		csv_hist(out, c->wait, sink->cfg);
	else
		csv_counter(out, c->count, sink->cfg);
	csv_empty(out, 3); /* no split */
	csv_fields(out, &contended_number_fields, c);
	out_text(out, ",");
	for (i = 0; i < c->ncpus; i++)
		out_printf(out, "%s%" PRIu32, i ? " " : "", c->cpus[i]);
	out_text(out, ",");
	if (c->nsites)
		csv_foreign(out, c->sites[0].sym);
	out_printf(out, ",%s", !c->futex ? "" : c->futex->idle ? "true" : "false");
	csv_row_end(out, start->f, c->wait, c->class);
}

/* Of the metric `culprit`: kind, comm, pid and cgroup, then who waited, as far as there is room; a
 * real-time class is the last. */
static void csv_culprit(struct sink *sink, const struct csv_start *start, const struct culprit *k)
{
	struct out *out = sink->out;
	char pid[16], class[32];
	size_t i;

	csv_row_start(out, start, "culprit", "");
	(void)snprintf(pid, sizeof(pid), "%" PRIu32, k->tid ? k->tid : k->pid); /* fits */
	csv_label(out, "kind", k->kind);
	csv_label(out, "comm", k->comm);
	csv_label(out, k->tid ? "tid" : "pid", k->pid ? pid : NULL);
	csv_label(out, "cgroup", k->cgroup);
	if (k->priority)
		(void)snprintf(class, sizeof(class), "%s %" PRIu32, k->rt_class, k->priority);
	else if (k->rt_class)
		(void)snprintf(class, sizeof(class), "%s", k->rt_class); /* these fit */
	for (i = 0; i < SERIES_LABELS - 4 - (k->rt_class != NULL); i++)
		csv_label(out, i < k->nvictim ? k->victim[i].key : NULL, k->victim[i].value);
	if (k->rt_class)
		csv_label(out, "class", class);
	out_printf(out, ",%" PRIu64 ",%" PRIu64, k->count, k->wait_ns);
	/* No min and max; few, value; no split; cpus, site, idle. */
	csv_empty(out, 2 + sink->cfg->nquantiles + 2 + 3 + contended_number_fields.n + 3);
	csv_row_end(out, start->f, NULL, NULL);
}

/*
 * Of the metric `time`: whose it is, the state, then the group's labels; the value is nanoseconds.
 */
static void csv_times(struct sink *sink, const struct csv_start *start, const struct times *t)
{
	struct out *out = sink->out;

	for (size_t k = 0; k < times_fields.n; k++) {
		if (times_fields.v[k].type != FIELD_U64)
			continue;
		csv_row_start(out, start, "time", "");
		csv_label(out, "of", t->of);
		csv_label(out, "state", times_fields.v[k].key);
		for (uint32_t i = 0; i < SERIES_LABELS - 2; i++)
			csv_label(out, i < t->nlabels ? t->labels[i].key : NULL,
				  t->labels[i < t->nlabels ? i : 0].value);
		csv_counter(out, field_u64(&times_fields.v[k], t), sink->cfg);
		csv_empty(out, 3 + contended_number_fields.n + 3); /* no split; cpus, site, idle */
		csv_row_end(out, start->f, NULL, NULL);
	}
}

static int csv_report(struct sink *s, const struct frame *f, struct err *e)
{
	struct csv_start start = {.f = f, .type = f->type == FRAME_FINAL ? "final" : "interval"};
	struct view *view = &((struct csv_sink *)s)->view;
	const struct view_row *rows;
	struct view_table groups;
	size_t i, k;
	int ret = view_groups(view, f, s->cfg, &groups);

	if (ret)
		return sink_failed(s, ret, e);
	format_rfc3339(start.ts, sizeof(start.ts), f->time.tv_sec, (uint32_t)f->time.tv_nsec);
	rows = view_first(view, &groups, groups.n);
	for (i = 0; i < f->nseries; i++) {
		const struct series *one = &f->series[i];

		if (!groups.n || !view_is_group(one) || view_is_cpu(one)) {
			csv_series(s, &start, one);
			continue;
		}
		/* The first of them: all, in their order. */
		for (; rows && rows < view->rows + groups.n; rows++)
			for (k = 0; k < rows->n; k++)
				csv_series(s, &start, rows->first + k);
	}
	for (i = 0; i < f->ncontended; i++)
		csv_contended(s, &start, &f->contended[i]);
	for (i = 0; i < f->nculprits; i++)
		csv_culprit(s, &start, &f->culprits[i]);
	for (i = 0; i < f->ntimes; i++)
		csv_times(s, &start, &f->times[i]);
	return out_flush(s->out, e);
}

static int csv_interval(struct sink *s, const struct frame *interval, const struct frame *total,
			struct err *e)
{
	return csv_report(s, interval, e);
}

const struct sink_ops sink_csv = {
	.name = "csv",
	.summary = "CSV: one row for each metric, CPU, group and address of every report",
	.what = "in CSV",
	.size = sizeof(struct csv_sink),
	.open = csv_open,
	.meta = csv_meta,
	.interval = csv_interval,
	.final = csv_report,
	.reopen = sink_reopen,
	.close = sink_close,
	.free = csv_free,
};
