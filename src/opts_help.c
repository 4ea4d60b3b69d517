// SPDX-License-Identifier: GPL-2.0-or-later
/* What the option table looks like to a reader: --help and --usage through argp, and
 * --dump-options. */
#include "opts_table.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/version.h"

static const char args_doc[] = "[INTERVAL [COUNT]] [-- COMMAND [ARG...]]";
static const char intro[] =
	"Shows, live, where tasks wait for a CPU: wakeup latency and run-queue delay, in percentiles, "
	"per CPU, process, thread, command or cgroup.\v";

/* The stream is flushed, so that a full disk is seen here. */
static int printed(struct opts_run *r)
{
	r->printed = true;
	if (fflush(r->env->out) || ferror(r->env->out))
		return err_sys(r->e, errno ? -errno : -EIO, "standard output");
	return 0;
}

/* The table as argp wants it: a heading, then its options. Zeroed entry at the end. */
static struct argp_option *argp_options(void)
{
	struct argp_option *v = calloc(opts_count + OPTS_GROUPS + 1, sizeof(*v));
	size_t i, n = 0;
	int g;

	for (g = 0; v && g < OPTS_GROUPS; g++) {
		v[n].doc = opts_group_titles[g];
		v[n++].group = g + 1;
		for (i = 0; i < opts_count; i++) {
			const struct opts_entry *o = &opts_table[i];

			if ((int)o->group != g)
				continue;
			v[n].name = o->name;
			v[n].key = o->key;
			v[n].arg = o->arg;
			v[n].doc = o->help;
			v[n].flags = o->hidden ? OPTION_HIDDEN : 0;
			v[n++].group = g + 1;
		}
	}
	return v;
}

static void print_names(FILE *f, const char *title, const struct opts_name *names)
{
	fprintf(f, "\n%s\n", title);
	for (; names->name; names++)
		fprintf(f, "  %-10s %s\n", names->name, names->summary);
}

static int print_argp(struct opts_run *r, unsigned int flags)
{
	char name[] = "waitscope";
	struct argp argp = {.args_doc = args_doc, .doc = intro};
	struct argp_option *options = argp_options();

	if (!options)
		return err_sys(r->e, -ENOMEM, "help");
	argp.options = options;
	argp_help(&argp, r->env->out, flags, name);
	free(options);
	return 0;
}

int opts_print_help(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	FILE *f = r->env->out;
	int ret;

	ret = print_argp(r, ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG);
	if (ret)
		return ret;
	print_names(f, "Sources (-s):", r->env->sources);
	print_names(f, "Formats (-o):", r->env->formats);
	fputs("\nTIME is in seconds, or has a unit: 500us, 10ms, 1.5s, 2m, 1h. The manual, waitscope(8),\n"
	      "says what each number means.\n",
	      f);
	return printed(r);
}

int opts_print_usage(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	int ret = print_argp(r, ARGP_HELP_USAGE);

	return ret ? ret : printed(r);
}

int opts_print_version(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	fprintf(r->env->out, "waitscope %s\n", WS_VERSION);
	return printed(r);
}

/* Values of an option, with spaces between them; "-" for none. */
static void print_values(struct opts_run *r, const struct opts_entry *o)
{
	const struct opts_name *names = o->kind == OPTS_SOURCES	  ? r->env->sources
					: o->kind == OPTS_FORMATS ? r->env->formats
								  : NULL;
	const struct opts_word *w = o->words;
	const char *space = "";

	for (; w && w->word; w++, space = " ")
		fprintf(r->env->out, "%s%s", space, w->word);
	for (; names && names->name; names++, space = " ")
		fprintf(r->env->out, "%s%s", space, names->name);
	if (!*space)
		fputs("-", r->env->out);
}

/*
 * One option a line, fields between tabs, "-" for an empty one:
 *
 *	output	o	FORMAT[:FILE]	formats	table json csv	repeat	format, and file if ...
 */
int opts_print_table(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	FILE *f = r->env->out;
	size_t i;

	for (i = 0; i < opts_count; i++) {
		const struct opts_entry *row = &opts_table[i];

		if (row->hidden)
			continue;
		fprintf(f, "%s\t%c\t%s\t%s\t", row->name, row->key < OPTS_LONG ? row->key : '-',
			row->arg ? row->arg : "-", row->arg ? opts_kind_names[row->kind] : "-");
		print_values(r, row);
		fprintf(f, "\t%s\t%s\n", row->repeat ? "repeat" : "-", row->help);
	}
	return printed(r);
}
