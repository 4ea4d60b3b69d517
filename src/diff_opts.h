/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `waitscope diff`. */
#ifndef WS_DIFF_OPTS_H
#define WS_DIFF_OPTS_H

#include <stdio.h>

#include "core/config.h"
#include "diff.h"

enum diff_format { DIFF_TABLE, DIFF_JSON, DIFF_CSV, DIFF_HTML, DIFF_FORMATS };

struct diff_opts {
	const char *words[DIFF_SIDES]; /* of the command line, of each side: with `run` a command */
	size_t nwords;
	struct str_list sides[DIFF_SIDES]; /* files; with `run` diff_run's */
	struct quantile quantiles[COMPARE_QUANTILES];
	size_t nquantiles;
	double noise;
	struct limit_list limits;
	enum diff_format format;
	char *path; /* NULL: standard output */
	uint32_t rows;
	uint32_t runs;	  /* of each command */
	const char *keep; /* NULL: in a new directory */
	const char *n;	  /* -n, which is --runs with `run`, else --rows */
	bool bisect, quiet, force, run;
	bool printed; /* --help: done */
};

/* 0, or negative with words. diff_opts_free also then. */
int diff_opts_read(struct diff_opts *o, int argc, char **argv, FILE *out, struct err *e);
void diff_opts_free(struct diff_opts *o);

#endif
