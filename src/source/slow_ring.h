/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --slower: a source's ring buffer. The kernel side does not wake us until it fills (that would
 * itself be a wait): the loop drains it every so often.
 */
#ifndef WS_SLOW_RING_H
#define WS_SLOW_RING_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/err.h"

#define SLOW_RING_BYTES (2U << 20)
#define SLOW_WAKE_BYTES (SLOW_RING_BYTES / 8)

struct ring_buffer;

/* A record: 0, or negative to stop. */
typedef int (*slow_record_fn)(void *ctx, const void *data, size_t len);

struct slow_ring {
	struct ring_buffer *rb; /* NULL: not open */
	slow_record_fn fn;
	void *ctx;
	uint32_t drained; /* records of this drain */
};

int slow_ring_open(struct slow_ring *r, int map_fd, slow_record_fn fn, void *ctx, struct err *e);
void slow_ring_close(struct slow_ring *r);   /* one that is not open is fine */
int slow_ring_fd(const struct slow_ring *r); /* to poll, or -1 */
/* 0: empty; 1: more lies there, but others shall have their turn; negative with words. */
int slow_ring_drain(struct slow_ring *r, struct err *e);

/* The wall clock when CLOCK_MONOTONIC was mono_ns. */
struct timespec slow_wall_at(uint64_t mono_ns);

#endif
