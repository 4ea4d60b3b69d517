/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal's model with keys pressed, and what its screen then shows. */
#ifndef WS_TUI_SEEN_H
#define WS_TUI_SEEN_H

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/tui.h"
#include "tui_frames.h"

static struct quantile quantiles[] = {
	{500000000, "50"}, {900000000, "90"}, {990000000, "99"}, {999000000, "99.9"}};

struct seen {
	struct tui t;
	struct config cfg;
	uint32_t lines, columns;
	char text[300 * 100 * 4];
};

static inline struct seen *open_seen(enum by_key by)
{
	struct seen *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->cfg.quantiles = quantiles;
	s->cfg.nquantiles = ROWS(quantiles);
	s->cfg.by = by;
	s->cfg.interval_ns = 1000000000;
	s->lines = 24;
	s->columns = 80;
	tui_open(&s->t, &s->cfg, true, false);
	return s;
}

static inline void close_seen(struct seen *s)
{
	tui_close(&s->t);
	free(s);
}

static inline const char *look(struct seen *s)
{
	size_t at = 0;

	assert_int_equal(tui_draw(&s->t, s->lines, s->columns), 0);
	for (size_t y = 0; y < s->lines; y++) {
		(void)tui_line_text(&s->t.canvas, y, s->text + at, sizeof(s->text) - at - 2);
		at += strlen(s->text + at);
		s->text[at++] = '\n';
	}
	s->text[at] = '\0';
	return s->text;
}

static inline void add(struct seen *s, struct made *m)
{
	assert_int_equal(tui_add(&s->t, &m->f, NULL), 0);
	drop(m); /* what is shown is a copy */
}

static inline void press(struct seen *s, const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(tui_key(&s->t, (uint8_t)*keys), TUI_ASK_NOTHING);
	(void)look(s);
}

static inline void press_key(struct seen *s, uint32_t key)
{
	assert_int_equal(tui_key(&s->t, key), TUI_ASK_NOTHING);
	(void)look(s);
}

#define assert_shows(s, what)                                                        \
	do {                                                                         \
		if (!strstr(look(s), what))                                          \
			fail_msg("'%s' is not on the screen:\n%s", what, (s)->text); \
	} while (0)
#define assert_hides(s, what)                                                    \
	do {                                                                     \
		if (strstr(look(s), what))                                       \
			fail_msg("'%s' is on the screen:\n%s", what, (s)->text); \
	} while (0)

/* The line that has a text; its number. */
static inline size_t line_of(struct seen *s, const char *what)
{
	char line[2048];

	(void)look(s);
	for (size_t y = 0; y < s->lines; y++)
		if (strstr(tui_line_text(&s->t.canvas, y, line, sizeof(line)), what))
			return y;
	fail_msg("no line has '%s':\n%s", what, s->text);
	return 0;
}

#endif
