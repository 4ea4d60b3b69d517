/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits, of --fail-if: METRIC{label="v",...} STAT OP VALUE, such as
 *
 *	sched_wakeup_latency p99 > 500us
 *	ext4_op_latency{op="fsync"} max >= 2s
 *	ext4_es_lookups{result="miss"} rate > 1000
 *
 * Read strictly; tested on a frame. What is true of a series is a limit exceeded.
 */
#ifndef WS_LIMIT_H
#define WS_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"

enum limit_stat {
	LIMIT_QUANTILE,
	LIMIT_MIN,
	LIMIT_MAX,
	LIMIT_MEAN,
	LIMIT_COUNT, /* of a counter: its value */
	LIMIT_SUM,
	LIMIT_RATE, /* count a second */
};

enum limit_op { LIMIT_ABOVE, LIMIT_AT_LEAST, LIMIT_BELOW, LIMIT_AT_MOST };

struct limit {
	char *text; /* as given */
	const struct metric_desc *desc;
	struct label labels[SERIES_LABELS];
	size_t nlabels;
	enum limit_stat stat;
	struct quantile quantile;
	enum limit_op op;
	bool relative; /* VALUE is +N % or -N % of the other side: `value` is 1.1 for +10 % */
	double value;  /* ns, a count, or a count a second */
	char *memory;  /* of the labels */
};

/*
 * Takes the whole text, or says what in it cannot be read and what was expected: -EINVAL with
 * words, exit 2; -ENOMEM. `relative`: may VALUE be +10%? Where two runs are compared it may.
 */
int limit_parse(struct limit *l, const char *text, bool relative, struct err *e);
void limit_free(struct limit *l); /* zeroed is fine */

/* As limit_parse, behind those that the list has. */
int limit_list_add(struct limit_list *l, const char *text, bool relative, struct err *e);
void limit_list_free(struct limit_list *l); /* zeroed is fine */

/* Is a value, or the ratio of two if the limit is relative, beyond it? */
bool limit_exceeded(const struct limit *l, double value);
/*
 * Does it speak of this series? It has all labels of the limit, with these values. A limit without
 * any is for the whole, the series without labels; of metrics that have none, for each: `whole`
 * says whether it has.
 */
bool limit_selects(const struct limit *l, const struct series *s, bool whole);

typedef int (*limit_fn)(void *ctx, const char *words);
/*
 * Tests all of them on a frame; calls fn, with words for a message that have the limit and its
 * numbers, for each series that exceeds one. *exceeded counts them. 0; what fn returned, if it
 * failed; -ENOENT with words, exit 2: one of them selects nothing, or nothing that has samples. The
 * others are tested first.
 */
int limits_test(const struct limit_list *l, const struct frame *f, limit_fn fn, void *ctx,
		size_t *exceeded, struct err *e);

#endif
