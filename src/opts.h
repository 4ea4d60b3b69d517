/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: one option table (opts_table.h), from which parser, --help and completions
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

struct opts_name {
	const char *name;
	const char *summary;
};

/*
 * What main knows and opts must not ask the other floors for. Lists end with a NULL name; names
 * given to --source and --output are checked against them.
 */
struct opts_env {
	const struct opts_name *sources;
	const struct opts_name *formats;
	FILE *out; /* of --help, --version, ... */
};

/*
 * Reads argv into *cfg (zeroed by it; config_free also after failure). 0, or negative with words in
 * e. cfg->command points into argv.
 */
int opts_parse(struct config *cfg, const struct opts_env *env, int argc, char **argv,
	       enum opts_action *action, struct err *e);
void config_free(struct config *cfg);

#endif
