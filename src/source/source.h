/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source makes frames' series. It is the only floor that knows libbpf; sinks never see it.
 *
 *	open -> start -> ((next_epoch -> drain_banks)* next_epoch -> collect)* -> stop -> collect -> close
 *
 * `next_epoch` ends the interval for the kernel side at once; `collect` follows at least
 * SOURCE_GRACE_NS later, when programs that were in flight by then have left.
 */
#ifndef WS_SOURCE_H
#define WS_SOURCE_H

#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"
#include "core/option.h"

#define SOURCE_CAP(cap) (1ULL << (cap)) /* of CAP_* in linux/capability.h */

#define SOURCE_GRACE_NS 1000000ULL
/* Counters of 32 bits that are read this often lose nothing: 2^32 samples on one CPU would be one
 * each 140 ns, and the tracepoint that makes a sample takes longer. */
#define SOURCE_DRAIN_NS 600000000000ULL

/* Of METRIC_*: from one to another. */
#define SOURCE_METRICS(first, last) ((2ULL << (last)) - (1ULL << (first)))
_Static_assert(METRICS < 64, "source_ops.metrics has a bit for each");

struct names_shared;
struct shared_maps;
struct source;

/* Where collect puts its series; main owns it and turns it into frames. Grows, never shrinks. */
struct series_list {
	struct series *v;
	size_t n, cap;
	bool unwanted; /* this time nobody looks at it: what is pushed is dropped */
};
int series_push(struct series_list *l, const struct series *s); /* 0, -ENOMEM */

/* The same for rows of the contended table. */
struct contended_list {
	struct contended *v;
	size_t n, cap;
	bool unwanted; /* as above: who has much to put together may spare it */
};
int contended_push(struct contended_list *l, const struct contended *c); /* 0, -ENOMEM */

/* And for who made tasks wait. */
struct culprit_list {
	struct culprit *v;
	size_t n, cap;
	bool unwanted;
};
int culprit_push(struct culprit_list *l, const struct culprit *c); /* 0, -ENOMEM */

/* And for where the time went. */
struct times_list {
	struct times *v;
	size_t n, cap;
	bool unwanted;
};
int times_push(struct times_list *l, const struct times *t); /* 0, -ENOMEM */

/* What the sources report for one period: each puts its rows behind those of the ones before. */
struct report_rows {
	struct series_list series;
	struct contended_list contended;
	struct culprit_list culprits;
	struct times_list times;
};
void rows_forget(struct report_rows *r);	    /* keeps the memory */
void rows_want(struct report_rows *r, bool wanted); /* by the next collect */
void rows_free(struct report_rows *r);

struct source_report {
	struct report_rows interval;	 /* since the previous epoch began */
	struct report_rows total;	 /* since counting began */
	struct quality quality_interval; /* of the source that was asked last */
	struct quality quality_total;
};

/* Series of both views: n metrics' histograms under the same labels. Those with a bit in `optional`
 * are left out where they have no sample. 0 or -ENOMEM. */
int series_push_hists(struct source_report *r, const struct metric_desc *metrics, uint32_t n,
		      uint32_t optional, const struct hist *interval, const struct hist *total,
		      const struct label *labels, uint32_t nlabels);

typedef int (*source_slow_fn)(void *ctx, const struct slow *s);

/* Pids that run for us: what COMMAND became (0 = none). Excluded: our own threads. */
struct source_args {
	const struct config *cfg;
	uint32_t command_pid;	/* forked and held before its exec, or 0 */
	source_slow_fn on_slow; /* called from drain */
	void *slow_ctx;
	struct names_shared *names; /* outlives the sources, as does what follows */
	struct shared_maps *shared;
};

struct source_ops {
	const char *name;    /* as in --source */
	const char *summary; /* one line for --help and the manual */
	bool by_default;
	bool made_up; /* asks nothing of the kernel, and tells nothing of it */
	const struct option_row
		*options; /* that mean something to it, or NULL; see core/option.h */
	uint64_t caps;	  /* capabilities it may still need once it runs: a SOURCE_CAP each */
	/* File descriptors at most: its own; more with --why; more for each CPU, or for each CPU
	 * and --watch. */
	uint16_t fds, fds_why, fds_cpu;
	uint64_t metrics;      /* what it tells of: a SOURCE_METRICS each; made-up data: anything */
	bool groups;	       /* has a row for each with --by */
	bool files;	       /* and with --by file */
	const char *ungrouped; /* else: why not, for who runs it beside one that has */
	bool slow;	       /* tells of single waits with --slower */
	bool why;	       /* and who is to blame with --why */
	bool culprits;	       /* of waits for a CPU: it fills report_rows.culprits */
	bool splits;	       /* says where its times went: blocked, on the run queue, on a CPU */
	bool contends;	       /* has rows for the contended table */
	bool lines;	       /* has rows for that of cache lines */
	/* Optional: what it makes of the options once all are read, whether it is asked or not:
	 * numbers that were not given are 0 still. Exit 2 with words for a contradiction. */
	int (*settle)(struct config *cfg, struct err *e);
	/* Can this machine run it? 0, or negative with the reason in e (exit 3). Cheap. */
	int (*probe)(struct err *e);
	/* Load everything; nothing is counted yet. Where that fails *out is half open, or as it
	 * was. */
	int (*open)(struct source **out, const struct source_args *args, struct err *e);
	/* Begin to count (after a warm-up: forget what was counted so far). */
	int (*start)(struct source *s, struct err *e);
	int (*next_epoch)(struct source *s, struct err *e);
	int (*collect)(struct source *s, struct source_report *r, struct err *e);
	/* Optional, for counters of 32 bits: as collect, but the interval goes on. Long ones have
	 * one every SOURCE_DRAIN_NS. */
	int (*drain_banks)(struct source *s, struct err *e);
	/* Stop counting, for good; a last collect follows SOURCE_GRACE_NS later. */
	int (*stop)(struct source *s, struct err *e);
	/* Optional: an fd to poll, and what to do when it is readable. */
	int (*event_fd)(const struct source *s);
	int (*drain)(struct source *s, struct err *e); /* 1: more lies there, come again */
	/* Optional: cost since the last call; see self_cost. sample_begin/_end bracket a short
	 * window. */
	int (*cost_begin)(struct source *s, struct err *e);
	int (*cost_end)(struct source *s, struct self_cost *cost, struct err *e);
	/* Optional: is what the filters name still there? false + words in why when it is gone. */
	bool (*target_alive)(struct source *s, char *why, size_t len);
	const char *const *(*hooks)(const struct source *s); /* NULL-terminated */
	/* Optional: the way it had to take here, in a few words for --check; NULL: the usual one.
	 */
	const char *(*how)(const struct source *s);
	/* Optional: parts of it that cannot run here, "WHAT: WHY" each, NULL-terminated; or NULL.
	 */
	const char *const *(*lacks)(const struct source *s);
	/* Optional: what the user should know at the start (one line for stderr), or NULL. */
	const char *(*notice)(const struct source *s);
	void (*close)(struct source *s); /* NULL and half-open are fine */
};

/* Every source derives from this: first member of its own struct. */
struct source {
	const struct source_ops *ops;
};

extern const struct source_ops source_sched;
extern const struct source_ops source_ext4;
extern const struct source_ops source_line;
extern const struct source_ops source_lock;
extern const struct source_ops source_futex;
extern const struct source_ops source_watch;
extern const struct source_ops source_synth;

/* The list; NULL-terminated. A new source is a line there. */
#define SOURCES_MAX 16
extern const struct source_ops *const source_list[];
const struct source_ops *source_find(const char *name);
extern const struct option_row filters_options[]; /* filters.c */
bool source_named(const struct config *cfg, const struct source_ops *ops);
/* Is it named, or one of the default ones if none is? */
bool source_asked(const struct config *cfg, const struct source_ops *ops);

/* Does one that is asked split its times? */
bool sources_split(const struct config *cfg);
/* And with --why, does one that is asked, and can run, say who held what was waited for? */
bool sources_hold(const struct config *cfg);

/* Probed, then opened. A refusal says what is missing for all that was asked for. */
int source_open(const struct source_ops *ops, struct source **out, const struct source_args *args,
		struct err *e);

#endif
