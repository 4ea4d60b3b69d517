/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recorded run and how far it was played (render.c: commands; record.c: frames). */
#ifndef WS_GOLDEN_PLAYER_H
#define WS_GOLDEN_PLAYER_H

#include "sink/sink.h"

#define SERIES 4096
#define MAX_METRICS 16
#define MAX_LIST 16

struct recorded {
	struct frame f;
	struct series series[SERIES];
	struct hist hists[SERIES];
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
int do_report(struct player *p, char **w, int n);
void recorded_clear(struct recorded *r);

#endif
