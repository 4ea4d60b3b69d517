/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of a subcommand: a table that its parser, --help and the completions follow; `value` of a
 * row is the subcommand's number of it. */
#ifndef WS_SUB_OPTS_H
#define WS_SUB_OPTS_H

#include <getopt.h>

#include "opts_table.h"

#define SUB_OPTS 32 /* at most, in a table */

/* Of a row that sets a bool of the subcommand's. */
#define SUB_FLAG(of, member) .type = OPTION_FLAG, .at = offsetof(of, member), .value = true

struct sub_opts {
	const struct option_row *rows;
	size_t n;
	const char *command; /* as messages call it */
	bool letter;	     /* the last option was given by its letter */
	struct option longs[SUB_OPTS + 1];
	char shorts[2 * SUB_OPTS + 3];
};

void sub_opts_init(struct sub_opts *o, const char *command, const struct option_row *rows,
		   size_t n);
/* 1: *row is the next option and *arg its argument, or *row is NULL and *arg a word that is none;
 * 0: there are no more; or negative with words. */
int sub_opts_next(struct sub_opts *o, int argc, char **argv, const struct option_row **row,
		  const char **arg, struct err *e);
/* --help, with what comes before and after the options; `before` NULL: the form of `waitscope
 * --dump-options`. 0, or negative with words: it could not be written. */
int sub_opts_print(const struct sub_opts *o, const char *before, const char *after, FILE *out,
		   struct err *e);

#endif
