/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a listener answers (listen_pages.c), for who talks to its clients (listen.c). */
#ifndef WS_LISTEN_INSIDE_H
#define WS_LISTEN_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/export.h"
#include "core/http.h"
#include "sink/out.h"
#include "sink/sink.h"

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
