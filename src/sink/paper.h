/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of text for people: measured in columns, cut with an ellipsis, coloured as a whole. */
#ifndef WS_SINK_PAPER_H
#define WS_SINK_PAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink/out.h"

#define LINE_BYTES 4096

enum style { STYLE_PLAIN, STYLE_DIM, STYLE_BOLD, STYLE_HEADLINE, STYLE_BAD };

struct paper {
	struct out *out;
	uint32_t columns;
	bool color;
	bool in_place; /* a line clears what it does not cover */
	bool quiet;    /* lines are counted, not written */
	uint32_t lines;
};

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

/* Writes the line without its trailing spaces, cut to the paper. */
void paper_line(struct paper *p, enum style style, const struct line *l);
void paper_text(struct paper *p, enum style style, const char *text);
/*
 * Adds `item` to the line; if it would stick out, the line is written and a new one indented. One
 * column stays free for a comma after it.
 */
void paper_wrap(struct paper *p, enum style style, struct line *l, const char *item, size_t indent);

#endif
