/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record read back: one line of the JSON Lines that `-o json` writes
 * (docs/waitscope.schema.json), as the structures that it was written from. Lines come from
 * anywhere: whatever is in one, reading it ends with a record that holds together or with words
 * that say what is wrong where.
 *
 *	record_init -> (record_read -> use)* -> record_free
 *
 * All that a record points to is its own, and lives until the next record_read or record_free.
 */
#ifndef WS_RECORD_H
#define WS_RECORD_H

#include "core/arena.h"
#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"

enum record_type {
	RECORD_META,
	RECORD_INTERVAL,
	RECORD_FINAL,
	RECORD_SLOW,
};

struct record {
	enum record_type type;
	struct meta meta; /* RECORD_META */
	struct frame
		frame;	  /* RECORD_INTERVAL, RECORD_FINAL: `contends` and `lines` by the sources of
			       the meta record before; without one, both if the table of contended
			       addresses is there, empty or not */
	struct slow slow; /* RECORD_SLOW */
	/* Of the percentiles that the line names, ascending: what --percentiles was. */
	const struct quantile *quantiles;
	size_t nquantiles;
	bool waits_off, lines_off; /* no source of the last meta record has such rows */
	struct arena memory;
	char *line; /* its own, in which the texts lie */
	size_t cap;
};

void record_init(struct record *r);
/*
 * Reads one line, `len` bytes without the newline. Keys that it does not know are passed over, as
 * the schema asks of readers. 0; -EINVAL with words: not JSON, not a record of version 1, a value
 * of another type or out of range, a histogram whose buckets do not add up to its count; -ENOMEM.
 */
int record_read(struct record *r, const char *line, size_t len, struct err *e);
void record_free(struct record *r); /* zeroed is fine */

#endif
