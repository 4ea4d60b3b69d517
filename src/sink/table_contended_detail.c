// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is said below a row of the contended table, as far as there is room:
 *
 *	    ext4_sb_info.s_es_stats.es_stats_cache_hits.lock  /data, 4 threads
 *	    at ext4_es_lookup_extent+0x1f 61 %, ext4_map_blocks+0x8c 30 %
 *	    line 1344..1407: es_stats_cache_hits.lock*, .count*, es_stats_cache_misses.lock*
 *
 *	    byte 40: 412 samples by 1573 at app`count+0x70, HITM 30 local, 2 remote,
 *		50th 210, 99th 930~ cycles
 *
 *	    kw.c:15  wait_bitset, 3 threads, 12 eagain, 3 timeouts, 40 wakes (41 woken)
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/table.h"

#define DETAIL_INDENT 4
#define DETAIL_HANG 8 /* where a line that was full goes on */
#define DETAIL_SITES 3
#define DETAIL_THREADS 4
#define DETAIL_SPOTS 4
#define DETAIL_MEMBERS 8 /* and all that are hot */
#define DETAIL_NAME 512
#define DETAIL_TEXT (DETAIL_NAME + 128)
#define LINE_SIZE 64

/* The lines below one row; a line begins with its first item. */
struct detail {
	struct table_page *page;
	struct line line;
	uint32_t lines;
	bool open; /* the line has an item */
};

static void detail_end(struct detail *d)
{
	if (!d->open)
		return;
	paper_line(&d->page->paper, STYLE_DIM, &d->line);
	d->open = false;
}

/* Is there room for another line? */
static bool detail_room(const struct detail *d)
{
	return d->page->density == DENSITY_ALL || !d->lines;
}

/* `sep` stands before an item that is not its line's first. */
static void detail_item(struct detail *d, const char *sep, const char *text)
{
	char item[DETAIL_TEXT + 8];

	if (!d->open && !detail_room(d))
		return;
	if (!d->open) {
		line_start(&d->line);
		line_to(&d->line, DETAIL_INDENT);
		line_add(&d->line, "%s", text);
		d->lines++;
		d->open = true;
		return;
	}
	if (*sep == ',')
		line_add(&d->line, ",");
	(void)snprintf(item, sizeof(item), "%s%s", sep + (*sep == ','), text); /* fits */
	/* One line only: what does not fit is cut with it. */
	if (d->page->density == DENSITY_LINE)
		line_add(&d->line, "%s", item);
	else
		paper_wrap(&d->page->paper, STYLE_DIM, &d->line, item, DETAIL_HANG);
}

static const char *clean(char out[DETAIL_NAME], const char *text)
{
	return text_clean(out, DETAIL_NAME, text, SIZE_MAX);
}

/* Most of the stacks taken came through these; a single one is no statistics. */
static void detail_sites(struct detail *d, const struct contended *c)
{
	char sym[DETAIL_NAME], text[DETAIL_TEXT], share[32] = "";
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < c->nsites; i++)
		all += c->sites[i].count;
	for (i = 0; i < c->nsites && i < DETAIL_SITES; i++) {
		if (all > 1)
			format_share(share, sizeof(share), c->sites[i].count, all, 0);
		(void)snprintf(text, sizeof(text), "%s%s%s%s%s", i ? "" : "at ",
			       clean(sym, c->sites[i].sym), all > 1 ? " " : "", share,
			       all > 1 ? " %" : ""); /* fits */
		detail_item(d, i ? ", " : "  ", text);
	}
	detail_end(d);
}

static void detail_count(struct detail *d, uint64_t n, const char *one, const char *many)
{
	char count[32], text[64];

	if (!n)
		return;
	(void)snprintf(text, sizeof(text), "%s %s", format_count(count, sizeof(count), n),
		       n == 1 ? one : many); /* fits */
	detail_item(d, ", ", text);
}

static void detail_futex(struct detail *d, const struct futex_counts *f)
{
	char text[64], count[32];

	detail_count(d, f->eagain, "eagain", "eagain");
	detail_count(d, f->timeouts, "timeout", "timeouts");
	detail_count(d, f->wakes, "wake", "wakes");
	if (!f->wakes)
		return;
	(void)snprintf(text, sizeof(text), "(%s woken)",
		       format_count(count, sizeof(count), f->woken)); /* fits */
	detail_item(d, " ", text);
}

/* Which it is, as far as the row does not say it, and who waited how. */
static void detail_identity(struct detail *d, const struct contended *c, uint32_t said)
{
	char text[DETAIL_NAME], more[DETAIL_NAME - 16];

	if (!(said & SAID_NAME))
		detail_item(d, "", table_contended_name(c, text, sizeof(text)));
	if (!(said & SAID_OWNER) && c->pid) {
		(void)snprintf(text, sizeof(text), "of %s",
			       table_contended_owner(c, more, sizeof(more))); /* fits */
		detail_item(d, "  ", text);
	}
	if (c->place && *c->place)
		detail_item(d, "  ", clean(text, c->place));
	if (d->page->density == DENSITY_LINE && c->nsites)
		return; /* who waits there tells more than how many */
	if (c->op)
		detail_item(d, "  ", clean(text, c->op));
	if (!c->accesses) /* a line's row has them */
		detail_count(d, c->ntasks, "thread", "threads");
	if (!(said & SAID_CPUS) && c->ncpus) {
		(void)snprintf(text, sizeof(text), "CPU%s %s", c->ncpus > 1 ? "s" : "",
			       table_contended_cpus(c, more, sizeof(more))); /* fits */
		detail_item(d, ", ", text);
	}
	if (c->futex)
		detail_futex(d, c->futex);
	detail_end(d);
}

/* How much of a member's path the one before it has said already: all but its own name. */
static size_t same_parent(const char *before, const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t len = dot ? (size_t)(dot - name) : 0;

	if (!before || !dot || strncmp(before, name, len + 1))
		return 0;
	return strchr(before + len + 1, '.') ? 0 : len;
}

/* "line 1344..1407: ": bytes of the object, if what is known of it lies within the line. */
static void line_start_text(const struct contended *c, char *out, size_t len)
{
	const struct line_member *first = c->members, *last = first + c->nmembers - 1;
	uint64_t end = (uint64_t)last->offset + last->size;

	if (end > first->offset && end - first->offset <= LINE_SIZE)
		(void)snprintf(out, len, "line %" PRIu32 "..%" PRIu64 ": ", first->offset,
			       end - 1); /* fits */
	else
		(void)snprintf(out, len, "line: "); /* fits */
}

/* How many members that are not hot are shown beside those that are. */
static size_t line_others(const struct contended *c)
{
	size_t i, hot = 0;

	for (i = 0; i < c->nmembers; i++)
		hot += c->members[i].hot;
	return hot < DETAIL_MEMBERS ? DETAIL_MEMBERS - hot : 0;
}

/* "line 1344..1407: a.lock*, .count, b, 3 more" */
static void detail_line(struct detail *d, const struct contended *c)
{
	char name[DETAIL_NAME], text[DETAIL_TEXT], start[64];
	const struct line_member *m = c->members;
	const char *before = NULL;
	size_t i, left = 0, others;

	if (!c->nmembers || !detail_room(d))
		return;
	line_start_text(c, start, sizeof(start));
	others = line_others(c);
	for (i = 0; i < c->nmembers; i++, m++) {
		if (!m->hot && !others) {
			left++;
			continue;
		}
		others -= !m->hot;
		clean(name, m->name + same_parent(before, m->name));
		(void)snprintf(text, sizeof(text), "%s%s%s", before ? "" : start, name,
			       m->hot ? "*" : ""); /* fits */
		d->page->hot |= m->hot;
		before = m->name;
		detail_item(d, ", ", text);
	}
	detail_count(d, left, "more", "more");
	detail_end(d);
}

/* "app/16630 CPU 0 writes 40..47, app/16631 CPU 1 reads 40..55": bytes of the line */
static void detail_threads(struct detail *d, const struct line_accesses *a)
{
	char comm[DETAIL_NAME / 4], text[DETAIL_TEXT];
	size_t i;
	int n;

	for (i = 0; i < a->nthreads && i < DETAIL_THREADS; i++) {
		const struct line_thread *t = &a->threads[i];
		uint64_t bytes = t->writes ? t->write_bytes : t->read_bytes;

		if (!bytes)
			continue;
		text_clean(comm, sizeof(comm), t->comm ? t->comm : "?", SIZE_MAX);
		n = snprintf(text, sizeof(text), "%s/%" PRIu32 " CPU %" PRIu32 " %s %d", comm,
			     t->tid, t->cpu, t->writes ? "writes" : "reads",
			     __builtin_ctzll(bytes)); /* fits, with what follows */
		if (bytes & (bytes - 1))
			(void)snprintf(text + n, sizeof(text) - (size_t)n, "..%d",
				       63 - __builtin_clzll(bytes));
		detail_item(d, ", ", text);
	}
	if (a->nthreads > DETAIL_THREADS) {
		(void)snprintf(text, sizeof(text), "%zu more", a->nthreads - DETAIL_THREADS);
		detail_item(d, ", ", text);
	}
	detail_end(d);
}

/* Latencies first of those that fetch modified lines; then of the most frequent. */
static bool spot_before(const struct line_spot *a, const struct line_spot *b)
{
	uint64_t x = a->hitm.local + a->hitm.remote, y = b->hitm.local + b->hitm.remote;

	return x != y ? x > y : a->samples > b->samples;
}

/* "HITM 30 local, 2 remote, 50th 210, 99th 930~ cycles", as far as it is told */
static void detail_spot_memory(struct detail *d, const struct line_spot *u)
{
	static const struct quantile p50 = {PPB_P50, "50"}, p99 = {PPB_P99, "99"};
	char text[96], a[32], b[32];

	if (u->hitm.told) {
		(void)snprintf(text, sizeof(text), "HITM %s local, %s remote",
			       format_count(a, sizeof(a), u->hitm.local),
			       format_count(b, sizeof(b), u->hitm.remote)); /* fits */
		detail_item(d, ", ", text);
	}
	if (!u->latency)
		return;
	table_cycles(d->page, a, sizeof(a), u->latency, &p50);
	table_cycles(d->page, b, sizeof(b), u->latency, &p99);
	a[strcspn(a, " ")] = b[strcspn(b, " ")] = '\0';			     /* columns' */
	(void)snprintf(text, sizeof(text), "50th %s, 99th %s cycles", a, b); /* fits */
	detail_item(d, ", ", text);
}

/* "byte 8: 412 samples of thread 1573 at app`count+0x70, HITM ..." */
static void detail_spot(struct detail *d, const struct line_spot *u)
{
	char sym[DETAIL_NAME], text[DETAIL_TEXT], count[32];

	(void)snprintf(text, sizeof(text), "byte %" PRIu32 ": %s by %" PRIu32 " at %s", u->offset,
		       table_samples(count, sizeof(count), u->samples), u->tid,
		       u->sym ? clean(sym, u->sym) : "?"); /* fits */
	detail_item(d, "", text);
	detail_spot_memory(d, u);
	detail_end(d);
}

/* c2c's second level, of samplers that tell more than the threads' line does. */
static void detail_spots(struct detail *d, const struct line_accesses *a)
{
	const struct line_spot *shown[DETAIL_SPOTS];
	size_t n = 0, i, at;

	if (!a->hitm.told && !a->latency)
		return;
	for (i = 0; i < a->nuses; i++) {
		at = n;
		while (at && spot_before(&a->uses[i], shown[at - 1])) {
			if (at < DETAIL_SPOTS)
				shown[at] = shown[at - 1];
			at--;
		}
		if (at < DETAIL_SPOTS)
			shown[at] = &a->uses[i];
		n += n < DETAIL_SPOTS;
	}
	for (i = 0; i < n; i++)
		detail_spot(d, shown[i]);
	detail_count(d, a->nuses - n, "more", "more");
	detail_end(d);
}

/* "1,000 accesses, 431 from another CPU than the one before, stopped at 1,000" */
static void detail_exact(struct detail *d, const struct contended *c)
{
	const struct line_accesses *a = c->accesses;
	char count[32], text[DETAIL_TEXT], why[DETAIL_NAME];

	if (a->unconfirmed) {
		(void)snprintf(text, sizeof(text), "not confirmed: %s",
			       clean(why, a->unconfirmed)); /* fits */
		detail_item(d, "", text);
		detail_end(d);
	}
	if (!a->exact)
		return;
	(void)snprintf(text, sizeof(text), "%s access%s",
		       format_count(count, sizeof(count), c->count),
		       c->count == 1 ? "" : "es"); /* fits, as do the others */
	detail_item(d, "", text);
	if (a->confirmed)
		detail_item(d, "", ", watched for samples that were ambiguous");
	if (a->transfers) {
		(void)snprintf(text, sizeof(text), "%s from another CPU than the one before",
			       format_count(count, sizeof(count), a->transfers));
		detail_item(d, ", ", text);
	}
	if (a->stopped) {
		(void)snprintf(text, sizeof(text), "stopped at %s of all watches",
			       format_count(count, sizeof(count), a->bound));
		detail_item(d, ", ", text);
	}
	detail_count(d, a->foreign, "by others, not counted", "by others, not counted");
	detail_end(d);
}

/* Locks and futexes on this very line: "is a lock: inode.i_rwsem rwsem:w, 12 waits/s, p99 53". */
static void detail_joined(struct detail *d, const struct contended *line)
{
	static const struct quantile p99 = {PPB_P99, "99"};
	const struct frame *f = d->page->f;
	char name[DETAIL_NAME], rate[32], wait[32], text[DETAIL_TEXT + 96];
	size_t i;

	for (i = 0; i < f->ncontended; i++) {
		const struct contended *c = &f->contended[i];

		if (!c->wait || c->other || !c->count || c->pid != line->pid ||
		    c->addr - line->line >= LINE_SIZE)
			continue;
		(void)snprintf(text, sizeof(text), "is %s %s: %s waits/s, p99 %s", c->kind,
			       table_contended_name(c, name, sizeof(name)),
			       format_rate(rate, sizeof(rate), c->count, f->dur_ns),
			       format_time(wait, sizeof(wait), hist_quantile(c->wait, &p99).ns,
					   d->page->cfg->unit)); /* cut where it is too long */
		detail_item(d, "; ", text);
	}
	detail_end(d);
}

/* With one line only: the name, if the row does not say it, and where it is waited for. */
void table_contended_detail(struct table_page *page, const struct contended *c, uint32_t said)
{
	struct detail d = {.page = page};

	if (page->density >= DENSITY_ROWS || c->other)
		return;
	if (page->density == DENSITY_ALL || !(said & SAID_NAME))
		detail_identity(&d, c, said);
	detail_sites(&d, c);
	if (c->accesses && page->density == DENSITY_ALL) {
		detail_exact(&d, c);
		detail_threads(&d, c->accesses);
		detail_spots(&d, c->accesses);
		detail_joined(&d, c);
	}
	detail_line(&d, c);
}
