// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Below a slow wait for a lock or futex (--why): the links of its chain, one a line.
 *
 *	14:02:11.123     0  18,204 worker 42       futex app`orders.lock
 *	    ← held by db 31 17.9 ms: runnable 16.0 ms, running 1.9 ms
 *	      besides db 33 204 us, (released) 100 us
 *	    ← behind hog 77 12.1 ms, hog 78 3.9 ms
 *
 * The last is what the holder waited for itself: its CPU, or another lock.
 *
 *	    ← waited 12.1 ms for futex app`stock.lock, held by clerk 12
 */
#include <inttypes.h>
#include <string.h>

#include "core/culprit.h"
#include "sink/table.h"

#define LINK_INDENT 4
#define LINK_OTHERS 3  /* further holders */
#define LINK_LEAST 100 /* what is less than this part of the wait is left out */

static void link_begin(struct line *l)
{
	line_start(l);
	line_to(l, LINK_INDENT);
	line_add(l, "← ");
}

/* "db 31 17.9 ms" */
static void add_holder(struct line *l, const struct holder *h)
{
	line_add(l, "%s", name_clean(holder_name(h)).s);
	if (h->tid)
		line_add(l, " %" PRIu32, h->tid);
	line_add(l, " %s", word_duration(h->wait_ns).s);
}

/* What it did, the longest first. */
static void add_did(struct line *l, const struct holder *h)
{
	static const char *const words[] = {"running", "runnable", "out of quota", "blocked"};
	uint64_t ns[] = {h->running_ns, h->runnable_ns, h->throttled_ns, h->blocked_ns};
	const char *sep = ": ";

	for (size_t n = 0; n < sizeof(ns) / sizeof(ns[0]); n++) {
		size_t most = 0;

		for (size_t i = 1; i < sizeof(ns) / sizeof(ns[0]); i++)
			if (ns[i] > ns[most])
				most = i;
		if (!ns[most])
			return;
		line_add(l, "%s%s %s", sep, words[most], word_duration(ns[most]).s);
		ns[most] = 0;
		sep = ", ";
	}
}

static bool of_cpu(const struct slow_link *k)
{
	return !k->addr && strcmp(k->kind, "blocked") != 0;
}

/* What was on the CPU in its place, in one line. */
static void put_cpu(struct printer *p, const struct slow_held *held, uint64_t least)
{
	size_t shown = 0, left = 0;
	struct line l;

	link_begin(&l);
	line_add(&l, "behind ");
	for (size_t i = 0; i < held->nbehind; i++) {
		const struct slow_link *k = &held->behind[i];
		const struct culprit as = {
			.kind = k->kind, .pid = k->pid, .tid = k->tid, .comm = k->comm};

		if (!of_cpu(k) || k->ns < least)
			continue;
		if (shown > LINK_OTHERS) {
			left++;
			continue;
		}
		line_add(&l, "%s%s %s", shown++ ? ", " : "", name_culprit(&as).s,
			 word_duration(k->ns).s);
	}
	if (left)
		line_add(&l, ", %zu more", left);
	if (shown)
		printer_line(p, STYLE_PLAIN, &l);
}

/* Another lock, or what it did that is not known. */
static void put_other(struct printer *p, const struct slow_link *k)
{
	struct word ns = word_duration(k->ns);
	struct line l;

	link_begin(&l);
	if (!k->addr) {
		line_add(&l, "blocked %s, not known for what", ns.s);
		printer_line(p, STYLE_PLAIN, &l);
		return;
	}
	line_add(&l, "waited %s for %s ", ns.s, k->kind);
	if (k->name)
		line_add(&l, "%s", name_clean(k->name).s);
	else
		line_add(&l, "0x%" PRIx64, k->addr);
	if (k->tid)
		line_add(&l, ", held by %s %" PRIu32, name_clean(k->comm).s, k->tid);
	else
		line_add(&l, ", holder not known");
	printer_line(p, STYLE_PLAIN, &l);
}

static void put_besides(struct printer *p, const struct slow_held *held, const struct holder *first)
{
	size_t shown = 0, left = 0;
	struct line l;

	line_start(&l);
	line_to(&l, LINK_INDENT + 2);
	line_add(&l, "besides ");
	for (size_t i = 0; i < held->nholders; i++) {
		if (&held->holders[i] == first)
			continue;
		if (shown == LINK_OTHERS) {
			left++;
			continue;
		}
		line_add(&l, shown++ ? ", " : "");
		add_holder(&l, &held->holders[i]);
	}
	if (left)
		line_add(&l, ", %zu more", left);
	if (shown)
		printer_line(p, STYLE_PLAIN, &l);
}

void table_slow_links(struct printer *p, const struct slow *w)
{
	const struct slow_held *held = w->held;
	uint64_t least = w->wait_ns / LINK_LEAST;
	const struct holder *h;
	bool cpu = false;
	struct line l;

	if (!held || !held->nholders)
		return;
	h = holder_longest(held); /* of a thread more is known */
	if (!h)
		h = held->holders;
	link_begin(&l);
	if (h->tid)
		line_add(&l, "held by ");
	add_holder(&l, h);
	if (h->tid)
		add_did(&l, h);
	printer_line(p, STYLE_PLAIN, &l);
	put_besides(p, held, h);
	for (size_t i = 0; i < held->nbehind; i++) {
		const struct slow_link *k = &held->behind[i];

		if (k->ns < least)
			continue;
		if (!of_cpu(k))
			put_other(p, k);
		else if (!cpu)
			put_cpu(p, held, least);
		cpu |= of_cpu(k);
	}
}
