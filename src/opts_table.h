/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option table, and what opts.c (the loop), opts_set.c (the values) and opts_help.c share. */
#ifndef WS_OPTS_TABLE_H
#define WS_OPTS_TABLE_H

#include <errno.h>
#include <stdbool.h>

#include "opts.h"

/* Headings of --help, in this order. */
enum opts_group {
	OPTS_WHAT,
	OPTS_ROWS,
	OPTS_WHEN,
	OPTS_OUTPUT,
	OPTS_HELP,
	OPTS_GROUPS,
};

/* Where completion finds an argument's values. */
enum opts_kind {
	OPTS_TEXT, /* nowhere */
	OPTS_WORDS,
	OPTS_SOURCES,
	OPTS_FORMATS,
	OPTS_PIDS,
	OPTS_TIDS,
	OPTS_COMMS,
	OPTS_CGROUPS,
	OPTS_CPUS,
	OPTS_MOUNTS,
	OPTS_KINDS,
};

struct opts_word {
	const char *word;
	int value;
};

/* One run of the parser. */
struct opts_run {
	struct config *cfg;
	const struct opts_env *env;
	struct err *e;
	char **argv;
	int argc;
	const char *interval; /* text of -i, and of INTERVAL: they may not differ */
	const char *interval_arg;
	const char *count_arg;
	const char *unit_from; /* the option that chose the unit */
	int follow;	       /* -1: not said */
	bool rows_given;
	bool confirm_given;
	bool printed; /* --help and its like: done */
};

struct opts_entry;
typedef int (*opts_set_fn)(struct opts_run *r, const struct opts_entry *o, const char *arg);

struct opts_entry {
	const char *name;
	int key;	 /* the short option, or OPTS_LONG and up */
	const char *arg; /* NULL: takes none */
	const char *help;
	opts_set_fn set;
	const struct opts_word *words; /* OPTS_WORDS; ends with a NULL word */
	int value;		       /* for setters that several options share */
	enum opts_group group;
	enum opts_kind kind;
	bool repeat; /* adds to what was given before; others replace it */
	bool hidden;
};

#define OPTS_LONG 256

extern const struct opts_entry opts_table[];
extern const size_t opts_count;
extern const char *const opts_group_titles[OPTS_GROUPS];
extern const char *const opts_kind_names[OPTS_KINDS];

/* "WHAT: WHY (HINT)" for the user's mistake; -EINVAL. `what` is an option's name or "INTERVAL". */
#define opts_bad(r, fmt, ...) err_set((r)->e, EXIT_USAGE, -EINVAL, fmt, ##__VA_ARGS__)

/* Printable copy of what the user wrote, to be quoted. */
#define OPTS_QUOTE 128
const char *opts_quote(char out[OPTS_QUOTE], const char *text);

/* opts_set.c */
int opts_set_source(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_add_source(struct opts_run *r, const char *name);
int opts_set_ids(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_cgroup(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_comm(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_btf(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_cpu(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_dev(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_freq(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_line_source(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_watch(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_confirm(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_stack_every(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_follow(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_by(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_rows(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_sort(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_percentiles(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_unit(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_precision(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_max_keys(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_interval(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_duration(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_warmup(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_slower(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_output(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_color(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_flag(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_set_positional(struct opts_run *r, const char *arg);

/* opts_help.c; 0, or negative when the stream failed. */
int opts_print_help(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_print_usage(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_print_version(struct opts_run *r, const struct opts_entry *o, const char *arg);
int opts_print_table(struct opts_run *r, const struct opts_entry *o, const char *arg);

#endif
