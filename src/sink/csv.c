// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CSV (RFC 4180, but lines end in \n as Unix tools want): one header, then a row for every
 * series of every report. `type` is interval or final. The whole has no labels; a CPU has
 * label1_key `cpu`. Losses and cost of a report are repeated on each of its rows, so that any
 * choice of rows keeps them. Times are whole nanoseconds; a cell without a meaning is empty.
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
 * become one, and is still told exactly.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/groups_order.h"
#include "sink/out.h"
#include "sink/sink.h"

struct csv_sink {
	struct sink base;
	const struct config *cfg;
	struct out out;
	struct group_rows groups;
};

static struct csv_sink *csv_sink(struct sink *s)
{
	return (struct csv_sink *)s;
}

static int csv_close(struct sink *s, struct err *e)
{
	struct csv_sink *c = csv_sink(s);
	int ret;

	if (!c)
		return 0;
	ret = out_close(&c->out, e);
	group_rows_free(&c->groups);
	free(c);
	return ret;
}

static int csv_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	struct csv_sink *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return err_sys(e, -ENOMEM, "output in CSV");
	c->base.ops = &sink_csv;
	c->cfg = args->cfg;
	ret = out_open(&c->out, args->path, args->owner_only, e);
	if (ret) {
		(void)csv_close(&c->base, NULL); /* nothing written: the open's error counts */
		return ret;
	}
	*out = &c->base;
	return 0;
}

static const char csv_head[] =
	"type,seq,ts,mono_ns,dur_ns,metric,"
	"label1_key,label1_value,label2_key,label2_value,label3_key,label3_value,"
	"label4_key,label4_value,label5_key,label5_value,label6_key,label6_value,"
	"count,sum_ns,min_ns,max_ns";
static const char csv_tail[] =
	",few,value,blocked_ns,run_queue_ns,cpu_ns,threads,cpus,site,idle,complete,missed,in_flight,in_flight_longest_ns,unpaired,clamped,map_full,"
	"recursion_misses,lost_events,over_range,inferred,pending,names_refused,bpf_ns_per_event,bpf_cpu_ppm,user_cpu_ppm,"
	"sum_share\n";
_Static_assert(SERIES_LABELS == 6, "csv_head names each label");

static int csv_header(struct csv_sink *c, struct err *e)
{
	size_t i;

	out_text(&c->out, csv_head);
	for (i = 0; i < c->cfg->nquantiles; i++)
		out_printf(&c->out, ",p%s_ns", c->cfg->quantiles[i].text);
	out_text(&c->out, csv_tail);
	return out_flush(&c->out, e);
}

static int csv_meta(struct sink *s, const struct meta *m, struct err *e)
{
	return csv_header(csv_sink(s), e);
}

static void csv_bytes(struct out *out, const char *s, size_t n)
{
	for (; n; n--, s++)
		out_printf(out, "\\x%02x", (unsigned char)*s);
}

/* ,"text": quoted only where it must be */
static void csv_text(struct out *out, const char *text)
{
	bool quote = strpbrk(text, ",\"") != NULL;
	const char *s = text;
	uint32_t code;
	size_t n;

	out_text(out, quote ? ",\"" : ",");
	if (*s && strchr("=+-@", *s))
		csv_bytes(out, s++, 1);
	for (; *s; s += n) {
		n = *s == '\\' ? 1 : text_unseen(s, &code);
		if (n) {
			csv_bytes(out, s, n);
			continue;
		}
		n = 1;
		out_put(out, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	}
	if (quote)
		out_text(out, "\"");
}

/* Paths can be long: kernel names of any length, three bytes for each bad one. */
static void csv_foreign(struct out *out, const char *text)
{
	size_t size = 3 * strlen(text) + 1;
	char *clean = malloc(size);

	if (!clean) {
		out->error = -ENOMEM;
		return;
	}
	csv_text(out, text_utf8(clean, size, text, SIZE_MAX));
	free(clean);
}

/* Both cells are empty without a value. */
static void csv_label(struct out *out, const char *key, const char *value)
{
	if (!key || !value) {
		out_text(out, ",,");
		return;
	}
	out_printf(out, ",%s", key);
	csv_foreign(out, value);
}

static void csv_hist(struct out *out, const struct hist *h, const struct config *cfg)
{
	struct quantile_value v;
	const char *sep = ",";
	size_t i;

	out_printf(out, ",%" PRIu64 ",%" PRIu64, h->count, h->sum_ns);
	if (h->count)
		out_printf(out, ",%" PRIu64 ",%" PRIu64, h->min_ns, h->max_ns);
	else
		out_text(out, ",,");
	for (i = 0; i < cfg->nquantiles; i++) {
		out_text(out, ",");
		if (h->count)
			out_printf(out, "%" PRIu64, hist_quantile(h, &cfg->quantiles[i]).ns);
	}
	for (i = 0; h->count && i < cfg->nquantiles; i++) {
		v = hist_quantile(h, &cfg->quantiles[i]);
		if (!v.few)
			continue;
		out_printf(out, "%s%s", sep, cfg->quantiles[i].text);
		sep = " ";
	}
	out_text(out, *sep == ',' ? ",," : ","); /* few (if none), value: not a counter */
}

/* The histogram's cells stay empty. */
static void csv_counter(struct out *out, uint64_t value, const struct config *cfg)
{
	size_t i;

	for (i = 0; i < 4 + cfg->nquantiles + 1; i++)
		out_text(out, ",");
	out_printf(out, ",%" PRIu64, value);
}

static void csv_split(struct out *out, const struct series *s)
{
	const struct split *split = s->split;

	if (split)
		out_printf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, split->blocked_ns,
			   split->run_queue_ns,
			   s->hist->sum_ns - split->blocked_ns - split->run_queue_ns);
	else
		out_text(out, ",,,");
}

/* Losses and cost: the same on every row of a report. `h`: the row's own, whose sum is compared
 * with the time; or NULL. */
static void csv_row_end(struct out *out, const struct frame *f, const struct hist *h)
{
	const struct quality *q = &f->quality;
	const struct self_cost *c = &f->self;

	out_printf(out, ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		   quality_complete(q) ? "true" : "false", q->missed, q->in_flight, q->longest_ns,
		   q->unpaired, q->clamped);
	out_printf(out,
		   ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		   ",%" PRIu64,
		   q->map_full, q->recursion_misses, q->lost_events, q->over_range, q->inferred,
		   q->pending, q->names_refused);
	if (c->bpf_known)
		out_printf(out, ",%.1f,%.1f,%.1f", c->bpf_ns_per_event, c->bpf_cpu_ppm,
			   c->user_cpu_ppm);
	else
		out_text(out, ",,,");
	if (h && f->dur_ns)
		out_printf(out, ",%.6f\n", (double)h->sum_ns / (double)f->dur_ns);
	else
		out_text(out, ",\n");
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

static void csv_series(struct csv_sink *c, const struct csv_start *start, const struct series *s)
{
	struct out *out = &c->out;
	uint32_t i;

	csv_row_start(out, start, s->desc->name, "");
	for (i = 0; i < SERIES_LABELS; i++)
		csv_label(out, i < s->nlabels ? s->labels[i].key : NULL, s->labels[i].value);
	if (s->desc->counter)
		csv_counter(out, s->value, c->cfg);
	else
		csv_hist(out, s->hist, c->cfg);
	csv_split(out, s);
	out_text(out, ",,,,"); /* threads, cpus, site, idle */
	csv_row_end(out, start->f, s->desc->counter ? NULL : s->hist);
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

static void csv_contended(struct csv_sink *sink, const struct csv_start *start,
			  const struct contended *c)
{
	struct out *out = &sink->out;
	size_t i;

	csv_row_start(out, start, c->source, c->wait ? "_wait" : "_accesses");
	csv_contended_labels(out, c);
	if (c->wait)
		csv_hist(out, c->wait, sink->cfg);
	else
		csv_counter(out, c->count, sink->cfg);
	out_text(out, ",,,,"); /* no split; threads */
	if (c->ntasks)
		out_printf(out, "%" PRIu64, c->ntasks);
	out_text(out, ",");
	for (i = 0; i < c->ncpus; i++)
		out_printf(out, "%s%" PRIu32, i ? " " : "", c->cpus[i]);
	if (c->nsites)
		csv_foreign(out, c->sites[0].sym);
	else
		out_text(out, ",");
	out_printf(out, ",%s", !c->futex ? "" : c->futex->idle ? "true" : "false");
	csv_row_end(out, start->f, c->wait);
}

/* Those of a metric that is ranked, who waits most first; 0 or -ENOMEM. */
static int csv_rank(struct csv_sink *c, const struct frame *f)
{
	const struct metric_desc *head = NULL, *desc;
	size_t i;
	int ret;

	c->groups.n = 0;
	for (i = 0; i < f->nseries; i++) {
		desc = f->series[i].desc;
		if (desc->role == METRIC_HEADLINE)
			head = desc;
		if (head && desc->ranks)
			break;
	}
	if (i == f->nseries)
		return 0;
	ret = group_rows_collect(&c->groups, f, head, c->cfg->sort, false, true);
	if (!ret)
		group_rows_sort(&c->groups);
	return ret;
}

static void csv_groups(struct csv_sink *c, const struct csv_start *start)
{
	const struct group_row *row;
	size_t i, k;

	for (i = 0; i < c->groups.n; i++) {
		row = &c->groups.v[i];
		for (k = 0; k < row->n; k++)
			csv_series(c, start, row->first + k);
	}
}

static int csv_report(struct csv_sink *c, const struct frame *f, const char *type, struct err *e)
{
	struct csv_start start = {.f = f, .type = type};
	bool grouped = false;
	size_t i;
	int ret;

	format_rfc3339(start.ts, sizeof(start.ts), f->time.tv_sec, (uint32_t)f->time.tv_nsec);
	ret = csv_rank(c, f);
	if (ret)
		return err_sys(e, ret, "output in CSV");
	for (i = 0; i < f->nseries; i++) {
		const struct series *s = &f->series[i];

		if (!c->groups.n || !group_series(s) || group_is_cpu(s))
			csv_series(c, &start, s);
		else if (!grouped) /* the first of them: all, in their order */
			csv_groups(c, &start);
		grouped |= c->groups.n && group_series(s) && !group_is_cpu(s);
	}
	for (i = 0; i < f->ncontended; i++)
		csv_contended(c, &start, &f->contended[i]);
	return out_flush(&c->out, e);
}

static int csv_interval(struct sink *s, const struct frame *interval, const struct frame *total,
			struct err *e)
{
	return csv_report(csv_sink(s), interval, "interval", e);
}

static int csv_final(struct sink *s, const struct frame *total, struct err *e)
{
	return csv_report(csv_sink(s), total, "final", e);
}

static int csv_reopen(struct sink *s, struct err *e)
{
	struct csv_sink *c = csv_sink(s);
	int ret = out_reopen(&c->out, e);

	if (ret || !c->out.owned || !out_is_empty_file(&c->out))
		return ret;
	return csv_header(c, e);
}

const struct sink_ops sink_csv = {
	.name = "csv",
	.summary = "CSV: one row for the whole, each CPU, group and address of every report",
	.open = csv_open,
	.meta = csv_meta,
	.interval = csv_interval,
	.final = csv_final,
	.reopen = csv_reopen,
	.close = csv_close,
};
