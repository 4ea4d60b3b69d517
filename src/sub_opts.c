// SPDX-License-Identifier: GPL-2.0-or-later
#include "sub_opts.h"

#include <errno.h>
#include <stdint.h>

#include "core/text.h"

#define LONG_ONLY 256

void sub_opts_init(struct sub_opts *o, const char *command, const struct option_row *rows, size_t n)
{
	*o = (struct sub_opts){.rows = rows, .n = n, .command = command, .shorts = "-:"};
	for (size_t i = 0; i < n; i++)
		opts_getopt(&rows[i], LONG_ONLY + (int)i, &o->longs[i], o->shorts);
	opterr = 0;
	optind = 0;
}

int sub_opts_next(struct sub_opts *o, int argc, char **argv, const struct option_row **row,
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

int sub_opts_print(const struct sub_opts *o, const char *before, const char *after, FILE *out,
		   struct err *e)
{
	fputs(before ? before : "", out);
	for (size_t i = 0; i < o->n; i++)
		(before ? opts_print_option : opts_print_row)(out, &o->rows[i]);
	fputs(before ? after : "", out);
	return opts_flush(out, e);
}
