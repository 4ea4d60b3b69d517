// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of `waitscope report`: options of its own, and those of the main one that say
 * how reports look, which opts.c reads. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "report.h"
#include "sub_opts.h"

enum own { SHARED, FROM, TO, LAST, HELP, DUMP };

/* clang-format off */
static const struct option_row rows[] = {
	{"from", 0, "TIME|N", "from this interval or time on", .value = FROM},
	{"to", 0, "TIME|N", "up to it", .value = TO},
	{"last", 0, "TIME|N", "the last N intervals, or the last 10m", .value = LAST},
	{"force", 0, NULL, "merge what differs in sources, filters or --by", SUB_FLAG(struct report_opts, force)},
	{"rows", 'n', "N", "at most N rows, 0 for all"},
	{"sort", 0, "KEY", "order of rows", .words = opts_sort_words},
	{"percentiles", 'P', "LIST", "percentiles to show (default: as recorded)"},
	{"msec", 'm', NULL, "times in milliseconds"},
	{"usec", 'u', NULL, "times in microseconds (default)"},
	{"nsec", 'N', NULL, "times in nanoseconds"},
	{"timestamps", 'T', NULL, "date and time on every report"},
	{"totals", 'z', NULL, "tables show the whole so far, not the interval"},
	{"output", 'o', "FORMAT[:FILE]", "as of a run (default: table)", .kind = OPTION_FORMATS, .repeat = true},
	{"color", 0, "WHEN", "auto (default), always or never", .words = opts_color_words},
	{"quiet", 'q', NULL, "no notices on stderr"},
	{"fail-if", 0, "LIMIT", "exit 4 if the final report exceeds it", .repeat = true},
	{"bisect", 0, NULL, "exit as git bisect run wants it: 0, 1, 125"},
	{"help", 'h', NULL, "this list", .value = HELP},
	{"dump-options", 0, NULL, NULL, .value = DUMP, .hidden = true},
};
/* clang-format on */

static const char help[] =
	"Usage: waitscope report FILE... [OPTIONS]\n"
	"Draws what -o json:FILE wrote again, plain or .gz; - is standard input. Several\n"
	"records are merged: one after another, and one final report of all.\n\n";
static const char help_end[] =
	"\nTIME is a time (14:02, 14:02:11, 2026-11-22T14:02:11Z), or one since the start,\n"
	"which has a unit: 90s, 5m. N is the number of an interval.\n";

static int bound_clock(struct report_bound *b, const char *text)
{
	static const struct {
		const char *format;
		bool day, utc; /* it has a date */
	} forms[] = {
		{"%Y-%m-%dT%H:%M:%SZ", true, true},
		{"%Y-%m-%dT%H:%M:%S", true, false},
		{"%Y-%m-%d %H:%M:%S", true, false},
		{"%H:%M:%S", false, false},
		{"%H:%M", false, false},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const char *end;

		b->clock = (struct tm){.tm_isdst = -1};
		end = strptime(text, forms[i].format, &b->clock);
		if (!end || *end)
			continue;
		b->kind = forms[i].day ? BOUND_CLOCK : BOUND_TIME_OF_DAY;
		b->utc = forms[i].utc;
		return 0;
	}
	return -EINVAL;
}

static int set_bound(struct report_bound *b, const char *name, const char *text, bool clock,
		     struct err *e)
{
	char what[16], quoted[128];
	struct err why = {0};

	(void)snprintf(what, sizeof(what), "--%s", name); /* fits */
	b->text = text;
	b->kind = BOUND_NUMBER;
	if (*text && strspn(text, "0123456789") == strlen(text))
		return parse_u64(text, 1, UINT64_MAX, what, &b->n, e);
	if (clock && !bound_clock(b, text))
		return 0;
	b->kind = BOUND_OFFSET;
	if (!parse_time_ns(text, 1, what, &b->n, &why) && isalpha(text[strlen(text) - 1]))
		return 0;
	return err_set(e, EXIT_USAGE, -EINVAL, "%s '%s': expected the number of an interval, %s",
		       what, text_clean(quoted, sizeof(quoted), text, SIZE_MAX),
		       clock ? "a time (14:02:11) or one since the start (90s)"
			     : "or a time with its unit (90s)");
}

static int set_own(struct report_opts *o, const struct sub_opts *table,
		   const struct option_row *row, const char *arg, FILE *out, struct err *e)
{
	switch ((enum own)row->value) {
	case FROM:
		return set_bound(&o->from, row->name, arg, true, e);
	case TO:
		return set_bound(&o->to, row->name, arg, true, e);
	case LAST:
		return set_bound(&o->last, row->name, arg, false, e);
	case HELP:
	case DUMP:
		o->printed = true;
		return sub_opts_print(table, row->value == HELP ? help : NULL, help_end, out, e);
	case SHARED:
		break;
	}
	return 0;
}

static int read_words(struct report_opts *o, int argc, char **argv, FILE *out, struct err *e)
{
	const struct option_row *row;
	struct sub_opts table;
	const char *arg;
	int ret = 0;

	sub_opts_init(&table, "report", rows, sizeof(rows) / sizeof(rows[0]));
	while (!ret && !o->printed &&
	       (ret = sub_opts_next(&table, argc, argv, &row, &arg, e)) > 0) {
		ret = 0;
		if (!row)
			o->files[o->nfiles++] = arg;
		else if (row->type == OPTION_FLAG)
			o->force = true;
		else if (row->value)
			ret = set_own(o, &table, row, arg, out, e);
		else { /* for opts.c: the option as it was given */
			o->shared[o->nshared++] = row->name;
			o->shared[o->nshared++] = row->arg ? arg : NULL;
		}
	}
	return ret;
}

int report_opts_read(struct report_opts *o, int argc, char **argv, FILE *out, struct err *e)
{
	int ret;

	*o = (struct report_opts){0};
	o->files = calloc((size_t)argc + 1, sizeof(*o->files));
	o->shared = calloc(2 * (size_t)argc + 2, sizeof(*o->shared));
	if (!o->files || !o->shared)
		return err_sys(e, -ENOMEM, "report");
	ret = read_words(o, argc, argv, out, e);
	if (ret || o->printed)
		return ret;
	if (!o->nfiles)
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "report: no FILE (expected what -o json:FILE wrote, or -)");
	if (o->last.kind && (o->from.kind || o->to.kind))
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--last: contradicts --%s (give one of them)",
			       o->from.kind ? "from" : "to");
	return 0;
}

void report_opts_free(struct report_opts *o)
{
	free(o->files);
	free(o->shared);
}
