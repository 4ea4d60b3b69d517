// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --slower: one wait a line. On a terminal it fits the width (the cgroup goes first, names are
 * cut before ids); elsewhere lines are as long as they need.
 *
 *	TIME           CPU    usec   QUEUE     RUN TASK            WOKEN BY    RAN BEFORE
 *	14:02:11.123   0>3   1,708    16.2   1,692 worker 42       cat 7       idle
 *
 * The wait, in the unit that heads it; how long until it was queued and from there until it ran;
 * who, with the tid (a wide line: tid/pid of a thread that is not its process's first).
 *
 * An operation's line says what its time went to, and on which file:
 *
 *	TIME           CPU    usec  blk% runq%  cpu% TASK            OPERATION   BYTES FILE
 *	14:02:11.123     0   1,708  57.2  15.0  27.8 fio 42          fsync        4.0K /data/x
 *
 * A wait for a lock or futex says for which; the lines below it are links of a chain
 * (table_slow_links.c).
 *
 *	TIME           CPU    usec TASK            WAITED FOR
 *	14:02:11.123     0  18,204 worker 42       futex app`orders.lock
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "sink/table.h"

#define SLOW_TEXT 256
#define SLOW_INDENT 4
#define SLOW_COMM 128	   /* 15 bytes, each cleaned into four at most */
#define SLOW_WIDE 110	   /* from here on the wide layout */
#define SLOW_NAMES_MIN 30  /* the names get this in the narrowest window */
#define SLOW_CGROUP_MIN 16 /* narrower is of no use */
#define SLOW_OP 16	   /* an operation's name, where there is room */
#define SLOW_BYTES 5

/* Widths; those of the names follow from what the line before them leaves. */
struct slow_layout {
	bool uncut; /* nothing is cut: lines may be as long as they are */
	bool fine;  /* a wide line: microseconds, process ids */
	size_t time, cpu, number, task, waker, prev, cgroup;
};

static const struct slow_layout slow_wide = {false, true, 15, 7, 9, 26, 22, 22, 0};
static const struct slow_layout slow_narrow = {false, false, 12, 5, 7, 0, 0, 0, 0};

/* Shares out the columns from `used` on; a line of unusual numbers leaves less to its names. */
static void slow_share(struct slow_layout *lay, const struct printer *p, size_t used)
{
	size_t rest = p->columns > used + SLOW_NAMES_MIN ? p->columns - used : SLOW_NAMES_MIN;
	size_t fixed = slow_wide.task + slow_wide.waker + slow_wide.prev + 3;

	if (lay->uncut) {
		lay->cgroup = SIZE_MAX;
	} else if (lay->fine && rest >= fixed + SLOW_CGROUP_MIN) {
		lay->cgroup = rest - fixed;
	} else {
		rest -= 2; /* gaps */
		lay->task = rest * 2 / 5;
		lay->waker = rest * 3 / 10;
		lay->prev = rest - lay->task - lay->waker;
	}
}

/* "comm 42": the name gives way, never the id. */
static void slow_task(char *out, size_t len, const char *comm, uint32_t pid, uint32_t tid,
		      const struct slow_layout *lay, size_t width)
{
	char cut[SLOW_COMM], id[32];
	size_t used;

	/* A narrow line has room for one id: the thread's. */
	if (pid == tid || !lay->fine)
		(void)snprintf(id, sizeof(id), "%" PRIu32, tid);
	else
		(void)snprintf(id, sizeof(id), "%" PRIu32 "/%" PRIu32, tid, pid);
	used = strlen(id) + 1;
	if (lay->uncut)
		width = SIZE_MAX;
	line_cut(cut, sizeof(cut), name_clean(comm).s, width > used ? width - used : 0);
	(void)snprintf(out, len, "%s%s%s", cut, *cut ? " " : "", id); /* as wide as asked for */
}

/* Nobody woke what was preempted or is new: the same place has the reason. */
static const char *slow_waker(char *out, size_t len, const struct slow *w,
			      const struct slow_layout *lay)
{
	char text[SLOW_TEXT];

	if (w->waker && !strcmp(w->waker, "task")) {
		slow_task(out, len, w->waker_comm, w->waker_tid, w->waker_tid, lay, lay->waker);
		return out;
	}
	if (w->waker || !strcmp(w->kind, "wakeup"))
		return line_cut(out, len, w->waker ? w->waker : "-", lay->waker);
	(void)snprintf(text, sizeof(text), "(%s)", w->kind);
	return line_cut(out, len, text, lay->waker);
}

static const char *slow_prev(char *out, size_t len, const struct slow *w,
			     const struct slow_layout *lay)
{
	if (!w->prev_comm || !w->prev_tid)
		return w->prev_comm ? "idle" : "?";
	slow_task(out, len, w->prev_comm, w->prev_pid, w->prev_tid, lay, lay->prev);
	return out;
}

static const char *slow_clock(char *out, size_t len, const struct slow *w,
			      const struct slow_layout *lay)
{
	struct tm tm;

	if (!localtime_r(&w->time.tv_sec, &tm))
		memset(&tm, 0, sizeof(tm));
	(void)snprintf(out, len, lay->fine ? "%02d:%02d:%02d.%06ld" : "%02d:%02d:%02d.%03ld",
		       tm.tm_hour, tm.tm_min, tm.tm_sec,
		       w->time.tv_nsec / (lay->fine ? 1000 : 1000000)); /* fits */
	return out;
}

static const char *slow_cpu(char *out, size_t len, const struct slow *w)
{
	if (w->migrated && w->last_cpu_known)
		(void)snprintf(out, len, "%" PRIu32 ">%" PRIu32, w->last_cpu, w->cpu);
	else
		(void)snprintf(out, len, "%" PRIu32, w->cpu);
	return out;
}

/* "4.0K": what is exact is in JSON. */
static const char *slow_bytes(uint64_t bytes, char *out, size_t len)
{
	static const char units[] = "BKMGTPE";
	double v = (double)bytes;
	size_t i = 0;

	if (!bytes)
		return "-";
	for (; v >= 999.5 && units[i + 1]; i++)
		v /= 1024;
	(void)snprintf(out, len, i && v < 9.95 ? "%.1f%c" : "%.0f%c", v, units[i]); /* fits */
	return out;
}

/* ---- lines ---- */

/* A cell and the space before it. */
static void put_right(struct line *l, const char *text, size_t width)
{
	line_add(l, " ");
	line_right(l, text, width);
}

static void put_left(struct line *l, const char *text, size_t width)
{
	line_add(l, " ");
	line_left(l, text, width);
}

/* What the line has left, behind one more space. */
static size_t room(const struct printer *p, const struct line *l)
{
	size_t used = line_width(l) + 1;

	return p->columns > used ? p->columns - used : 0;
}

/* A last column that may be as long as the line has room. */
static void put_last(struct line *l, const char *text, size_t width)
{
	char clean[LINE_BYTES / 2], cut[LINE_BYTES / 2];

	if (!width || !text)
		return;
	text_clean(clean, sizeof(clean), text, SIZE_MAX);
	line_add(l, " %s", line_cut_start(cut, sizeof(cut), clean, width));
}

/*
 * Three columns in the place of a wait's two legs; a narrow line leaves the CPU's to be reckoned.
 */
static void slow_shares(struct line *l, const struct slow_layout *lay, const struct slow *w)
{
	static const size_t narrow[] = {4, 5};
	static const char *const heads[] = {"blk%", "runq%", "cpu%"};
	const struct split *split = w ? &w->op->split : NULL;
	const uint64_t parts[] = {w ? split->blocked_ns : 0, w ? split->run_queue_ns : 0,
				  w ? w->wait_ns - split->blocked_ns - split->run_queue_ns : 0};
	uint64_t all = w && w->op->has_split ? w->wait_ns : 0; /* of nothing: "-" */
	size_t width, rest = 2 * lay->number + 2;

	for (size_t i = 0; i < 3 && (lay->fine || i < 2); i++) {
		width = rest / (3 - i);
		rest -= width;
		put_right(l, w ? word_share(parts[i], all, 1).s : heads[i],
			  lay->fine ? width - 1 : narrow[i]);
	}
}

/* A wide line's columns are those of a wait, as far as both have them. */
static void slow_op(struct line *l, const struct printer *p, struct slow_layout *lay,
		    const struct slow *w)
{
	const struct slow_op *op = w ? w->op : NULL;
	char text[SLOW_TEXT];
	const char *on;
	size_t rest, used;

	slow_shares(l, lay, w);
	used = line_width(l) + 1;
	slow_share(lay, p, used);
	lay->waker = SLOW_OP;
	if (!lay->uncut && !lay->cgroup) {
		rest = p->columns > used + SLOW_NAMES_MIN ? p->columns - used : SLOW_NAMES_MIN;
		lay->task = rest / 3;
		lay->waker = rest / 5;
	}
	if (!op) {
		put_left(l, "TASK", lay->task);
		put_left(l, lay->waker < sizeof("OPERATION") - 1 ? "OP" : "OPERATION", lay->waker);
		put_right(l, "BYTES", SLOW_BYTES);
		put_last(l, "FILE", SIZE_MAX);
		return;
	}
	slow_task(text, sizeof(text), w->comm, w->pid, w->tid, lay, lay->task);
	put_left(l, text, lay->task);
	put_left(l, line_cut(text, sizeof(text), name_clean(op->op).s, lay->waker), lay->waker);
	put_right(l, slow_bytes(op->bytes, text, sizeof(text)), SLOW_BYTES);
	on = op->path ? op->path : op->mount ? op->mount : op->dev;
	put_last(l, on ? on : "-", room(p, l));
}

static void slow_wait(struct line *l, const struct printer *p, struct slow_layout *lay,
		      enum unit unit, const struct slow *w)
{
	bool legs = w && w->has_legs;
	char text[SLOW_TEXT];

	put_right(l,
		  legs ? word_time(w->wake_to_queue_ns, unit).s
		  : w  ? "-"
		       : "QUEUE",
		  lay->number);
	put_right(l, legs ? word_time(w->queue_to_run_ns, unit).s : w ? "-" : "RUN", lay->number);
	slow_share(lay, p, line_width(l) + 1);
	if (w)
		slow_task(text, sizeof(text), w->comm, w->pid, w->tid, lay, lay->task);
	put_left(l, w ? text : "TASK", lay->task);
	put_left(l, w ? slow_waker(text, sizeof(text), w, lay) : "WOKEN BY", lay->waker);
	put_left(l, w ? slow_prev(text, sizeof(text), w, lay) : "RAN BEFORE", lay->prev);
	put_last(l, w ? w->cgroup : "CGROUP", w || !lay->cgroup ? lay->cgroup : SIZE_MAX);
}

/* Where it may have been no lock that is told in place of the kind. */
static const char *held_kind(const struct slow *w)
{
	const char *unsure = wait_class_words[CLASS_UNSURE];

	return w->held->class && !strcmp(w->held->class, unsure) ? unsure : w->kind;
}

static void slow_held(struct line *l, const struct printer *p, struct slow_layout *lay,
		      const struct slow *w)
{
	char text[SLOW_TEXT], what[2 * SLOW_TEXT];

	slow_share(lay, p, line_width(l) + 1);
	if (!w) {
		put_left(l, "TASK", lay->task);
		put_last(l, "WAITED FOR", SIZE_MAX);
		return;
	}
	if (w->tid)
		slow_task(text, sizeof(text), w->comm, w->pid, w->tid, lay, lay->task);
	else /* an interrupt */
		text_clean(text, sizeof(text), w->comm, SIZE_MAX);
	put_left(l, text, lay->task);
	if (w->held->name)
		(void)snprintf(what, sizeof(what), "%s %s", held_kind(w), w->held->name); /* cut */
	else
		(void)snprintf(what, sizeof(what), "%s 0x%" PRIx64, held_kind(w), w->held->addr);
	put_last(l, what, room(p, l));
}

enum slow_sort table_slow_sort(const struct slow *w)
{
	return w->op ? SLOW_OPERATION : w->held ? SLOW_HELD : SLOW_CPU;
}

/* A wait, or with `w` NULL the head of such lines. */
static void slow_line(struct printer *p, enum unit unit, const struct slow *w, enum slow_sort sort)
{
	struct slow_layout lay = p->columns < SLOW_WIDE ? slow_narrow : slow_wide;
	char text[SLOW_TEXT];
	struct line l;

	lay.uncut = p->columns == LINE_BYTES;
	line_start(&l);
	line_left(&l, w ? slow_clock(text, sizeof(text), w, &lay) : "TIME", lay.time);
	if (lay.fine || sort != SLOW_OPERATION)
		put_right(&l, w ? slow_cpu(text, sizeof(text), w) : "CPU", lay.cpu);
	put_right(&l, w ? word_time(w->wait_ns, unit).s : unit_name(unit), lay.number);
	if (sort == SLOW_OPERATION)
		slow_op(&l, p, &lay, w);
	else if (sort == SLOW_HELD)
		slow_held(&l, p, &lay, w);
	else
		slow_wait(&l, p, &lay, unit, w);
	printer_line(p, w ? STYLE_PLAIN : STYLE_DIM, &l);
}

#define SLOW_CULPRITS 6 /* the largest; what is left is told together */

/* "             for cc1 42 1,204, (hard interrupts) 16.2": what the CPU did meanwhile. */
static void slow_culprits(struct printer *p, enum unit unit, const struct slow *w)
{
	uint64_t rest = 0;
	struct line l;
	size_t i;

	if (!w->nculprits)
		return;
	line_start(&l);
	line_to(&l, SLOW_INDENT);
	line_add(&l, "for ");
	for (i = 0; i < w->nculprits && i < SLOW_CULPRITS; i++) {
		line_add(&l, "%s%s %s", i ? ", " : "", name_culprit(&w->culprits[i]).s,
			 word_time(w->culprits[i].wait_ns, unit).s);
	}
	for (; i < w->nculprits; i++)
		rest += w->culprits[i].wait_ns;
	if (rest)
		line_add(&l, ", others %s", word_time(rest, unit).s);
	printer_line(p, STYLE_PLAIN, &l);
}

void table_slow_line(struct printer *p, enum unit unit, const struct slow *w)
{
	slow_line(p, unit, w, table_slow_sort(w));
	slow_culprits(p, unit, w);
	table_slow_links(p, w);
}

void table_slow_head(struct printer *p, enum unit unit, enum slow_sort sort)
{
	slow_line(p, unit, NULL, sort);
}
