/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the line source: what its files share. */
#ifndef WS_LINE_H
#define WS_LINE_H

#include <linux/types.h>

#include "abi_line.h"
#include "core/cache.h"
#include "source/bpf/bpf_source.h"
#include "source/cacheline/line_model.h"
#include "source/line/line_shared.h"
#include "source/line/pmu.h"
#include "source/bpf/ring.h"

struct line_bpf;
struct line_event;
struct watch_source;

/* New instruction pointers. */
struct line_ips {
	struct ring ring;
	struct names *names;
	int map_fd;
	uint32_t max, n; /* pointers in the map that are known to us */
	uint64_t turn_ends_ns;
	uint32_t reads; /* of maps, in this turn */
	struct cache processes;
	struct cache windows;	  /* of code */
	struct abi_ip_key *known; /* in order of appearance, a ring of `max` */
	uint32_t first;
	int timer_fd; /* -1: none */
};

/* What became of the samples: counters in the place of those of other sources. */
_Static_assert(sizeof(struct abi_line_counts) == sizeof(struct abi_counts),
	       "as counts.h reads them");
static inline const struct abi_line_counts *line_counts_of(const struct abi_counts *c)
{
	return (const struct abi_line_counts *)c;
}

/* A line that --confirm could not watch. */
struct line_refusal {
	struct line_key key;
	uint32_t turns; /* intervals until it is tried again; 0: none */
	char why[ERR_TEXT_LEN];
};

#define LINE_CONFIRMS 8 /* lines that --confirm watches in a run */

/* A line that was watched for a moment. */
struct line_tried {
	struct line_key key;
	uint32_t times;
	bool writes;   /* for who writes to it */
	uint64_t hits; /* then: writes, in all watches of it */
};

/* An instruction that a thread was seen to run, before a pointer that it is sampled at. */
struct line_decision {
	uint64_t ip;   /* of the samples */
	uint64_t insn; /* its first byte */
	uint32_t tid, pid;
	double share; /* of the samples there; the rest is of other instructions that it runs */
};

#define LINE_TRIED_MAX 16
#define LINE_DECISIONS_MAX 256

struct line_short {
	struct watch_source *w; /* opened when first needed; NULL */
	bool off;		/* not on this machine, or not wanted */
	uint64_t spent_ns;	/* with debug registers taken; of the budget of a run */
	uint64_t spent_before_ns;
	uint64_t fined_ns;    /* watches that were held up: taken from the budget a second time */
	uint32_t n, n_before; /* watches; before: at the last report */
	uint32_t pause;	      /* ticks to wait: somebody else has debug registers */
	struct line_tried tried[LINE_TRIED_MAX];
	size_t ntried;
	struct line_decision *decisions;
	size_t ndecisions;
};

struct line_source {
	struct bpf_source base;
	const struct config *cfg;
	struct source_args args;
	struct line_bpf *skel;
	struct line_model m;
	bool pmu; /* else the CPU clock */
	struct pmu_plan plan;
	struct line_event *events; /* by CPU, then by kind; NULL: not open */
	uint32_t kinds;		   /* of events */
	struct line_ips ips;
	struct line_table *maybe; /* what ambiguous samples may have touched */
	struct line_short brief;  /* short watches, which decide about these */
	bool warm;		  /* what is sampled now is counted */
	bool begun;		  /* the tables have samples of this interval */
	bool early;		  /* the bank that ended was ended by us, within an interval */
	uint32_t ticks;		  /* of 100 ms since samples were last taken */
	struct line_shared *shared;
	void *batch_keys;     /* struct abi_access_key */
	void *batch_values;   /* of struct abi_access or struct abi_latency */
	struct counts counts; /* see line_counts_of */
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

/* line_load.c: with the PMU (s->pmu), its events; else whether the clock's samples can be
 * decoded. Then the programs of that sampler, and the words for meta and --check. */
int line_sampler_open(struct line_source *s, struct err *e);
int line_load(struct line_source *s, struct err *e);
void line_sampler_say(struct line_source *s, const char *why_no_pmu);

/* line_take.c: what the programs counted under an epoch that has ended (0: all), into the table. */
int line_take_alloc(struct line_source *s);
int line_take(struct line_source *s, uint64_t epoch);

/* line_events.c: opens what is not open on CPUs that are online, also of those that came back. 0,
 * or negative with words if not one CPU can be sampled. */
int line_events_open(struct line_source *s, struct err *e);
void line_events_close(struct line_source *s);

/* line_ips.c: new instruction pointers -> recipes. */
int line_ips_open(struct line_source *s, struct err *e);
/* A process was seen otherwise than by its code. */
void line_ips_process(struct line_ips *p, uint32_t tgid);
/* Ten times a second decodes what waits, some at a time. Returns 1 if that was done, 0 if it was
 * not yet time, negative with words. */
int line_ips_drain(struct line_ips *p, struct err *e);
void line_ips_close(struct line_ips *p);

/* line_rows.c: contended lines of both views into the report. 0 or -ENOMEM. */
int line_push_rows(struct line_source *s, struct source_report *r);
/* Kernel code ("iowrite16+0x9") that accesses a device's registers? Pure. */
bool line_device_code(const char *sym);

/*
 * line_short.c: who ran which instruction before a pointer that several lead to. A debug register
 * watches what may have been touched, for less than a millisecond at a time.
 */
/* Decides whether there will be short watches. */
int line_short_open(struct line_source *s, struct err *e);
/* Is there something that may be decided? */
bool line_short_wanted(const struct line_source *s);
/* One short watch, if there is something to decide. 0, or negative with words. */
int line_short_turn(struct line_source *s, struct err *e);
/* An ambiguous access: counts it where its thread was seen to run it. 0 or -ENOMEM. */
int line_short_take(struct line_source *s, const struct line_key *at,
		    const struct abi_access_key *key, const struct abi_access *a);
void line_short_report(struct line_source *s, struct source_report *r);
void line_short_close(struct line_source *s);

/* line_confirm.c: after the rows of an interval, those of the lines that were watched; and the next
 * line to watch, if none is being watched. */
/* Is there a line less under way than may be? */
bool line_confirm_wanted(const struct line_source *s);
int line_confirm_next(struct line_source *s, struct err *e); /* begins with it, if there is one */
int line_confirm_report(struct line_source *s, struct source_report *r, struct err *e);
/* Why that line is not watched, from the arena; NULL: it is, or was not tried. */
const char *line_confirm_why(struct line_source *s, const struct line_key *key);
int line_confirm_drain(struct line_source *s, struct err *e);
void line_confirm_stop(struct line_source *s);
void line_confirm_close(struct line_source *s);

#endif
