// SPDX-License-Identifier: GPL-2.0-or-later
#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/text.h"
#include "opts.h"
#include "sub_opts.h"

#define QUOTED 128
#define ROWS_SHOWN 40
#define ROWS_MAX 1000000
#define RUNS_DEFAULT 6
#define RUNS_MAX 1000

enum own { PERCENTILES, NOISE, FAIL_IF, ROWS, RUNS, KEEP, OUTPUT, HELP, DUMP };

static const struct option_word formats[] = {
	{"table", DIFF_TABLE}, {"json", DIFF_JSON}, {"csv", DIFF_CSV},
	{"html", DIFF_HTML},   {NULL, 0},
};

/* clang-format off */
static const struct option_row rows[] = {
	{"percentiles", 'P', "LIST", "percentiles to compare (default 50,90,99,99.9)", .value = PERCENTILES},
	{"noise", 0, "PERCENT", "changes up to this are no difference (default 3)", .value = NOISE},
	{"fail-if", 0, "LIMIT", "exit 4: 'sched_wakeup_latency p99 > +10%'", .value = FAIL_IF, .repeat = true},
	{"bisect", 0, NULL, "exit as git bisect run wants it: 0, 1, 125", SUB_FLAG(struct diff_opts, bisect)},
	{"force", 0, NULL, "compare what differs in sources, filters or --by", SUB_FLAG(struct diff_opts, force)},
	{"rows", 'n', "N", "at most N lines, 0 for all (default 40)", .value = ROWS},
	{"run", 0, NULL, "run two commands, and compare those", SUB_FLAG(struct diff_opts, run)},
	{"runs", 0, "N", "with --run: so many of each (default 6); also -n", .value = RUNS},
	{"keep", 0, "DIR", "with --run: keep the records there", .value = KEEP, .kind = OPTION_FILES},
	{"output", 'o', "FORMAT[:FILE]", "table (default), json, csv or html", .value = OUTPUT, .kind = OPTION_FORMATS, .words = formats},
	{"quiet", 'q', NULL, "no notices on stderr", SUB_FLAG(struct diff_opts, quiet)},
	{"help", 'h', NULL, "this list", .value = HELP},
	{"dump-options", 0, NULL, NULL, .value = DUMP, .hidden = true},
};
/* clang-format on */

static const char help[] =
	"Usage: waitscope diff BASE[,BASE...] NEW[,NEW...] [OPTIONS]\n"
	"       waitscope diff --run 'COMMAND' 'COMMAND' [-n RUNS] [OPTIONS]\n"
	"Compares what -o json:FILE wrote: is NEW slower than BASE? Several records a\n"
	"side are runs of the same; with four a side or more their differences are\n"
	"taken into account.\n\n";

static int set_percentiles(struct diff_opts *o, const char *arg, struct err *e)
{
	struct quantile *q = NULL;
	size_t n = 0;
	int ret = parse_quantiles(arg, "--percentiles", &q, &n, e);

	if (!ret && n > COMPARE_QUANTILES)
		ret = err_set(e, EXIT_USAGE, -E2BIG, "--percentiles '%s': at most %d are compared",
			      arg, COMPARE_QUANTILES);
	if (!ret)
		memcpy(o->quantiles, q, n * sizeof(*q));
	o->nquantiles = ret ? 0 : n;
	free(q);
	return ret;
}

static int set_noise(struct diff_opts *o, const char *arg, struct err *e)
{
	char quoted[QUOTED], *end;
	double v = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%")) ||
	    strspn(arg, "0123456789.%") != strlen(arg) || v > 1000)
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--noise '%s': expected a percentage such as 3",
			       text_clean(quoted, sizeof(quoted), arg, SIZE_MAX));
	o->noise = v / 100;
	return 0;
}

/* The quantile of a limit is compared, too. */
static int add_limit(struct diff_opts *o, const char *arg, struct err *e)
{
	const struct limit *l;
	char quoted[QUOTED];
	int ret = limit_list_add(&o->limits, arg, true, e);

	if (ret)
		return ret;
	l = &o->limits.v[o->limits.n - 1];
	if (l->desc->counter || l->stat == LIMIT_MIN || l->stat == LIMIT_MAX ||
	    l->stat == LIMIT_COUNT || (l->stat == LIMIT_SUM && !l->relative))
		return err_set(
			e, EXIT_USAGE, -EINVAL,
			"--fail-if '%s': diff does not compare that (expected a percentile, mean or rate "
			"of a metric with waits, or the change of its sum)",
			text_clean(quoted, sizeof(quoted), arg, SIZE_MAX));
	return 0;
}

static int add_limit_quantiles(struct diff_opts *o, struct err *e)
{
	size_t j;

	for (size_t i = 0; i < o->limits.n; i++) {
		const struct limit *l = &o->limits.v[i];

		if (l->stat != LIMIT_QUANTILE)
			continue;
		for (j = 0; j < o->nquantiles && o->quantiles[j].ppb != l->quantile.ppb; j++)
			;
		if (j < o->nquantiles)
			continue;
		if (j == COMPARE_QUANTILES)
			return err_set(e, EXIT_USAGE, -E2BIG,
				       "--fail-if: at most %d percentiles are compared",
				       COMPARE_QUANTILES);
		o->quantiles[o->nquantiles++] = l->quantile;
	}
	return 0;
}

static int set_output(struct diff_opts *o, const char *arg, struct err *e)
{
	const struct option_word *f = formats;
	size_t len = strcspn(arg, ":");
	char quoted[QUOTED];

	while (f->word && (strlen(f->word) != len || strncmp(arg, f->word, len)))
		f++;
	if (!f->word || (arg[len] && !arg[len + 1]))
		return err_set(
			e, EXIT_USAGE, -EINVAL,
			"--output '%s': expected table, json, csv or html, and perhaps :FILE",
			text_clean(quoted, sizeof(quoted), arg, SIZE_MAX));
	o->format = (enum diff_format)f->value;
	free(o->path);
	o->path = arg[len] && strcmp(arg + len + 1, "-") ? strdup(arg + len + 1) : NULL;
	return 0;
}

/* FILE[,FILE...] */
static int set_side(struct str_list *side, const char *arg, struct err *e)
{
	char quoted[QUOTED];
	size_t len;

	text_clean(quoted, sizeof(quoted), arg, SIZE_MAX);
	for (;; arg += len + 1) {
		len = strcspn(arg, ",");
		if (!len)
			return err_set(e, EXIT_USAGE, -EINVAL, "diff: '%s': has an empty file name",
				       quoted);
		if (str_list_push(side, strndup(arg, len)))
			return err_sys(e, -ENOMEM, "diff");
		if (!arg[len])
			return 0;
	}
}

static int add_word(struct diff_opts *o, const char *arg, struct err *e)
{
	char quoted[QUOTED];

	if (o->nwords == DIFF_SIDES)
		return err_set(
			e, EXIT_USAGE, -EINVAL,
			"diff: '%s': one argument too many (several runs of a side have commas "
			"between them)",
			text_clean(quoted, sizeof(quoted), arg, SIZE_MAX));
	o->words[o->nwords++] = arg;
	return 0;
}

static int take(struct diff_opts *o, const struct sub_opts *table, const struct option_row *row,
		const char *arg, FILE *out, struct err *e)
{
	if (row->type == OPTION_FLAG) {
		*(bool *)((char *)o + row->at) = row->value;
		return 0;
	}
	switch ((enum own)row->value) {
	case PERCENTILES:
		return set_percentiles(o, arg, e);
	case NOISE:
		return set_noise(o, arg, e);
	case FAIL_IF:
		return add_limit(o, arg, e);
	case ROWS:
		if (!table->letter)
			return parse_u32(arg, 0, ROWS_MAX, "--rows", &o->rows, e);
		o->n = arg;
		return 0;
	case RUNS:
		return parse_u32(arg, 1, RUNS_MAX, "--runs", &o->runs, e);
	case KEEP:
		o->keep = arg;
		return 0;
	case OUTPUT:
		return set_output(o, arg, e);
	case HELP:
	case DUMP:
		o->printed = true;
		return sub_opts_print(table, row->value == HELP ? help : NULL, "", out, e);
	}
	return 0;
}

static int finish(struct diff_opts *o, struct err *e)
{
	int side, ret = 0;

	if (o->nwords < DIFF_SIDES)
		return err_set(
			e, EXIT_USAGE, -EINVAL,
			o->run ? "diff --run: nothing to compare (expected two commands, each one "
				 "word: 'make -j2')"
			       : "diff: nothing to compare (expected BASE[,BASE...] NEW[,NEW...], which "
				 "-o json:FILE wrote)");
	for (side = 0; !ret && !o->run && side < DIFF_SIDES; side++)
		ret = set_side(&o->sides[side], o->words[side], e);
	if (!ret && o->n && o->run)
		ret = parse_u32(o->n, 1, RUNS_MAX, "-n", &o->runs, e);
	else if (!ret && o->n)
		ret = parse_u32(o->n, 0, ROWS_MAX, "--rows", &o->rows, e);
	if (!ret && !o->run && (o->runs || o->keep))
		ret = err_set(e, EXIT_USAGE, -EINVAL, "--%s: goes with --run",
			      o->runs ? "runs" : "keep");
	if (ret)
		return ret;
	o->runs = o->runs ? o->runs : RUNS_DEFAULT;
	if (o->bisect && !o->limits.n)
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--bisect: nothing to decide by (it goes with --fail-if)");
	if (!o->nquantiles && set_percentiles(o, "50,90,99,99.9", e))
		return -EINVAL;
	return add_limit_quantiles(o, e);
}

int diff_opts_read(struct diff_opts *o, int argc, char **argv, FILE *out, struct err *e)
{
	const struct option_row *row;
	struct sub_opts table;
	const char *arg;
	int ret = 0;

	*o = (struct diff_opts){
		.noise = COMPARE_NOISE, .rows = ROWS_SHOWN, .bisect = opts_mean_bisect(argc, argv)};
	sub_opts_init(&table, "diff", rows, sizeof(rows) / sizeof(rows[0]));
	while (!ret && !o->printed && (ret = sub_opts_next(&table, argc, argv, &row, &arg, e)) > 0)
		ret = row ? take(o, &table, row, arg, out, e) : add_word(o, arg, e);
	return ret || o->printed ? ret : finish(o, e);
}

void diff_opts_free(struct diff_opts *o)
{
	for (int side = 0; side < DIFF_SIDES; side++)
		str_list_free(&o->sides[side]);
	limit_list_free(&o->limits);
	free(o->path);
}
