/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `waitscope report FILE...`: records drawn again, in any format; no privileges, no kernel. */
#ifndef WS_REPORT_H
#define WS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "core/err.h"
#include "opts.h"

/*
 * argv[0] is "report"; --help goes to `out`, limits that are exceeded to `notes`, and then *status,
 * else left alone, is EXIT_LIMIT. 0, or negative with words. *bisect: the ends are for git bisect;
 * *began: the command line was right.
 */
int report_main(int argc, char **argv, FILE *out, FILE *notes, int *status, bool *bisect,
		bool *began, struct err *e);

/* ---- the command line (report_opts.c) ---- */

enum bound_kind {
	BOUND_NONE,
	BOUND_NUMBER,	   /* of an interval */
	BOUND_OFFSET,	   /* ns since the start of the record; of --last: before its end */
	BOUND_CLOCK,	   /* date and time */
	BOUND_TIME_OF_DAY, /* on the day the record was begun */
};

struct report_bound {
	enum bound_kind kind;
	const char *text; /* as given */
	uint64_t n;
	struct tm clock;
	bool utc;
};

struct report_opts {
	const char **files;
	size_t nfiles;
	const char **shared; /* pairs of an option's long name and its argument, or NULL */
	size_t nshared;
	struct report_bound from, to, last;
	bool force;
	bool printed; /* --help and its like: done */
};

/* argv[0] is "report"; --help goes to `out`. Also after failure: report_opts_free. */
int report_opts_read(struct report_opts *o, int argc, char **argv, FILE *out, struct err *e);
void report_opts_free(struct report_opts *o);

#endif
