// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known of an address: whose it is, who held it, who waited where, what lies on its cache
 * line, and which bytes of it who touches:
 *
 *	                0       8       16      24      32      40      48      56
 *	worker 101      wwwwwwww........rrrr............................................
 *	worker 102      ........wwwwwwww................................................
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/culprit.h"
#include "sink/printer.h"
#include "sink/table.h"
#include "sink/tui.h"

#define LINE_SIZE 64
#define WHO 14 /* columns before the bytes: 80 are enough */

static void list_identity(struct tui_list *l, const struct contended *c)
{
	char text[TUI_NAME];

	tui_list_add(l, TUI_HEADING, "What it is");
	if (c->other)
		tui_list_add(l, TUI_PLAIN, "addresses that found no row of their own");
	else
		tui_list_add(l, TUI_PLAIN, "%s  %s  0x%" PRIx64, name_clean(c->source).s,
			     name_clean(c->kind).s, c->addr);
	if (c->name)
		tui_list_add(l, TUI_PLAIN, "%s%s", name_clean(c->name).s,
			     c->name_inferred ? "  (named by the code that locks it)" : "");
	if (c->place && *c->place)
		tui_list_add(l, TUI_PLAIN, "%s", name_clean(c->place).s);
	if (c->pid)
		tui_list_add(l, TUI_PLAIN, "of %s", table_contended_owner(c, text, sizeof(text)));
	if (c->group.key)
		tui_list_add(l, TUI_PLAIN, "%s %s", name_clean(c->group.key).s,
			     name_clean(c->group.value).s);
	if (c->ncpus || c->ntasks)
		tui_list_add(l, TUI_PLAIN, "%s thread%s, CPU%s %s", word_count(c->ntasks).s,
			     c->ntasks == 1 ? "" : "s", c->ncpus == 1 ? "" : "s",
			     table_numbers(c->cpus, c->ncpus, text, sizeof(text)));
	if (c->futex)
		tui_list_add(l, TUI_PLAIN, "%s%s%s eagain, %s timeouts, %s wakes (%s woken)%s",
			     c->op ? name_clean(c->op).s : "", c->op ? ": " : "",
			     word_count(c->futex->eagain).s, word_count(c->futex->timeouts).s,
			     word_count(c->futex->wakes).s, word_count(c->futex->woken).s,
			     contended_class(c) == CLASS_WORK ? ", waits for work"
			     : contended_class(c) == CLASS_UNSURE
				     ? ", for a lock or for work: not known"
				     : "");
	if (c->runtime)
		tui_list_add(l, TUI_PLAIN, "Go: %s", TABLE_RUNTIME_NOTE);
}

/* "running 3 %, runnable 60 %": of what waited for this holder */
static const char *did(const struct holder *h, char *out, size_t len)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < HOLDER_DID; i++) {
		struct word w = word_did(h, i);

		if (w.s[0] && at < len)
			at += (size_t)snprintf(out + at, len - at, "%s%s", at ? ", " : "", w.s);
	}
	return out;
}

/* --why: all of them, the longest first as the report has them. */
void tui_detail_holders(struct tui_list *l, const struct holder *v, size_t n, uint64_t sum_ns)
{
	char text[128];

	if (n)
		tui_list_add(l, TUI_HEADING, "Who held it, and what that thread did meanwhile");
	for (size_t i = 0; i < n; i++) {
		const struct holder *h = &v[i];
		struct word share = word_share(h->wait_ns, sum_ns, 0);
		struct name comm = name_clean(holder_name(h));

		if (h->tid)
			tui_list_add(l, TUI_PLAIN, "%5s %%  %s/%" PRIu32 "  %s", share.s, comm.s,
				     h->tid, did(h, text, sizeof(text)));
		else
			tui_list_add(l, TUI_PLAIN, "%5s %%  %s", share.s, comm.s);
		if (h->took_at)
			tui_list_add(l, TUI_PLAIN, "         took%s at %s", word_seen(h).s,
				     name_clean(h->took_at).s);
		if (h->released_at)
			tui_list_add(l, TUI_PLAIN, "         released at %s",
				     name_clean(h->released_at).s);
	}
}

static void list_sites(struct tui_list *l, const struct contended *c)
{
	uint64_t all = 0;

	for (size_t i = 0; i < c->nsites; i++)
		all += c->sites[i].count;
	if (c->nsites)
		tui_list_add(l, TUI_HEADING, "Where");
	for (size_t i = 0; i < c->nsites; i++)
		tui_list_add(l, TUI_PLAIN, "%10s %5s %%  %s", word_count(c->sites[i].count).s,
			     word_share(c->sites[i].count, all, 0).s,
			     name_clean(c->sites[i].sym).s);
}

static void list_members(struct tui_list *l, const struct contended *c)
{
	if (c->nmembers)
		tui_list_add(l, TUI_HEADING, "On the same cache line (* written often)");
	for (size_t i = 0; i < c->nmembers; i++)
		tui_list_add(l, TUI_PLAIN, "%6" PRIu32 " +%-4" PRIu32 "%c %s", c->members[i].offset,
			     c->members[i].size, c->members[i].hot ? '*' : ' ',
			     name_clean(c->members[i].name).s);
}

/* ---- bytes of a line ---- */

static void map_ruler(struct tui_list *l)
{
	size_t line = tui_list_line(l);
	char text[16];

	for (size_t i = 0; line != SIZE_MAX && i < LINE_SIZE; i += 8) {
		(void)snprintf(text, sizeof(text), "%zu", i);
		(void)tui_text(&l->t->canvas, line, 1 + WHO + i, 8, TUI_DIM, text);
	}
}

/* Bytes that another thread touches too, one of both writing, are the ones that hurt. */
static uint64_t fought_over(const struct line_accesses *a, size_t of)
{
	const struct line_thread *t = &a->threads[of];
	uint64_t bytes = 0;

	for (size_t i = 0; i < a->nthreads; i++)
		if (i != of)
			bytes |= (a->threads[i].write_bytes & (t->read_bytes | t->write_bytes)) |
				 (a->threads[i].read_bytes & t->write_bytes);
	return bytes;
}

static void map_thread(struct tui_list *l, const struct line_accesses *a, size_t of)
{
	const struct line_thread *t = &a->threads[of];
	uint64_t bad = fought_over(a, of);
	size_t line = tui_list_line(l);
	char text[TUI_NAME + 16];

	if (line == SIZE_MAX)
		return;
	(void)snprintf(text, sizeof(text), "%s %" PRIu32, name_clean(t->comm ? t->comm : "").s,
		       t->tid); /* fits */
	(void)tui_text_middle(&l->t->canvas, line, 0, WHO, TUI_PLAIN, text);
	for (size_t i = 0; i < LINE_SIZE; i++) {
		bool wrote = t->write_bytes >> i & 1, read = t->read_bytes >> i & 1;

		tui_put(&l->t->canvas, line, 1 + WHO + i,
			wrote  ? 'w'
			: read ? 'r'
			       : 0xb7,
			bad >> i & 1	? TUI_BAD
			: wrote || read ? TUI_BOLD
					: TUI_DIM);
	}
}

static void list_line(struct tui_list *l, const struct line_accesses *a)
{
	tui_list_add(l, TUI_HEADING, "Who touches which of its 64 bytes%s%s%s",
		     a->sharing ? ": " : "", a->sharing ? name_clean(a->sharing).s : "",
		     a->sharing ? " sharing" : "");
	map_ruler(l);
	for (size_t i = 0; i < a->nthreads; i++)
		map_thread(l, a, i);
	tui_list_add(l, TUI_PLAIN, "%s reads, %s writes, %s locked%s%s%s%s%s",
		     word_count(a->reads).s, word_count(a->writes).s, word_count(a->locked).s,
		     a->exact ? "" : " (samples)", a->hitm.told ? ", HITM " : "",
		     a->hitm.told ? word_count(a->hitm.local).s : "",
		     a->hitm.told ? " local, remote " : "",
		     a->hitm.told ? word_count(a->hitm.remote).s : "");
	if (a->nuses)
		tui_list_add(l, TUI_HEADING, "By which code");
	for (size_t i = 0; i < a->nuses; i++) {
		const struct line_spot *u = &a->uses[i];

		tui_list_add(l, TUI_PLAIN,
			     "byte %2" PRIu32 " +%-3" PRIu32 "%8s samples  %s%s%s by %" PRIu32,
			     u->offset, u->size, word_count(u->samples).s,
			     u->name ? name_clean(u->name).s : "", u->name ? "  at " : "at ",
			     name_clean(u->sym ? u->sym : "").s, u->tid);
	}
}

void tui_detail_contended(struct tui_list *l, const struct contended *c)
{
	if (c->accesses)
		list_line(l, c->accesses);
	list_identity(l, c);
	if (c->wait)
		tui_detail_holders(l, c->holders, c->nholders, c->wait->sum_ns);
	list_sites(l, c);
	list_members(l, c);
}
