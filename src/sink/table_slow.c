// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --slower: one wait a line. On a terminal it fits the width (the cgroup goes first, names are
 * cut before ids); elsewhere lines are as long as what they say.
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
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "sink/table.h"

#define SLOW_TEXT 256
#define SLOW_COMM 128	   /* 15 bytes, each cleaned into four at most */
#define SLOW_WIDE 110	   /* from here on the wide layout */
#define SLOW_NAMES_MIN 30  /* the names get this in the narrowest window */
#define SLOW_CGROUP_MIN 16 /* narrower tells nothing */
#define SLOW_OP 16	   /* an operation's name, where there is room */
#define SLOW_BYTES 5

/* Widths; those of the names follow from what the line before them leaves. */
struct slow_layout {
	bool whole; /* nothing is cut */
	bool fine;  /* a wide line: microseconds, process ids */
	size_t time, cpu, number, task, waker, prev, cgroup;
};

static const struct slow_layout slow_wide = {false, true, 15, 7, 9, 26, 22, 22, 0};
static const struct slow_layout slow_narrow = {false, false, 12, 5, 7, 0, 0, 0, 0};

static struct slow_layout slow_layout(const struct paper *p, bool fit)
{
	struct slow_layout lay = slow_wide;

	if (fit && p->columns < SLOW_WIDE)
		return slow_narrow;
	lay.whole = !fit;
	return lay;
}

/* Shares out the columns from `used` on; a line of unusual numbers leaves less to its names. */
static void slow_share(struct slow_layout *lay, const struct paper *p, size_t used)
{
	size_t rest = p->columns > used + SLOW_NAMES_MIN ? p->columns - used : SLOW_NAMES_MIN;
	size_t fixed = slow_wide.task + slow_wide.waker + slow_wide.prev + 3;

	if (lay->whole) {
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
	char clean[SLOW_COMM], cut[SLOW_COMM], id[32];
	size_t used;

	/* A narrow line has room for one id: the thread's. */
	if (pid == tid || !lay->fine)
		(void)snprintf(id, sizeof(id), "%" PRIu32, tid);
	else
		(void)snprintf(id, sizeof(id), "%" PRIu32 "/%" PRIu32, tid, pid);
	used = strlen(id) + 1;
	text_clean(clean, sizeof(clean), comm ? comm : "?", SIZE_MAX);
	if (lay->whole)
		width = SIZE_MAX;
	line_cut(cut, sizeof(cut), clean, width > used ? width - used : 0);
	(void)snprintf(out, len, "%s%s%s", cut, *cut ? " " : "", id); /* as wide as asked for */
}

static void slow_waker(char *out, size_t len, const struct slow *w, const struct slow_layout *lay)
{
	char text[SLOW_TEXT];

	if (w->waker && !strcmp(w->waker, "task")) {
		slow_task(out, len, w->waker_comm, w->waker_tid, w->waker_tid, lay, lay->waker);
		return;
	}
	/* Nobody woke what was preempted or is new: say that in the same place. */
	if (w->waker)
		(void)snprintf(text, sizeof(text), "%s", w->waker);
	else if (strcmp(w->kind, "wakeup"))
		(void)snprintf(text, sizeof(text), "(%s)", w->kind);
	else
		(void)snprintf(text, sizeof(text), "-");
	line_cut(out, len, text, lay->waker);
}

static void slow_clock(struct line *l, const struct slow *w, const struct slow_layout *lay)
{
	char text[32];
	struct tm tm;

	if (!localtime_r(&w->time.tv_sec, &tm))
		memset(&tm, 0, sizeof(tm));
	if (lay->fine)
		(void)snprintf(text, sizeof(text), "%02d:%02d:%02d.%06ld", tm.tm_hour, tm.tm_min,
			       tm.tm_sec, w->time.tv_nsec / 1000);
	else
		(void)snprintf(text, sizeof(text), "%02d:%02d:%02d.%03ld", tm.tm_hour, tm.tm_min,
			       tm.tm_sec, w->time.tv_nsec / 1000000);
	line_left(l, text, lay->time);
}

static void slow_number(struct line *l, const struct slow_layout *lay, bool known, uint64_t ns,
			enum unit unit)
{
	char text[32];

	line_add(l, " ");
	line_right(l, known ? format_time(text, sizeof(text), ns, unit) : "-", lay->number);
}

/* A last column that may be as long as the line has room. */
static void slow_cgroup(struct line *l, const char *cgroup, size_t width)
{
	char clean[LINE_BYTES / 2], cut[LINE_BYTES / 2];

	if (!width || !cgroup)
		return;
	text_clean(clean, sizeof(clean), cgroup, SIZE_MAX);
	line_add(l, " %s", line_cut_start(cut, sizeof(cut), clean, width));
}

static void slow_put(struct paper *p, bool fit, enum style style, const struct line *l)
{
	struct paper wide = *p;

	if (!fit)
		wide.columns = LINE_BYTES;
	paper_line(&wide, style, l);
}

static void slow_cpu(struct line *l, const struct slow *w, const struct slow_layout *lay)
{
	char text[SLOW_TEXT];

	if (w->migrated && w->last_cpu_known)
		(void)snprintf(text, sizeof(text), "%" PRIu32 ">%" PRIu32, w->last_cpu, w->cpu);
	else
		(void)snprintf(text, sizeof(text), "%" PRIu32, w->cpu);
	line_add(l, " ");
	line_right(l, text, lay->cpu);
}

/* ---- operations ---- */

/* Three columns in the place of a wait's two legs; a narrow line leaves the CPU's to be reckoned.
 */
static void slow_shares(struct line *l, const struct slow_layout *lay, const char *const text[3])
{
	static const size_t narrow[] = {4, 5};
	size_t i, width, rest = 2 * lay->number + 2;

	for (i = 0; i < 3 && (lay->fine || i < 2); i++) {
		width = rest / (3 - i);
		rest -= width;
		line_add(l, " ");
		line_right(l, text[i], lay->fine ? width - 1 : narrow[i]);
	}
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

/* A wide line's columns are those of a wait, as far as both have them. */
static void slow_share_op(struct slow_layout *lay, const struct paper *p, size_t used)
{
	size_t rest;

	slow_share(lay, p, used);
	lay->waker = SLOW_OP;
	if (lay->whole || lay->cgroup)
		return;
	rest = p->columns > used + SLOW_NAMES_MIN ? p->columns - used : SLOW_NAMES_MIN;
	lay->task = rest / 3;
	lay->waker = rest / 5;
}

static void slow_file(struct line *l, const struct paper *p, const struct slow_layout *lay,
		      const struct slow_op *op)
{
	const char *file = op->path ? op->path : op->mount ? op->mount : op->dev ? op->dev : "-";
	size_t used = line_width(l) + 1;

	slow_cgroup(l, file, lay->whole ? SIZE_MAX : p->columns > used ? p->columns - used : 0);
}

static void slow_op_line(struct paper *p, bool fit, enum unit unit, const struct slow *w)
{
	struct slow_layout lay = slow_layout(p, fit);
	const struct split *split = &w->op->split;
	char blk[32], runq[32], cpu[32], text[SLOW_TEXT], clean[SLOW_TEXT];
	uint64_t on_cpu = w->wait_ns - split->blocked_ns - split->run_queue_ns;
	const char *const shares[] = {
		format_share(blk, sizeof(blk), split->blocked_ns, w->wait_ns, 1),
		format_share(runq, sizeof(runq), split->run_queue_ns, w->wait_ns, 1),
		format_share(cpu, sizeof(cpu), on_cpu, w->wait_ns, 1),
	};
	struct line l;

	line_start(&l);
	slow_clock(&l, w, &lay);
	if (lay.fine)
		slow_cpu(&l, w, &lay);
	slow_number(&l, &lay, true, w->wait_ns, unit);
	slow_shares(&l, &lay, shares);
	line_add(&l, " ");
	slow_share_op(&lay, p, line_width(&l));
	slow_task(text, sizeof(text), w->comm, w->pid, w->tid, &lay, lay.task);
	line_left(&l, text, lay.task);
	line_add(&l, " ");
	text_clean(clean, sizeof(clean), w->op->op, SIZE_MAX);
	line_left(&l, line_cut(text, sizeof(text), clean, lay.waker), lay.waker);
	line_add(&l, " ");
	line_right(&l, slow_bytes(w->op->bytes, text, sizeof(text)), SLOW_BYTES);
	slow_file(&l, p, &lay, w->op);
	slow_put(p, fit, STYLE_PLAIN, &l);
}

static void slow_op_head(struct line *l, const struct paper *p, struct slow_layout *lay)
{
	static const char *const heads[] = {"blk%", "runq%", "cpu%"};

	slow_shares(l, lay, heads);
	line_add(l, " ");
	slow_share_op(lay, p, line_width(l));
	line_left(l, "TASK", lay->task);
	line_add(l, " ");
	line_left(l, lay->waker < sizeof("OPERATION") - 1 ? "OP" : "OPERATION", lay->waker);
	line_add(l, " ");
	line_right(l, "BYTES", SLOW_BYTES);
	line_add(l, " FILE");
}

/* ---- waits ---- */

static void slow_wait_line(struct paper *p, bool fit, enum unit unit, const struct slow *w)
{
	struct slow_layout lay = slow_layout(p, fit);
	char text[SLOW_TEXT];
	struct line l;

	line_start(&l);
	slow_clock(&l, w, &lay);
	slow_cpu(&l, w, &lay);
	slow_number(&l, &lay, true, w->wait_ns, unit);
	slow_number(&l, &lay, w->has_legs, w->wake_to_queue_ns, unit);
	slow_number(&l, &lay, w->has_legs, w->queue_to_run_ns, unit);
	line_add(&l, " ");
	slow_share(&lay, p, line_width(&l));
	slow_task(text, sizeof(text), w->comm, w->pid, w->tid, &lay, lay.task);
	line_left(&l, text, lay.task);
	line_add(&l, " ");
	slow_waker(text, sizeof(text), w, &lay);
	line_left(&l, text, lay.waker);
	line_add(&l, " ");
	if (!w->prev_comm)
		(void)snprintf(text, sizeof(text), "?");
	else if (w->prev_tid)
		slow_task(text, sizeof(text), w->prev_comm, w->prev_pid, w->prev_tid, &lay,
			  lay.prev);
	else
		(void)snprintf(text, sizeof(text), "idle");
	line_left(&l, text, lay.prev);
	slow_cgroup(&l, w->cgroup, lay.cgroup);
	slow_put(p, fit, STYLE_PLAIN, &l);
}

static void slow_wait_head(struct line *l, const struct paper *p, struct slow_layout *lay)
{
	line_add(l, " ");
	line_right(l, "QUEUE", lay->number);
	line_add(l, " ");
	line_right(l, "RUN", lay->number);
	line_add(l, " ");
	slow_share(lay, p, line_width(l));
	line_left(l, "TASK", lay->task);
	line_add(l, " ");
	line_left(l, "WOKEN BY", lay->waker);
	line_add(l, " ");
	line_left(l, "RAN BEFORE", lay->prev);
	if (lay->cgroup)
		line_add(l, " CGROUP");
}

void table_slow_line(struct paper *p, bool fit, enum unit unit, const struct slow *w)
{
	if (w->op)
		slow_op_line(p, fit, unit, w);
	else
		slow_wait_line(p, fit, unit, w);
}

void table_slow_head(struct paper *p, bool fit, enum unit unit, bool op)
{
	struct slow_layout lay = slow_layout(p, fit);
	struct line l;

	line_start(&l);
	line_left(&l, "TIME", lay.time);
	line_add(&l, " ");
	if (lay.fine || !op) {
		line_right(&l, "CPU", lay.cpu);
		line_add(&l, " ");
	}
	line_right(&l, unit_name(unit), lay.number);
	if (op)
		slow_op_head(&l, p, &lay);
	else
		slow_wait_head(&l, p, &lay);
	slow_put(p, fit, STYLE_DIM, &l);
}
