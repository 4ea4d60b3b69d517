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
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/culprit.h"
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
static void __attribute__((format(printf, 3, 4)))
detail_item(struct detail *d, const char *sep, const char *fmt, ...)
{
	char item[DETAIL_TEXT + 192];
	va_list args;
	int n;

	if (!d->open && !detail_room(d))
		return;
	/* A comma or semicolon stays on the line it ends. */
	if (d->open && *sep && *sep != ' ')
		line_add(&d->line, "%c", *sep++);
	n = snprintf(item, sizeof(item), "%s", d->open ? sep : "");
	va_start(args, fmt);
	(void)vsnprintf(item + n, sizeof(item) - (size_t)n, fmt, args); /* fits: names are cut */
	va_end(args);
	if (!d->open) {
		line_start(&d->line);
		line_to(&d->line, DETAIL_INDENT);
		d->lines++;
		d->open = true;
		line_add(&d->line, "%s", item);
	} else if (d->one) { /* what does not fit is cut with the line */
		line_add(&d->line, "%s", item);
	} else {
		printer_wrap(&d->page->printer, STYLE_DIM, &d->line, item, DETAIL_HANG);
	}
}

/* Most of the stacks taken came through these; a single one is no statistics. */
static void detail_sites(struct detail *d, const struct contended *c)
{
	uint64_t all = 0;

	for (size_t i = 0; i < c->nsites; i++)
		all += c->sites[i].count;
	for (size_t i = 0; i < c->nsites && i < DETAIL_SITES; i++) {
		const char *sep = i ? ", " : "  ", *at = i ? "" : "at ";
		struct name sym = name_clean(c->sites[i].sym);

		if (all > 1)
			detail_item(d, sep, "%s%s %s %%", at, sym.s,
				    word_share(c->sites[i].count, all, 0).s);
		else
			detail_item(d, sep, "%s%s", at, sym.s);
	}
	detail_end(d);
}

static void detail_count(struct detail *d, uint64_t n, const char *one, const char *many)
{
	if (n)
		detail_item(d, ", ", "%s %s", word_count(n).s, n == 1 ? one : many);
}

/* Which it is, as far as the row does not have it in full, and who waited how. */
static void detail_identity(struct detail *d, const struct contended *c, uint32_t cut)
{
	const struct futex_counts *f = c->futex;
	char text[DETAIL_NAME];

	if (cut & CUT_NAME)
		detail_item(d, "", "%s", table_contended_name(c, text, sizeof(text)));
	if (cut & CUT_OWNER && c->pid)
		detail_item(d, "  ", "of %s", table_contended_owner(c, text, sizeof(text)));
	if (c->place && *c->place)
		detail_item(d, "  ", "%s", name_clean(c->place).s);
	if (d->one && c->nsites)
		return; /* who waits there matters more than how many */
	if (c->op)
		detail_item(d, "  ", "%s", name_clean(c->op).s);
	if (!c->accesses) /* a line's row has them */
		detail_count(d, c->ntasks, "thread", "threads");
	if (cut & CUT_CPUS && c->ncpus)
		detail_item(d, ", ", "CPU%s %s", c->ncpus > 1 ? "s" : "",
			    table_numbers(c->cpus, c->ncpus, text, sizeof(text)));
	if (f) {
		detail_count(d, f->eagain, "eagain", "eagain");
		detail_count(d, f->timeouts, "timeout", "timeouts");
		detail_count(d, f->wakes, "wake", "wakes");
		if (f->wakes)
			detail_item(d, " ", "(%s woken)", word_count(f->woken).s);
	}
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

/* "line 1344..1407: a.lock*, .count, b, 3 more": all that are hot, and some others. */
static void detail_line(struct detail *d, const struct contended *c)
{
	char start[64];
	const struct line_member *m = c->members;
	const char *before = NULL;
	size_t hot = 0, left = 0, others;

	if (!c->nmembers || !detail_room(d))
		return;
	line_start_text(c, start, sizeof(start));
	for (size_t i = 0; i < c->nmembers; i++)
		hot += m[i].hot;
	others = hot < DETAIL_MEMBERS ? DETAIL_MEMBERS - hot : 0;
	for (; m < c->members + c->nmembers; m++) {
		if (!m->hot && !others) {
			left++;
			continue;
		}
		others -= !m->hot;
		if (m->hot)
			d->page->hot |= d->page->printer.variants;
		detail_item(d, ", ", "%s%s%s", before ? "" : start,
			    name_clean(m->name + same_parent(before, m->name)).s,
			    m->hot ? "*" : "");
		before = m->name;
	}
	detail_count(d, left, "more", "more");
	detail_end(d);
}

/* "app/16630 CPU 0 writes 40..47, app/16631 CPU 1 reads 40..55": bytes of the line */
static void detail_threads(struct detail *d, const struct line_accesses *a)
{
	char range[16];

	for (size_t i = 0; i < a->nthreads && i < DETAIL_THREADS; i++) {
		const struct line_thread *t = &a->threads[i];
		uint64_t bytes = t->writes ? t->write_bytes : t->read_bytes;

		if (!bytes)
			continue;
		(void)snprintf(range, sizeof(range), bytes & (bytes - 1) ? "%d..%d" : "%d",
			       __builtin_ctzll(bytes), 63 - __builtin_clzll(bytes)); /* fits */
		detail_item(d, ", ", "%s/%" PRIu32 " CPU %" PRIu32 " %s %s", name_clean(t->comm).s,
			    t->tid, t->cpu, t->writes ? "writes" : "reads", range);
	}
	if (a->nthreads > DETAIL_THREADS)
		detail_item(d, ", ", "%zu more", a->nthreads - DETAIL_THREADS);
	detail_end(d);
}

/* Latencies first of those that fetch modified lines; then of the most frequent. */
static bool spot_before(const struct line_spot *a, const struct line_spot *b)
{
	uint64_t x = a->hitm.local + a->hitm.remote, y = b->hitm.local + b->hitm.remote;

	return x != y ? x > y : a->samples > b->samples;
}

/* "byte 8: 412 samples by 1573 at app`count+0x70, HITM 30 local, 2 remote, 50th 210, 99th 930~
 * cycles", as far as it is known */
static void detail_spot(struct detail *d, const struct line_spot *u)
{
	static const struct quantile p50 = {PPB_P50, "50"}, p99 = {PPB_P99, "99"};
	struct word a, b;

	detail_item(d, "", "byte %" PRIu32 ": %s by %" PRIu32 " at %s", u->offset,
		    table_samples(u->samples).s, u->tid, name_clean(u->sym).s);
	if (u->hitm.told)
		detail_item(d, ", ", "HITM %s local, %s remote", word_count(u->hitm.local).s,
			    word_count(u->hitm.remote).s);
	if (u->latency) {
		a = table_cycles(d->page, u->latency, &p50);
		b = table_cycles(d->page, u->latency, &p99);
		a.s[strcspn(a.s, " ")] = b.s[strcspn(b.s, " ")] = '\0'; /* columns' */
		detail_item(d, ", ", "50th %s, 99th %s cycles", a.s, b.s);
	}
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
	static const char moved[] = "from another CPU than the one before";
	static const char foreign[] = "by others, not counted";
	const struct line_accesses *a = c->accesses;

	if (a->unconfirmed) {
		detail_item(d, "", "not confirmed: %s", name_clean(a->unconfirmed).s);
		detail_end(d);
	}
	if (a->watched) {
		detail_item(d, "", "a short watch saw who touches it");
		detail_end(d);
	}
	if (!a->exact)
		return;
	detail_item(d, "", "%s access%s", word_count(c->count).s, c->count == 1 ? "" : "es");
	if (a->confirmed)
		detail_item(d, "", ", watched for samples that were ambiguous");
	detail_count(d, a->transfers, moved, moved);
	if (a->stopped)
		detail_item(d, ", ", "stopped at %s of all watches", word_count(a->bound).s);
	detail_count(d, a->foreign, foreign, foreign);
	detail_end(d);
}

/* Locks and futexes on this very line: "is rwsem:w inode.i_rwsem: 12 waits/s, p99 53". */
static void detail_joined(struct detail *d, const struct contended *line)
{
	static const struct quantile p99 = {PPB_P99, "99"};
	const struct table_page *page = d->page;
	char name[DETAIL_NAME];
	size_t n;
	const struct view_join *j = view_joined(page->view, line, &n);

	for (; n; n--, j++) {
		const struct contended *c = j->with;

		detail_item(d, "; ", "is %s %s: %s waits/s, p99 %s", c->kind,
			    table_contended_name(c, name, sizeof(name)),
			    word_rate(c->count, page->f->dur_ns).s,
			    word_time(hist_quantile(c->wait, &p99).ns, page->cfg->unit).s);
	}
	detail_end(d);
}

/* Below its holder, further in. */
static void detail_code(struct detail *d, const char *what, const char *more, const char *code)
{
	if (!code)
		return;
	line_start(&d->line);
	line_to(&d->line, DETAIL_HANG);
	line_add(&d->line, "%s%s at %s", what, more, name_clean(code).s);
	printer_line(&d->page->printer, STYLE_DIM, &d->line);
}

/* "held by db/31 92 %: running 3 %, runnable 60 %": what it did, of what waited for it */
static void detail_holder(struct detail *d, const struct holder *h, uint64_t sum_ns)
{
	const char *sep = ": ";

	detail_item(d, "", "held by %s/%" PRIu32 " %s %%", name_clean(holder_name(h)).s, h->tid,
		    word_share(h->wait_ns, sum_ns, 0).s);
	for (size_t i = 0; i < HOLDER_DID; i++) {
		struct word w = word_did(h, i);

		if (!w.s[0])
			continue;
		detail_item(d, sep, "%s", w.s);
		sep = ", ";
	}
	detail_end(d);
	detail_code(d, "took", word_seen(h).s, h->took_at);
	detail_code(d, "released", "", h->released_at);
}

/* A line for each thread of the longest with a share worth it, then who cannot be told. */
static void detail_holders(struct detail *d, const struct contended *c)
{
	uint64_t rest_ns = 0, sum_ns = c->wait->sum_ns;
	size_t shown = 0, rest = 0;

	for (size_t i = 0; i < c->nholders; i++) {
		const struct holder *h = &c->holders[i];

		if (h->tid && (shown >= DETAIL_HOLDERS || h->wait_ns < sum_ns / 100)) {
			rest++;
			rest_ns += h->wait_ns;
		} else if (h->tid) {
			shown++;
			detail_holder(d, h, sum_ns);
		}
	}
	if (rest)
		detail_item(d, "", "%zu more %s %%", rest, word_share(rest_ns, sum_ns, 0).s);
	for (size_t i = 0; i < c->nholders; i++) {
		const struct holder *h = &c->holders[i];

		if (!h->tid)
			detail_item(d, ", ", "%s %s %%", name_clean(holder_name(h)).s,
				    word_share(h->wait_ns, sum_ns, 0).s);
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
