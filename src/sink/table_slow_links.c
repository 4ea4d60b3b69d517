// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Below a slow wait for a lock or futex (--why): the links of its chain, one a line.
 *
 *	14:02:11.123     0  18,204 worker 42       futex app`orders.lock
 *	    ← held by db 31 17.9 ms: runnable 16.0 ms, running 1.9 ms
 *	      besides db 33 204 us, (released) 100 us
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/text.h"
#include "sink/table.h"

#define LINK_INDENT 4
#define LINK_TEXT 128
#define LINK_OTHERS 3 /* further holders */

static void link_end(struct printer *p, bool fit, struct line *l)
{
	struct printer wide = *p;

	if (!fit)
		wide.columns = LINE_BYTES;
	printer_line(&wide, STYLE_PLAIN, l);
}

static void link_begin(struct line *l)
{
	line_start(l);
	line_to(l, LINK_INDENT);
	line_add(l, "← ");
}

/* "db 31 17.9 ms" */
static void add_holder(struct line *l, const struct holder *h)
{
	char comm[LINK_TEXT], ns[LINK_TEXT];

	text_clean(comm, sizeof(comm),
		   h->comm  ? h->comm
		   : h->tid ? "?"
			    : "holder not known",
		   SIZE_MAX);
	line_add(l, "%s", comm);
	if (h->tid)
		line_add(l, " %" PRIu32, h->tid);
	line_add(l, " %s", format_duration(ns, sizeof(ns), h->wait_ns));
}

/* What it did, the longest first. */
static void add_did(struct line *l, const struct holder *h)
{
	static const char *const words[] = {"running", "runnable", "out of quota", "blocked"};
	uint64_t ns[] = {h->running_ns, h->runnable_ns, h->throttled_ns, h->blocked_ns};
	const char *sep = ": ";
	char text[LINK_TEXT];

	for (size_t n = 0; n < sizeof(ns) / sizeof(ns[0]); n++) {
		size_t most = 0;

		for (size_t i = 1; i < sizeof(ns) / sizeof(ns[0]); i++)
			if (ns[i] > ns[most])
				most = i;
		if (!ns[most])
			return;
		line_add(l, "%s%s %s", sep, words[most],
			 format_duration(text, sizeof(text), ns[most]));
		ns[most] = 0;
		sep = ", ";
	}
}

void table_slow_links(struct printer *p, bool fit, const struct slow *w)
{
	const struct slow_held *held = w->held;
	struct line l;
	size_t i;

	if (!held || !held->nholders)
		return;
	link_begin(&l);
	if (held->holders[0].tid)
		line_add(&l, "held by ");
	add_holder(&l, &held->holders[0]);
	if (held->holders[0].tid)
		add_did(&l, &held->holders[0]);
	link_end(p, fit, &l);
	if (held->nholders < 2)
		return;
	line_start(&l);
	line_to(&l, LINK_INDENT + 2);
	line_add(&l, "besides ");
	for (i = 1; i < held->nholders && i <= LINK_OTHERS; i++) {
		line_add(&l, i == 1 ? "" : ", ");
		add_holder(&l, &held->holders[i]);
	}
	if (i < held->nholders)
		line_add(&l, ", %zu more", held->nholders - i);
	link_end(p, fit, &l);
}
