// SPDX-License-Identifier: GPL-2.0-or-later
/* Cutting, wrapping and escaping: by columns and characters, never through one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink/printer.h"
#include "unit.h"

TEST(test_cut)
{
	static const struct {
		const char *text;
		size_t width;
		const char *end_cut, *start_cut;
	} rows[] = {
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "ab…", "…cd"},
		{"abcd", 1, "…", "…"},
		{"abcd", 0, "", ""},
		{"日本語", 6, "日本語", "日本語"},
		{"日本語", 5, "日本…", "…本語"},
		{"日本語", 4, "日…", "…語"}, /* half of a wide character is left off */
		{"é́́b", 2, "é́́b", "é́́b"},	     /* combining marks take no column */
	};
	char out[64];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(line_cut(out, sizeof(out), rows[i].text, rows[i].width),
				    rows[i].end_cut);
		assert_string_equal(line_cut_start(out, sizeof(out), rows[i].text, rows[i].width),
				    rows[i].start_cut);
	}
	assert_string_equal(line_cut_middle(out, sizeof(out), "abcdefghi", 9), "abcdefghi");
	assert_string_equal(line_cut_middle(out, sizeof(out), "abcdefghi", 8), "ab…efghi");
	assert_string_equal(line_cut_middle(out, sizeof(out), "abcdefghi", 3), "a…i");
	assert_string_equal(line_cut_middle(out, sizeof(out), "abcdefghi", 2), "a…");
	assert_string_equal(line_cut_middle(out, sizeof(out), "abcdefghi", 0), "");
	assert_string_equal(line_cut_middle(out, sizeof(out), "日本語日本語", 8), "日…本語");
	/* A buffer too small cuts like a width too small. */
	assert_string_equal(line_cut(out, 8, "日本語日本語", 12), "日…");
	assert_string_equal(line_cut_start(out, 8, "日本語日本語", 12), "…語");
}

TEST(test_line_full)
{
	struct line l;
	int i;

	line_start(&l);
	for (i = 0; i < LINE_BYTES; i++)
		line_add(&l, "語");
	assert_int_equal(l.len % 3, 0); /* no split character */
	assert_int_equal(l.text[l.len], '\0');
	assert_true(l.len < LINE_BYTES && l.len > LINE_BYTES - 5); /* at most one too few */
}

TEST(test_wrap)
{
	struct out out = {.fd = -1};
	struct printer p = {.out = &out, .columns = 12, .variants = 1};
	struct line l;

	line_start(&l);
	line_add(&l, "head:");
	printer_wrap(&p, STYLE_PLAIN, &l, " abc", 2);
	printer_wrap(&p, STYLE_PLAIN, &l, " defg", 2);
	printer_wrap(&p, STYLE_PLAIN, &l, " hij", 2);
	printer_line(&p, STYLE_PLAIN, &l);
	out_put(&out, "", 1);
	assert_string_equal(out.buf, "head: abc\n  defg hij\n");
	assert_int_equal(p.lines[0], 2);
	out_drop(&out);
	free(out.buf);
}

TEST(test_printer)
{
	struct out out = {.fd = -1};
	struct printer p = {.out = &out, .columns = 5, .in_place = true, .variants = 5};

	printer_text(&p, STYLE_BAD, "spaces  ");
	p.color = true;
	printer_text(&p, STYLE_BOLD, "ab");
	printer_text(&p, STYLE_BOLD, "");
	p.quiet = true;
	p.variants = 4;
	printer_text(&p, STYLE_BOLD, "counted, not written");
	out_put(&out, "", 1);
	assert_string_equal(out.buf, "spac…\033[K\n\033[1mab\033[0m\033[K\n\033[K\n");
	assert_int_equal(p.lines[0], 3); /* a line counts for the variants that have it */
	assert_int_equal(p.lines[1], 0);
	assert_int_equal(p.lines[2], 4);
	free(out.buf);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
