// SPDX-License-Identifier: GPL-2.0-or-later
/* Watched lines in words: rows of the contended table, also where nothing was seen. */
#include <errno.h>

#include "source/inodes/ext4_places.h"
#include "source/watch/watch.h"

#include "watch.skel.h" /* needs abi_watch.h */

static struct line *find_line(const struct watch_source *w, const struct watch_line *at)
{
	struct line *l = line_table_first(w->line.table);

	while (l && (l->key.line != at->key.line || l->key.tgid != at->key.tgid))
		l = l->next;
	return l;
}

/* Threads with debug registers of their own share nothing; with one of 8 bytes they may or not. */
static const char *sharing_of(const struct line_thread_sum *threads, size_t n)
{
	return line_sharing(threads, n) == SHARING_FALSE ? "false" : NULL;
}

static int fill_accesses(struct watch_source *w, const struct line *l, enum line_view v,
			 struct line_accesses *a)
{
	size_t n;
	const struct line_thread_sum *threads = line_threads(w->line.table, l, v, &n);
	int ret;

	*a = (struct line_accesses){
		.sampler = "breakpoint",
		.sharing = sharing_of(threads, n),
		.exact = true,
		.reads = l->view[v].reads,
		.writes = l->view[v].writes,
		.locked = l->view[v].locked,
		.share = -1,
		.interleave = line_interleave(l, v),
		.rank = (double)l->view[v].samples,
		.cores = line_cores(w->line.table, l, v),
		.transfers = l->changes[v],
		.bound = w->line.cfg->confirm,
		.stopped = w->stopped,
		.confirmed = w->maybe,
		.foreign = watch_counts(w)->foreign,
		.memory_node = -1,
	};
	ret = line_fill_threads(&w->line, threads, n, a);
	if (!ret)
		ret = line_fill_uses(&w->line, l, v, a);
	return ret ? ret : line_fill_nodes(&w->line, l, v, a);
}

static int push_row(struct watch_source *w, const struct watch_line *at, enum line_view v,
		    struct contended_list *to)
{
	struct line_accesses *a = arena_take(&w->line.arena, sizeof(*a));
	struct contended c = {.source = "watch", .kind = "watch", .accesses = a};
	const struct line *l = find_line(w, at);
	int ret;

	if (!a)
		return -ENOMEM;
	if (!l) {
		w->none.key = at->key;
		l = &w->none;
	}
	c.addr = at->addr;
	c.line = at->key.line << ABI_LINE_SHIFT;
	c.pid = at->key.tgid;
	c.count = l->view[v].samples;
	ret = fill_accesses(w, l, v, a);
	if (!ret)
		ret = line_describe(&w->line, l, v, at->key.tgid, &c);
	return ret ? ret : contended_push(to, &c);
}

/* A line that no sample of its own tells of: only what is contended. */
static bool has_row(struct watch_source *w, const struct line *l, enum line_view v)
{
	return !w->maybe || (l && line_contended(w->line.table, l, v));
}

int watch_push_rows(struct watch_source *w, struct source_report *r)
{
	struct line *l;
	size_t k;
	int ret = 0;

	arena_reset(&w->line.arena);
	if (!w->borrowed)
		ext4_places_begin(w->line.places);
	for (k = 0; !ret && k < w->nlines; k++) {
		l = find_line(w, &w->lines[k]);
		if (l)
			line_turns(l, w->lines[k].pairs, w->lines[k].changes);
		/* what --confirm is through with is in the whole alone */
		if ((!w->borrowed || w->armed || (l && l->view[LINE_INTERVAL].samples)) &&
		    has_row(w, l, LINE_INTERVAL))
			ret = push_row(w, &w->lines[k], LINE_INTERVAL, &r->interval.contended);
		if (!ret && has_row(w, l, LINE_TOTAL))
			ret = push_row(w, &w->lines[k], LINE_TOTAL, &r->total.contended);
	}
	return ret;
}
