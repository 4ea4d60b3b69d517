/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the made-up source: waits (synth.c), file systems (synth_files.c), locks
 * (synth_locks.c). Each has a stream of random numbers of its own. */
#ifndef WS_SYNTH_H
#define WS_SYNTH_H

#include "core/cgroup_words.h"
#include "source/source.h"

#define SYNTH_CPUS 4
#define SYNTH_TASKS 7
#define SYNTH_ROWS (1 + SYNTH_CPUS + SYNTH_TASKS) /* of a report: the whole, CPUs, groups */
#define SYNTH_SEED 20120601

struct synth_task {
	uint32_t pid, tid;
	const char *comm; /* at most 15 bytes, as the kernel's */
	const char *cgroup;
	const char *file; /* what it works on */
};

extern const struct synth_task synth_tasks[SYNTH_TASKS];

/* Labels of a group; numbers need a home. */
struct synth_group {
	struct label labels[SERIES_LABELS];
	uint32_t nlabels;
	char id[12], pid[12];
	struct cgroup_words words;
};

/* --by: the labels of a task's group, before any others. */
void synth_label_group(struct synth_group *g, const struct synth_task *t, enum by_key by);
void synth_label_rows(struct synth_group groups[SYNTH_ROWS], enum by_key by);
/* The row of a task's group: that of the first task in it. */
uint32_t synth_row_of(uint32_t task, enum by_key by);

/* 64-bit linear congruential generator; its high bits are the good ones. */
static inline uint32_t synth_draw(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((*random >> 33) % below);
}

/* Mostly microseconds, with a tail of milliseconds and a few of 0 ns. */
static inline uint64_t synth_draw_wait(uint64_t *random)
{
	if (!synth_draw(random, 200))
		return 0;
	return (1000ULL << synth_draw(random, 12)) + synth_draw(random, 1000);
}

/*
 * Parts: open; start forgets; make ends an interval of n events; collect pushes both views. All
 * return 0 or -ENOMEM. close takes NULL.
 */
struct synth_files;
int synth_files_open(struct synth_files **out, const struct config *cfg);
void synth_files_start(struct synth_files *f);
/* Slow operations go to on_slow, stamped by `stamp`. */
int synth_files_make(struct synth_files *f, uint32_t n, const struct source_args *args,
		     const struct slow *stamp);
int synth_files_collect(const struct synth_files *f, struct source_report *r);
void synth_files_close(struct synth_files *f);

struct synth_locks;
int synth_locks_open(struct synth_locks **out, const struct config *cfg);
void synth_locks_start(struct synth_locks *l);
int synth_locks_make(struct synth_locks *l, uint32_t n);
int synth_locks_collect(const struct synth_locks *l, struct source_report *r);
void synth_locks_close(struct synth_locks *l);

#endif
