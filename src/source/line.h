/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the line source: what its files share. */
#ifndef WS_LINE_H
#define WS_LINE_H

#include <linux/types.h>

#include "abi_line.h"
#include "core/arena.h"
#include "names/names.h"
#include "source/bpf_util.h"
#include "source/filters.h"
#include "source/line_table.h"
#include "source/source.h"

struct line_bpf;
struct ring_buffer;
struct line_ips;

/* Sampling events, one per CPU that is online, reopened for those that come back. */
struct line_events {
	int *fds;	/* by CPU; -1: none */
	void **links;	/* struct bpf_link, by CPU */
	uint32_t ncpus; /* possible */
	uint64_t freq;
};

struct line_source {
	struct source base;
	const struct config *cfg;
	struct source_args args;
	struct line_bpf *skel;
	uint64_t epoch; /* 0: not counting */
	bool stopped;
	uint32_t ncpus;
	struct filters filters;
	struct line_events events;
	struct line_ips *ips;
	struct line_table *table;
	struct names *names;
	struct arena arena;
	struct abi_access_key *batch_keys;
	struct abi_access *batch_values;
	const char *counts_map; /* struct abi_line_counts by CPU, read-only */
	size_t counts_len;
	struct abi_line_counts counted, previous, started; /* sums over CPUs: now, then */
	uint64_t dropped_previous;
	struct cost_sampler cost;
	int event_fd;
	const char *hooks[3];
};

/* line_load.c */
int line_load(struct line_source *s, struct err *e);

/* line_events.c: opens what is not open on CPUs that are online. 0, or negative with words if not
 * one CPU can be sampled. */
int line_events_init(struct line_events *v, uint32_t ncpus, uint64_t freq);
int line_events_open(struct line_events *v, struct line_source *s, struct err *e);
void line_events_close(struct line_events *v);

/* line_ips.c: new instruction pointers -> recipes. */
int line_ips_open(struct line_ips **out, struct line_source *s, struct err *e);
int line_ips_fd(const struct line_ips *p);
/* Decodes what waits, some at a time: 1 if more lies there. */
int line_ips_drain(struct line_ips *p, struct err *e);
void line_ips_close(struct line_ips *p);

/* line_rows.c: contended lines of both views into the report. 0 or -ENOMEM. */
int line_push_rows(struct line_source *s, struct source_report *r);

#endif
