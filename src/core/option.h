/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An option of the command line, as whoever means something by it declares it: opts_table.c,
 * filters and sources. A table of them ends with one that has no name. */
#ifndef WS_OPTION_H
#define WS_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/err.h"

/* Headings of --help, in this order. */
enum option_group {
	OPTION_WHAT,
	OPTION_ROWS,
	OPTION_WHEN,
	OPTION_OUTPUT,
	OPTION_LIMITS,
	OPTION_HELP,
	OPTION_GROUPS,
};

/* Where completion finds an argument's values. */
enum option_kind {
	OPTION_ANY, /* in its words, if it has some */
	OPTION_SOURCES,
	OPTION_FORMATS,
	OPTION_PIDS,
	OPTION_TIDS,
	OPTION_COMMS,
	OPTION_CGROUPS,
	OPTION_CPUS,
	OPTION_MOUNTS,
	OPTION_FILES,
	OPTION_KINDS,
};

/* What becomes of the argument: a member of struct config, at `at`. */
enum option_type {
	OPTION_OWN,   /* opts_set.c has a function for it */
	OPTION_FLAG,  /* bool: `value`; takes no argument */
	OPTION_U32,   /* from min to max; `value` if it is not given */
	OPTION_U64,   /* the same */
	OPTION_TIME,  /* uint64_t of nanoseconds, at least min */
	OPTION_WORD,  /* an enum: one of `words` */
	OPTION_TEXT,  /* char *, the last one given */
	OPTION_TEXTS, /* struct str_list: all, if it may be repeated, else the last one */
	OPTION_IDS,   /* struct u32_list: process numbers with commas between them */
};

struct option_word {
	const char *word;
	int value;
};

struct opts_run;

struct option_row {
	const char *name;
	char letter;	 /* the short option, or 0 */
	const char *arg; /* NULL: takes none */
	const char *help;
	enum option_type type;
	size_t at; /* offsetof(struct config, ...) */
	uint64_t min, max;
	int value;
	const struct option_word *words; /* end with a NULL word */
	/* Optional: is the text fit? Asked before it is kept. Exit 2 with words. */
	int (*check)(const char *text, struct err *e);
	/* OPTION_OWN */
	int (*set)(struct opts_run *r, const struct option_row *o, const char *arg);
	enum option_group group;
	enum option_kind kind;
	bool repeat; /* adds to what was given before; others replace it */
	bool asks;   /* given, it also names the source that declares it */
	bool hidden;
};

#endif
