/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run: its sources and sinks, and the reports that go from the ones to the others. Knows no
 * events and no signals (loop.h drives it); the loop calls, in this order,
 *
 *	run_open -> run_start -> { run_next_epoch -> run_report }* -> run_stop -> run_finish -> run_close
 *
 * with at least SOURCE_GRACE_NS between next_epoch or stop and the report that follows.
 */
#ifndef WS_RUN_H
#define WS_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include "command.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"
#include "core/hide.h"
#include "core/regroup.h"
#include "names/names.h"
#include "outputs.h"
#include "source/bpf/shared.h"
#include "source/source.h"
#include "source/times/times.h"

struct run_source {
	const struct source_ops *ops;
	struct source *src; /* NULL: off */
	char why[ERR_TEXT_LEN];
	int cannot;   /* off: the error's number */
	bool costing; /* between cost_begin and cost_end */
};

struct run {
	const struct config *cfg;
	char **argv;
	struct run_source *sources;
	size_t nsources;
	struct outputs outputs;
	struct rlimit files;	 /* RLIMIT_NOFILE as we were started: COMMAND's */
	struct command *command; /* NULL without one; main ends and frees it */
	struct source_report report;
	struct times_run *times;		      /* NULL: all data is made up */
	struct moment started, epoch_began, previous; /* counting began; the last two epochs */
	struct names_shared names;		      /* the sources' */
	struct shared_maps shared;		      /* theirs too */
	uint64_t names_refused;			      /* until the last report */
	struct regroup groups[2]; /* --by unit, container: of interval and total */
	struct hide hide;	  /* from names.names, see run_open */
	struct hide hide_slow;	  /* the same, of single waits: they come between reports */
	uint64_t seq;
	uint64_t drain_ns; /* banks are drained at least that often */
	struct self_cost cost;
	uint64_t user_ns_start, user_ns_previous;
	struct err slow_err; /* of a sink, from within drain */
};

/* Raises RLIMIT_NOFILE to its hard limit; *had is what it was. */
void run_raise_files(struct rlimit *had);
/* Where file descriptors are limited to fewer than the run may want: adds that to the words of its
 * failure. */
void run_explain(const struct config *cfg, int ret, struct err *e);
/* How many file descriptors a run with these options takes at most, on so many possible CPUs. */
uint32_t run_files_wanted(const struct config *cfg, uint32_t ncpus);
int run_open(struct run *r, const struct config *cfg, char **argv, struct err *e);
/* What sources call for each slow wait: to all outputs. ctx is the run. */
int run_slow(void *ctx, const struct slow *w);
/* Begin to count, or after a warm-up (epoch and grace time are over) begin again. */
int run_start(struct run *r, struct err *e);
int run_next_epoch(struct run *r, struct err *e);
/* The interval that the last run_next_epoch ended. -EPIPE: nobody reads us any more. */
int run_report(struct run *r, struct err *e);
/* In intervals that are longer: a change of epoch of those sources that drain banks, and after the
 * grace time what it ended joins the interval, which goes on. */
int run_begin_drain(struct run *r, struct err *e);
int run_drain_banks(struct run *r, struct err *e);
int run_stop(struct run *r, struct err *e);
/* The last interval and the final report. */
int run_finish(struct run *r, const char *why, struct err *e);

/* Events of sources: fd or -1, and what to do when it is readable. */
int run_event_fd(const struct run *r, size_t source);
int run_drain(struct run *r, struct err *e); /* 1: more lies there, come again soon */
bool run_targets_alive(struct run *r, char *why, size_t len);
/* A short window of the kernel's run-time statistics. */
void run_cost_begin(struct run *r);
void run_cost_end(struct run *r);
/* Closes all; reports a failed last write. */
int run_close(struct run *r, struct err *e);

/* ---- the first record of a run: what ran where, with which sources and filters (meta.c) ---- */

struct meta_data; /* owns what a struct meta points to */

int meta_build(struct meta_data **out, const struct run *r, struct err *e);
const struct meta *meta_get(const struct meta_data *m);
void meta_free(struct meta_data *m);

#endif
