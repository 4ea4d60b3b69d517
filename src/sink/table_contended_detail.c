// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Below a row of the contended table, as far as there is room:
 *
 *	    ext4_sb_info.s_es_stats.es_stats_cache_hits.lock  /data, 4 threads
 *	    at ext4_es_lookup_extent+0x1f 61 %, ext4_map_blocks+0x8c 30 %
 *	    line 1344..1407: es_stats_cache_hits.lock*, .count*, es_stats_cache_misses.lock*
 *
 *	    byte 40: 412 samples by 1573 at app`count+0x70, HITM 30 local, 2 remote,
 *		50th 210, 99th 930~ cycles
 *
 *	    kw.c:15  wait_bitset, 3 threads, 12 eagain, 3 timeouts, 40 wakes (41 woken)
 *	    held by db/31 92 %: running 3 %, runnable 60 %, blocked 37 %
 *		took (92 % seen) at app`settle+0x24 (orders.c:71)
 *		released at app`settle+0x5c (orders.c:80)
 *	    held by db/32 5 %: blocked 100 %
 *	    2 more 1 %, (released) 1 %, holder not known 1 %
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/culprit.h"
#include "core/text.h"
#include "sink/table.h"

#define DETAIL_INDENT 4
#define DETAIL_HANG 8 /* where a line that was full goes on */
#define DETAIL_SITES 3
#define DETAIL_THREADS 4
#define DETAIL_HOLDERS 4
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
	bool one;  /* there is room for one line */
};

static void detail_end(struct detail *d)
{
	if (!d->open)
		return;
	printer_line(&d->page->printer, STYLE_DIM, &d->line);
	d->open = false;
}

/* Is there room for another line? */
static bool detail_room(const struct detail *d)
{
	return !d->one || !d->lines;
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
	/* A comma or semicolon stays on the line it ends. */
	if (*sep && *sep != ' ')
		line_add(&d->line, "%c", *sep++);
	(void)snprintf(item, sizeof(item), "%s%s", sep, text); /* fits */
	/* One line only: what does not fit is cut with it. */
	if (d->one)
		line_add(&d->line, "%s", item);
	else
		printer_wrap(&d->page->printer, STYLE_DIM, &d->line, item, DETAIL_HANG);
}

static const char *clean(char out[DETAIL_NAME], const char *text)
{
	return text_clean(out, DETAIL_NAME, text, SIZE_MAX);
}

/* Most of the stacks taken came through these; a single one is no statistics. */
static void detail_sites(struct detail *d, const struct contended *c)
{
	char sym[DETAIL_NAME], text[DETAIL_TEXT];
	uint64_t all = 0;
	size_t i;
	int n;

	for (i = 0; i < c->nsites; i++)
		all += c->sites[i].count;
	for (i = 0; i < c->nsites && i < DETAIL_SITES; i++) {
		n = snprintf(text, sizeof(text), "%s%s", i ? "" : "at ",
			     clean(sym, c->sites[i].sym)); /* fits, with what follows */
		if (all > 1)
			(void)snprintf(text + n, sizeof(text) - (size_t)n, " %s %%",
				       word_share(c->sites[i].count, all, 0).s);
		detail_item(d, i ? ", " : "  ", text);
	}
	detail_end(d);
}

static void detail_count(struct detail *d, uint64_t n, const char *one, const char *many)
{
	char text[128];

	if (!n)
		return;
	(void)snprintf(text, sizeof(text), "%s %s", word_count(n).s,
		       n == 1 ? one : many); /* fits */
	detail_item(d, ", ", text);
}

static void detail_futex(struct detail *d, const struct futex_counts *f)
{
	char text[128];

	detail_count(d, f->eagain, "eagain", "eagain");
	detail_count(d, f->timeouts, "timeout", "timeouts");
	detail_count(d, f->wakes, "wake", "wakes");
	if (!f->wakes)
		return;
	(void)snprintf(text, sizeof(text), "(%s woken)", word_count(f->woken).s); /* fits */
	detail_item(d, " ", text);
}

/* Which it is, as far as the row does not have it in full, and who waited how. */
static void detail_identity(struct detail *d, const struct contended *c, uint32_t cut)
{
	char text[DETAIL_NAME], more[DETAIL_NAME - 16];

	if (cut & CUT_NAME)
		detail_item(d, "", table_contended_name(c, text, sizeof(text)));
	if (cut & CUT_OWNER && c->pid) {
		(void)snprintf(text, sizeof(text), "of %s",
			       table_contended_owner(c, more, sizeof(more))); /* fits */
		detail_item(d, "  ", text);
	}
	if (c->place && *c->place)
		detail_item(d, "  ", clean(text, c->place));
	if (d->one && c->nsites)
		return; /* who waits there matters more than how many */
	if (c->op)
		detail_item(d, "  ", clean(text, c->op));
	if (!c->accesses) /* a line's row has them */
		detail_count(d, c->ntasks, "thread", "threads");
	if (cut & CUT_CPUS && c->ncpus) {
		(void)snprintf(text, sizeof(text), "CPU%s %s", c->ncpus > 1 ? "s" : "",
			       table_numbers(c->cpus, c->ncpus, more, sizeof(more))); /* fits */
		detail_item(d, ", ", text);
	}
	if (c->futex)
		detail_futex(d, c->futex);
	detail_end(d);
}

/* How much of a member's path the one before it shares: all but its own name. */
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
		if (m->hot)
			d->page->hot |= d->page->printer.variants;
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

/* "HITM 30 local, 2 remote, 50th 210, 99th 930~ cycles", as far as it is known */
static void detail_spot_memory(struct detail *d, const struct line_spot *u)
{
	static const struct quantile p50 = {PPB_P50, "50"}, p99 = {PPB_P99, "99"};
	struct word a, b;
	char text[192];

	if (u->hitm.told) {
		(void)snprintf(text, sizeof(text), "HITM %s local, %s remote",
			       word_count(u->hitm.local).s,
			       word_count(u->hitm.remote).s); /* fits */
		detail_item(d, ", ", text);
	}
	if (!u->latency)
		return;
	a = table_cycles(d->page, u->latency, &p50);
	b = table_cycles(d->page, u->latency, &p99);
	a.s[strcspn(a.s, " ")] = b.s[strcspn(b.s, " ")] = '\0';			 /* columns' */
	(void)snprintf(text, sizeof(text), "50th %s, 99th %s cycles", a.s, b.s); /* fits */
	detail_item(d, ", ", text);
}

/* "byte 8: 412 samples by 1573 at app`count+0x70, HITM ..." */
static void detail_spot(struct detail *d, const struct line_spot *u)
{
	char sym[DETAIL_NAME], text[DETAIL_TEXT];

	(void)snprintf(text, sizeof(text), "byte %" PRIu32 ": %s by %" PRIu32 " at %s", u->offset,
		       table_samples(u->samples).s, u->tid,
		       u->sym ? clean(sym, u->sym) : "?"); /* fits */
	detail_item(d, "", text);
	detail_spot_memory(d, u);
	detail_end(d);
}

/* c2c's second level, of samplers that know more than the threads' line has. */
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
	char text[DETAIL_TEXT], why[DETAIL_NAME];

	if (a->unconfirmed) {
		(void)snprintf(text, sizeof(text), "not confirmed: %s",
			       clean(why, a->unconfirmed)); /* fits */
		detail_item(d, "", text);
		detail_end(d);
	}
	if (!a->exact)
		return;
	(void)snprintf(text, sizeof(text), "%s access%s", word_count(c->count).s,
		       c->count == 1 ? "" : "es"); /* fits, as do the others */
	detail_item(d, "", text);
	if (a->confirmed)
		detail_item(d, "", ", watched for samples that were ambiguous");
	detail_count(d, a->transfers, "from another CPU than the one before",
		     "from another CPU than the one before");
	if (a->stopped) {
		(void)snprintf(text, sizeof(text), "stopped at %s of all watches",
			       word_count(a->bound).s);
		detail_item(d, ", ", text);
	}
	detail_count(d, a->foreign, "by others, not counted", "by others, not counted");
	detail_end(d);
}

/* Locks and futexes on this very line: "is rwsem:w inode.i_rwsem: 12 waits/s, p99 53". */
static void detail_joined(struct detail *d, const struct contended *line)
{
	static const struct quantile p99 = {PPB_P99, "99"};
	const struct table_page *page = d->page;
	char name[DETAIL_NAME], text[DETAIL_TEXT + 192];
	size_t n;
	const struct view_join *j = view_joined(page->view, line, &n);

	for (; n; n--, j++) {
		const struct contended *c = j->with;

		(void)snprintf(text, sizeof(text), "is %s %s: %s waits/s, p99 %s", c->kind,
			       table_contended_name(c, name, sizeof(name)),
			       word_rate(c->count, page->f->dur_ns).s,
			       word_time(hist_quantile(c->wait, &p99).ns, page->cfg->unit)
				       .s); /* cut where it is too long */
		detail_item(d, "; ", text);
	}
	detail_end(d);
}

/* "running 3 %, runnable 60 %": of what waited for this holder */
static void detail_did(struct detail *d, const struct holder *h)
{
	const char *sep = ": ";

	for (size_t i = 0; i < HOLDER_DID; i++) {
		struct word w = word_did(h, i);

		if (!w.s[0])
			continue;
		detail_item(d, sep, w.s);
		sep = ", ";
	}
}

/* Below its holder, further in. */
static void detail_code(struct detail *d, const char *what, const char *more, const char *code)
{
	char sym[DETAIL_NAME];

	if (!code)
		return;
	line_start(&d->line);
	line_to(&d->line, DETAIL_HANG);
	line_add(&d->line, "%s%s at %s", what, more, clean(sym, code));
	d->open = true;
	detail_end(d);
}

static void detail_codes(struct detail *d, const struct holder *h)
{
	detail_code(d, "took", word_seen(h).s, h->took_at);
	detail_code(d, "released", "", h->released_at);
}

/* A line for each thread of the longest with a share worth it, then who cannot be told. */
static void detail_holders(struct detail *d, const struct contended *c)
{
	char comm[DETAIL_NAME / 4], text[DETAIL_TEXT];
	uint64_t rest_ns = 0;
	size_t shown = 0, rest = 0, i;

	for (i = 0; i < c->nholders; i++) {
		const struct holder *h = &c->holders[i];

		if (!h->tid)
			continue;
		if (shown >= DETAIL_HOLDERS || h->wait_ns < c->wait->sum_ns / 100) {
			rest++;
			rest_ns += h->wait_ns;
			continue;
		}
		shown++;
		(void)snprintf(text, sizeof(text), "held by %s/%" PRIu32 " %s %%",
			       text_clean(comm, sizeof(comm), holder_name(h), SIZE_MAX), h->tid,
			       word_share(h->wait_ns, c->wait->sum_ns, 0).s); /* fits */
		detail_item(d, "", text);
		detail_did(d, h);
		detail_end(d);
		detail_codes(d, h);
	}
	if (rest) {
		(void)snprintf(text, sizeof(text), "%zu more %s %%", rest,
			       word_share(rest_ns, c->wait->sum_ns, 0).s); /* fits */
		detail_item(d, "", text);
	}
	for (i = 0; i < c->nholders; i++) {
		const struct holder *h = &c->holders[i];

		if (h->tid)
			continue;
		(void)snprintf(text, sizeof(text), "%s %s %%",
			       text_clean(comm, sizeof(comm), holder_name(h), SIZE_MAX),
			       word_share(h->wait_ns, c->wait->sum_ns, 0).s); /* fits */
		detail_item(d, ", ", text);
	}
	detail_end(d);
}

/* With one line only: the name, if the row does not have it, and where it is waited for. */
static void detail_lines(struct table_page *page, const struct contended *c, uint32_t cut, bool one)
{
	struct detail d = {.page = page, .one = one};

	if (!one || cut & CUT_NAME)
		detail_identity(&d, c, cut);
	detail_sites(&d, c);
	if (c->nholders && c->wait && !one)
		detail_holders(&d, c);
	if (c->accesses && !one) {
		detail_exact(&d, c);
		detail_threads(&d, c->accesses);
		detail_spots(&d, c->accesses);
		detail_joined(&d, c);
	}
	detail_line(&d, c);
}

void table_contended_detail(struct table_page *page, const struct contended *c, uint32_t cut)
{
	if (c->other)
		return;
	if (table_only(page, DENSITY_ALL, DENSITY_LINE))
		detail_lines(page, c, cut, false);
	if (table_only(page, DENSITY_LINE, DENSITY_ROWS))
		detail_lines(page, c, cut, true);
	table_always(page);
}
