/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registry of metrics: what there is to report, whichever source does. Formats take names, help
 * and units from here, tables the part that a metric plays in them.
 *
 * A new metric is a row here and in metrics.c, and a line in the manual.
 */
#ifndef WS_METRICS_H
#define WS_METRICS_H

#include <stdbool.h>
#include <stddef.h>

/* What part a metric plays in the tables; formats that print everything ignore it. */
enum metric_role {
	METRIC_HEADLINE, /* has its own table: title, percentiles, one row per CPU or group */
	METRIC_LEG,	 /* part of the headline `part_of`: a note in its table */
	METRIC_SIDE,	 /* one summary line below the headline's percentiles */
	METRIC_ROWS,	 /* a table of its own, one row per series: its labels, its percentiles */
	METRIC_COUNTS,	 /* counters: a table, one row per set of labels but `pivot` (below) */
	METRIC_NOTE,	 /* a counter, and its parts by `pivot`: a line in the foot */
};

struct metric_desc {
	const char *name;  /* "sched_wakeup_latency" */
	const char *title; /* "Wakeup latency"; a leg's short name: "wake-to-queue" */
	enum metric_role role;
	const char *help; /* one sentence, without the full stop: for Prometheus and its like */
	bool counter;	  /* a value, not a histogram */
	/*
	 * METRIC_COUNTS: the label whose values are columns, each shown as its share of their sum
	 * ("result": hit, miss); the sum is shown as a rate. METRIC_NOTE: the label whose values
	 * are the parts, each shown as its share of the series without labels, which is a series of
	 * its own. `joins` names another such metric: these columns stand in its table, beside its
	 * own. METRIC_ROWS: its rows do, under the same title.
	 */
	const char *pivot;
	const char *joins;
	/*
	 * METRIC_SIDE: who has most of it waits most. The rows of the headline's groups (--by) show
	 * its percentiles, its sum and that as a share of the time, and are sorted by it.
	 */
	bool ranks;
	/*
	 * METRIC_SIDE: time that those rows' tasks waited besides. Its sum counts in their order
	 * and in the share, and has a column with this heading where a row has some; NULL: none.
	 */
	const char *ranks_as;
	/* METRIC_HEADLINE: its short name, for its columns beside the metric that ranks. */
	const char *brief;
	const char *part_of; /* METRIC_LEG, METRIC_SIDE: the headline's name; NULL: stands alone */
	/* Its sum is what tasks waited: "for a CPU", "in ext4"; NULL: it is a part of another
	 * metric, or no wait. */
	const char *waited;
	const char *unit; /* of a counter, as UCUM has it: "By", "{sample}"; histograms: "s" */
};

/* Histograms of one source stand together, in the order in which its BPF programs keep them. */
enum metric_id {
	METRIC_SCHED_WAKEUP_LATENCY, /* T2 - T0; the first five are numbered as in abi.h */
	METRIC_SCHED_WAKE_TO_QUEUE,
	METRIC_SCHED_QUEUE_TO_RUN,
	METRIC_SCHED_PREEMPT_WAIT,
	METRIC_SCHED_THROTTLE_WAIT,
	METRIC_SCHED_RUN_DELAY,
	METRIC_EXT4_OP_LATENCY,
	METRIC_EXT4_ES_LOOKUP_LATENCY,
	METRIC_JBD2_START_WAIT,
	METRIC_JBD2_HANDLE_HELD,
	METRIC_JBD2_COMMIT,
	METRIC_JBD2_COMMIT_LOCKING,
	METRIC_JBD2_COMMIT_FLUSHING,
	METRIC_JBD2_COMMIT_LOGGING,
	METRIC_EXT4_ES_LOOKUPS,
	METRIC_EXT4_ES_HITS,
	METRIC_EXT4_EVENTS,
	METRIC_EXT4_OP_BYTES,
	METRIC_LOCK_WAIT,
	METRIC_FUTEX_WAIT, /* these three as in abi_futex.h */
	METRIC_FUTEX_IDLE,
	METRIC_FUTEX_UNSURE,
	METRIC_LINE_SAMPLES,
	METRICS,
};

#define SCHED_METRICS (METRIC_SCHED_RUN_DELAY + 1) /* from 0 on */

extern const struct metric_desc metric_list[METRICS];

/* The help of one that the registry lacks: records of newer versions have such. */
#define METRIC_HELP_UNKNOWN "A metric that this version of waitscope does not know"

/* What machines are told of the run itself, beside its metrics (export.h). */
struct run_metric {
	const char *name, *unit, *help;
	const char *label; /* whose values tell its series apart; NULL: it has one series */
	bool gauge;	   /* else a counter */
};

enum run_metric_id {
	RUN_LOST,
	RUN_NOTED,
	RUN_IN_FLIGHT,
	RUN_IN_FLIGHT_LONGEST,
	RUN_BPF_CPU,
	RUN_BPF_EVENT,
	RUN_USER_CPU,
	RUN_REPORT_TIME,
	RUN_INFO,
	RUN_REPORTS,
	RUN_REJECTED,
	RUN_METRICS,
};

extern const struct run_metric run_metric_list[RUN_METRICS];

struct arena;

/* NULL: no metric of that name. */
const struct metric_desc *metric_find(const char *name);
/*
 * The registry's of that name and type, or a copy of `desc`, with its name and title, in the arena:
 * a record may have metrics of a newer version, and describes them only as long as it is read.
 * NULL: no memory.
 */
const struct metric_desc *metric_keep(const struct metric_desc *desc, struct arena *a);
/*
 * Series that are of one metric get one description, as whoever groups them compares the pointers.
 * Those of the registry have that already; of others metric_keep() made a copy for each series.
 */
struct series;
void metric_share(struct series *v, size_t n);

#endif
