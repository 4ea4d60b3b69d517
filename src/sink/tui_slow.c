// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slow waits (--slower), the newest first, as they were until the end of the report shown:
 *
 *	14:02:11.123  worker 42       1,708  wakeup, CPU 0 to 3, queue 16.2, run 1,692, by cat 7, after idle
 *	14:02:11.090  fio 77          1,204  fsync 4,096 bytes of /data/x, blocked 57.2 %, run queue 15 %
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/culprit.h"
#include "core/fields.h"
#include "core/text.h"
#include "sink/printer.h"
#include "sink/tui.h"

#define SLOW_MOST 10000

/* ---- copies ---- */

/* A copy with all its texts is one piece of memory: first measured, then written. */
struct pack {
	char *to; /* NULL: it is measured */
	size_t used;
};

static void *pack(struct pack *p, const void *from, size_t bytes, size_t align)
{
	char *at;

	p->used = (p->used + align - 1) / align * align;
	at = p->to ? p->to + p->used : NULL;
	p->used += bytes;
	return at && bytes ? memcpy(at, from, bytes) : NULL;
}

static const char *pack_text(struct pack *p, const char *text)
{
	return text ? pack(p, text, strlen(text) + 1, 1) : NULL;
}

/*
 * `n` structs that a table describes, each of `size` bytes, with their texts. NULL: it is measured.
 */
static void *pack_rows(struct pack *p, const struct field_table *t, const void *v, size_t n,
		       size_t size)
{
	char *to = pack(p, v, n * size, sizeof(uint64_t));

	for (size_t row = 0; row < n; row++)
		for (size_t i = 0; i < t->n; i++) {
			size_t at = row * size + t->v[i].offset;
			const char *text;

			if (t->v[i].type != FIELD_TEXT)
				continue;
			text = pack_text(p, *(const char *const *)((const char *)v + at));
			if (to)
				*(const char **)(to + at) = text;
		}
	return to;
}

static const struct culprit *pack_culprits(struct pack *p, const struct culprit *v, size_t n)
{
	struct culprit *to = pack_rows(p, &culprit_part_fields, v, n, sizeof(*v));

	for (size_t i = 0; i < n && to; i++)
		to[i].nvictim = 0; /* it is the wait's own task */
	return to;
}

static const struct slow_held *pack_held(struct pack *p, const struct slow_held *held)
{
	struct slow_held *to = pack_rows(p, &slow_held_fields, held, 1, sizeof(*held));
	const struct holder *holders =
		pack_rows(p, &holder_fields, held->holders, held->nholders, sizeof(*holders));
	const struct slow_link *behind =
		pack_rows(p, &slow_link_fields, held->behind, held->nbehind, sizeof(*behind));

	if (to) {
		to->holders = holders;
		to->behind = behind;
	}
	return to;
}

static struct slow *pack_slow(struct pack *p, const struct slow *w)
{
	struct slow *to = pack_rows(p, &slow_fields, w, 1, sizeof(*w)), own = to ? *to : *w;

	own.culprits = pack_culprits(p, w->culprits, w->nculprits);
	own.op = w->op ? pack_rows(p, &slow_op_fields, w->op, 1, sizeof(*w->op)) : NULL;
	own.held = w->held ? pack_held(p, w->held) : NULL;
	own.waker = pack_text(p, w->waker);
	own.waker_comm = pack_text(p, w->waker_comm);
	own.prev_comm = pack_text(p, w->prev_comm);
	if (to)
		*to = own;
	return to;
}

/* NULL: no memory. */
static struct slow *copy(const struct slow *w)
{
	struct pack p = {0};

	(void)pack_slow(&p, w);
	p = (struct pack){.to = malloc(p.used)};
	return p.to ? pack_slow(&p, w) : NULL;
}

/* ---- the last of them ---- */

static void drop_oldest(struct tui_slow *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(s->v[i].w);
	s->n -= n;
	s->gone += n;
	if (s->n)
		memmove(s->v, s->v + n, s->n * sizeof(*s->v));
}

int tui_slow(struct tui *t, const struct slow *w)
{
	struct tui_slow *s = &t->slow;
	struct tui_slow_kept *v;

	if (s->n == 2 * SLOW_MOST) { /* within one report */
		tui_rows_drop(t);
		drop_oldest(s, SLOW_MOST);
	}
	v = array_room(s->v, &s->cap, s->n, 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->v = v;
	v[s->n] = (struct tui_slow_kept){copy(w), tui_keep_end(&t->keep)};
	if (!v[s->n].w)
		return -ENOMEM;
	s->n++;
	return 0;
}

void tui_slow_bound(struct tui *t)
{
	if (t->slow.n > SLOW_MOST)
		drop_oldest(&t->slow, t->slow.n - SLOW_MOST);
}

void tui_slow_free(struct tui *t)
{
	drop_oldest(&t->slow, t->slow.n);
	free(t->slow.v);
	free(t->slow_chosen);
}

size_t tui_slow_shown(const struct tui *t)
{
	size_t n = t->slow.n;

	while (n && t->slow.v[n - 1].report > t->number)
		n--;
	return n;
}

bool tui_slow_choose(struct tui *t, const struct slow *w)
{
	free(t->slow_chosen);
	t->slow_chosen = w ? copy(w) : NULL;
	return t->slow_chosen || !w;
}

/* ---- words ---- */

/* Appends to a line, which may be cut. */
static void __attribute__((format(printf, 3, 4))) add(char *out, size_t len, const char *fmt, ...)
{
	size_t at = strlen(out);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(out + at, len - at, fmt, args);
	va_end(args);
}

void tui_slow_name(const struct slow *w, char *out, size_t len)
{
	struct tm tm = {0};

	if (!localtime_r(&w->time.tv_sec, &tm))
		memset(&tm, 0, sizeof(tm));
	(void)snprintf(out, len, "%02d:%02d:%02d.%03ld  %s %" PRIu32, tm.tm_hour, tm.tm_min,
		       tm.tm_sec, w->time.tv_nsec / 1000000, name_clean(w->comm).s,
		       w->tid); /* fits */
}

static void op_words(const struct slow *w, char *out, size_t len)
{
	const struct slow_op *op = w->op;
	const char *on = op->path ? op->path : op->mount ? op->mount : op->dev;

	add(out, len, "%s", name_clean(op->op).s);
	if (op->bytes)
		add(out, len, " %s bytes", word_count(op->bytes).s);
	if (on)
		add(out, len, " of %s", name_clean(on).s);
	if (op->has_split)
		add(out, len, ", blocked %s %%, run queue %s %%",
		    word_share(op->split.blocked_ns, w->wait_ns, 1).s,
		    word_share(op->split.run_queue_ns, w->wait_ns, 1).s);
}

static void wait_words(const struct slow *w, enum unit unit, char *out, size_t len)
{
	add(out, len, "%s, CPU ", name_clean(w->kind).s);
	if (w->migrated && w->last_cpu_known)
		add(out, len, "%" PRIu32 " to ", w->last_cpu);
	add(out, len, "%" PRIu32, w->cpu);
	if (w->has_legs)
		add(out, len, ", queue %s, run %s", word_time(w->wake_to_queue_ns, unit).s,
		    word_time(w->queue_to_run_ns, unit).s);
	if (w->waker && !strcmp(w->waker, "task"))
		add(out, len, ", by %s %" PRIu32, name_clean(w->waker_comm).s, w->waker_tid);
	else if (w->waker)
		add(out, len, ", by %s", name_clean(w->waker).s);
	if (w->prev_comm && w->prev_tid)
		add(out, len, ", after %s %" PRIu32, name_clean(w->prev_comm).s, w->prev_tid);
	else if (w->prev_comm)
		add(out, len, ", after idle");
}

/* "futex app`orders.lock" */
static void lock_words(const char *kind, const char *name, uint64_t addr, char *out, size_t len)
{
	add(out, len, "%s ", name_clean(kind).s);
	if (name)
		add(out, len, "%s", name_clean(name).s);
	else
		add(out, len, "0x%" PRIx64, addr);
}

static void what_words(const struct slow *w, enum unit unit, char *out, size_t len)
{
	if (w->op)
		op_words(w, out, len);
	else if (w->held)
		lock_words(w->kind, w->held->name, w->held->addr, out, len);
	else
		wait_words(w, unit, out, len);
}

void tui_slow_words(const struct slow *w, enum unit unit, char *out, size_t len)
{
	const struct holder *longest = w->held ? holder_longest(w->held) : NULL;
	const struct culprit *most = culprit_most(w);

	out[0] = '\0';
	/* First: it is what one looks for, and a narrow window has no room for more. */
	if (most)
		add(out, len, "%s %% for %s, ", word_share(most->wait_ns, w->wait_ns, 1).s,
		    name_culprit(most).s);
	if (longest)
		add(out, len, "%s %% held by %s %" PRIu32 ", ",
		    word_share(longest->wait_ns, w->wait_ns, 1).s,
		    name_clean(holder_name(longest)).s, longest->tid);
	what_words(w, unit, out, len);
}

/* ---- the detail ---- */

static void detail_text(struct tui_list *l, const char *what, const char *raw)
{
	if (raw)
		tui_list_add(l, TUI_PLAIN, "%-14s %s", what, name_clean(raw).s);
}

static void detail_culprits(struct tui_list *l, const struct slow *w)
{
	enum unit unit = l->t->cfg->unit;

	if (!w->nculprits)
		return;
	tui_list_add(l, TUI_HEADING, "What it waited for");
	for (size_t i = 0; i < w->nculprits; i++) {
		const struct culprit *k = &w->culprits[i];

		tui_list_add(l, TUI_PLAIN, "%5s %% %9s  %s  %s",
			     word_share(k->wait_ns, w->wait_ns, 1).s, word_time(k->wait_ns, unit).s,
			     name_culprit(k).s, name_clean(k->kind).s);
	}
}

static void detail_held(struct tui_list *l, const struct slow *w)
{
	const struct slow_held *held = w->held;
	char text[2 * CULPRIT_NAME_BYTES];

	tui_detail_holders(l, held->holders, held->nholders, w->wait_ns);
	if (held->nbehind)
		tui_list_add(l, TUI_HEADING, "What the longest waited for itself");
	for (size_t i = 0; i < held->nbehind; i++) {
		const struct slow_link *k = &held->behind[i];
		const struct culprit as = {
			.kind = k->kind, .pid = k->pid, .tid = k->tid, .comm = k->comm};
		struct word ns = word_time(k->ns, l->t->cfg->unit);

		text[0] = '\0';
		if (k->addr)
			lock_words(k->kind, k->name, k->addr, text, sizeof(text));
		else if (!strcmp(k->kind, "blocked"))
			add(text, sizeof(text), "blocked, not known for what");
		else
			add(text, sizeof(text), "%s", name_culprit(&as).s);
		tui_list_add(l, TUI_PLAIN, "%17s  %s", ns.s, text);
		if (k->addr && k->tid)
			tui_list_add(l, TUI_PLAIN, "%17s  held by %s %" PRIu32, "",
				     name_clean(k->comm).s, k->tid);
	}
}

static void detail_all(struct tui_list *l, const struct slow *w)
{
	enum unit unit = l->t->cfg->unit;
	char text[2 * TUI_NAME], time[64];

	tui_list_add(l, TUI_BOLD, "%s %s", word_time(w->wait_ns, unit).s, unit_name(unit));
	text[0] = '\0';
	what_words(w, unit, text, sizeof(text));
	tui_list_add(l, TUI_PLAIN, "%s", text);
	detail_culprits(l, w);
	if (w->held)
		detail_held(l, w);
	tui_list_add(l, TUI_HEADING, "All that is known of it");
	format_rfc3339(time, sizeof(time), w->time.tv_sec, (uint32_t)w->time.tv_nsec);
	detail_text(l, "ended", time);
	detail_text(l, "metric", w->metric);
	tui_list_add(l, TUI_PLAIN, "%-14s %" PRIu32 ", thread %" PRIu32, "process", w->pid, w->tid);
	detail_text(l, "cgroup", w->cgroup);
	if (w->held)
		detail_text(l, "place", w->held->place);
	if (!w->op)
		return;
	detail_text(l, "device", w->op->dev);
	detail_text(l, "mounted at", w->op->mount);
	detail_text(l, "file", w->op->path);
}

void tui_draw_slow(struct tui *t, size_t from)
{
	const struct slow *w = t->slow_chosen;
	struct tui_canvas *c = &t->canvas;
	struct tui_list list = {.t = t, .from = from + 1};

	list.room = c->lines - TUI_LINES_FOOT - list.from;
	(void)tui_text(c, from, 0, c->columns - 30, TUI_BOLD, t->chosen_name);
	tui_text_right(c, from, c->columns - 30, 29, TUI_DIM, "Esc: back");
	tui_list_scrolled(&list, detail_all, w);
}
