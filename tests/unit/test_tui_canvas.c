/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The canvas of the terminal's report: what a text looks like where it is put. */
#include <string.h>

#include "sink/tui_canvas.h"
#include "unit.h"

TEST(test_text)
{
	static const struct {
		const char *text;
		size_t width;
		bool ascii;
		const char *shown, *why;
	} rows[] = {
		{"worker", 10, false, "worker", "fits"},
		{"worker/1", 6, false, "worke…", "cut at the end"},
		{"worker/1", 6, true, "worke~", "the same in ASCII"},
		{"a\033[31mred\007", 20, false, "a\\x1b[31mred\\x07",
		 "no byte reaches the terminal"},
		{"bad\377\303(", 10, false, "bad\357\277\275\357\277\275(", "broken UTF-8"},
		{"e\xcc\x81t\xc3\xa9", 10, false, "e\357\277\275t\xc3\xa9",
		 "what stands on another is replaced"},
		{"e\xcc\x81t\xc3\xa9", 10, true, "e?t?", "and in ASCII"},
		{"\xe5\xad\x97\xe5\xad\x97", 3, false, "\xe5\xad\x97…", "two columns each"},
		{"\xe5\xad\x97\xe5\xad\x97", 4, false, "\xe5\xad\x97\xe5\xad\x97", "both fit"},
		{"\xe5\xad\x97", 4, true, "??", "a place for a place in ASCII"},
		{"\xe2\x80\xae"
		 "evil",
		 10, false, "\357\277\275evil", "no bidi override"},
		{"abc", 0, false, "", "no room"},
	};
	struct tui_canvas c = {0};
	char line[128];

	for (size_t i = 0; i < ROWS(rows); i++) {
		c.utf8 = !rows[i].ascii;
		assert_int_equal(tui_canvas_begin(&c, 1, 20), 0);
		assert_true(tui_text(&c, 0, 0, rows[i].width, TUI_PLAIN, rows[i].text) <=
			    rows[i].width);
		if (strcmp(tui_line_text(&c, 0, line, sizeof(line)), rows[i].shown) != 0)
			fail_msg("%s: '%s'", rows[i].why, line);
	}
	tui_text_middle(&c, 0, 0, 10, TUI_PLAIN, "ext4_sb_info.s_es_lock");
	assert_string_equal(tui_line_text(&c, 0, line, sizeof(line)), "ext4_…lock");
	tui_put(&c, 5, 5, 'x', TUI_PLAIN); /* outside */
	tui_text_right(&c, 0, 10, 8, TUI_PLAIN, "12");
	assert_string_equal(tui_line_text(&c, 0, line, sizeof(line)), "ext4_…lock      12");
	tui_canvas_free(&c);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
