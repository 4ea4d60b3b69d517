/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Typed reading of a JSON tree, for record_*.c. The first thing wrong is remembered with its
 * words, and every function after that does nothing: a record is read straight down and checked
 * once at its end. What is allocated is of the record's arena.
 */
#ifndef WS_RECORD_JSON_H
#define WS_RECORD_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/fields.h"
#include "core/json.h"
#include "core/record.h"

struct json_in {
	struct record *record;
	struct err *e;
	int error; /* 0, -EINVAL or -ENOMEM */
};

/* "record: 'key': expected WHAT", unless something was wrong before. */
void json_in_bad(struct json_in *in, const char *key, const char *expected);
void *json_in_alloc(struct json_in *in, size_t n, size_t size); /* zeroed; NULL: error is set */

/* Is the key there, be it null? And is it, and not null? No after an error. */
bool json_in_has(struct json_in *in, const struct json *o, const char *key);
bool json_in_given(struct json_in *in, const struct json *o, const char *key);

/* A member that must be there and of that type; after an error an empty object, and none. */
const struct json *json_in_object(struct json_in *in, const struct json *o, const char *key);
/* The same; NULL for null and after an error. */
const struct json *json_in_object_or_null(struct json_in *in, const struct json *o,
					  const char *key);
/* The first of its *n values, which follow each other. */
const struct json *json_in_array(struct json_in *in, const struct json *o, const char *key,
				 size_t *n);
/* The same of whole numbers alone. */
const uint64_t *json_in_numbers(struct json_in *in, const struct json *o, const char *key,
				size_t *n);
/* An array of *n objects, each read to `size` bytes by the table, by `read`, or by both. */
typedef void (*json_in_fn)(struct json_in *in, const struct json *o, void *to);
void *json_in_rows(struct json_in *in, const struct json *o, const char *key, size_t *n,
		   size_t size, const struct field_table *t, json_in_fn read);
/* An object of `max` texts at most; how many there are. */
uint32_t json_in_labels(struct json_in *in, const struct json *o, const char *key,
			struct label *out, uint32_t max, const char *expected);

uint64_t json_in_u64(struct json_in *in, const struct json *o, const char *key);
uint32_t json_in_u32(struct json_in *in, const struct json *o, const char *key);
int32_t json_in_i32(struct json_in *in, const struct json *o, const char *key); /* 0 and above */
int64_t json_in_i64(struct json_in *in, const struct json *o, const char *key);
bool json_in_bool(struct json_in *in, const struct json *o, const char *key);
const char *json_in_text(struct json_in *in, const struct json *o, const char *key);
/* NULL for null. */
const char *json_in_text_or_null(struct json_in *in, const struct json *o, const char *key);
struct timespec json_in_time(struct json_in *in, const struct json *o, const char *key);
/* A value by itself: an element of an array. */
const char *json_in_text_of(struct json_in *in, const struct json *value, const char *key);
/* "0x…" */
uint64_t json_in_hex(struct json_in *in, const struct json *o, const char *key);

/* The members that a table names, into the struct at `to`. null: 0, -1 or NULL, as the table has
 * it; an error where it may not be null. */
void json_in_fields(struct json_in *in, const struct json *o, const struct field_table *t,
		    void *to);

/* record_rows.c: arrays of a report and of a slow wait, which is what culprits add up to. */
void json_in_metrics(struct json_in *in, const struct json *o, struct frame *f);
void json_in_times(struct json_in *in, const struct json *tables, struct frame *f);
void json_in_contended(struct json_in *in, const struct json *tables, struct frame *f);
void json_in_culprits(struct json_in *in, const struct json *tables, struct frame *f);
void json_in_slow_culprits(struct json_in *in, const struct json *o, struct slow *w);
void json_in_split(struct json_in *in, const struct json *o, uint64_t all_ns, struct split *out,
		   const char *expected);

#endif
