// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison as a table, worst first; as JSON, one object; as CSV, a line a statistic. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "diff.h"

#define CLEAN 256

static size_t nstats(const struct diff *d)
{
	return d->nquantiles + COMPARE_MORE;
}

static bool in_both(const struct diff_row *r)
{
	return r->in[DIFF_BASE] && r->in[DIFF_NEW];
}

/* Has it lines of its own? */
static bool listed(const struct diff_row *r)
{
	return in_both(r) && !r->repeats;
}

const char *diff_stat_name(const struct diff *d, size_t i, char out[24])
{
	static const char *const more[] = {
		[COMPARE_MEAN] = "mean", [COMPARE_RATE] = "rate", [COMPARE_SUM] = "sum"};

	if (i >= d->nquantiles)
		return more[i - d->nquantiles];
	(void)snprintf(out, 24, "p%s", d->quantiles[i].text); /* fits */
	return out;
}

/* ---- the table ---- */

static const struct compare_stat *stat_of(const struct diff_line *l)
{
	return &l->row->result.stats[l->stat];
}

static bool differs(const struct diff_line *l)
{
	enum compare_verdict v = stat_of(l)->verdict;

	return v == COMPARE_SLOWER || v == COMPARE_FASTER;
}

/* Slower, faster, undecided, same; of each the largest change first. */
static int worst_first(const void *a, const void *b)
{
	static const int rank[] = {[COMPARE_SLOWER] = 0,
				   [COMPARE_FASTER] = 1,
				   [COMPARE_UNDECIDED] = 2,
				   [COMPARE_SAME] = 3};
	const struct diff_line *x = a, *y = b;
	const struct compare_stat *p = stat_of(x), *q = stat_of(y);
	double by_p = p->ratio > 0 ? fabs(log(p->ratio)) : 0;
	double by_q = q->ratio > 0 ? fabs(log(q->ratio)) : 0;

	if (p->verdict != q->verdict)
		return rank[p->verdict] - rank[q->verdict];
	if (by_p > by_q || by_p < by_q)
		return by_p > by_q ? -1 : 1;
	if (x->row != y->row)
		return strcmp(x->row->key, y->row->key);
	return x->stat < y->stat ? -1 : 1;
}

static const char *rate_text(double v, char out[20])
{
	if (v >= 100)
		return format_count(out, 20, (uint64_t)llround(v));
	(void)snprintf(out, 20, "%.3g", v); /* fits */
	return out;
}

const char *diff_value_text(const struct diff *d, size_t stat, double v, char out[24])
{
	if (stat == d->nquantiles + COMPARE_RATE)
		(void)snprintf(out, 24, "%s/s", rate_text(v, (char[20]){0})); /* fits */
	else if (stat == d->nquantiles + COMPARE_SUM)
		(void)snprintf(out, 24, "%s ms/s", rate_text(v / 1e6, (char[20]){0})); /* fits */
	else
		(void)format_duration(out, 24, (uint64_t)llround(v));
	return out;
}

const char *diff_ratio_text(double ratio, char out[DIFF_INTERVAL_BYTES])
{
	if (ratio <= 0)
		return "-";
	if (ratio >= 1000)
		return format_count(out, DIFF_INTERVAL_BYTES, (uint64_t)fmin(ratio, 1e18));
	(void)snprintf(out, DIFF_INTERVAL_BYTES, "%.3f", ratio); /* these fit */
	return out;
}

const char *diff_interval_text(const struct compare_stat *s, char out[DIFF_INTERVAL_BYTES])
{
	bool above = s->hi > 0 && s->lo >= DIFF_BOUND_LEAST,
	     below = s->hi > 0 && s->hi <= DIFF_BOUND_MOST;

	if (above && below)
		(void)snprintf(out, DIFF_INTERVAL_BYTES, "%.3f-%.3f", s->lo, s->hi);
	else if (above && s->lo < DIFF_BOUND_MOST)
		(void)snprintf(out, DIFF_INTERVAL_BYTES, "over %.3f", s->lo);
	else if (above)
		(void)snprintf(out, DIFF_INTERVAL_BYTES, "over %.0f", DIFF_BOUND_MOST);
	else if (below && s->hi > DIFF_BOUND_LEAST)
		(void)snprintf(out, DIFF_INTERVAL_BYTES, "under %.3f", s->hi);
	else if (below)
		(void)snprintf(out, DIFF_INTERVAL_BYTES, "under %.2f", DIFF_BOUND_LEAST);
	else
		return "-";
	return out;
}

#define TABLE_COLUMNS 71 /* of a line, before the metric */

static void print_line(const struct diff *d, const struct diff_line *l,
		       const struct diff_plot *plot, FILE *f)
{
	const struct compare_stat *s = stat_of(l);
	char drawn[DIFF_PLOT_BYTES];
	char base[24], new[24], name[24], clean[CLEAN];
	char ci[DIFF_INTERVAL_BYTES], ratio[DIFF_INTERVAL_BYTES];

	fprintf(f, "%-9s  %-6s  %11s  %11s  %7s  %-13s  %s%s%s\n", compare_verdict_text(s->verdict),
		diff_stat_name(d, l->stat, name), diff_value_text(d, l->stat, s->base, base),
		diff_value_text(d, l->stat, s->new, new), diff_ratio_text(s->ratio, ratio),
		diff_interval_text(s, ci), diff_plot_line(plot, s, drawn), plot->width ? "  " : "",
		text_clean(clean, sizeof(clean), l->row->key, SIZE_MAX));
}

static void print_side(const struct diff *d, int side, const char *name, FILE *f)
{
	const struct diff_side *s = &d->sides[side];
	char clean[CLEAN], time[32];

	if (s->command)
		fprintf(f, "%s  %s\n", name,
			text_clean(clean, sizeof(clean), s->command, SIZE_MAX));
	for (size_t i = 0; i < s->nfiles; i++)
		fprintf(f, "%s  %s  %" PRIu64 " interval%s, %s\n", i || s->command ? "    " : name,
			text_clean(clean, sizeof(clean), s->files[i].path, SIZE_MAX),
			s->files[i].intervals, s->files[i].intervals == 1 ? "" : "s",
			format_duration(time, sizeof(time), s->files[i].dur_ns));
}

/* Percentiles that too few samples are beyond, though a longer run could tell. */
static size_t count_few(const struct diff *d)
{
	size_t i, j, n = 0;

	for (i = 0; i < d->nrows; i++)
		for (j = 0; listed(d->rows[i]) && j < d->nquantiles; j++)
			n += d->rows[i]->result.stats[j].beyond < COMPARE_BEYOND;
	return n;
}

/* What has an interval, which says nothing. */
static size_t count_wide(const struct diff *d)
{
	size_t i, j, n = 0;

	for (i = 0; i < d->nrows; i++)
		for (j = 0; listed(d->rows[i]) && !d->rows[i]->result.few_runs && j < nstats(d);
		     j++)
			n += d->rows[i]->result.stats[j].verdict == COMPARE_UNDECIDED &&
			     d->rows[i]->result.stats[j].hi > 0;
	return n;
}

/* What the numbers cannot say, and why. */
void diff_print_caveats(const struct diff *d, FILE *f)
{
	const struct diff_side *base = &d->sides[DIFF_BASE], *new = &d->sides[DIFF_NEW];
	size_t runs = base->nfiles < new->nfiles ? base->nfiles : new->nfiles, few = count_few(d),
	       wide = count_wide(d);
	uint64_t least = UINT64_MAX;
	int side;

	for (side = 0; side < DIFF_SIDES; side++)
		if (d->sides[side].nfiles == 1 && d->sides[side].files[0].intervals < least)
			least = d->sides[side].files[0].intervals;
	if (base->nfiles == 1 && new->nfiles == 1)
		fputs("one run each: what is said holds within these two runs only\n", f);
	else if (runs < COMPARE_RUNS)
		fputs("fewer than four runs a side: nothing can be told apart (p < 0.05 is out of "
		      "reach)\n",
		      f);
	if (least < COMPARE_INTERVALS)
		fprintf(f,
			"undecided: a run of %" PRIu64
			" interval%s: fewer than %d give no interval of "
			"confidence (record with a shorter --interval or for longer)\n",
			least, least == 1 ? "" : "s", COMPARE_INTERVALS);
	else if (few)
		fprintf(f,
			"undecided: %zu percentile%s with fewer than %d samples beyond (record for "
			"longer)\n",
			few, few == 1 ? "" : "s", COMPARE_BEYOND);
	if (wide)
		fprintf(f,
			"undecided: %zu with no bound of their interval within --noise (record for "
			"longer, or more runs)\n",
			wide);
}

static void print_repeats(const struct diff *d, FILE *f)
{
	char clean[CLEAN];

	for (size_t i = 0; i < d->nrows; i++)
		if (d->rows[i]->repeats)
			fprintf(f, "all of its metric, not repeated: %s\n",
				text_clean(clean, sizeof(clean), d->rows[i]->key, SIZE_MAX));
}

static void print_lonely(const struct diff *d, int side, const char *name, FILE *f)
{
	char clean[CLEAN];

	for (size_t i = 0; i < d->nrows; i++)
		if (d->rows[i]->in[side] && !in_both(d->rows[i]))
			fprintf(f, "only in %s: %s\n", name,
				text_clean(clean, sizeof(clean), d->rows[i]->key, SIZE_MAX));
}

/*
 * Of the lines that are shown; the axis is as long as what is certain needs, or all, if nothing is.
 */
static void make_plot(const struct diff *d, const struct diff_line *lines, size_t n,
		      struct diff_plot *plot)
{
	size_t i, widest = strlen("metric"), width;
	bool certain = n && differs(&lines[0]);
	char clean[CLEAN];

	for (i = 0; i < n; i++) {
		width = text_width(text_clean(clean, sizeof(clean), lines[i].row->key, SIZE_MAX));
		widest = width > widest ? width : widest;
	}
	diff_plot_init(plot, d->columns, TABLE_COLUMNS + 2 + widest, d->utf8);
	for (i = 0; i < n; i++)
		if (!certain || differs(&lines[i]))
			diff_plot_reach(plot, stat_of(&lines[i]));
}

struct diff_line *diff_lines(const struct diff *d, size_t *n)
{
	struct diff_line *lines = calloc(d->nrows * nstats(d) + 1, sizeof(*lines));

	*n = 0;
	for (size_t i = 0; lines && i < d->nrows; i++) {
		if (!listed(d->rows[i]))
			continue;
		for (size_t j = 0; j < nstats(d); j++)
			lines[(*n)++] = (struct diff_line){d->rows[i], j};
	}
	if (lines)
		qsort(lines, *n, sizeof(*lines), worst_first);
	return lines;
}

void diff_print_table(const struct diff *d, FILE *f)
{
	size_t n, shown;
	struct diff_line *lines = diff_lines(d, &n);
	char axis[DIFF_PLOT_BYTES] = "";
	struct diff_plot plot;

	print_side(d, DIFF_BASE, "base", f);
	print_side(d, DIFF_NEW, "new ", f);
	diff_print_caveats(d, f);
	shown = d->most && d->most < n ? d->most : n;
	make_plot(d, lines, shown, &plot);
	fprintf(f, "\n%-9s  %-6s  %11s  %11s  %7s  %-13s  %s%smetric\n", "verdict", "stat", "base",
		"new", "ratio", "95 % interval", plot.width ? diff_plot_head(&plot, axis) : "",
		plot.width ? "  " : "");
	for (size_t i = 0; i < shown; i++)
		print_line(d, &lines[i], &plot, f);
	if (shown < n)
		fprintf(f, "... %zu more (-n 0 shows all)\n", n - shown);
	print_repeats(d, f);
	print_lonely(d, DIFF_BASE, "base", f);
	print_lonely(d, DIFF_NEW, "new", f);
	free(lines);
}

/* ---- CSV ---- */

static void quoted(FILE *f, const char *text)
{
	char clean[CLEAN], *p;

	fputc('"', f);
	for (p = text_clean(clean, sizeof(clean), text, SIZE_MAX); *p; p++) {
		if (*p == '"')
			fputc('"', f);
		fputc(*p, f);
	}
	fputc('"', f);
}

void diff_print_csv(const struct diff *d, FILE *f)
{
	char name[24];

	fputs("metric,stat,base,new,ratio,ci_low,ci_high,p,beyond,verdict\n", f);
	for (size_t i = 0; i < d->nrows; i++) {
		if (!in_both(d->rows[i]))
			continue;
		for (size_t j = 0; j < nstats(d); j++) {
			const struct compare_stat *s = &d->rows[i]->result.stats[j];

			quoted(f, d->rows[i]->key);
			fprintf(f, ",%s,%.9g,%.9g,", diff_stat_name(d, j, name), s->base, s->new);
			if (s->ratio > 0)
				fprintf(f, "%.6g", s->ratio);
			if (s->hi > 0)
				fprintf(f, ",%.6g,%.6g,%.3g", s->lo, s->hi, s->p);
			else
				fputs(",,,", f);
			fprintf(f, ",%" PRIu64 ",%s\n", s->beyond,
				compare_verdict_text(s->verdict));
		}
	}
}

/* ---- JSON ---- */

static int put(json_object *to, const char *key, json_object *v)
{
	return v && !json_object_object_add(to, key, v) ? 0 : (json_object_put(v), -ENOMEM);
}

static int put_text(json_object *to, const char *key, const char *text)
{
	char clean[4 * CLEAN];

	return put(to, key,
		   json_object_new_string(text_utf8(clean, sizeof(clean), text, SIZE_MAX)));
}

/* null: there is none */
static int put_number(json_object *to, const char *key, bool known, double v)
{
	return known ? put(to, key, json_object_new_double(v))
		     : json_object_object_add(to, key, NULL);
}

static json_object *side_json(const struct diff_side *s)
{
	json_object *o = json_object_new_object(), *files = json_object_new_array(), *one;
	int ret = o && files ? 0 : -ENOMEM;

	if (!ret && s->command)
		ret = put_text(o, "command", s->command);
	for (size_t i = 0; !ret && i < s->nfiles; i++) {
		one = json_object_new_object();
		if (!one || json_object_array_add(files, one)) {
			json_object_put(one);
			ret = -ENOMEM;
			break;
		}
		ret = put_text(one, "file", s->files[i].path) ?:
		      put(one, "intervals", json_object_new_uint64(s->files[i].intervals)) ?:
		      put(one, "dur_ns", json_object_new_uint64(s->files[i].dur_ns));
	}
	if (!ret)
		ret = put(o, "runs", json_object_get(files));
	json_object_put(files);
	if (!ret)
		return o;
	json_object_put(o);
	return NULL;
}

static int labels_json(const struct diff_row *r, json_object *to)
{
	json_object *labels = json_object_new_object();
	int ret = put(to, "labels", labels);

	for (uint32_t i = 0; !ret && i < r->nlabels; i++)
		ret = put_text(labels, r->labels[i].key, r->labels[i].value);
	return ret;
}

static json_object *ci_json(const struct compare_stat *s)
{
	json_object *ci = s->hi > 0 ? json_object_new_array() : NULL;

	if (ci && (json_object_array_add(ci, json_object_new_double(s->lo)) ||
		   json_object_array_add(ci, json_object_new_double(s->hi)))) {
		json_object_put(ci);
		return NULL;
	}
	return ci;
}

static int row_json(const struct diff *d, const struct diff_row *r, size_t stat, json_object *rows)
{
	const struct compare_stat *s = &r->result.stats[stat];
	json_object *o = json_object_new_object();
	char name[24];
	int ret;

	if (!o || json_object_array_add(rows, o)) {
		json_object_put(o);
		return -ENOMEM;
	}
	ret = put_text(o, "metric", r->desc->name) ?:
	      labels_json(r, o) ?:
	      put_text(o, "stat", diff_stat_name(d, stat, name)) ?:
	      put_number(o, "base", true, s->base) ?:
	      put_number(o, "new", true, s->new) ?:
	      put_number(o, "ratio", s->ratio > 0, s->ratio);
	if (!ret)
		ret = s->hi > 0 ? put(o, "ci", ci_json(s)) : json_object_object_add(o, "ci", NULL);
	return ret ?: put_number(o, "p", s->hi > 0, s->p) ?:
		      put(o, "beyond", json_object_new_uint64(s->beyond)) ?:
		      put_text(o, "verdict", compare_verdict_text(s->verdict));
}

static int only_json(const struct diff *d, int side, const char *key, json_object *to)
{
	json_object *list = json_object_new_array();
	char clean[4 * CLEAN];
	int ret = put(to, key, list);

	for (size_t i = 0; !ret && i < d->nrows; i++)
		if (d->rows[i]->in[side] && !in_both(d->rows[i]))
			ret = json_object_array_add(
				list, json_object_new_string(text_utf8(clean, sizeof(clean),
								       d->rows[i]->key, SIZE_MAX)));
	return ret ? -ENOMEM : 0;
}

int diff_print_json(const struct diff *d, FILE *f)
{
	json_object *o = json_object_new_object(), *rows = json_object_new_array();
	int ret = o && rows ? 0 : -ENOMEM;

	if (!ret)
		ret = put(o, "v", json_object_new_int(1)) ?:
		      put_text(o, "type", "diff") ?:
		      put(o, "base", side_json(&d->sides[DIFF_BASE])) ?:
		      put(o, "new", side_json(&d->sides[DIFF_NEW]));
	for (size_t i = 0; !ret && i < d->nrows; i++)
		for (size_t j = 0; !ret && in_both(d->rows[i]) && j < nstats(d); j++)
			ret = row_json(d, d->rows[i], j, rows);
	if (!ret)
		ret = put(o, "rows", json_object_get(rows)) ?:
		      only_json(d, DIFF_BASE, "only_base", o) ?:
		      only_json(d, DIFF_NEW, "only_new", o);
	if (!ret)
		fprintf(f, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(rows);
	json_object_put(o);
	return ret;
}
