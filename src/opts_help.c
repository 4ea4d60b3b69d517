// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the option table looks like to a reader: --help, --usage, --dump-options. Not through argp:
 * it sorts the options, and adds words of its own.
 */
#include "opts_table.h"

#include <errno.h>
#include <string.h>

#include "core/version.h"
#include "sink/sink.h"
#include "source/source.h"

#define COLUMNS 80
#define HELP_INDENT 30
#define USAGE_INDENT 17

static const char intro[] =
	"Shows, live, where tasks wait: for a CPU, in ext4, for locks and cache lines; in "
	"percentiles, per CPU, process, thread, command, cgroup or file.";
static const char outro[] =
	"TIME is in seconds, or has a unit: 500us, 10ms, 1.5s, 2m, 1h. The manual, waitscope(8), "
	"says what each number means.";

static const char *const group_titles[OPTION_GROUPS] = {
	[OPTION_WHAT] = "What is traced:",	[OPTION_ROWS] = "What the tables show:",
	[OPTION_WHEN] = "How long, how often:", [OPTION_OUTPUT] = "Where it goes:",
	[OPTION_LIMITS] = "What is too slow:",	[OPTION_HELP] = "Help:",
};

static const char *const kind_names[OPTION_KINDS] = {
	[OPTION_ANY] = "text",	      [OPTION_SOURCES] = "sources", [OPTION_FORMATS] = "formats",
	[OPTION_PIDS] = "pids",	      [OPTION_TIDS] = "tids",	    [OPTION_COMMS] = "comms",
	[OPTION_CGROUPS] = "cgroups", [OPTION_CPUS] = "cpus",	    [OPTION_MOUNTS] = "mounts",
	[OPTION_FILES] = "files",
};

int opts_flush(FILE *f, struct err *e)
{
	if (fflush(f) || ferror(f))
		return err_sys(e, errno ? -errno : -EIO, "standard output");
	return 0;
}

/* The stream is flushed, so that a full disk is seen here. */
static int printed(struct opts_run *r)
{
	r->printed = true;
	return opts_flush(r->out, r->e);
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
void opts_print_option(FILE *f, const struct option_row *o)
{
	char label[64], letter[8] = "    ";
	int len;

	if (o->hidden)
		return;
	if (o->letter)
		(void)snprintf(letter, sizeof(letter), "-%c, ", o->letter); /* fits */
	len = snprintf(label, sizeof(label), "  %s--%s%s%s", letter, o->name, o->arg ? "=" : "",
		       o->arg ? o->arg : "");
	fprintf(f, "%-*s", HELP_INDENT, label);
	if (len >= HELP_INDENT)
		fprintf(f, "\n%*s", HELP_INDENT, "");
	print_words(f, o->help, HELP_INDENT);
}

static void print_name(FILE *f, const char *name, const char *summary)
{
	fprintf(f, "  %-*s", HELP_INDENT - 2, name);
	print_words(f, summary, HELP_INDENT);
}

int opts_print_help(struct opts_run *r, const struct option_row *o, const char *arg)
{
	FILE *f = r->out;

	fputs("Usage: waitscope [OPTIONS] [INTERVAL [COUNT]] [-- COMMAND [ARG...]]\n"
	      "       waitscope report FILE... [OPTIONS]\n"
	      "       waitscope diff BASE[,BASE...] NEW[,NEW...] [OPTIONS]\n"
	      "       waitscope diff --run 'COMMAND' 'COMMAND' [-n RUNS] [OPTIONS]\n",
	      f);
	print_words(f, intro, 0);
	for (int g = 0; g < OPTION_GROUPS; g++) {
		fprintf(f, "\n%s\n", group_titles[g]);
		for (size_t i = 0; r->rows[i]; i++)
			if ((int)r->rows[i]->group == g)
				opts_print_option(f, r->rows[i]);
	}
	fputs("\nSources (-s):\n", f);
	for (size_t i = 0; source_list[i]; i++)
		print_name(f, source_list[i]->name, source_list[i]->summary);
	fputs("\nFormats (-o):\n", f);
	for (size_t i = 0; sink_list[i]; i++)
		print_name(f, sink_list[i]->name, sink_list[i]->summary);
	fputc('\n', f);
	print_words(f, outro, 0);
	return printed(r);
}

int opts_print_usage(struct opts_run *r, const struct option_row *o, const char *arg)
{
	static const char rest[] = "[INTERVAL [COUNT]] [-- COMMAND [ARG...]]";
	FILE *f = r->out;
	size_t i, at = USAGE_INDENT;

	fputs("Usage: waitscope ", f);
	for (i = 0; r->rows[i]; i++) {
		const struct option_row *row = r->rows[i];
		char word[64];
		int len;

		if (row->hidden)
			continue;
		if (row->letter)
			len = snprintf(word, sizeof(word), "[-%c%s%s]", row->letter,
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

int opts_print_version(struct opts_run *r, const struct option_row *o, const char *arg)
{
	fprintf(r->out, "waitscope %s\n", WS_VERSION);
	return printed(r);
}

/* Values of an option, with spaces between them; "-" for none. */
static void print_values(FILE *f, const struct option_row *o)
{
	const struct option_word *w = o->words;
	const char *space = "";

	for (; w && w->word; w++, space = " ")
		fprintf(f, "%s%s", space, w->word);
	for (size_t i = 0; o->kind == OPTION_SOURCES && source_list[i]; i++, space = " ")
		fprintf(f, "%s%s", space, source_list[i]->name);
	for (size_t i = 0; !o->words && o->kind == OPTION_FORMATS && sink_list[i]; i++, space = " ")
		fprintf(f, "%s%s", space, sink_list[i]->name);
	if (!*space)
		fputs("-", f);
}

/*
 * One option a line, fields between tabs, "-" for an empty one:
 *
 *	output	o	FORMAT[:FILE]	formats	table json csv	repeat	format, and file if ...
 */
void opts_print_row(FILE *f, const struct option_row *o)
{
	const char *kind = o->words && o->kind == OPTION_ANY ? "words" : kind_names[o->kind];

	if (o->hidden)
		return;
	fprintf(f, "%s\t%c\t%s\t%s\t", o->name, o->letter ? o->letter : '-', o->arg ? o->arg : "-",
		o->arg ? kind : "-");
	print_values(f, o);
	fprintf(f, "\t%s\t%s\n", o->repeat ? "repeat" : "-", o->help);
}

int opts_print_table(struct opts_run *r, const struct option_row *o, const char *arg)
{
	for (size_t i = 0; r->rows[i]; i++)
		opts_print_row(r->out, r->rows[i]);
	return printed(r);
}
