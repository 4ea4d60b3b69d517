/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampled accesses into lines, and which of them are contended. Pure: no kernel, no clock.
 *
 * A line is contended when at least two threads on at least two cores touched it and one of them
 * wrote (SMT siblings share a cache: they count once). Lines are ranked by the samples of the
 * second-busiest thread, for a line that one thread has nearly to itself costs little, scaled by
 * how often consecutive samples came from different CPUs: threads that own a line in turns do not
 * fight over it. Nothing is vetoed. Where a PMU tells of hits in lines that another cache had
 * modified (HITM), these come first.
 */
#ifndef WS_LINE_TABLE_H
#define WS_LINE_TABLE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi_line.h"
#include "core/hist.h"

enum line_view { LINE_INTERVAL, LINE_TOTAL, LINE_VIEWS };

struct line_samples {
	uint64_t samples, reads, writes, locked, inferred;
	uint64_t told, hitm_local, hitm_remote; /* a PMU's loads: those that can be HITM */
	uint64_t unplaced; /* of the line, but it is not known of which of its bytes */
	uint64_t read_bytes, write_bytes; /* bit per byte of the line */
};

/* One thread at one place in code, and the byte of the line that its operand begins with. */
struct line_use {
	uint32_t tid, pid, cpu; /* cpu: the last one */
	int32_t back;		/* from the sampled pointer to the instruction */
	uint64_t ip;
	uint64_t line;	/* as its process sees it: address >> ABI_LINE_SHIFT */
	uint64_t space; /* its process's, as in struct abi_access_key */
	uint64_t phys;	/* address, of the last sample that told it; 0: none */
	uint32_t offset;
	char comm[17];
	struct line_samples view[LINE_VIEWS];
	struct hist *latency; /* one for each view, in cycles; NULL: not told */
	struct line_use *next;
};

/* One thread, all its code together. */
struct line_thread_sum {
	uint32_t tid, pid, cpu;
	const char *comm;
	struct line_samples s;
};

enum line_sharing { SHARING_NONE, SHARING_FALSE, SHARING_TRUE };

struct line {
	struct line_key {
		uint64_t line;	/* address >> ABI_LINE_SHIFT */
		uint32_t tgid;	/* 0: the kernel's, or shared */
		uint32_t share; /* 0: not shared by processes; else `line` lies in that file */
		uint64_t space; /* abi_space.h; 0: of the kernel, shared, or not known */
	} key;
	struct line_samples view[LINE_VIEWS];
	uint64_t *cores[LINE_VIEWS]; /* bit per core */
	uint64_t *cpus[LINE_VIEWS];
	uint64_t pairs[LINE_VIEWS], changes[LINE_VIEWS]; /* of consecutive samples */
	uint32_t pairs_seen, changes_seen;
	struct hist latency[LINE_VIEWS]; /* its uses' together */
	uint32_t idle_turns;		 /* intervals without a sample */
	struct line_use *uses;
	uint32_t nuses;
	struct line_use others; /* uses that found no room, together: tid of the last of them */
	bool others_many;	/* and they are of more than one thread */
	bool decided;		/* has samples that were ambiguous by themselves */
	uint32_t written_by;	/* a thread that a short watch saw write; 0: none */
	uint32_t written_cpu;	/* where it ran */
	uint64_t written_bytes; /* and where, by 8 */
	struct line *next;
};

struct line_table {
	uint32_t *core_of;
	uint32_t ncpus;
	size_t words; /* of a bit set of CPUs */
	size_t n, max;
	uint64_t dropped;	  /* accesses to lines that found no room */
	struct line_samples rest; /* of contended lines that have left; part of the totals alone */
	void *tree;
	struct line *first;
	struct line_thread_sum *scratch;
	size_t scratch_cap;
};

void line_samples_add(struct line_samples *to, const struct line_samples *s);

/* `core_of[cpu]` for ncpus CPUs is copied. At most max_lines lines are kept: see `dropped`. */
int line_table_open(struct line_table **out, const uint32_t *core_of, uint32_t ncpus,
		    size_t max_lines);
void line_table_close(struct line_table *t); /* NULL is fine */

/* Of these, NULL is fine. */
void line_table_begin(struct line_table *t);  /* a new interval */
void line_table_forget(struct line_table *t); /* totals start anew */
/* Adds to both views, to the line `at` (line_shared.h: not always that of the key). 0, -ENOMEM, or
 * -ENOSPC: counted in `dropped`. */
int line_table_add(struct line_table *t, const struct line_key *at,
		   const struct abi_access_key *key, const struct abi_access *a);
/* Adds a share of what a use of another table's line has, to the same line. Results as above. */
int line_table_adopt(struct line_table *t, const struct line *from, const struct line_use *u,
		     double share);
/* Frees the use at *at of a line; the line keeps its counts. */
void line_table_drop_use(struct line *l, struct line_use **at);
/* The line of that key, or NULL. */
struct line *line_table_find(const struct line_table *t, const struct line_key *key);
/* The same with what its samples took. Of an access that is not there: nothing to add to. */
int line_table_add_latency(struct line_table *t, const struct line_key *at,
			   const struct abi_access_key *key, const struct abi_latency *a);
/* Lines that have been quiet for a while leave: those that are not contended, and of those that are
 * the ones with the fewest samples, into the rest. */
void line_table_end(struct line_table *t);

/* What is counted of its consecutive samples so far; less than before: it was forgotten, and is
 * counted anew. */
void line_turns(struct line *l, uint32_t pairs, uint32_t changes);

/* The use that was sampled most: whose addresses and names stand for the line. NULL: none. */
const struct line_use *line_busiest(const struct line *l, enum line_view v);
/* Somebody writes to it: sampled, or seen by a short watch. */
bool line_written(const struct line *l, enum line_view v);
bool line_contended(struct line_table *t, const struct line *l, enum line_view v);
/* Consecutive samples that changed CPU, 0..1; negative: no pair was seen. */
double line_interleave(const struct line *l, enum line_view v);
/* Who touched it, busiest first; valid until the next call. NULL with *n = 0: nobody, or no memory.
 */
const struct line_thread_sum *line_threads(struct line_table *t, const struct line *l,
					   enum line_view v, size_t *n);
/* Samples at stake: what contended lines are sorted by. `threads` are all of the line's. */
double line_rank(const struct line *l, enum line_view v, const struct line_thread_sum *threads,
		 size_t n);
enum line_sharing line_sharing(const struct line_thread_sum *threads, size_t n);
uint32_t line_cores(const struct line_table *t, const struct line *l, enum line_view v);

#endif
