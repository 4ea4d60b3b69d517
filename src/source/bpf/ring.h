/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source's ring buffer, drained in turns: records may come faster than they are used, and after
 * some of them the other events have their turn. The kernel side does not wake us until it fills
 * (that would itself be a wait): the loop drains it every so often.
 */
#ifndef WS_RING_H
#define WS_RING_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define SLOW_RING_BYTES (2U << 20) /* of --slower */
#define SLOW_WAKE_BYTES (SLOW_RING_BYTES / 8)
#define SLOW_RING_MOST 4096

struct ring_buffer;

/* A record: 0; 1: enough for this turn; negative errno: the drain fails with it. */
typedef int (*ring_record_fn)(void *ctx, const void *data, size_t len);

struct ring {
	struct ring_buffer *rb; /* NULL: not open */
	const char *what;	/* for errors: "lock: ring buffer" */
	ring_record_fn fn;
	void *ctx;
	uint32_t most;	  /* records of a turn; 0: all that are there */
	uint32_t drained; /* of this turn */
};

/* The members from `what` to `most` are filled in. */
int ring_open(struct ring *r, int map_fd, struct err *e);
void ring_close(struct ring *r);   /* one that is not open is fine */
int ring_fd(const struct ring *r); /* to poll, or -1 */
/* 0: empty; 1: more may lie there, but others shall have their turn; negative with words. */
int ring_drain(struct ring *r, struct err *e);

#endif
