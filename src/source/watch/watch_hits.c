// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs have sent, and the rows of it. Hits, in the order in which they came: what each
 * did follows from the instruction before its pointer, whose code came ahead of it.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "insn/insn.h"
#include "source/watch/watch.h"

#include "watch.skel.h" /* needs abi_watch.h */

struct watch_code {
	struct abi_ip_key key; /* first: it is looked up by that */
	uint8_t flags;	       /* RECIPE_READ ...; 0: cannot be told */
	uint32_t back;
};

static int compare_code(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct abi_ip_key));
}

static int on_code(struct watch_source *w, const struct abi_new_ip *r)
{
	struct watch_code *c;

	if (r->before > r->bytes || r->bytes > ABI_CODE_BYTES ||
	    tfind(&r->key, &w->code, compare_code))
		return 0;
	c = calloc(1, sizeof(*c));
	if (c)
		c->key = r->key;
	if (!c || !tsearch(c, &w->code, compare_code)) {
		free(c);
		return -ENOMEM;
	}
	c->back = (uint32_t)insn_access(r->code, r->before, r->bytes - r->before, &c->flags);
	return 0;
}

static uint64_t slot_mask(const struct watch_source *w, uint64_t addr)
{
	for (size_t k = 0; k < w->nslots; k++)
		if (w->slots[k].addr == addr)
			return ((1ULL << w->slots[k].len) - 1) << (addr & 63);
	return 0;
}

struct watch_line *watch_line_at(struct watch_source *w, uint64_t addr)
{
	for (size_t k = 0; k < w->nlines; k++)
		if (w->lines[k].key.line == addr >> ABI_LINE_SHIFT)
			return &w->lines[k];
	return NULL;
}

static int on_hit(struct watch_source *w, const struct abi_hit *h)
{
	struct watch_line *l = watch_line_at(w, h->addr);
	struct watch_code **found = tfind(&h->key, &w->code, compare_code);
	uint8_t flags = found ? (*found)->flags : 0;
	uint64_t mask = slot_mask(w, h->addr);
	struct abi_access_key key;
	struct abi_access a = {.samples = 1};

	if (!l || w->counted >= w->cfg->confirm)
		return 0; /* what came after the last one counted */
	w->counted++;
	if (l->last) {
		l->pairs++;
		l->changes += l->last != h->cpu + 1;
	}
	l->last = h->cpu + 1;
	key = (struct abi_access_key){
		.addr = h->addr,
		.ip = h->key.ip,
		.tgid = l->key.tgid,
		.tid = h->tid,
		.cpu = h->cpu,
		.pid = h->pid,
		.space = h->space,
	};
	a.reads = !!(flags & RECIPE_READ);
	a.writes = !!(flags & RECIPE_WRITE);
	a.locked = !!(flags & RECIPE_LOCKED);
	a.read_bytes = a.reads || !flags ? mask : 0;
	a.write_bytes = a.writes ? mask : 0;
	a.back = found ? (*found)->back : 0;
	memcpy(a.comm, h->comm, sizeof(a.comm));
	return line_table_add(w->m.table, &l->key, &key, &a);
}

static int on_record(void *ctx, const void *data, size_t size)
{
	return size == sizeof(struct abi_hit) ? on_hit(ctx, data) : on_code(ctx, data);
}

int watch_hits_open(struct watch_source *w, struct err *e)
{
	w->ring = (struct ring){.what = "watch: hits", .fn = on_record, .ctx = w};
	return ring_open(&w->ring, bpf_map__fd(w->skel->maps.hits), e);
}

int watch_hits_drain(struct watch_source *w, struct err *e)
{
	const struct abi_watch_counts *n = watch_counts(w);
	bool over = abi_watch_over(n, w->cfg->confirm, w->skel->rodata->foreign_max);
	int ret = ring_drain(&w->ring, e);

	if (ret)
		return ret;
	if (over && !w->stopped) {
		watch_events_disarm(w);
		w->stopped = true;
	}
	return 0;
}

void watch_hits_close(struct watch_source *w)
{
	ring_close(&w->ring);
	tdestroy(w->code, free);
}

/* ---- watched lines in words: rows of the contended table, also where nothing was seen ---- */

static struct line *find_line(const struct watch_source *w, const struct watch_line *at)
{
	struct line *l = w->m.table->first;

	while (l && (l->key.line != at->key.line || l->key.tgid != at->key.tgid))
		l = l->next;
	return l;
}

static int push_row(struct watch_source *w, const struct watch_line *at, const struct line *l,
		    enum line_view v, struct contended_list *to)
{
	struct line_accesses *a = arena_take(&w->m.arena, sizeof(*a));
	struct contended c = {
		.source = "watch",
		.kind = "watch",
		.addr = at->addr,
		.line = at->key.line << ABI_LINE_SHIFT,
		.pid = at->key.tgid,
	};
	int ret;

	if (!a)
		return -ENOMEM;
	if (!l) {
		w->none.key = at->key;
		l = &w->none;
	}
	ret = line_model_row(&w->m, l, v, (struct name_process){at->key.tgid, at->key.space}, &c,
			     a);
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
	a->foreign = watch_counts(w)->foreign;
	return contended_push(to, &c);
}

int watch_push_rows(struct watch_source *w, struct source_report *r)
{
	int ret = 0;

	line_model_report(&w->m);
	for (size_t k = 0; !ret && k < w->nlines; k++) {
		const struct watch_line *at = &w->lines[k];
		struct line *l = find_line(w, at);

		if (l)
			line_turns(l, at->pairs, at->changes);
		/* what --confirm is through with is in the whole alone */
		if (!w->m.lent || w->armed || (l && l->view[LINE_INTERVAL].samples))
			ret = push_row(w, at, l, LINE_INTERVAL, &r->interval.contended);
		if (!ret && !r->total.contended.unwanted)
			ret = push_row(w, at, l, LINE_TOTAL, &r->total.contended);
	}
	return ret;
}
