// SPDX-License-Identifier: GPL-2.0-or-later
#include "sub_opts.h"

#include <errno.h>
#include <stdint.h>

#include "core/text.h"
#include "sink/sink.h"

#define LONG_ONLY 256

void sub_opts_init(struct sub_opts *o, const char *command, const struct sub_opt *rows, size_t n)
{
	char *s = o->shorts + 2;

	*o = (struct sub_opts){.rows = rows, .n = n, .command = command, .shorts = "-:"};
	for (size_t i = 0; i < n; i++) {
		o->longs[i] =
			(struct option){rows[i].name, rows[i].arg ? required_argument : no_argument,
					NULL, LONG_ONLY + (int)i};
		if (!rows[i].letter)
			continue;
		*s++ = rows[i].letter;
		if (rows[i].arg)
			*s++ = ':';
	}
	opterr = 0;
	optind = 0;
}

int sub_opts_next(struct sub_opts *o, int argc, char **argv, const struct sub_opt **row,
		  const char **arg, struct err *e)
{
	int key = getopt_long(argc, argv, o->shorts, o->longs, NULL);
	char quoted[128];
	size_t i;

	*row = NULL;
	*arg = optarg;
	if (key == 1)
		return 1;
	if (key == -1) { /* what comes after -- */
		*arg = optind < argc ? argv[optind++] : NULL;
		return *arg != NULL;
	}
	for (i = 0; i < o->n && key != LONG_ONLY + (int)i && key != o->rows[i].letter; i++)
		;
	if (i < o->n) {
		o->letter = key < LONG_ONLY;
		*row = &o->rows[i];
		return 1;
	}
	return err_set(e, EXIT_USAGE, -EINVAL, "%s: '%s': %s (see waitscope %s --help)", o->command,
		       text_clean(quoted, sizeof(quoted),
				  argv[optind - 1 < argc ? optind - 1 : argc - 1], SIZE_MAX),
		       key == ':' ? "needs an argument" : "no option of it", o->command);
}

static void print_help(const struct sub_opts *o, FILE *out)
{
	char label[64];

	for (size_t i = 0; i < o->n; i++) {
		const struct sub_opt *row = &o->rows[i];

		if (row->hidden)
			continue;
		(void)snprintf(label, sizeof(label), "%c%c%s--%s%s%s", row->letter ? '-' : ' ',
			       row->letter ? row->letter : ' ', row->letter ? ", " : "  ",
			       row->name, row->arg ? "=" : "", row->arg ? row->arg : ""); /* fits */
		fprintf(out, "  %-27s %s\n", label, row->help);
	}
}

static void print_table(const struct sub_opts *o, FILE *out)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct sub_opt *row = &o->rows[i];
		const struct sink_ops *const *format = sink_list;

		if (row->hidden)
			continue;
		fprintf(out, "%s\t%c\t%s\t%s\t%s", row->name, row->letter ? row->letter : '-',
			row->arg ? row->arg : "-", row->kind, row->words ? row->words : "");
		for (; !row->words && *format; format++)
			fprintf(out, "%s%s", format == sink_list ? "" : " ", (*format)->name);
		fprintf(out, "\t%s\t%s\n", row->repeat ? "repeat" : "-", row->help);
	}
}

int sub_opts_print(const struct sub_opts *o, const char *before, const char *after, FILE *out,
		   struct err *e)
{
	if (before) {
		fputs(before, out);
		print_help(o, out);
		fputs(after, out);
	} else {
		print_table(o, out);
	}
	if (fflush(out) || ferror(out))
		return err_sys(e, errno ? -errno : -EIO, "standard output");
	return 0;
}
