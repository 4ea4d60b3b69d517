/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of text for people: measured in columns, cut with an ellipsis, with one colour a line. */
#ifndef WS_SINK_PRINTER_H
#define WS_SINK_PRINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/frame.h"
#include "sink/out.h"

#define LINE_BYTES 4096

enum style { STYLE_PLAIN, STYLE_DIM, STYLE_BOLD, STYLE_HEADLINE, STYLE_BAD };

/* A text may have variants, of which one is written: bits say to which of them a line belongs. */
#define PRINTER_VARIANTS 8

struct printer {
	struct out *out;
	uint32_t columns;
	bool color;
	bool in_place; /* a line clears what it does not cover */
	bool quiet;    /* lines are counted, not written */
	uint32_t variants;
	uint32_t lines[PRINTER_VARIANTS]; /* of each */
};

/* A number for people (core/text.h), to be printed at once: word_count(n).s */
struct word {
	char s[64];
};

struct word word_count(uint64_t n);
struct word word_rate(uint64_t n, uint64_t dur_ns);
struct word word_time(uint64_t ns, enum unit unit);
struct word word_duration(uint64_t ns);
struct word word_share(uint64_t part, uint64_t all, int most);
/* "running 3 %": what a holder did for the i-th part of what waited for it; "": nothing of that. */
#define HOLDER_DID 4
struct word word_did(const struct holder *h, size_t i);
/* " (92 % seen)": for so much of what waited for a holder it was seen to take the lock; "": for
 * all, to half a percent: a call that gives it up is a little before the wake-up. */
struct word word_seen(const struct holder *h);

/* A foreign text for people: cleaned, and cut at worst. NULL: "?". */
struct name {
	char s[512];
};

struct name name_clean(const char *raw);
struct name name_culprit(const struct culprit *k);
/* Adds a foreign text, cleaned, to one that may have some, with `sep` between them; it is cut where
 * there is no room, as the line would be. */
void text_join(char *out, size_t len, const char *sep, const char *raw);

/* A line being put together; what does not fit is left off at a character's edge. */
struct line {
	size_t len;
	char text[LINE_BYTES];
};

void line_start(struct line *l);
void line_add(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Spaces up to a column. */
void line_to(struct line *l, size_t column);
size_t line_width(const struct line *l);
/* A cell of exactly `width` columns; text that is wider sticks out. */
void line_left(struct line *l, const char *text, size_t width);
void line_right(struct line *l, const char *text, size_t width);

/*
 * Copy of a clean text of at most `width` columns: its start, or its end, and an ellipsis; or the
 * first third and the rest from the end with one between.
 */
char *line_cut(char *out, size_t outlen, const char *text, size_t width);
char *line_cut_start(char *out, size_t outlen, const char *text, size_t width);
char *line_cut_middle(char *out, size_t outlen, const char *text, size_t width);

/* Writes the line without its trailing spaces, cut to the width. */
void printer_line(struct printer *p, enum style style, const struct line *l);
void printer_text(struct printer *p, enum style style, const char *text);
/*
 * Adds `item` to the line; if it would stick out, the line is written and a new one indented. One
 * column stays free for a comma after it.
 */
void printer_wrap(struct printer *p, enum style style, struct line *l, const char *item,
		  size_t indent);

#endif
