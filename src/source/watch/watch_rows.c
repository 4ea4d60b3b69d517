// SPDX-License-Identifier: GPL-2.0-or-later
/* Watched lines in words: rows of the contended table, also where nothing was seen. */
#include <errno.h>
#include <string.h>

#include "source/watch/watch.h"

#include "watch.skel.h" /* needs abi_watch.h */

static struct line *find_line(const struct watch_source *w, const struct watch_line *at)
{
	struct line *l = line_table_first(w->m.table);

	while (l && (l->key.line != at->key.line || l->key.tgid != at->key.tgid))
		l = l->next;
	return l;
}

static int push_row(struct watch_source *w, const struct watch_line *at, enum line_view v,
		    struct contended_list *to)
{
	struct line_accesses *a = arena_take(&w->m.arena, sizeof(*a));
	struct contended c = {.source = "watch", .kind = "watch"};
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
	ret = line_model_row(&w->m, l, v, at->key.tgid, &c, a);
	if (ret)
		return ret;
	a->sampler = "breakpoint";
	/* Threads with debug registers of their own share nothing; with one of 8 bytes they may or
	 * not. */
	if (a->sharing && strcmp(a->sharing, "false"))
		a->sharing = NULL;
	a->exact = true;
	a->rank = (double)c.count;
	a->transfers = l->changes[v];
	a->bound = w->cfg->confirm;
	a->stopped = w->stopped;
	a->confirmed = w->maybe;
	a->foreign = watch_counts(w)->foreign;
	return contended_push(to, &c);
}

/* A line that no sample of its own tells of: only what is contended. */
static bool has_row(struct watch_source *w, const struct line *l, enum line_view v)
{
	return !w->maybe || (l && line_contended(w->m.table, l, v));
}

int watch_push_rows(struct watch_source *w, struct source_report *r)
{
	struct line *l;
	size_t k;
	int ret = 0;

	line_model_report(&w->m);
	for (k = 0; !ret && k < w->nlines; k++) {
		l = find_line(w, &w->lines[k]);
		if (l)
			line_turns(l, w->lines[k].pairs, w->lines[k].changes);
		/* what --confirm is through with is in the whole alone */
		if ((!w->m.lent || w->armed || (l && l->view[LINE_INTERVAL].samples)) &&
		    has_row(w, l, LINE_INTERVAL))
			ret = push_row(w, &w->lines[k], LINE_INTERVAL, &r->interval.contended);
		if (!ret && !r->total.contended.unwanted && has_row(w, l, LINE_TOTAL))
			ret = push_row(w, &w->lines[k], LINE_TOTAL, &r->total.contended);
	}
	return ret;
}
