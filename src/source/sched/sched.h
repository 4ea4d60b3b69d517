/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the scheduler source: what its files share. */
#ifndef WS_SCHED_H
#define WS_SCHED_H

#include <linux/types.h>

#include "abi.h"
#include "core/metrics.h"
#include "source/bpf_source.h"
#include "source/cpus.h"
#include "source/sched/sched_object.h"
#include "source/slow_ring.h"

/* Histograms of one row: by metric, of the interval and of the whole. */
struct sched_row {
	struct hist interval[SCHED_METRICS];
	struct hist total[SCHED_METRICS];
};

void sched_row_init(struct sched_row *r, uint32_t schema);
int sched_row_reserve(struct sched_row *r); /* -ENOMEM */
void sched_row_reset(struct sched_row *r);  /* both */
void sched_row_free(struct sched_row *r);
/* run_delay of the interval from its parts, then interval into total. 0 or -ENOMEM. */
int sched_row_finish(struct sched_row *r);

/* Per-CPU histograms: reads banks, keeps what it saw of each. */
struct sched_banks {
	struct counts counts;
	char *seen; /* the histograms of each bank, as last read */
	uint32_t schema;
	uint32_t ncpus;		/* possible */
	struct sched_row *cpus; /* ncpus */
	bool *cpu_used;		/* has had an event since counting began */
	struct sched_row whole;
};

int sched_banks_open(struct sched_banks *b, int map_fd, uint32_t schema, uint32_t ncpus,
		     struct err *e);
/* What was counted under `epoch` (both banks if 0: at the end) joins the interval, which goes on. 0
 * or -ENOMEM. */
int sched_banks_fold(struct sched_banks *b, uint64_t epoch);
/* The same, and ends the interval. */
int sched_banks_collect(struct sched_banks *b, uint64_t epoch);
void sched_banks_forget(struct sched_banks *b); /* totals start anew */
void sched_banks_close(struct sched_banks *b);	/* unopened (all zero) is fine */

/* Groups (--by). */
struct sched_keys;
struct sched_keys_args {
	int fds[ABI_BANKS];
	enum by_key by;
	uint32_t ncpus; /* possible */
	struct cgroup_names *names;
};
int sched_keys_open(struct sched_keys **out, const struct sched_keys_args *args, struct err *e);
int sched_keys_fold(struct sched_keys *k, uint64_t epoch, struct err *e);
int sched_keys_collect(struct sched_keys *k, uint64_t epoch, struct err *e);
void sched_keys_forget(struct sched_keys *k);
int sched_keys_push(struct sched_keys *k, struct source_report *r); /* series of all groups */
void sched_keys_close(struct sched_keys *k);

/* Series of a row: SCHED_METRICS histograms of both views, under the same labels. Metrics without a
 * sample are left out unless `all`. */
int sched_push_hists(struct source_report *r, const struct hist *interval, const struct hist *total,
		     const struct label *labels, uint32_t nlabels, bool all);

struct sched {
	struct bpf_source base;
	const struct config *cfg;
	struct source_args args;
	struct sched_object bpf;
	struct sched_banks banks;
	struct sched_keys *keys; /* NULL without --by */
	struct slow_ring slow;	 /* not open without --slower */
	cpu_name *cpu_names;
};

/* sched_load.c: BPF object opened, configured for this kernel and these filters, loaded, attached.
 */
int sched_load(struct sched *s, struct err *e);
int sched_attach(struct sched *s, struct err *e);

/* sched_slow.c: --slower */
int sched_slow_open(struct sched *s, struct err *e);

/* sched_flight.c: tasks still waiting now; 0 or negative errno */
int sched_in_flight(const struct sched *s, struct abi_in_flight *out);

#endif
