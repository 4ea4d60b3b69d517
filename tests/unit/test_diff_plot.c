/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "core/text.h"
#include "diff.h"
#include "unit.h"

TEST(room)
{
	static const struct {
		size_t columns, used, width;
		const char *why;
	} rows[] = {
		{0, 80, 0, "no window"},	{80, 80, 0, "full"},
		{100, 80, 0, "too narrow"},	{101, 80, 21, "the least"},
		{102, 80, 21, "an odd number"}, {103, 80, 23, "one on each side"},
		{300, 80, 61, "the most"},
	};
	struct diff_plot p;

	for (size_t i = 0; i < ROWS(rows); i++) {
		diff_plot_init(&p, rows[i].columns, rows[i].used, false);
		if (p.width != rows[i].width)
			print_error("%s\n", rows[i].why);
		assert_int_equal(p.width, rows[i].width);
	}
}

/* On an axis from 1/2 to 2: ten columns an octave. */
TEST(lines)
{
	static const struct {
		double lo, ratio, hi;
		const char *ascii;
	} rows[] = {
		{0, 0, 0, "          |          "},
		{0, 1.5, 0, "          |          "},
		{1, 1, 1, "          o          "},
		{0.5, 1, 2, "[---------o---------]"},
		{1.149, 1.414, 1.741, "          | [--o--]  "},
		{0.707, 0.758, 0.812, "     [o]  |          "},
		{0.1, 1.414, 25, "<---------|----o---->"},
		{3, 4, 5, "          |         >"},
		{0.1, 0.2, 0.3, "<         |          "},
	};
	const char *utf8 = "◀─────────│────●────▶";
	struct diff_plot p;
	char out[DIFF_PLOT_BYTES];

	diff_plot_init(&p, 21, 0, false);
	diff_plot_reach(&p, &(struct compare_stat){.lo = 0.55, .ratio = 1, .hi = 1.2});
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct compare_stat s = {
			.lo = rows[i].lo, .ratio = rows[i].ratio, .hi = rows[i].hi};

		assert_string_equal(diff_plot_line(&p, &s, out), rows[i].ascii);
		p.utf8 = true;
		assert_int_equal(text_width(diff_plot_line(&p, &s, out)), 21);
		if (rows[i].hi > 20)
			assert_string_equal(out, utf8);
		p.utf8 = false;
	}
	assert_string_equal(diff_plot_head(&p, out), "0.5       1         2");
	diff_plot_init(&p, 1000, 0, true); /* the longest line fits */
	assert_int_equal(
		text_width(diff_plot_line(
			&p, &(struct compare_stat){.lo = 0.01, .ratio = 1, .hi = 99}, out)),
		61);
}

/* The shortest axis that a line needs; the longest there is. */
TEST(reach)
{
	static const struct {
		double lo, hi, ends;
	} rows[] = {
		{0, 0, 1.1}, {0.99, 1.02, 1.1}, {0.99, 1.11, 1.25}, {0.89, 1, 1.25},
		{0.6, 1, 2}, {0.3, 1.5, 4},	{0.1, 9.9, 10},	    {0.01, 50, 10},
	};
	struct diff_plot p;

	for (size_t i = 0; i < ROWS(rows); i++) {
		diff_plot_init(&p, 31, 0, false);
		diff_plot_reach(
			&p, &(struct compare_stat){.lo = rows[i].lo, .ratio = 1, .hi = rows[i].hi});
		assert_true(p.ends > rows[i].ends - 1e-9 && p.ends < rows[i].ends + 1e-9);
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
