// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records from elsewhere in the terminal's model, and keys in between. A line of the input is a
 * record or, if it does not begin with a brace, what somebody does: keys, a byte each (from 128 on
 * those that are no characters), after '@' a size of the window, after '!' clicks. After each line
 * it is drawn: the canvas has its size, and no cell what a terminal obeys or a reader does not see;
 * a wide character covers the cell beside it; where it should be ASCII it is.
 */
#include "fuzz.h"

#include "core/record.h"
#include "core/text.h"
#include "sink/tui.h"

#define LINES_MOST 60
#define COLUMNS_MOST 200

struct window {
	struct tui t;
	uint32_t lines, columns;
	bool utf8, ended;
};

static void check_line(const struct window *w, size_t line)
{
	const struct tui_cell *cell, *left = NULL;

	for (size_t column = 0; column < w->columns; column++, left = cell) {
		cell = tui_canvas_at(&w->t.canvas, line, column);
		MUST(cell && cell->style < TUI_STYLES);
		MUST(cell->width || (left && left->width == 2));
		MUST(cell->width < 2 || column + 1 < w->columns);
		if (!cell->width)
			continue;
		MUST(cell->c >= ' ' && cell->c != 0x7f && (w->utf8 || cell->c < 0x80));
	}
}

static void check_text(const struct window *w, size_t line)
{
	char text[4 * COLUMNS_MOST + 1];
	uint32_t code;

	MUST(tui_line_text(&w->t.canvas, line, text, sizeof(text)) == text);
	MUST(fuzz_utf8_valid(text));
	fuzz_must_show(text);
	for (const char *s = text; *s; s++)
		MUST(!text_unseen(s, &code));
	MUST(text_width(text) <= w->columns);
}

static void draw(struct window *w)
{
	MUST(!tui_draw(&w->t, w->lines, w->columns));
	MUST(w->t.canvas.lines == w->lines && w->t.canvas.columns == w->columns);
	for (size_t line = 0; line < w->lines; line++) {
		check_line(w, line);
		check_text(w, line);
	}
}

static uint32_t key_of(uint8_t byte)
{
	return byte < 0x80 ? byte : TUI_KEY_UP + byte % (TUI_KEY_WHEEL_DOWN - TUI_KEY_UP + 1);
}

static void act(struct window *w, const uint8_t *s, size_t n)
{
	size_t i;

	if (n >= 3 && s[0] == '@') {
		w->lines = 1 + s[1] % LINES_MOST;
		w->columns = 1 + s[2] % COLUMNS_MOST;
	} else if (n && s[0] == '!') {
		for (i = 1; i + 1 < n; i += 2)
			(void)tui_click(&w->t, s[i], s[i + 1]);
	} else {
		for (i = 0; i < n; i++)
			(void)tui_key(&w->t, key_of(s[i]));
	}
}

/* As a sink gets them: nothing comes after the final report. */
static void tell(struct window *w, const struct record *r)
{
	if (w->ended)
		return;
	switch (r->type) {
	case RECORD_META:
		tui_meta(&w->t, &r->meta);
		break;
	case RECORD_SLOW:
		MUST(!tui_slow(&w->t, &r->slow));
		break;
	case RECORD_INTERVAL:
	case RECORD_FINAL:
		w->ended = r->type == RECORD_FINAL;
		MUST(!tui_add(&w->t, &r->frame, r->frame.seq & 1 ? &r->frame : NULL));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct quantile q[] = {{500000000, "50"}, {990000000, "99"}};
	const struct config cfg = {.quantiles = q,
				   .nquantiles = 2,
				   .by = BY_PID,
				   .rows = 5,
				   .list_rows = 5,
				   .interval_ns = 1000000000};
	struct window w = {.lines = 24, .columns = 80, .utf8 = size & 1};
	const uint8_t *end = data + size, *eol;
	struct err e = {0};
	struct record r;

	record_init(&r);
	tui_open(&w.t, &cfg, w.utf8, size & 2);
	for (; data < end; data = eol + 1) {
		size_t n;

		eol = memchr(data, '\n', (size_t)(end - data));
		eol = eol ? eol : end;
		n = (size_t)(eol - data);
		if (!n || *data != '{') {
			act(&w, data, n);
		} else {
			char *line = fuzz_string(data, n);

			if (!record_read(&r, line, n, &e))
				tell(&w, &r);
			free(line);
		}
		draw(&w);
		if (eol == end)
			break;
	}
	tui_close(&w.t);
	record_free(&r);
	return 0;
}
