// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the option table looks like to a reader: --help, --usage, --dump-options. Not through argp:
 * it sorts the options, and adds words of its own.
 */
#include "opts_table.h"

#include <errno.h>
#include <string.h>

#include "core/version.h"

#define COLUMNS 80
#define HELP_INDENT 30
#define USAGE_INDENT 17

static const char intro[] =
	"Shows, live, where tasks wait: for a CPU, in ext4, for locks and cache lines; in "
	"percentiles, per CPU, process, thread, command, cgroup or file.";
static const char outro[] =
	"TIME is in seconds, or has a unit: 500us, 10ms, 1.5s, 2m, 1h. The manual, waitscope(8), "
	"says what each number means.";

/* The stream is flushed, so that a full disk is seen here. */
static int printed(struct opts_run *r)
{
	r->printed = true;
	if (fflush(r->env->out) || ferror(r->env->out))
		return err_sys(r->e, errno ? -errno : -EIO, "standard output");
	return 0;
}

/* A word at column `at`, or on a new line from column `indent`. Returns the column after it. */
static size_t print_word(FILE *f, const char *word, size_t len, size_t at, size_t indent)
{
	if (at > indent && at + 1 + len >= COLUMNS) {
		fprintf(f, "\n%*s", (int)indent, "");
		at = indent;
	} else if (at > indent) {
		fputc(' ', f);
		at++;
	}
	fprintf(f, "%.*s", (int)len, word);
	return at + len;
}

static void print_words(FILE *f, const char *text, size_t indent)
{
	size_t at = indent;

	while (*text) {
		size_t len = strcspn(text, " ");

		at = print_word(f, text, len, at, indent);
		text += len + (text[len] == ' ');
	}
	fputc('\n', f);
}

/* "  -o, --output=FORMAT[:FILE]  format, and ..." */
static void print_option(FILE *f, const struct opts_entry *o)
{
	char label[64], letter[8] = "    ";
	int len;

	if (o->key < OPTS_LONG)
		(void)snprintf(letter, sizeof(letter), "-%c, ", o->key); /* fits */
	len = snprintf(label, sizeof(label), "  %s--%s%s%s", letter, o->name, o->arg ? "=" : "",
		       o->arg ? o->arg : "");
	fprintf(f, "%-*s", HELP_INDENT, label);
	if (len >= HELP_INDENT)
		fprintf(f, "\n%*s", HELP_INDENT, "");
	print_words(f, o->help, HELP_INDENT);
}

static void print_names(FILE *f, const char *title, const struct opts_name *names)
{
	fprintf(f, "\n%s\n", title);
	for (; names->name; names++) {
		fprintf(f, "  %-*s", HELP_INDENT - 2, names->name);
		print_words(f, names->summary, HELP_INDENT);
	}
}

int opts_print_help(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	FILE *f = r->env->out;
	size_t i;
	int g;

	fputs("Usage: waitscope [OPTIONS] [INTERVAL [COUNT]] [-- COMMAND [ARG...]]\n", f);
	print_words(f, intro, 0);
	for (g = 0; g < OPTS_GROUPS; g++) {
		fprintf(f, "\n%s\n", opts_group_titles[g]);
		for (i = 0; i < opts_count; i++)
			if ((int)opts_table[i].group == g && !opts_table[i].hidden)
				print_option(f, &opts_table[i]);
	}
	print_names(f, "Sources (-s):", r->env->sources);
	print_names(f, "Formats (-o):", r->env->formats);
	fputc('\n', f);
	print_words(f, outro, 0);
	return printed(r);
}

int opts_print_usage(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	static const char rest[] = "[INTERVAL [COUNT]] [-- COMMAND [ARG...]]";
	FILE *f = r->env->out;
	size_t i, at = USAGE_INDENT;

	fputs("Usage: waitscope ", f);
	for (i = 0; i < opts_count; i++) {
		const struct opts_entry *row = &opts_table[i];
		char word[64];
		int len;

		if (row->hidden)
			continue;
		if (row->key < OPTS_LONG)
			len = snprintf(word, sizeof(word), "[-%c%s%s]", row->key,
				       row->arg ? " " : "", row->arg ? row->arg : "");
		else
			len = snprintf(word, sizeof(word), "[--%s%s%s]", row->name,
				       row->arg ? "=" : "", row->arg ? row->arg : "");
		at = print_word(f, word, (size_t)len, at, USAGE_INDENT);
	}
	print_word(f, rest, strlen(rest), at, USAGE_INDENT);
	fputc('\n', f);
	return printed(r);
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
