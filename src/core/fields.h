/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the flat parts of a report are called, of what type they are and where they show: one table
 * for each struct of frame.h that is a list of values. The JSON writer, the JSON reader, CSV, and
 * the columns and the foot of the tables go by these, so that a new column or counter has one place
 * here, and one in the struct.
 *
 * A table says the order of the keys in JSON.
 */
#ifndef WS_FIELDS_H
#define WS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
	FIELD_U64,
	FIELD_U32,
	FIELD_BOOL,
	FIELD_TEXT,    /* const char * */
	FIELD_HEX,     /* uint64_t, as "0x…": readers whose numbers are doubles would round it */
	FIELD_PPM,     /* double, a share of 0..1, in millionths, rounded */
	FIELD_DECIMAL, /* double, one decimal */
};

#define FIELD_TEXT_BYTES 320 /* a double can have 309 digits */

/* When a value is null in JSON and empty in CSV; zero of a text is the NULL pointer. */
enum field_null {
	FIELD_NEVER_NULL,
	FIELD_ZERO_IS_NULL,
	FIELD_NEGATIVE_IS_NULL,
	FIELD_FALSE_IS_ABSENT, /* there only where it is true */
	/* of a text or a FIELD_U32: there only where there is one, or it is not 0 */
	FIELD_NONE_IS_ABSENT,
	FIELD_NEW, /* never null, but records of older versions lack it: zero */
};

/* When a column is left out of a narrow table. */
enum field_yield { YIELD_NEVER, YIELD_FIRST, YIELD_LATE, YIELD_LAST };

/* Where in a row of a table of addresses its column stands, in the order of the fields. */
enum field_place {
	PLACE_NONE,
	PLACE_WHAT, /* after the name */
	PLACE_HOW,  /* after the number of waits or samples */
	PLACE_WHO,  /* after the times */
};

enum { TABLE_WAITS = 1, TABLE_LINES = 2 };

struct field {
	const char *key;
	enum field_type type;
	enum field_null null;
	size_t offset;	  /* in the struct */
	const char *help; /* what it is, without the full stop; NULL: its key says it */
	/* Of a counter of the quality: its words in the table's foot, which has only those that
	 * counted something; NULL: not there. */
	const char *foot;
	bool loss; /* and the report is not complete with it */
	/* Of what is known of an address: the head of its column, */
	const char *head;
	uint32_t tables; /* in which tables (TABLE_…) */
	enum field_place place;
	enum field_yield yield;
	bool percent; /* a count: shown as its share of the row's waits or samples */
	bool if_any;  /* there only where it is not null in some row */
};

struct field_table {
	const struct field *v;
	size_t n;
};

/* Of struct quality: the edges of the run, but the task that waits longest; then what was lost or
 * is worth knowing. */
extern const struct field_table quality_edge_fields, quality_fields;
/* Of struct self_cost: what is known once the kernel has measured. */
extern const struct field_table self_fields;
/* Of struct site, holder, line_member, futex_counts, line_thread, line_hitm, slow, slow_op,
 * slow_held, slow_link. */
extern const struct field_table site_fields, holder_fields, member_fields, futex_fields,
	thread_fields, hitm_fields, slow_fields, slow_op_fields, slow_held_fields, slow_link_fields;
/* Of struct times, but for the group. */
extern const struct field_table times_fields;
/* Of struct culprit, but for who waited. */
extern const struct field_table culprit_fields;
/* The same of a part of a slow wait. */
extern const struct field_table culprit_part_fields;
/* Of struct contended: before its address, after it, and numbers, which CSV has too. */
extern const struct field_table contended_fields, contended_name_fields, contended_number_fields;
/* Of struct line_accesses: of all lines, and of those whose accesses are counted exactly. */
extern const struct field_table accesses_fields, exact_fields;
/* Of struct line_spot. */
extern const struct field_table spot_fields;

/*
 * Joins what a table names of two structs of its kind, the one at `from` being later: counts are
 * added, sets of bits and what is true for one are true for both, texts that are there and numbers
 * of things are the later ones. Shares and decimals are left to the caller, who can weigh them.
 */
void fields_add(const struct field_table *t, void *to, const void *from);
/* Takes the counts at `part` away; false: one is larger than what it is to be part of. */
bool fields_subtract(const struct field_table *t, void *from, const void *part);

/* Is the value of this field in the struct at `from` null? */
bool field_is_null(const struct field *f, const void *from);
/* Is it one that is left out? */
bool field_is_absent(const struct field *f, const void *from);
uint64_t field_u64(const struct field *f, const void *from); /* of FIELD_U64 */
/* Its value as in JSON, without quotes: in `out`, which any number fits, or the text itself. */
const char *field_text(const struct field *f, const void *from, char out[FIELD_TEXT_BYTES]);

#endif
