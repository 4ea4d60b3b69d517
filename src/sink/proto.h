/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol Buffers, written: fields are numbers or messages within messages. By hand, for what
 * Prometheus and Perfetto take: a library (protobuf-c) would be its description, the code generated
 * of it and a tree of structs to be filled in and freed, each longer than this.
 */
#ifndef WS_SINK_PROTO_H
#define WS_SINK_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "sink/out.h"

void proto_u64(struct out *o, uint32_t field, uint64_t v); /* and int32, int64, enum, bool */
void proto_sint(struct out *o, uint32_t field, int64_t v); /* sint32, sint64 */
void proto_double(struct out *o, uint32_t field, double v);
void proto_fixed64(struct out *o, uint32_t field, uint64_t v);
void proto_text(struct out *o, uint32_t field, const char *text);
/* A message, or a packed list, is what is written between these; or all of it, for a file of
 * several (field 0). */
size_t proto_begin(struct out *o, uint32_t field);
void proto_end(struct out *o, size_t begun);
/* A message of two numbers, its fields 1 and 2. */
void proto_pair(struct out *o, uint32_t field, uint64_t first, uint64_t second);
/* An element of a packed list. */
void proto_packed_sint(struct out *o, int64_t v);

#endif
