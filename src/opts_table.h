/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What opts.c (the loop), opts_set.c (the values) and opts_help.c share. */
#ifndef WS_OPTS_TABLE_H
#define WS_OPTS_TABLE_H

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/option.h"
#include "opts.h"

#define OPTS_TIME_MIN_NS 10000000 /* a report costs about a millisecond: far above that */

/* One run of the parser. */
struct opts_run {
	struct config *cfg;
	FILE *out; /* of --help and its like */
	struct err *e;
	char **argv;
	int argc;
	const struct option_row **rows; /* all there are; ends with NULL */
	bool *given;			/* by row */
	const char *interval;		/* text of -i, and of INTERVAL: they may not differ */
	const char *interval_arg;
	const char *count_arg;
	const char *unit_from; /* the option that chose the unit */
	bool printed;	       /* --help and its like: done */
};

/* --source, the first of all options; then come those of filters and sources, then the table. */
extern const struct option_row opts_source, opts_table[];
extern const struct option_word opts_sort_words[], opts_color_words[];

/* "WHAT: WHY (HINT)" for the user's mistake; -EINVAL. `what` is an option's name or "INTERVAL". */
#define opts_bad(r, fmt, ...) err_set((r)->e, EXIT_USAGE, -EINVAL, fmt, ##__VA_ARGS__)

/* Printable copy of what the user wrote, to be quoted. */
#define OPTS_QUOTE 128
const char *opts_quote(char out[OPTS_QUOTE], const char *text);

/* opts_set.c: an option's argument, as its type says; NULL if it takes none. */
int opts_set(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_add_source(struct opts_run *r, const char *name);
int opts_set_source(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_set_percentiles(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_set_unit(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_set_interval(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_set_slower(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_set_output(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_set_limit(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_set_positional(struct opts_run *r, const char *arg);

/* opts_sources.c */
bool opts_given(const struct opts_run *r, const char *name); /* it is one of them */
/* Is each option for one of the sources? */
int opts_check_scopes(struct opts_run *r);
/* Adds sources that an option of theirs asks for, and lets all make of the options what they do. */
int opts_settle_sources(struct opts_run *r);

/* A row as getopt_long(3) has it; its letter is appended. */
void opts_getopt(const struct option_row *o, int key, struct option *to, char *shorts);

/* opts_help.c: a row in --help, and in --dump-options; what is hidden in neither. */
void opts_print_option(FILE *f, const struct option_row *o);
void opts_print_row(FILE *f, const struct option_row *o);
int opts_flush(FILE *f, struct err *e); /* 0, or negative with words: a full disk, say */
/* 0, or negative when the stream failed. */
int opts_print_help(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_print_usage(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_print_version(struct opts_run *r, const struct option_row *o, const char *arg);
int opts_print_table(struct opts_run *r, const struct option_row *o, const char *arg);

#endif
