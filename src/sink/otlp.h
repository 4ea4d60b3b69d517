/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How what otlp.c writes gets to a collector (otlp_send.c). */
#ifndef WS_SINK_OTLP_H
#define WS_SINK_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct event_base;

#define OTLP_QUEUE 16		     /* reports that wait, at most, */
#define OTLP_QUEUE_BYTES (32U << 20) /* but one of any size */
#define OTLP_BACKOFF_FIRST_NS 1000000000ULL
#define OTLP_BACKOFF_LAST_NS 60000000000ULL
#define OTLP_TIMEOUT_S 10	    /* of one request, from its first byte to the answer's last */
#define OTLP_FLUSH_NS 5000000000ULL /* the end of a run waits so long */

/* What became of reports. */
struct otlp_counts {
	uint64_t sent, refused, lost;
	uint64_t rejected; /* data points of those sent that the collector did not take */
	char why[96];	   /* the last reason for what is not sent */
};

struct otlp_sender;

bool otlp_is_url(const char *path);
/* `base` runs the connection. Exit 2 with words: no URL that we can send to. */
int otlp_sender_open(struct otlp_sender **out, struct event_base *base, const char *url,
		     struct err *e);
/*
 * Takes a report, which waits behind others; where too many do, the oldest is lost. 0 or -ENOMEM.
 */
int otlp_sender_add(struct otlp_sender *s, const char *data, size_t len);
/* Runs the loop, which nobody else does now, until no more than `left` reports wait or `limit_ns`
 * is over. */
void otlp_sender_run(struct otlp_sender *s, size_t left, uint64_t limit_ns);
/* At the end: what still waits is lost. */
const struct otlp_counts *otlp_sender_counts(const struct otlp_sender *s);
void otlp_sender_give_up(struct otlp_sender *s);
void otlp_sender_close(struct otlp_sender *s); /* NULL is fine */

#endif
