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
	uint32_t user_pid;    /* whose the user addresses are, or 0 */
	struct mapped counts; /* struct abi_watch_counts */
	int *fds;	      /* of events, by slot, then CPU; -1: none */
	struct ring ring;
	void *code;	   /* what instructions do: a tree */
	uint64_t reported; /* of counted, in the last interval's report */
	uint64_t counted;  /* accesses, never more than --confirm */
	bool warming, armed;
	bool maybe; /* only ambiguous samples say that it is contended: a row if accesses say it too
		     */
	bool stopped; /* enough was seen */
	uint64_t lost_previous;
	struct watch_own own; /* of --check */
};

/* watch.c, for the line source: a watch of some slots of one line, not begun yet, with the names of
 * its model. */
int watch_open_line(struct watch_source **out, const struct source_args *args,
		    const struct line_model *lender, const struct line_key *line,
		    const struct watch_slot *slots, size_t n, struct err *e);
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
