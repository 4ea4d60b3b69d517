/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the flat parts of a report are called and of what type they are: one table for each struct
 * of frame.h that is a list of values. The JSON writer, the JSON reader and CSV go by these tables,
 * so that a new column or counter has one place here, and one in the struct.
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
	FIELD_I32,
	FIELD_BOOL,
	FIELD_TEXT,    /* const char * */
	FIELD_HEX,     /* uint64_t, as "0x…": readers whose numbers are doubles would round it */
	FIELD_PPM,     /* double, a share of 0..1, as whole millionths */
	FIELD_DECIMAL, /* double, one decimal */
};

/* When a value is null in JSON and empty in CSV; zero of a text is the NULL pointer. */
enum field_null {
	FIELD_NEVER_NULL,
	FIELD_ZERO_IS_NULL,
	FIELD_NEGATIVE_IS_NULL,
	FIELD_FALSE_IS_ABSENT, /* there only where it is true */
	FIELD_NEW,	       /* never null, but records of older versions lack it: zero */
};

struct field {
	const char *key;
	enum field_type type;
	enum field_null null;
	size_t offset; /* in the struct */
};

struct field_table {
	const struct field *v;
	size_t n;
};

/* Of struct quality: the edges of the run, but the task that waits longest; then what was lost or
 * is worth knowing. */
extern const struct field_table quality_edge_fields, quality_fields;
/* Of struct site, line_member, futex_counts, line_thread, line_hitm, slow, slow_op. */
extern const struct field_table site_fields, member_fields, futex_fields, thread_fields,
	hitm_fields, slow_fields, slow_op_fields;
/* Of struct contended: before its address, after it, and how many threads waited. */
extern const struct field_table contended_fields, contended_name_fields, threads_fields;
/* Of struct line_accesses: of all lines, and of those whose accesses are counted exactly. */
extern const struct field_table accesses_fields, exact_fields;
/* Of struct line_spot. */
extern const struct field_table spot_fields;

/* Is the value of this field in the struct at `from` null? */
bool field_is_null(const struct field *f, const void *from);
/* Is it one that is left out? */
bool field_is_absent(const struct field *f, const void *from);

#endif
