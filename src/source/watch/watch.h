/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the watch source: every access to some addresses, by hardware breakpoints. */
#ifndef WS_WATCH_H
#define WS_WATCH_H

#include "source/bpf/bpf_source.h"
#include "source/cacheline/line_model.h"
#include "source/bpf/ring.h"

#include "abi_watch.h"

struct watch_bpf;

#define WATCH_SLOT_BYTES 8U
#define WATCH_BRIEF_NS 400000ULL

/* What one debug register watches: aligned bytes, a power of two of them. */
struct watch_slot {
	uint64_t addr;
	uint32_t len;
	const char *text; /* of --watch */
};

/* A line with watched bytes: a row. */
struct watch_line {
	struct line_key key;
	uint64_t addr; /* the first of the slots that were named */
	uint32_t last; /* CPU + 1 of the last access */
	uint32_t pairs, changes;
};

struct watch_own {
	struct config cfg; /* borrowed, but for what follows */
	uint64_t variable;
	char text[24], *list[1];
	uint32_t pid;
};

struct watch_source {
	struct bpf_source base;
	const struct config *cfg;
	struct source_args args;
	struct line_model m;
	struct watch_bpf *skel;
	struct watch_slot slots[ABI_WATCH_SLOTS];
	struct watch_line lines[ABI_WATCH_SLOTS];
	struct line none; /* stands for a line without an access */
	size_t nslots, nlines;
	uint32_t traps;	      /* of one event, after which the kernel stops it */
	uint32_t user_pid;    /* whose the user addresses are, or 0 */
	struct mapped counts; /* struct abi_watch_counts */
	int *fds;	      /* of events, by slot, then CPU; -1: none */
	struct ring ring;
	void *code;	   /* what instructions do: a tree */
	uint64_t reported; /* of counted, in the last interval's report */
	uint64_t counted;  /* accesses, never more than --confirm */
	bool warming, armed;
	bool stopped; /* enough was seen */
	bool brief;   /* of short watches: other slots each time */
	bool writes_only;
	uint64_t *cpus; /* of short watches: a bit for each CPU that is watched */
	uint32_t turn;	/* at which of those wanted that begins */
	uint64_t lost_previous;
	struct watch_own own; /* of --check, and of short watches */
};

/* watch.c, for the line source: a watch of some slots of one line, not begun yet, with the names of
 * its model. */
int watch_open_line(struct watch_source **out, const struct source_args *args,
		    const struct line_model *lender, const struct line_key *line,
		    const struct watch_slot *slots, size_t n, struct err *e);
/* A watch for watch_brief(), with the names of that model. */
int watch_open_brief(struct watch_source **out, const struct source_args *args,
		     const struct line_model *lender, struct err *e);
/*
 * Watches n slots in the memory of the line's process for WATCH_BRIEF_NS at most, on CPUs that it
 * was sampled on (eight at most: opening events takes time). It spins so long, on a CPU that is not
 * `cpu`, where who is looked for may run: asleep it would be woken late on a busy machine, and the
 * debug registers be taken until then. The accesses are the interval's of w->m.table afterwards.
 * *took: how long debug registers were taken. Returns 0; -ENOSPC or -EBUSY: somebody else uses one;
 * negative with words.
 */
int watch_brief(struct watch_source *w, const struct line *line, const struct watch_slot *slots,
		size_t n, uint32_t cpu, uint64_t *took, struct err *e);
int watch_begin(struct watch_source *w, struct err *e);
void watch_end(struct watch_source *w); /* for good; rows remain */
/* Rows of both views, and what was lost added to the report. */
int watch_report(struct watch_source *w, struct source_report *r, struct err *e);
void watch_close(struct source *src); /* NULL is fine */

/* watch_spec.c: what --watch names, with words that quote it. */
int watch_resolve(struct watch_source *w, struct err *e);

/* watch_events.c: breakpoints on all CPUs that are online; not counting before they are armed.
 * Called again it looks after CPUs that came back. */
int watch_events_open(struct watch_source *w, struct err *e);
/* Opens one and closes it: what waits for an RCU grace period then is quick for a while. */
int watch_events_try(struct watch_source *w, struct err *e);
int watch_events_arm(struct watch_source *w, struct err *e);
void watch_events_disarm(struct watch_source *w);
void watch_events_close(struct watch_source *w);

/* watch_hits.c: what the programs have sent, into the table. 0 or negative. */
int watch_hits_open(struct watch_source *w, struct err *e);
int watch_hits_drain(struct watch_source *w, struct err *e);
void watch_hits_close(struct watch_source *w);

/* A row for each line; 0 or -ENOMEM. */
int watch_push_rows(struct watch_source *w, struct source_report *r);
struct watch_line *watch_line_at(struct watch_source *w, uint64_t addr); /* or NULL */

const struct abi_watch_counts *watch_counts(const struct watch_source *w);

#endif
