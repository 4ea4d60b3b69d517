/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report that one can drive. A model without a terminal (kept reports, where one looks, keys),
 * a canvas it is drawn on, and a thin layer that puts the canvas on a terminal (tui_term.h).
 *
 *	tui_open -> (tui_add | tui_key | tui_draw)* -> tui_close
 */
#ifndef WS_SINK_TUI_H
#define WS_SINK_TUI_H

#include "core/frame_own.h"
#include "core/summary.h"
#include "core/view.h"
#include "sink/tui_canvas.h"

#define TUI_COLUMNS_LEAST 80 /* a smaller window is told so */
#define TUI_LINES_LEAST 24
/* Lines: the host, the pages, where the time went, what stands in columns, rows; the last two:
 * quality, keys. */
#define TUI_LINE_TABS 1
#define TUI_LINE_SUMMARY 2
#define TUI_LINE_HEAD 3
#define TUI_LINE_ROWS 4
#define TUI_LINES_FOOT 2
#define TUI_NAME 512
#define TUI_FILTER 64 /* characters */
#define TUI_EIGHTHS 8 /* of a cell: a bar's steps */

/* Keys as the model knows them: characters by their code point, and these. */
enum tui_key {
	TUI_KEY_NONE = 0,
	TUI_KEY_BACKSPACE = 8,
	TUI_KEY_TAB = 9,
	TUI_KEY_ENTER = 10,
	TUI_KEY_REDRAW = 12, /* Ctrl-L */
	TUI_KEY_ERASE = 21,  /* Ctrl-U */
	TUI_KEY_ESCAPE = 27,
	TUI_KEY_UP = 0x110000, /* behind all characters */
	TUI_KEY_DOWN,
	TUI_KEY_LEFT,
	TUI_KEY_RIGHT,
	TUI_KEY_PAGE_UP,
	TUI_KEY_PAGE_DOWN,
	TUI_KEY_HOME,
	TUI_KEY_END,
	TUI_KEY_BACK_TAB,
	TUI_KEY_WHEEL_UP,
	TUI_KEY_WHEEL_DOWN,
};

/* What a key asks for that the model cannot do itself. */
enum tui_ask { TUI_ASK_NOTHING, TUI_ASK_QUIT, TUI_ASK_SAVE, TUI_ASK_REPAINT };

/* In the order of their tabs; "more" is of metrics that this version does not know. */
enum tui_page {
	TUI_OVERVIEW,
	TUI_SCHED,
	TUI_EXT4,
	TUI_LOCK,
	TUI_FUTEX,
	TUI_LINE,
	TUI_WATCH,
	TUI_MORE,
	TUI_SLOW,
	TUI_GROUPS,
	TUI_PAGES,
};

enum tui_row_kind {
	TUI_ROW_HEADING,
	TUI_ROW_SERIES, /* a histogram or counter */
	TUI_ROW_COUNTS, /* counters of one set of labels */
	TUI_ROW_GROUP,	/* of --by, with all its series */
	TUI_ROW_CONTENDED,
	TUI_ROW_CULPRIT, /* what was waited for */
	TUI_ROW_SLOW,	 /* one wait */
	TUI_ROW_REST,	 /* so many are on the source's own page */
};

struct tui_row {
	enum tui_row_kind kind;
	enum tui_page page; /* heading, rest: the page it stands for */
	uint32_t section;   /* rows are sorted within it */
	uint32_t order;	    /* as the view has them: the worst first */
	uint64_t id;	    /* the same in the next report */
	uint64_t weight;    /* by the column that is sorted by */
	const char *title;  /* heading: our own words */
	const char *key;    /* heading: of a label, or NULL */
	size_t n;	    /* rest: how many */
	struct view_row r;
	const struct slow *w;	      /* TUI_ROW_SLOW */
	const struct view_section *s; /* TUI_ROW_COUNTS, TUI_ROW_CULPRIT */
};

struct tui_rows {
	struct tui_row *v;
	size_t n, cap;
	uint32_t sections;
	size_t left; /* by the filter */
	char *names; /* when they are sorted by them */
	size_t names_cap;
};

/* What the rows were made of: as long as nothing of it changes, they are the same. */
struct tui_made {
	bool valid, total, reversed;
	enum tui_page page;
	size_t body; /* of the overview, which depends on it */
	uint64_t number;
	uint32_t sort, columns;
	char filter[4 * TUI_FILTER + 1];
};

enum tui_column_kind {
	TUI_COLUMN_NAME,
	TUI_COLUMN_RATE,
	TUI_COLUMN_COUNT,
	TUI_COLUMN_QUANTILE,
	TUI_COLUMN_MAX,
	TUI_COLUMN_MEAN,
	TUI_COLUMN_SUM,	    /* waited in each second */
	TUI_COLUMN_BESIDES, /* of a group: the same of the metric that counts besides */
	TUI_COLUMN_SHARE,   /* both as a share of the time */
	TUI_COLUMN_HEAD,    /* of a group: the 99th percentile of its headline */
	TUI_COLUMN_WHO,
	TUI_COLUMN_SPARK, /* p99 of the last intervals */
};

#define TUI_COLUMNS 22

struct tui_column {
	enum tui_column_kind kind;
	const struct quantile *q;
	uint32_t number; /* its name, whatever the width of the window */
	uint32_t yield;	 /* the highest goes first; 0: stays */
	size_t x, width;
	char head[24];
};

/* --slower: the last of them. */
struct tui_slow_kept {
	struct slow *w;
	uint64_t report; /* the one it came before */
};

struct tui_slow {
	struct tui_slow_kept *v; /* by when they came */
	size_t n, cap;
	uint64_t gone;
};

/* The last reports, as frames of their own; the oldest go when there are too many or they take too
 * much memory. They are numbered from 0 on, and keep their numbers. */
struct tui_kept {
	struct frame_own *own;
	const struct frame *f;
	size_t bytes;
};

struct tui_keep {
	struct tui_kept *v;
	size_t first, n, cap;	 /* v[first .. first + n) */
	uint64_t gone;		 /* so many went; the number of the oldest that is there */
	size_t bytes;		 /* about what they take */
	size_t most, most_bytes; /* bounds; one always stays */
};

/* Where one was on a page when one left it. */
struct tui_place {
	uint64_t id; /* of the row; 0: the first */
	size_t cursor, top;
	uint32_t sort; /* 0: as the view has the rows; else a column's number + 1 */
	bool reversed;
};

struct tui {
	const struct config *cfg;
	struct tui_keep keep;
	struct frame_own *total; /* -z: shown in place of the last interval */
	struct view view;
	struct tui_rows rows;
	struct tui_made made;
	struct tui_sparks *sparks; /* tui_picture.c; one piece of memory */
	struct tui_slow slow;
	struct slow *slow_chosen; /* the detail is of it; NULL: of `chosen` */
	char slow_title[64];
	struct tui_canvas canvas;
	struct tui_column column[TUI_COLUMNS];
	size_t ncolumns;
	enum tui_page page, pages[TUI_PAGES]; /* those there are */
	size_t npages;
	struct tui_place place[TUI_PAGES];
	uint64_t number; /* the report shown: as tui_keep numbers them */
	bool follow;	 /* the newest one is shown */
	char filter[4 * TUI_FILTER + 1];
	bool typing; /* the filter */
	bool help, detail;
	size_t help_top, detail_top;
	struct frame_own *kept; /* what the detail is of, as it was when it was chosen */
	struct view_row chosen; /* the same in the report shown, or in `kept` if it is `gone` */
	bool gone;
	char chosen_name[TUI_NAME];
	char message[256];
	char host[256], sources[256], untraced[SUMMARY_BYTES];
	size_t body; /* lines for rows */
	size_t tab[TUI_PAGES +
		   1]; /* columns where the pages' names begin; the last: where they end */
	bool ended, replay;
};

void tui_open(struct tui *t, const struct config *cfg, bool utf8, bool replay);
void tui_close(struct tui *t);
void tui_meta(struct tui *t, const struct meta *m);
/* A report: an interval, or the final one; `total`: NULL but with -z. 0 or -ENOMEM. */
int tui_add(struct tui *t, const struct frame *f, const struct frame *total);
/* A slow wait, before the report of its interval. 0 or -ENOMEM */
int tui_slow(struct tui *t, const struct slow *w);
enum tui_ask tui_key(struct tui *t, uint32_t key);
/* The left button, at a cell. */
enum tui_ask tui_click(struct tui *t, size_t line, size_t column);
void tui_say(struct tui *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 0 or -ENOMEM */
int tui_draw(struct tui *t, uint32_t lines, uint32_t columns);

/* ---- between its parts ---- */

/* tui_model.c */
/* Takes a copy. 0 or -ENOMEM. */
int tui_keep_add(struct tui_keep *k, const struct frame *f);
/* NULL: it is not there. */
const struct frame *tui_keep_get(const struct tui_keep *k, uint64_t number);
uint64_t tui_keep_end(const struct tui_keep *k); /* one behind the newest */
void tui_keep_free(struct tui_keep *k);

/* The series, address or culprit of that report that is the same as this one. `near`: a series'
 * index in a report that is much like that one; SIZE_MAX: not known. false: it has none. */
bool tui_keep_row(const struct tui_keep *k, uint64_t number, const struct view_row *like,
		  size_t near, struct view_row *out);

/* The report shown; NULL: none yet. */
const struct frame *tui_frame(const struct tui *t);
const char *tui_page_name(const struct tui *t, enum tui_page page);
/* tui_rows.c: rows of the page from the report shown, in order; those that there are, if nothing
 * changed. */
int tui_rows_make(struct tui *t);
void tui_rows_drop(struct tui *t); /* what they point to may go */
void tui_pages_make(struct tui *t, const struct frame *f);
uint64_t tui_row_id(const struct view_row *r, uint32_t salt);
/* tui_cells.c */
const char *tui_name(const struct tui *t, const struct tui_row *r, char *out, size_t len);
const char *tui_cell(const struct tui *t, const struct tui_row *r, const struct tui_column *c,
		     char *out, size_t len);
uint64_t tui_weight(const struct tui *t, const struct tui_row *r, const struct tui_column *c);
const struct hist *tui_hist(const struct view_row *r);
void tui_columns_make(struct tui *t, size_t width);
char *tui_label_text(const struct series *s, uint32_t from, char *out, size_t len);
/* A time with ~ behind it where few samples lie beyond, else a space. */
char *tui_quantile_text(const struct hist *h, const struct quantile *q, enum unit unit, char *out,
			size_t len);
/* What stands between head and foot. */
void tui_draw_detail(struct tui *t, size_t from);
/* The row to be looked at: false, and a message, if that cannot be. */
bool tui_detail_choose(struct tui *t, const struct tui_row *r);
/* Finds it in the report shown. */
void tui_detail_find(struct tui *t);

/* Lines of text that are scrolled: those from `top` on are drawn, all are counted. */
struct tui_list {
	struct tui *t;
	size_t from, room, top, n;
};

void tui_list_add(struct tui_list *l, enum tui_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The canvas's line that the next one is drawn on; SIZE_MAX: on none. */
size_t tui_list_line(struct tui_list *l);
/* Those lines that its top leaves: `draw` is called twice. */
void tui_list_scrolled(struct tui_list *l, void (*draw)(struct tui_list *l, const struct slow *w),
		       const struct slow *w);
/* tui_detail_address.c */
void tui_detail_contended(struct tui_list *l, const struct contended *c);
/* Who held it, of waits of that sum; of none nothing. */
void tui_detail_holders(struct tui_list *l, const struct holder *v, size_t n, uint64_t sum_ns);
/* tui_culprits.c */
void tui_culprit_name(const struct tui *t, const struct culprit *k, char *out, size_t len);
/* "61.2 %   10.4 s in 1,203 waits" */
const char *tui_culprit_text(const struct culprit *k, uint64_t of_ns, char *out, size_t len);
void tui_culprit_cell(const struct tui *t, const struct tui_row *r, char *out, size_t len);
/* The same, of the same who waited; NULL: there is none. */
void tui_detail_culprit(struct tui_list *l, const struct culprit *k);
/* Of a group of --by; of other series nothing. */
void tui_detail_waited_for(struct tui_list *l, const struct series *s);
/* tui_picture.c */
/* The same row in the report `number`, or NULL. */
const struct hist *tui_hist_at(const struct tui *t, const struct view_row *r, uint64_t number);
/* The number of the last interval that a picture has: the one shown, or the last before the end. */
uint64_t tui_last_shown(const struct tui *t);
void tui_draw_curve(struct tui *t, size_t line, size_t x, size_t height, size_t width,
		    const struct hist *h);
void tui_draw_heat(struct tui *t, size_t line, size_t x, size_t height, size_t width);
void tui_draw_spark(struct tui *t, size_t line, size_t x, size_t width, const struct tui_row *r,
		    enum tui_style style);
/* tui_slow.c */
void tui_slow_bound(struct tui *t); /* when no row is of one */
void tui_slow_free(struct tui *t);
size_t tui_slow_shown(const struct tui *t); /* so many were there at the report shown */
bool tui_slow_choose(struct tui *t, const struct slow *w); /* NULL: none; false: no memory */
void tui_slow_name(const struct slow *w, char *out, size_t len);
void tui_slow_words(const struct slow *w, enum unit unit, char *out, size_t len);
void tui_draw_slow(struct tui *t, size_t from);

#endif
