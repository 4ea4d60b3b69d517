/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the line source: what its files share. */
#ifndef WS_LINE_H
#define WS_LINE_H

#include <linux/types.h>

#include "abi_line.h"
#include "core/arena.h"
#include "names/names.h"
#include "source/bpf_source.h"
#include "source/line/line_shared.h"
#include "source/cacheline/line_table.h"
#include "source/mapped.h"
#include "source/cacheline/numa.h"
#include "source/line/pmu_plan.h"

struct line_bpf;
struct ring_buffer;
struct line_ips;
struct watch_source;

struct line_event;

/* Sampling events, on each CPU that is online; reopened for those that come back. */
struct line_events {
	struct line_event *v; /* by CPU, then by kind */
	uint32_t ncpus;	      /* possible */
	uint32_t kinds;	      /* of events */
	uint64_t freq;
	const struct pmu_plan *plan; /* NULL: the CPU clock */
};

/* What became of the samples, sums over CPUs. */
struct line_counts {
	struct mapped map;	      /* by CPU, then bank */
	struct abi_line_counts *seen; /* of each, as last read */
	size_t n;
	struct abi_line_counts interval, total;
};

/* A line that --confirm could not watch. */
struct line_refusal {
	struct line_key key;
	uint32_t turns; /* intervals until it is tried again; 0: none */
	char why[ERR_TEXT_LEN];
};

#define LINE_CONFIRMS 8	  /* lines that --confirm watches in a run */
#define LINE_MAYBES_MAX 4 /* of them, those that only ambiguous samples tell of */

struct line_source {
	struct bpf_source base;
	const struct config *cfg;
	struct source_args args;
	struct line_bpf *skel;
	uint32_t ncpus;
	bool pmu; /* else the CPU clock */
	struct pmu_plan plan;
	struct line_events events;
	struct line_ips *ips;
	struct line_table *table;
	struct line_table *maybe; /* --confirm: with what ambiguous samples may have touched */
	struct numa *numa;
	struct line_shared *shared;
	struct names *names;
	struct ext4_places *places; /* of what lies in ext4 */
	struct arena arena;
	void *batch_keys;   /* struct abi_access_key */
	void *batch_values; /* of struct abi_access or struct abi_latency */
	struct line_counts counts;
	uint64_t dropped_previous;
	struct watch_source *confirms[LINE_CONFIRMS]; /* --confirm: the last one may be under way */
	size_t nconfirms;
	struct line_refusal refusals[LINE_CONFIRMS];
	size_t nrefusals; /* so far: of more the oldest gives way */
	char hook_texts[PMU_EVENTS_MAX][64];
	const char *hooks[PMU_EVENTS_MAX + 1];
	char why_clock[ERR_TEXT_LEN + 32]; /* why no PMU's events, though they might have been */
	const char *lacks[4];		   /* the first is what the user is told at the start */
};

/* line_load.c: the programs of its sampler. */
int line_load(struct line_source *s, struct err *e);

/* line_sampler.c: with the PMU (s->pmu), its events; else whether the clock's samples can be
 * decoded. Then the words for meta and --check. */
int line_sampler_open(struct line_source *s, struct err *e);
void line_sampler_say(struct line_source *s, const char *why_no_pmu);

/* line_take.c: what the programs counted under an epoch that has ended (0: all), into the table. */
int line_take_alloc(struct line_source *s);
int line_take(struct line_source *s, uint64_t epoch);

/* line_counts.c: read, of such an epoch; then the metric (0 or -ENOMEM), and what of it is a loss.
 */
int line_counts_open(struct line_counts *c, int map_fd, uint32_t ncpus, struct err *e);
void line_counts_collect(struct line_counts *c, uint64_t epoch);
void line_counts_forget(struct line_counts *c); /* the total starts anew */
int line_counts_push(const struct abi_line_counts *c, struct series_list *to);
void line_counts_quality(const struct abi_line_counts *c, struct quality *q);
void line_counts_close(struct line_counts *c); /* unopened (all zero) is fine */

/* line_events.c: opens what is not open on CPUs that are online. 0, or negative with words if not
 * one CPU can be sampled. */
int line_events_init(struct line_events *v, uint32_t ncpus, uint64_t freq,
		     const struct pmu_plan *plan);
int line_events_open(struct line_events *v, struct line_source *s, struct err *e);
void line_events_close(struct line_events *v);

/* line_ips.c: new instruction pointers -> recipes. */
int line_ips_open(struct line_ips **out, struct line_source *s, struct err *e);
int line_ips_fd(const struct line_ips *p);
/* A process was seen otherwise than by its code. */
void line_ips_process(struct line_ips *p, uint32_t tgid);
/* Decodes what waits, some at a time: 1 if more lies there. */
int line_ips_drain(struct line_ips *p, struct err *e);
void line_ips_close(struct line_ips *p);

/* line.c: the table, for this machine's cores, and its nodes; and the one of what may be. 0 or
 * -ENOMEM. */
int line_open_table(struct line_source *s, bool maybe);

/* line_rows.c: what rows are named by. 0, or negative with words. */
int line_open_names(struct line_source *s, struct err *e);
/* 0 or -ENOMEM, all of these. Contended lines of both views into the report: */
int line_push_rows(struct line_source *s, struct source_report *r);
/* Parts of a row, from the arena: threads; offsets and code; nodes; then the words of a row that
 * has these two, at c->addr. */
int line_fill_threads(struct line_source *s, const struct line_thread_sum *sums, size_t n,
		      struct line_accesses *a);
int line_fill_uses(struct line_source *s, const struct line *l, enum line_view v,
		   struct line_accesses *a);
/* NUMA nodes, where there is more than one. */
int line_fill_nodes(struct line_source *s, const struct line *l, enum line_view v,
		    struct line_accesses *a);
int line_describe(struct line_source *s, const struct line *l, enum line_view v, uint32_t pid,
		  struct contended *c);

/* line_confirm.c: after the rows of an interval, those of the lines that were watched; and the next
 * line to watch, if none is being watched. */
int line_confirm_report(struct line_source *s, struct source_report *r, struct err *e);
/* Why that line is not watched, from the arena; NULL: it is, or was not tried. */
const char *line_confirm_why(struct line_source *s, const struct line_key *key);
int line_confirm_drain(struct line_source *s, struct err *e);
void line_confirm_stop(struct line_source *s);
void line_confirm_close(struct line_source *s);

#endif
