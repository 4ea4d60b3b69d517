/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report as people read it: which rows there are, in what order, how many of them -n leaves, and
 * which contended addresses are about the same memory. Made once from a frame; whatever draws
 * tables (a terminal, a page) draws this. Pure.
 *
 *	view_make -> sections in order, each with its tables	-> view_free
 *
 * Everything in a view is borrowed from the frame, and valid as long as that is.
 */
#ifndef WS_VIEW_H
#define WS_VIEW_H

#include "core/config.h"
#include "core/frame.h"

#define VIEW_COLUMNS 24 /* values of all pivots of a table of counters; more are not shown */

struct view_row {
	/*
	 * The series shown: of a group that of the metric that ranks, or else of the one that
	 * counts besides, or the headline's; of a CPU without --by the headline's; else the row's
	 * own. NULL in tables of addresses.
	 */
	const struct series *s;
	/* Of a CPU or group, NULL without a sample: the metric that ranks the groups, the one that
	 * counts besides (metrics.h), and the headline (of a CPU also without a sample). */
	const struct series *wait, *besides, *head;
	const struct series *first; /* of a CPU or group: all its series, one after another */
	size_t n;
	const struct contended *c;
	const struct culprit *k; /* VIEW_CULPRITS */
	size_t values;	 /* VIEW_COUNTS: index of the first of its counters in view.values */
	uint32_t rank;	 /* rows of a lower one come first, */
	uint64_t weight; /* then heavier ones, then by name */
};

/* What a row of VIEW_CONTENDED is: its rank. */
enum view_contended {
	VIEW_LOCK, /* a lock, or perhaps one */
	VIEW_WORK,
	VIEW_OTHER,
};

struct view_table {
	size_t from; /* index of the first row in view.rows */
	size_t n;
	size_t others; /* the last of them: addresses without a row of their own */
	size_t limit;  /* -n: at most so many are asked for, the others apart; 0: all */
	bool cpus;     /* rows are CPUs, */
	bool in_place; /* in number order as long as all of them are shown: view_first() */
	/* Of CPUs or groups: the metric that ranks them, and the one whose sum counts besides;
	 * NULL: no row has a sample of it. */
	const struct metric_desc *ranked, *besides;
};

enum view_kind {
	VIEW_HEADLINE,	/* a metric, what belongs to it, and its CPUs or groups */
	VIEW_ROWS,	/* METRIC_ROWS */
	VIEW_COUNTS,	/* METRIC_COUNTS */
	VIEW_CONTENDED, /* waits for addresses */
	VIEW_LINES,	/* cache lines */
	VIEW_CULPRITS,	/* who made tasks wait for a CPU */
};

struct view_column {
	const struct metric_desc *desc;
	const char *value; /* of the metric's pivot; NULL: it has none */
};

struct view_section {
	enum view_kind kind;
	const struct metric_desc *desc; /* whose title it has; NULL: VIEW_CONTENDED, VIEW_LINES, or
					   a frame that begins without a headline */
	const struct series *head;	/* VIEW_HEADLINE: its series without labels, or NULL */
	struct view_table legs, sides;	/* VIEW_HEADLINE */
	struct view_table rows;
	struct view_table groups; /* VIEW_ROWS, VIEW_COUNTS: those of --by, below the others */
	struct view_column columns[VIEW_COLUMNS]; /* VIEW_COUNTS */
	size_t ncolumns;
	/*
	 * Of its rows together (VIEW_CULPRITS: sum_ns is all that was waited. VIEW_CONTENDED: of
	 * locks; if any is `timed`, of those that are. VIEW_LINES: of samples, if there are any):
	 */
	uint64_t count, sum_ns;
	/* What was waited in all: which section a window has room for. 0 of what takes no time. */
	uint64_t waited_ns;
	struct wait_sum unsure, work; /* VIEW_CONTENDED: beside these, of the other classes */
	double share;		      /* VIEW_LINES: of the time of busy CPUs; 0: not known */
	bool timed, sampled;	      /* VIEW_CONTENDED: a row has waits; VIEW_LINES: has samples */
	const char *sampler;	      /* VIEW_LINES: of its last row, or NULL */
};

/* Two rows of the frame's contended table about the same memory: a cache line, and a lock or futex
 * on it. There is one for each way. */
struct view_join {
	const struct contended *row, *with;
};

/* Zeroed is an empty one; its memory grows to what the largest frame took, and is kept. */
struct view {
	struct view_section *sections;
	size_t nsections, sections_cap;
	struct view_row *rows; /* of all tables */
	size_t nrows, rows_cap;
	uint64_t *values; /* of all tables of counters */
	size_t nvalues, values_cap;
	struct view_join *joins; /* by row, then by the address of the other */
	size_t njoins, joins_cap;
};

/* 0 or -ENOMEM. */
int view_make(struct view *v, const struct frame *f, const struct config *cfg);
/* The joins alone. */
int view_join(struct view *v, const struct frame *f);
/*
 * All groups of --by, those that wait most first, with all their series (view_row.first), also
 * those without a sample of a headline; none if no metric ranks groups. The rest of the view is
 * empty.
 */
int view_groups(struct view *v, const struct frame *f, const struct config *cfg,
		struct view_table *out);
void view_free(struct view *v);

/* The joins of a row of the contended table: *n of them. */
const struct view_join *view_joined(const struct view *v, const struct contended *row, size_t *n);
/* The table's rows of which `n` are to be shown: the first ones. */
struct view_row *view_first(struct view *v, const struct view_table *t, size_t n);
/* Of rows of VIEW_CULPRITS one whose labels say who waited: all that have some have the same keys.
 * NULL: none has. */
const struct culprit *view_victims(const struct view_row *rows, size_t n);
/* What a counter of a metric came to in a row: all values of its pivot. */
uint64_t view_sum(const struct view *v, const struct view_section *s, const struct view_row *row,
		  const struct metric_desc *desc);

/* Is the series one of a headline's metrics, of a CPU or a group? */
bool view_is_group(const struct series *s);
bool view_is_cpu(const struct series *s);
/* What a CPU or group waited, by which groups are ordered: ns, of the metric that ranks and of the
 * one that counts besides. */
uint64_t view_waited_ns(const struct view_row *row);
/* The key of the labels that --by makes; NULL without. */
const char *view_by(enum by_key by);

#endif
