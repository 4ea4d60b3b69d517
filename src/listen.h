/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --listen: an HTTP server beside the outputs. /metrics is what the run has counted, in the form
 * that the client asks for (sink/prom.h), / a page with the table of the last report, /healthz
 * whether reports are on time. It asks nothing of the sources: answers are made of the reports,
 * once for all who ask before the next one.
 *
 * A server of our own, on libevent's buffers: its HTTP server (2.1) limits neither how many clients
 * there are nor how long one may take for its request.
 */
#ifndef WS_LISTEN_H
#define WS_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/err.h"
#include "core/export.h"
#include "core/frame.h"
#include "core/http.h"
#include "sink/out.h"
#include "sink/sink.h"

/* At most so many at once; others wait until one has gone, for a second the most. */
#define LISTEN_CLIENTS 128
#define LISTEN_HEAD_BYTES 8192
#define LISTEN_TIME_S 10 /* for all of it: request and answer */

struct event_base;
struct listener;

/* "ADDR:PORT", "ADDR", "PORT": of numbers, or localhost; as --listen has it. "systemd": sockets
 * that we were started with. */
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

/* ---- what it answers (listen_pages.c) ---- */

/* Of one report: shared by all who were given it. */
struct body {
	uint32_t refs;
	size_t len;
	char data[];
};

enum page_kind { PAGE_TEXT, PAGE_PROTO, PAGE_TABLE, PAGES };

struct pages {
	const struct config *cfg;
	struct export *x;
	struct sink *table;		    /* in memory */
	struct out out;			    /* what is being made */
	struct body *made[PAGES];	    /* of the last report; NULL: not asked for since */
	uint64_t table_asked_ns, report_ns; /* CLOCK_MONOTONIC */
};

/* What to say: a status, and a body that is shared, or words. */
struct answer {
	int status;
	const char *type;
	struct body *body; /* with a reference of the caller's, or NULL: */
	const char *words;
};

int pages_open(struct pages *p, const struct config *cfg, struct err *e);
int pages_meta(struct pages *p, const struct meta *m, struct err *e);
int pages_interval(struct pages *p, const struct frame *interval, const struct frame *total,
		   struct err *e);
struct answer pages_answer(struct pages *p, const struct http_request *r, uint64_t now_ns);
void pages_close(struct pages *p);
void body_put(struct body *b); /* gives a reference back; NULL is fine */

#endif
