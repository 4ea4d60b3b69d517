/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: tables of options (core/option.h), from which parser, --help and completions
 * come. */
#ifndef WS_OPTS_H
#define WS_OPTS_H

#include <stdio.h>

#include "core/config.h"
#include "core/err.h"

enum opts_action {
	OPTS_RUN,
	OPTS_EXIT, /* --help, --version, ... were printed: exit 0 */
};

/*
 * Reads argv into *cfg (zeroed by it; config_free also after failure); --help and its like go to
 * `out`. 0, or negative with words in e. cfg->command points into argv.
 */
int opts_parse(struct config *cfg, FILE *out, int argc, char **argv, enum opts_action *action,
	       struct err *e);
/* Of a line that may not have been read to its end: git bisect must know that it is wrong all the
 * same. */
bool opts_mean_bisect(int argc, char **argv);
void config_free(struct config *cfg);

#endif
