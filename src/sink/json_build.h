/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json-c with one place for errors: every function takes NULL objects and a builder that already
 * failed, so that a record is described straight down and checked once at its end.
 */
#ifndef WS_SINK_JSON_BUILD_H
#define WS_SINK_JSON_BUILD_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/config.h"
#include "core/fields.h"
#include "core/frame.h"
#include "core/view.h"
#include "sink/out.h"

struct json_build {
	int error;
};

struct json_object *json_new_object(struct json_build *b);
struct json_object *json_new_array(struct json_build *b);
/* Valid UTF-8 from any bytes; NULL gives JSON null. */
struct json_object *json_new_text(struct json_build *b, const char *text);

/* Hand `value` over to an object or array. Keys must outlive the object. */
void json_add(struct json_build *b, struct json_object *obj, const char *key,
	      struct json_object *value);
void json_append(struct json_build *b, struct json_object *array, struct json_object *value);

void json_append_u64(struct json_build *b, struct json_object *array, uint64_t v);

void json_add_u64(struct json_build *b, struct json_object *obj, const char *key, uint64_t v);
void json_add_i64(struct json_build *b, struct json_object *obj, const char *key, int64_t v);
void json_add_bool(struct json_build *b, struct json_object *obj, const char *key, bool v);
void json_add_text(struct json_build *b, struct json_object *obj, const char *key,
		   const char *text);
/* Null where it is not known. */
void json_add_known(struct json_build *b, struct json_object *obj, const char *key, bool known,
		    uint64_t v);
/* The members that a table names, of the struct at `from`. */
void json_add_fields(struct json_build *b, struct json_object *obj, const struct field_table *t,
		     const void *from);
/* An array of such objects, of structs of `size` bytes each. Returns it, for more to be added; of
 * no use once the builder failed. */
struct json_object *json_add_rows(struct json_build *b, struct json_object *obj, const char *key,
				  const struct field_table *t, const void *rows, size_t n,
				  size_t size);
struct json_object *json_new_u32s(struct json_build *b, const uint32_t *v, size_t n);
/* "0x…", a string: readers whose numbers are doubles would round it. */
void json_add_hex(struct json_build *b, struct json_object *obj, const char *key, uint64_t v);
void json_add_time(struct json_build *b, struct json_object *obj, const char *key,
		   const struct timespec *ts);

/* {"v":1,"type":type, ... */
struct json_object *json_new_record(struct json_build *b, const char *type);
/* Its text into out, but for so many bytes at its beginning and its end. */
void json_put(struct json_build *b, struct json_object *o, size_t skip, size_t leave,
	      struct out *out);
/* Put the record as one line into out and free it. */
void json_finish(struct json_build *b, struct json_object *record, struct out *out);

/* {"count":…,"buckets":…} of a histogram, NULL gives JSON null (json_metric.c). */
struct json_object *json_new_hist(struct json_build *b, const struct hist *h,
				  const struct config *cfg);
/* "metrics":[…] of a report, one written after another: the objects of 100,000 groups' metrics
 * together would be gigabytes. */
void json_put_metrics(const struct frame *f, const struct config *cfg, struct out *out);

/* "tables" (json_tables.c); a table is there, perhaps empty, when a source that fills it runs. The
 * view is for joins. */
struct json_object *json_new_tables(struct json_build *b, const struct frame *f, struct view *view,
				    const struct config *cfg);

#endif
