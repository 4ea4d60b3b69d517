/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of every event, per CPU and over all, out of the per-CPU banks (common.bpf.h,
 * hist.bpf.h): a metric each. What was lost comes from the same banks. A bank is read after its
 * epoch has ended, so nobody writes it; what was seen of it before is subtracted, nothing is ever
 * zeroed.
 */
#ifndef WS_BANKS_H
#define WS_BANKS_H

#include "core/hist.h"
#include "source/bpf/counts.h"
#include "source/sys/cpus.h"
#include "source/source.h"

struct banks_args {
	int map_fd;
	uint32_t nhists; /* in a bank */
	uint32_t schema;
	uint32_t ncpus; /* possible */
	/* The metrics, first those in a bank; then those that `derive` makes of them. */
	const struct metric_desc *metrics;
	uint32_t nmetrics;
	uint32_t optional; /* bit per metric that is left out where it has no sample */
	bool all_cpus;	   /* also those where something happened, but there was no sample */
	/* Optional: of a CPU's or all CPUs' interval; 0 or -ENOMEM. */
	int (*derive)(struct hist *interval);
};

struct banks_row {
	struct hist *interval, *total; /* by metric */
	bool used;		       /* something of its bank has moved */
};

struct banks {
	struct banks_args args;
	struct counts counts;
	char *seen; /* the histograms of each bank, as last read */
	struct hist *hists;
	struct banks_row all;
	struct banks_row *cpus; /* NULL: not open */
	cpu_name *cpu_names;
};

#define BANK_BYTES(n, s) (sizeof(struct abi_counts) + (n)*ABI_HIST_BYTES(s))

int banks_open(struct banks *b, const struct banks_args *args, struct err *e);
/* What was counted under `epoch` (both banks if 0: at the end) joins the interval, which ends or
 * goes on. 0 or negative with words. */
int banks_collect(struct banks *b, uint64_t epoch, bool ends, struct err *e);
/* Ends the interval of calls that left it open. 0 or negative with words. */
int banks_end(struct banks *b, struct err *e);
/*
 * Before banks_end, once all of the interval was read: samples of it, of one CPU, are of another
 * metric than they were counted for. In this interval, and from then on in the total, both metrics
 * have no finer buckets than `what`. Where `from` did not have them (one came late) they stay. 0 or
 * -ENOMEM.
 */
int banks_move(struct banks *b, uint32_t cpu, uint32_t from, uint32_t to, const struct hist *what);
/* The exact bounds of a metric of a CPU's interval, where they are known. */
void banks_bounds(struct banks *b, uint32_t cpu, uint32_t m, uint64_t min_ns, uint64_t max_ns);
void banks_forget(struct banks *b); /* totals start anew */
/* The series of all, then of the CPUs that had any. 0 or -ENOMEM. */
int banks_push(const struct banks *b, struct source_report *r);
void banks_close(struct banks *b); /* unopened (all zero) is fine */

#endif
