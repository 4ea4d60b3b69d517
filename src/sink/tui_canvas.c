// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/tui_canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define ELLIPSIS 0x2026
#define REPLACEMENT 0xfffd
#define CLEAN_BYTES 4096

static const struct {
	uint32_t c;
	char ascii;
} in_ascii[] = {
	{ELLIPSIS, '~'}, {0x2502, '|'}, {0x2500, '-'}, {0x2514, '+'}, {0x25bc, 'v'}, {0x25b2, '^'},
	{0x2022, '*'},	 {0x2190, '<'}, {0x2192, '>'}, {0x2191, '^'}, {0x2193, 'v'}, {0xb7, '.'},
};

int tui_canvas_begin(struct tui_canvas *c, size_t lines, size_t columns)
{
	struct tui_cell *v = c->v;

	if (lines * columns > c->cap) {
		v = realloc(c->v, lines * columns * sizeof(*v));
		if (!v) {
			c->lines = c->columns = 0;
			return -ENOMEM;
		}
		c->v = v;
		c->cap = lines * columns;
	}
	c->lines = lines;
	c->columns = columns;
	for (size_t i = 0; i < lines * columns; i++)
		v[i] = (struct tui_cell){.c = ' ', .width = 1};
	return 0;
}

void tui_canvas_free(struct tui_canvas *c)
{
	free(c->v);
	*c = (struct tui_canvas){0};
}

struct tui_cell *tui_canvas_at(const struct tui_canvas *c, size_t line, size_t column)
{
	return line < c->lines && column < c->columns ? &c->v[line * c->columns + column] : NULL;
}

static uint32_t shown(const struct tui_canvas *c, uint32_t ch)
{
	if (c->utf8 || ch < 0x80)
		return ch;
	for (size_t i = 0; i < sizeof(in_ascii) / sizeof(in_ascii[0]); i++)
		if (in_ascii[i].c == ch)
			return (uint32_t)in_ascii[i].ascii;
	return '?';
}

static size_t put_wide(struct tui_canvas *c, size_t line, size_t column, uint32_t ch, size_t width,
		       enum tui_style style)
{
	struct tui_cell *cell = tui_canvas_at(c, line, column);

	ch = shown(c, ch);
	if (!cell)
		return 0;
	if (ch < 0x80 || width == 1 || column + 2 > c->columns) {
		*cell = (struct tui_cell){.c = ch, .style = (uint8_t)style, .width = 1};
		return 1;
	}
	cell[0] = (struct tui_cell){.c = ch, .style = (uint8_t)style, .width = 2};
	cell[1] = (struct tui_cell){.c = ' ', .style = (uint8_t)style, .width = 0};
	return 2;
}

void tui_put(struct tui_canvas *c, size_t line, size_t column, uint32_t ch, enum tui_style style)
{
	(void)put_wide(c, line, column, ch, 1, style);
}

/* The code point of a clean character of n bytes. */
static uint32_t code_point(const char *s, size_t n)
{
	uint32_t c = (uint8_t)s[0];

	if (n > 1)
		c &= 0x7fU >> n;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((uint8_t)s[i] & 0x3f);
	return c;
}

/* The next character of a clean text; *width: columns. */
static size_t next(const char *s, uint32_t *c, size_t *width)
{
	char one[8] = "";
	size_t n;

	if ((uint8_t)*s < 0x80) { /* nearly all there are */
		*c = (uint8_t)*s;
		*width = 1;
		return 1;
	}
	n = text_char(s, strnlen(s, 4));
	if (!n)
		n = 1; /* of no character: text_clean leaves none */
	memcpy(one, s, n);
	*c = code_point(one, n);
	*width = text_width(one);
	if (*width)
		return n;
	*c = REPLACEMENT; /* it would stand on the character before */
	*width = 1;
	return n;
}

/* As text_width, but that each character takes a column. */
static size_t width_of(const char *s)
{
	size_t all = 0, width;
	uint32_t c;

	while (*s) {
		s += next(s, &c, &width);
		all += width;
	}
	return all;
}

/* Characters of a clean text from a column of it on; returns the columns drawn. */
static size_t draw(struct tui_canvas *c, size_t line, size_t column, size_t from, size_t width,
		   enum tui_style style, const char *s)
{
	size_t at = 0, drawn = 0, w;
	uint32_t ch;

	while (*s) {
		s += next(s, &ch, &w);
		if (at >= from) {
			if (drawn + w > width)
				break;
			(void)put_wide(c, line, column + drawn, ch, w, style);
			if (w == 2 && !c->utf8)
				tui_put(c, line, column + drawn + 1, '?', style);
			drawn += w;
		}
		at += w;
	}
	return drawn;
}

static size_t draw_cut(struct tui_canvas *c, size_t line, size_t column, size_t width,
		       enum tui_style style, const char *text, bool middle)
{
	char clean[CLEAN_BYTES];
	size_t all, left, right;

	if (!width)
		return 0;
	text_clean(clean, sizeof(clean), text, SIZE_MAX);
	all = width_of(clean);
	if (all <= width)
		return draw(c, line, column, 0, width, style, clean);
	left = middle ? width / 2 : width - 1;
	right = width - 1 - left;
	left = draw(c, line, column, 0, left, style, clean);
	tui_put(c, line, column + left, ELLIPSIS, style);
	if (right)
		(void)draw(c, line, column + left + 1, all - right, right, style, clean);
	return width;
}

size_t tui_text(struct tui_canvas *c, size_t line, size_t column, size_t width,
		enum tui_style style, const char *text)
{
	return draw_cut(c, line, column, width, style, text, false);
}

size_t tui_text_middle(struct tui_canvas *c, size_t line, size_t column, size_t width,
		       enum tui_style style, const char *text)
{
	return draw_cut(c, line, column, width, style, text, true);
}

void tui_text_right(struct tui_canvas *c, size_t line, size_t column, size_t width,
		    enum tui_style style, const char *text)
{
	char clean[CLEAN_BYTES];
	size_t all;

	text_clean(clean, sizeof(clean), text, SIZE_MAX);
	all = width_of(clean);
	if (all > width)
		(void)tui_text(c, line, column, width, style, text);
	else
		(void)draw(c, line, column + width - all, 0, all, style, clean);
}

void tui_fill(struct tui_canvas *c, size_t line, size_t column, size_t width, enum tui_style style)
{
	for (size_t i = column; i < column + width && i < c->columns; i++) {
		struct tui_cell *cell = tui_canvas_at(c, line, i);

		if (cell)
			cell->style = (uint8_t)style;
	}
}

void tui_bar(struct tui_canvas *c, size_t line, size_t column, unsigned int eighths,
	     enum tui_style style)
{
	static const char ascii[] = " ..--==##";

	if (!eighths)
		return;
	if (eighths > 8)
		eighths = 8;
	tui_put(c, line, column, c->utf8 ? 0x2580 + eighths : (uint32_t)ascii[eighths], style);
}

void tui_shade(struct tui_canvas *c, size_t line, size_t column, unsigned int shade)
{
	static const uint32_t blocks[] = {' ', 0x2591, 0x2592, 0x2593, 0x2588};
	static const char ascii[] = " .:*#";

	if (shade > 4)
		shade = 4;
	if (shade)
		tui_put(c, line, column, c->utf8 ? blocks[shade] : (uint32_t)ascii[shade],
			TUI_HEAT + shade - 1);
}

size_t tui_utf8(char out[4], uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	unsigned int shift = (unsigned int)(6 * (n - 1));

	out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xf0) | c >> shift);
	for (size_t i = 1; i < n; i++) {
		shift -= 6;
		out[i] = (char)(0x80 | (c >> shift & 0x3f));
	}
	return n;
}

char *tui_line_text(const struct tui_canvas *c, size_t line, char *out, size_t len)
{
	size_t at = 0, end = 0;
	char bytes[4];

	for (size_t x = 0; x < c->columns; x++) {
		const struct tui_cell *cell = tui_canvas_at(c, line, x);
		size_t n = cell && cell->width ? tui_utf8(bytes, cell->c) : 0;

		if (at + n >= len)
			break;
		memcpy(out + at, bytes, n);
		at += n;
		if (n && bytes[0] != ' ')
			end = at;
	}
	out[end] = '\0';
	return out;
}
