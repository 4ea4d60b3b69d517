/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recorded run and how far it was played (render.c: commands; record.c: frames). */
#ifndef WS_GOLDEN_PLAYER_H
#define WS_GOLDEN_PLAYER_H

#include "sink/sink.h"

#define SERIES 4096
#define MAX_METRICS 16
#define MAX_LIST 16

#define CONTENDED 64
#define CONTENDED_LIST 16

/* What a cache line points to. */
struct recorded_lines {
	struct line_accesses a;
	struct hist latency, spot_latency[CONTENDED_LIST];
	struct line_thread threads[CONTENDED_LIST];
	struct line_spot spots[CONTENDED_LIST];
	uint32_t nodes[CONTENDED_LIST];
};

/* What a contended address points to. */
struct recorded_contended {
	struct hist wait;
	struct futex_counts futex;
	uint32_t cpus[CONTENDED_LIST];
	struct site sites[CONTENDED_LIST];
	struct line_member members[CONTENDED_LIST];
	struct recorded_lines lines;
};

struct recorded {
	struct frame f;
	struct series series[SERIES];
	struct hist hists[SERIES];
	struct split splits[SERIES];
	struct contended contended[CONTENDED];
	struct recorded_contended more[CONTENDED];
	size_t nsum, sum_of[MAX_METRICS]; /* series that are sums of their CPUs */
};

struct player {
	const struct sink_ops *ops;
	const char *path;
	struct sink *sink;
	struct config cfg;
	struct sink_args args;
	struct meta meta;
	struct meta_source sources[MAX_LIST];
	struct label filters[MAX_LIST];
	const char *argv[MAX_LIST + 1];
	const char *hooks[MAX_LIST][MAX_LIST];
	size_t nargs;
	struct metric_desc metrics[MAX_METRICS];
	size_t nmetrics;
	struct bucket_table buckets;
	struct recorded *interval, *total, *cur;
	char *kept[65536]; /* copies of the lines: words point into them */
	size_t nkept;
	struct err e;
};

/* -EINVAL, with words that quote the word. */
int bad(struct player *p, const char *what);
uint64_t number(const char *s);
/* "key=value" in place; NULL if there is no '='. */
char *split(char *word);
struct timespec parse_timespec(const char *s);
/* Index of w in a NULL-terminated list, into *out. */
int set_enum(struct player *p, const char *const *list, const char *w, int *out);

/* The commands about frames; w[0] is the command itself. */
int do_frame(struct player *p, char **w, int n);
int do_same(struct player *p, char **w, int n);
int do_quality(struct player *p, char **w, int n);
int do_cost(struct player *p, char **w, int n);
int do_series(struct player *p, char **w, int n);
int do_split(struct player *p, char **w, int n);
int do_report(struct player *p, char **w, int n);
/* "5100", "5100x64", "900-1708x30" */
int add_samples(struct player *p, struct hist *h, const char *word);
/* record_contended.c */
int do_contends(struct player *p, char **w, int n);
int do_contended(struct player *p, char **w, int n);
int do_site(struct player *p, char **w, int n);
int do_member(struct player *p, char **w, int n);
int same_contended(struct recorded *to, const struct recorded *from);
void contended_clear(struct recorded *r);
/* record_lines.c */
int do_accesses(struct player *p, char **w, int n);
int do_thread(struct player *p, char **w, int n);
int do_spot(struct player *p, char **w, int n);
int same_lines(struct contended *c, struct recorded_lines *to, const struct recorded_lines *from);
void lines_clear(struct recorded_lines *l);
void recorded_clear(struct recorded *r);

#endif
