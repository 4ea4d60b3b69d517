/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All the outputs of a run or of a replay: the sinks that --output names. Who has something to say
 * says it here once; a reader that has gone takes its sink with it and the others go on. -EPIPE
 * from any call that writes: nobody reads any more.
 */
#ifndef WS_OUTPUTS_H
#define WS_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"
#include "sink/sink.h"
#include "source/source.h"

struct event_base;
struct listener;

struct outputs {
	const struct config *cfg;
	struct event_base *base;   /* the loop's; sockets of outputs hang on it, too */
	struct listener *listener; /* NULL without --listen */
	struct sink **v;	   /* one for each of cfg->outputs; NULL: its reader has gone */
	struct event **writable;   /* of v: the reader takes more of what is queued; or NULL */
	size_t n;
	int gone_fd;		  /* epoll: a reader may have gone; -1: none is looked at */
	struct event *gone;	  /* of that */
	void (*moved)(void *ctx); /* see outputs_watch */
	void *moved_ctx;
	int moved_ret; /* first failure of what was queued */
	struct err moved_err;
	bool any_report;	  /* an interval was written: no progress is shown any more */
	bool tested;		  /* --fail-if */
	struct str_list exceeded; /* the limits that were, in words with their numbers */
};

/* Opens all of them; nothing is written, no file is emptied yet. `cfg` must outlive them. `replay`:
 * of records, not of a run. */
int outputs_open(struct outputs *o, const struct config *cfg, bool replay, struct err *e);
/*
 * Of a run, before its first record: no write waits for a reader from now on, and readers that go
 * are seen at once. moved() is called when that has changed outputs_left() or outputs_queued(), or
 * a write of what was queued has failed (outputs_moved).
 */
int outputs_watch(struct outputs *o, void (*moved)(void *ctx), void *ctx, struct err *e);
/* 0, or the failure that moved() is to hear of, with words. */
int outputs_moved(const struct outputs *o, struct err *e);
/* Does anybody read us? */
bool outputs_left(const struct outputs *o);
/* Bytes that readers have yet to take. */
size_t outputs_queued(const struct outputs *o);
int outputs_meta(struct outputs *o, const struct meta *m, struct err *e);
int outputs_interval(struct outputs *o, const struct frame *interval, const struct frame *total,
		     struct err *e);
/* Is there one that looks at the rows of `total` with each interval? */
bool outputs_want_totals(const struct outputs *o);
/* Also tests the limits of --fail-if on it, whether anybody reads it or not. */
int outputs_final(struct outputs *o, const struct frame *total, struct err *e);
/* Where --listen serves, for a note; NULL without. */
const char *outputs_address(const struct outputs *o);
/*
 * The end of a run or replay that ended with `ret`: outputs that take time have it now. What they
 * have to say goes to `notes`, as do the limits that were exceeded; *status is EXIT_LIMIT then, if
 * it was EXIT_DONE. Returns `ret`, where nobody reading us any more (-EPIPE) is a quiet end, 0; but
 * negative with words if limits were not tested then. Before outputs_close.
 */
int outputs_verdict(const struct outputs *o, int ret, FILE *notes, int *status, struct err *e);
int outputs_slow(struct outputs *o, const struct slow *w, struct err *e);
/* Until the first report: how long it has been, in ns. */
int outputs_progress(struct outputs *o, uint64_t elapsed_ns, struct err *e);
int outputs_reopen(struct outputs *o, struct err *e); /* files, under their names */
void outputs_resize(struct outputs *o);		      /* the terminal has another size */
/* Closes all; 0, or the first failure of a last write. Zeroed and half-open are fine. */
int outputs_close(struct outputs *o, struct err *e);

/* ---- what stdout is ---- */

/* Fills tty, color, redraw, columns and lines from args->cfg, args->path and the environment. */
void screen_args(struct sink_args *args);

/* Does the locale say that it shows more than ASCII? */
bool screen_utf8(void);

/* ---- what of --fail-if can be known before a report: not at the end of a long run ---- */

/* A SOURCE_METRICS each of what the source tells of; of made-up data, all of them. */
uint64_t limits_metrics(const struct source_ops *ops);
/*
 * Does a source tell of each limit's metric, and may there be its labels? `groups`: there are rows
 * of --by. -EINVAL with words, exit 2; `which` sources, for these: "that runs".
 */
int limits_check(const struct limit_list *l, uint64_t metrics, bool groups, const char *which,
		 struct err *e);

#endif
