// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *	waitscope  2 CPUs  6.18.44   sched ext4 lock                     14:02:11
 *	 1 overview  2 sched  3 ext4  4 lock                  interval 42, live
 *	usec                         /s     p50      p99     p99.9      max  p99 over time
 *	...
 *	quality: complete  2 in flight                 cost: 0.4 % of one CPU
 *	 ?help  ↑↓row  ←→sort  Enter detail  /filter  Space pause  [ ]back  s save  q quit
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/fields.h"
#include "core/text.h"
#include "sink/printer.h"
#include "sink/tui.h"

#define KEPT_NAME 8 /* columns, at least, beside a kind */
#define KEYS 2	    /* of the window of the key `?`: */
#define WORDS 24

static const struct {
	const char *key, *does;
} keys[] = {
	{"?", "help"},	    {"↑↓", "row"},   {"←→", "sort"}, {"Enter", "detail"}, {"/", "filter"},
	{"Space", "pause"}, {"[ ]", "back"}, {"s", "save"},  {"q", "quit"},
};

static void draw_top(struct tui *t)
{
	struct tui_canvas *c = &t->canvas;
	const struct frame *f = tui_frame(t);
	char clock[64] = "";
	struct tm tm;
	size_t x = 0;

	x += tui_text(c, 0, x, c->columns, TUI_BAR, "waitscope");
	x += 2 + tui_text(c, 0, x + 2, 60, TUI_PLAIN, t->host);
	(void)tui_text(c, 0, x + 3, c->columns > x + 14 ? c->columns - x - 14 : 0, TUI_DIM,
		       t->sources);
	if (f && localtime_r(&f->time.tv_sec, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm); /* empty if it fails */
	tui_text_right(c, 0, c->columns - 10, 10, TUI_PLAIN, clock);
}

/* The interval that was asked for, if this one was as long but for a hair; "999 ms" looks like a
 * fault. */
static uint64_t period_ns(const struct tui *t, const struct frame *f)
{
	uint64_t asked = t->cfg->interval_ns, hair = asked / 20;

	return f->dur_ns + hair >= asked && f->dur_ns <= asked + hair ? asked : f->dur_ns;
}

/* "interval 42, 1.0 s  live"; "final report"; "interval 40, 1.0 s  paused, 2 back" */
static void describe_report(const struct tui *t, char *out, size_t len)
{
	const struct frame *f = tui_frame(t);
	uint64_t behind;
	int n;

	if (!f) {
		(void)snprintf(out, len, "waiting for the first report");
		return;
	}
	if (f->type == FRAME_INTERVAL)
		n = snprintf(out, len, "interval %" PRIu64 ", %s", f->seq,
			     word_duration(period_ns(t, f)).s);
	else
		n = snprintf(out, len, "%s, %s", f->type == FRAME_FINAL ? "final report" : "total",
			     word_duration(f->dur_ns).s);
	if (n < 0 || (size_t)n >= len)
		return;
	behind = tui_keep_end(&t->keep) - 1 - t->number;
	if (t->follow)
		(void)snprintf(out + n, len - (size_t)n, t->ended ? "" : "  live");
	else if (behind)
		(void)snprintf(out + n, len - (size_t)n, "  paused, %" PRIu64 " back", behind);
	else
		(void)snprintf(out + n, len - (size_t)n, t->ended ? "" : "  paused");
}

static void draw_tabs(struct tui *t)
{
	struct tui_canvas *c = &t->canvas;
	char text[TUI_NAME];
	size_t x = 0, room;
	bool back = !t->follow;

	describe_report(t, text, sizeof(text));
	room = c->columns - text_width(text) - 1;
	tui_text_right(c, TUI_LINE_TABS, room, text_width(text) + 1,
		       back && !t->replay ? TUI_SORTED : TUI_PLAIN, text);
	for (size_t i = 0; i < t->npages; i++) {
		bool here = t->pages[i] == t->page;

		t->tab[i] = x;
		(void)snprintf(text, sizeof(text), " %zu %s ", i + 1,
			       tui_page_name(t, t->pages[i])); /* fits */
		if (x < room)
			x += tui_text(c, TUI_LINE_TABS, x, room - x, here ? TUI_TAB : TUI_DIM,
				      text);
		t->tab[i + 1] = x;
	}
}

/* Where the time went, and what was waited for: as much of it as there is room for. */
static void draw_summary(struct tui *t)
{
	const struct frame *f = tui_frame(t);
	char text[2 * SUMMARY_BYTES + 2];

	if (!f)
		return;
	(void)summary_text(text, f, NULL);
	if (*t->untraced) {
		strcat(text, *text ? "; " : ""); /* they fit */
		strcat(text, t->untraced);
	}
	(void)tui_text(&t->canvas, TUI_LINE_SUMMARY, 0, t->canvas.columns, TUI_PLAIN, text);
}

/* ---- the foot ---- */

static size_t foot_fields(const struct field_table *table, const struct quality *q, char *out,
			  size_t len, size_t at)
{
	for (size_t i = 0; i < table->n; i++) {
		uint64_t v = table->v[i].foot ? field_u64(&table->v[i], q) : 0;
		int n = v && at < len ? snprintf(out + at, len - at, "  %s %s", word_count(v).s,
						 table->v[i].foot)
				      : 0;

		at += n > 0 ? (size_t)n : 0;
	}
	return at;
}

static void draw_quality(struct tui *t, const struct frame *f, size_t line)
{
	struct tui_canvas *c = &t->canvas;
	const struct self_cost *self = &f->self;
	bool complete = quality_complete(&f->quality);
	char text[512], cost[128] = "";
	size_t at, width;

	at = (size_t)snprintf(text, sizeof(text), "quality: %s",
			      complete ? "complete" : "incomplete"); /* fits */
	at = foot_fields(&quality_fields, &f->quality, text, sizeof(text), at);
	at = foot_fields(&quality_edge_fields, &f->quality, text, sizeof(text), at);
	if (at < sizeof(text) && f->quality.in_flight)
		(void)snprintf(text + at, sizeof(text) - at, "  %s in flight",
			       word_count(f->quality.in_flight).s);
	if (self->bpf_known)
		(void)snprintf(cost, sizeof(cost), "cost: %.2f %% of one CPU",
			       (self->bpf_cpu_ppm + self->user_cpu_ppm) / 1e4);
	width = text_width(cost);
	tui_text_right(c, line, c->columns - width, width, TUI_DIM, cost);
	(void)tui_text(c, line, 0, c->columns - width - (width ? 3 : 0),
		       complete ? TUI_DIM : TUI_BAD, text);
}

static void draw_keys(struct tui *t, size_t line)
{
	struct tui_canvas *c = &t->canvas;
	size_t x = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t width = text_width(keys[i].key) + 1 + text_width(keys[i].does);

		if (x + width > c->columns)
			break;
		x += tui_text(c, line, x, c->columns - x, TUI_BAR, keys[i].key) + 1;
		x += tui_text(c, line, x, c->columns - x, TUI_DIM, keys[i].does);
		x += c->columns >= 100 ? 3 : 1;
	}
}

static void draw_foot(struct tui *t)
{
	struct tui_canvas *c = &t->canvas;
	const struct frame *f = tui_frame(t);
	char text[TUI_NAME];

	if (f)
		draw_quality(t, f, c->lines - 2);
	if (t->typing || t->filter[0])
		(void)snprintf(
			text, sizeof(text), "filter: %s%s   %zu of %zu rows left out%s", t->filter,
			t->typing ? "_" : "", t->rows.left, t->rows.left + t->rows.n,
			t->typing ? "   (Enter keeps it, Esc drops it)" : "   (Esc drops it)");
	if (t->message[0])
		(void)tui_text(c, c->lines - 1, 0, c->columns, TUI_SORTED, t->message);
	else if (t->typing || t->filter[0])
		(void)tui_text(c, c->lines - 1, 0, c->columns, TUI_SORTED, text);
	else
		draw_keys(t, c->lines - 1);
}

/* ---- the table ---- */

static void draw_head(struct tui *t, size_t line)
{
	const struct tui_place *p = &t->place[t->page];
	struct tui_canvas *c = &t->canvas;

	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct tui_column *col = &t->column[i];
		bool sorted = p->sort == col->number + 1;
		enum tui_style style = sorted ? TUI_SORTED : TUI_HEAD;
		uint32_t arrow = p->reversed != (col->kind == TUI_COLUMN_NAME) ? 0x25b2 : 0x25bc;

		if (col->kind == TUI_COLUMN_NAME)
			(void)tui_text(c, line, 0, col->width, style, unit_name(t->cfg->unit));
		else if (col->kind == TUI_COLUMN_WHO || col->kind == TUI_COLUMN_SPARK)
			(void)tui_text(c, line, col->x, col->width, style, col->head);
		else
			tui_text_right(c, line, col->x, col->width, style, col->head);
		if (sorted) /* after a quantile's name there is room for its mark */
			tui_put(c, line,
				col->kind == TUI_COLUMN_NAME
					? col->x + 5
					: col->x + col->width - text_width(col->head) - 1,
				arrow, style);
	}
}

/* What stands behind the name of an address, its kind, is never cut. */
static void draw_name(struct tui *t, const struct tui_row *r, size_t line, size_t x, size_t width,
		      enum tui_style style)
{
	struct tui_canvas *c = &t->canvas;
	char text[TUI_NAME], *kind = NULL;
	size_t behind;

	(void)tui_name(t, r, text, sizeof(text));
	for (char *at = strstr(text, "  "); at && r->kind == TUI_ROW_CONTENDED;
	     at = strstr(at + 1, "  "))
		kind = at;
	behind = kind ? text_width(kind) : 0;
	if (text_width(text) <= width || behind + KEPT_NAME > width) {
		(void)tui_text_middle(c, line, x, width, style, text);
		return;
	}
	(void)tui_text(c, line, x + width - behind, behind, style, kind ? kind : "");
	if (kind)
		*kind = '\0';
	(void)tui_text_middle(c, line, x, width - behind, style, text);
}

static void draw_row(struct tui *t, const struct tui_row *r, size_t line, bool cursor)
{
	struct tui_canvas *c = &t->canvas;
	enum tui_style style = cursor ? TUI_CURSOR : TUI_PLAIN;
	bool words = r->kind == TUI_ROW_HEADING || r->kind == TUI_ROW_REST;
	char text[TUI_NAME];

	if (words) {
		(void)tui_text(c, line, r->kind == TUI_ROW_REST ? 2 : 0, c->columns,
			       r->kind == TUI_ROW_REST ? TUI_DIM : TUI_HEADING,
			       tui_name(t, r, text, sizeof(text)));
		if (cursor)
			tui_fill(c, line, 0, c->columns, TUI_CURSOR);
		return;
	}
	if (cursor)
		tui_fill(c, line, 0, c->columns, TUI_CURSOR);
	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct tui_column *col = &t->column[i];
		size_t indent = t->page == TUI_GROUPS ? 0 : 2;

		(void)tui_cell(t, r, col, text, sizeof(text));
		if (r->kind == TUI_ROW_CULPRIT && i > 1) {
			/* Of parts of waits there are no percentiles: words in their place. */
			tui_culprit_cell(t, r, text, sizeof(text));
			(void)tui_text(c, line, col->x + 2, c->columns - col->x - 3, style, text);
			break;
		}
		if (col->kind == TUI_COLUMN_NAME)
			draw_name(t, r, line, indent, col->width - indent - 1, style);
		else if (col->kind == TUI_COLUMN_WHO)
			(void)tui_text(c, line, col->x + 2, col->width - 2,
				       cursor ? style : TUI_DIM, text);
		else if (col->kind == TUI_COLUMN_SPARK && tui_hist(&r->r))
			tui_draw_spark(t, line, col->x + 2, col->width - 2, r,
				       cursor ? style : TUI_GRAPH);
		else
			tui_text_right(c, line, col->x, col->width,
				       !cursor && !strncmp(text, "-", 1) ? TUI_DIM : style, text);
	}
}

/* The row one was on, wherever it stands now; at the place where it was, if it is gone. */
static void find_cursor(struct tui *t)
{
	struct tui_place *p = &t->place[t->page];
	size_t n = t->rows.n;

	for (size_t i = 0; p->id && i < n; i++)
		if (t->rows.v[i].id == p->id) {
			p->cursor = i;
			break;
		}
	if (p->cursor >= n)
		p->cursor = n ? n - 1 : 0;
	/* At first on the first row that is not a title. */
	if (!p->id && !p->cursor && n > 1 && t->rows.v[0].kind == TUI_ROW_HEADING)
		p->cursor = 1;
	if (p->cursor < p->top)
		p->top = p->cursor;
	if (p->cursor == 1 && t->rows.v[0].kind == TUI_ROW_HEADING)
		p->top = 0; /* its title with it */
	if (p->cursor >= p->top + t->body)
		p->top = p->cursor + 1 - t->body;
	if (p->top + t->body > n)
		p->top = n > t->body ? n - t->body : 0;
}

static void draw_table(struct tui *t, size_t from)
{
	struct tui_place *p = &t->place[t->page];
	struct tui_canvas *c = &t->canvas;
	bool above, below;

	find_cursor(t);
	draw_head(t, from);
	if (!t->rows.n)
		(void)tui_text(c, from + 2, 2, c->columns - 2, TUI_DIM,
			       !tui_frame(t)  ? "The first report comes at the end of the interval."
			       : t->filter[0] ? "No row is left by the filter."
					      : "Nothing waited in this interval.");
	for (size_t i = 0; i < t->body && p->top + i < t->rows.n; i++)
		draw_row(t, &t->rows.v[p->top + i], from + 1 + i, p->top + i == p->cursor);
	above = p->top > 0;
	below = p->top + t->body < t->rows.n;
	if (above)
		tui_put(c, from + 1, c->columns - 1, 0x2191, TUI_SORTED);
	if (below)
		tui_put(c, from + t->body, c->columns - 1, 0x2193, TUI_SORTED);
}

/* ---- the window of the key `?` ---- */

/* A line without words is a title. */
static const struct {
	const char *key, *does;
} help[] = {
	{"Where", NULL},
	{"Tab, Shift-Tab, 1 to 9", "next page, page before, a page by its number"},
	{"↑ ↓  or  k j", "row above, below"},
	{"PgUp PgDn Home End", "a screen up or down, first row, last row"},
	{"Enter", "the row's detail, or a title's page; Esc: back"},
	{"mouse", "click pages, columns, rows (twice: detail); wheel"},
	{"When", NULL},
	{"Space", "pause, or follow the newest report again"},
	{"[ ]  and  { }", "a report back or forward; ten"},
	{"< >", "the oldest report that is kept; the newest"},
	{"What", NULL},
	{"← →", "sort by the next column; leftmost: worst first"},
	{"r", "turn the order round"},
	{"/", "filter names and places; Esc drops it"},
	{"s", "save what is kept, for waitscope report"},
	{"Ctrl-L", "draw all of it anew"},
	{"q, Ctrl-C", "end, with the final report"},
	{"Columns", NULL},
	{"/s, count", "waits (or samples) a second; in the interval"},
	{"p50 to p99.9, max", "of their times; ~ fewer than 10 samples lie beyond"},
	{"wait/s, of time", "waited in each second, by all together; as a share"},
	{"p99 over time, trend", "a bar an interval, on a scale of its own"},
};

#define HELP_LINES (sizeof(help) / sizeof(help[0]))

static void draw_help(struct tui *t, size_t from)
{
	struct tui_canvas *c = &t->canvas;
	size_t room = c->lines - TUI_LINES_FOOT - from;
	size_t most = HELP_LINES > room ? HELP_LINES - room : 0;

	if (t->help_top > most)
		t->help_top = most;
	for (size_t i = 0; i < room && t->help_top + i < HELP_LINES; i++) {
		size_t at = t->help_top + i;

		if (!help[at].does) {
			(void)tui_text(c, from + i, 0, c->columns, TUI_HEADING, help[at].key);
			continue;
		}
		(void)tui_text(c, from + i, KEYS, WORDS, TUI_BAR, help[at].key);
		(void)tui_text(c, from + i, KEYS + WORDS, c->columns - KEYS - WORDS, TUI_PLAIN,
			       help[at].does);
	}
}

/* ---- all of it ---- */

int tui_draw(struct tui *t, uint32_t lines, uint32_t columns)
{
	struct tui_canvas *c = &t->canvas;
	int ret = tui_canvas_begin(c, lines, columns);
	char text[128];

	if (ret)
		return ret;
	if (lines < TUI_LINES_LEAST || columns < TUI_COLUMNS_LEAST) {
		(void)snprintf(text, sizeof(text), "%ux%u: at least %ux%u, please", columns, lines,
			       TUI_COLUMNS_LEAST, TUI_LINES_LEAST); /* fits */
		(void)tui_text(c, 0, 0, columns, TUI_BAD, text);
		(void)tui_text(c, 1, 0, columns, TUI_PLAIN, "q quits");
		return 0;
	}
	t->body = lines - TUI_LINE_ROWS - TUI_LINES_FOOT;
	/* A column is kept for what lies above and below. */
	tui_columns_make(t, columns - 1);
	ret = tui_rows_make(t);
	if (ret)
		return ret;
	draw_top(t);
	draw_tabs(t);
	draw_summary(t);
	if (t->detail)
		tui_detail_find(t);
	if (t->help)
		draw_help(t, TUI_LINE_HEAD);
	else if (t->detail)
		tui_draw_detail(t, TUI_LINE_HEAD);
	else
		draw_table(t, TUI_LINE_HEAD);
	draw_foot(t);
	return 0;
}
