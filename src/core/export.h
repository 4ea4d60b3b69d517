/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run has counted, for programs that scrape it again and again: families of series whose
 * counts only rise, made of the intervals that are added. Formats (Prometheus, OTLP) write this.
 *
 *	export_new -> export_meta -> (export_add* -> export_family ...)* -> export_free
 *
 * There are the whole, operations and the groups of --by, and CPUs with --by cpu. Label values
 * are texts without control characters (text_clean); what is the same then is one series.
 *
 * A metric has at most --max-keys series with labels; what appears when they are taken is counted
 * in one more, whose first label is "(others)", and stays there. A group that had no sample for
 * EXPORT_END_NS ends: should it come back, it counts from 0, and its start says since when.
 */
#ifndef WS_EXPORT_H
#define WS_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/frame.h"

#define EXPORT_LABELS (SERIES_LABELS + 3)
#define EXPORT_END_NS 900000000000ULL

enum export_type { EXPORT_COUNTER, EXPORT_GAUGE, EXPORT_HISTOGRAM };

struct export_series {
	const struct export_series *next; /* of its family, in order of appearance */
	struct label labels[EXPORT_LABELS];
	uint32_t nlabels;
	uint64_t start_ns; /* Unix time since which it counts */
	uint64_t value;	   /* EXPORT_COUNTER */
	double gauge;
	struct hist hist; /* EXPORT_HISTOGRAM; at its own schema */
};

struct export_family {
	const char *name; /* "sched_wakeup_latency": formats add what they are used to */
	const char *help;
	const char *unit; /* as UCUM has it ("s", "By", "{event}"); NULL: none */
	enum export_type type;
	const struct export_series *first; /* NULL: it has no series yet */
};

struct export;

struct export *export_new(const struct config *cfg); /* which outlives it; NULL: no memory */
void export_free(struct export *x);		     /* NULL is fine */
void export_meta(struct export *x, const struct meta *m);
/* An interval of the run. 0 or -ENOMEM. */
int export_add(struct export *x, const struct frame *interval);
/* The final report: nothing new where all of its intervals were added, else it is all there is. */
int export_final(struct export *x, const struct frame *total);
/* What one of the run's own counters has come to; `value` is its label's, if it has one. */
int export_set(struct export *x, enum run_metric_id id, const char *value, uint64_t count);
/* The i-th, from 0 on; NULL: there are no more. Valid until the next call that adds. */
const struct export_family *export_family(const struct export *x, size_t i);
/* When the last interval ended, Unix time; 0: there was none. */
uint64_t export_time_ns(const struct export *x);
/* Of the family's histograms: the schema they are written at, cfg->export_schema or coarser. */
uint32_t export_schema(const struct export *x, const struct hist *h);

#endif
