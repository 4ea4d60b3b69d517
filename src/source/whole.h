/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A histogram or a few of every event, per CPU and over all, out of the per-CPU banks
 * (common.bpf.h, hist.bpf.h): a metric each. What was lost comes from the same banks.
 */
#ifndef WS_WHOLE_H
#define WS_WHOLE_H

#include "core/hist.h"
#include "source/counts.h"
#include "source/cpus.h"
#include "source/source.h"

#define WHOLE_HISTS 2

struct whole_row {
	struct hist interval[WHOLE_HISTS], total[WHOLE_HISTS];
};

struct whole {
	struct counts counts;
	uint32_t nhists; /* at most WHOLE_HISTS */
	uint32_t schema;
	uint32_t ncpus; /* possible */
	char *seen;	/* the histograms of each bank, as last read */
	struct whole_row all;
	struct whole_row *cpus; /* NULL: not open */
	cpu_name *cpu_names;
};

#define WHOLE_BANK_BYTES(n, s) (sizeof(struct abi_counts) + (n)*ABI_HIST_BYTES(s))

int whole_open(struct whole *w, int map_fd, uint32_t nhists, uint32_t schema, uint32_t ncpus,
	       struct err *e);
/* What was counted under `epoch` (both banks if 0: at the end) joins the interval, which goes on. 0
 * or -ENOMEM. */
int whole_fold(struct whole *w, uint64_t epoch);
/* The same, and ends the interval. */
int whole_collect(struct whole *w, uint64_t epoch);
void whole_forget(struct whole *w);
/* The series of all, then of the CPUs that had any; descs: one for each histogram. 0 or -ENOMEM. */
int whole_push(const struct whole *w, const struct metric_desc *descs, struct source_report *r);
void whole_close(struct whole *w); /* unopened (all zero) is fine */

#endif
