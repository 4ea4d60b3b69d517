/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells of characters in styles: what a terminal shows, without one. */
#ifndef WS_SINK_TUI_CANVAS_H
#define WS_SINK_TUI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tui_style {
	TUI_PLAIN,
	TUI_DIM,
	TUI_BOLD,
	TUI_BAR,     /* the first line and the keys' names */
	TUI_TAB,     /* the page one is on */
	TUI_HEADING, /* of a section */
	TUI_HEAD,    /* of a column */
	TUI_SORTED,  /* of the one that is sorted by */
	TUI_CURSOR,
	TUI_BAD,
	TUI_GRAPH,
	TUI_HEAT, /* and so many after it: few to many */
	TUI_STYLES = TUI_HEAT + 4,
};

struct tui_cell {
	uint32_t c; /* code point */
	uint8_t style;
	uint8_t width; /* columns it takes; 0: the one to its left covers it */
	uint16_t zero; /* lines are compared as bytes */
};

struct tui_canvas {
	struct tui_cell *v;
	size_t lines, columns, cap;
	bool utf8; /* else ASCII alone is drawn */
};

/* Empties it, at that size. 0 or -ENOMEM, and it has no cells then. */
int tui_canvas_begin(struct tui_canvas *c, size_t lines, size_t columns);
void tui_canvas_free(struct tui_canvas *c);
struct tui_cell *tui_canvas_at(const struct tui_canvas *c, size_t line, size_t column);

/* All of these draw nothing outside, and change nothing beyond `width`. */

void tui_put(struct tui_canvas *c, size_t line, size_t column, uint32_t ch, enum tui_style style);
/* Of names too: bytes are cleaned, what takes no column is replaced. Cut with an ellipsis. Returns
 * the columns drawn. */
size_t tui_text(struct tui_canvas *c, size_t line, size_t column, size_t width,
		enum tui_style style, const char *text);
/* Both ends stay. */
size_t tui_text_middle(struct tui_canvas *c, size_t line, size_t column, size_t width,
		       enum tui_style style, const char *text);
/* Ends at column + width. */
void tui_text_right(struct tui_canvas *c, size_t line, size_t column, size_t width,
		    enum tui_style style, const char *text);
void tui_fill(struct tui_canvas *c, size_t line, size_t column, size_t width, enum tui_style style);
/* A bar of 0 to 8 eighths; a shade of 0 to 4. */
void tui_bar(struct tui_canvas *c, size_t line, size_t column, unsigned int eighths,
	     enum tui_style style);
void tui_shade(struct tui_canvas *c, size_t line, size_t column, unsigned int shade);
/* A code point's bytes, so many. */
size_t tui_utf8(char out[4], uint32_t c);
/* A line as UTF-8 without its trailing spaces, cut to len. */
char *tui_line_text(const struct tui_canvas *c, size_t line, char *out, size_t len);

#endif
