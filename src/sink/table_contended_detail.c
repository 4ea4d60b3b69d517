// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is said below a row of the contended table, as far as there is room:
 *
 *	    ext4_sb_info.s_es_stats.es_stats_cache_hits.lock  /data, 4 threads
 *	    at ext4_es_lookup_extent+0x1f 61.0 %, ext4_map_blocks+0x8c 30.2 %
 *	    line 1344..1407: es_stats_cache_hits.lock*, .count*, es_stats_cache_misses.lock*
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
	return d->page->detail == DETAIL_ALL || !d->lines;
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
	if (d->page->detail == DETAIL_LINE)
		line_add(&d->line, "%s", item);
	else
		paper_wrap(&d->page->paper, STYLE_DIM, &d->line, item, DETAIL_HANG);
}

static const char *clean(char out[DETAIL_NAME], const char *text)
{
	return text_clean(out, DETAIL_NAME, text, SIZE_MAX);
}

/* Most of the stacks taken came through these. */
static void detail_sites(struct detail *d, const struct contended *c)
{
	char sym[DETAIL_NAME], text[DETAIL_TEXT], share[32];
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < c->nsites; i++)
		all += c->sites[i].count;
	for (i = 0; i < c->nsites && i < DETAIL_SITES; i++) {
		(void)snprintf(
			text, sizeof(text), "%s%s %s %%", i ? "" : "at ",
			clean(sym, c->sites[i].sym),
			format_share(share, sizeof(share), c->sites[i].count, all, 1)); /* fits */
		detail_item(d, ", ", text);
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
	if (c->op)
		detail_item(d, "  ", clean(text, c->op));
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

/*
 * "line 1344..1407: a.lock*, .count, b": bytes of the object, if what is known of it lies within
 * the line.
 */
static void detail_line(struct detail *d, const struct contended *c)
{
	const struct line_member *m = c->members, *last = m + c->nmembers - 1;
	char name[DETAIL_NAME], text[DETAIL_TEXT], range[64] = "";
	const char *before = NULL;
	uint64_t end;

	if (!c->nmembers || !detail_room(d))
		return;
	end = (uint64_t)last->offset + last->size;
	if (end > m->offset && end - m->offset <= LINE_SIZE)
		(void)snprintf(range, sizeof(range), " %" PRIu32 "..%" PRIu64, m->offset,
			       end - 1); /* fits */
	for (; m <= last; before = m++->name) {
		clean(name, m->name + same_parent(before, m->name));
		(void)snprintf(text, sizeof(text), "%s%s%s%s%s", before ? "" : "line",
			       before ? "" : range, before ? "" : ": ", name,
			       m->hot ? "*" : ""); /* fits */
		d->page->hot |= m->hot;
		detail_item(d, ", ", text);
	}
	detail_end(d);
}

/* With one line only: the name, if the row does not say it, else where it is waited for. */
void table_contended_detail(struct table_page *page, const struct contended *c, uint32_t said)
{
	struct detail d = {.page = page};

	if (page->detail == DETAIL_NONE || c->other)
		return;
	if (page->detail == DETAIL_ALL || !(said & SAID_NAME))
		detail_identity(&d, c, said);
	detail_sites(&d, c);
	detail_line(&d, c);
	page->details |= d.lines != 0;
}
