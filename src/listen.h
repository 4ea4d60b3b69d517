/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --listen: an HTTP server beside the outputs. /metrics is what the run has counted, in the form that
 * the client asks for (sink/prom.h), / a page with the table of the last report, /healthz whether
 * reports are on time. It asks nothing of the sources: answers are made of the reports, once for all
 * who ask before the next one.
 *
 * A server of our own, on libevent's buffers: its HTTP server (2.1) limits neither how many clients
 * there are nor how long one may take for its request.
 */
#ifndef WS_LISTEN_H
#define WS_LISTEN_H

#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"

/* At most so many at once; others wait until one has gone, for a second the most. */
#define LISTEN_CLIENTS 128
#define LISTEN_HEAD_BYTES 8192
#define LISTEN_TIME_S 10 /* for all of it: request and answer */

struct event_base;
struct listener;

/* "ADDR:PORT", "ADDR", "PORT": of numbers, or localhost; as --listen has it. "systemd": sockets that
 * we were started with. */
int listen_check(const char *text, struct err *e);
/* NULL as *out without --listen. */
int listener_open(struct listener **out, const struct config *cfg, struct event_base *base,
		  struct err *e);
/* "http://127.0.0.1:9768/", for a note. */
const char *listener_address(const struct listener *l);
int listener_meta(struct listener *l, const struct meta *m, struct err *e);
int listener_interval(struct listener *l, const struct frame *interval, const struct frame *total,
		      struct err *e);
void listener_close(struct listener *l); /* NULL is fine */

#endif
