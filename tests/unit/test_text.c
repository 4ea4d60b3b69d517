/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Safe printing and numbers for people; the parsers are in test_parse.c. */
#include <string.h>

#include "core/text.h"
#include "unit.h"

#define BAD "\xef\xbf\xbd" /* U+FFFD */

struct text_row {
	const char *in, *clean, *utf8;
	const char *why;
};

static const struct text_row text_rows[] = {
	{"", "", "", "nothing"},
	{"worker/1", "worker/1", "worker/1", "ASCII stays"},
	{"\"q\"<b>&'\\", "\"q\"<b>&'\\", "\"q\"<b>&'\\", "quoting is the format's work"},
	{"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7", "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7",
	 "h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7", "2, 3 and 4 bytes"},
	{"a\033[31mb", "a\\x1b[31mb", "a\033[31mb", "colour"},
	{"\033]0;x\007", "\\x1b]0;x\\x07", "\033]0;x\007", "window title"},
	{"\t\r\n\b\x7f\x01", "\\x09\\x0d\\x0a\\x08\\x7f\\x01", "\t\r\n\b\x7f\x01", "control bytes"},
	{"\xc2\x9b"
	 "31m",
	 BAD "31m",
	 "\xc2\x9b"
	 "31m",
	 "C1: CSI as a character"},
	{"\xc2\x80\xc2\x9f\xc2\xa0", BAD BAD "\xc2\xa0", "\xc2\x80\xc2\x9f\xc2\xa0",
	 "C1 ends at 9F"},
	{"\x9b"
	 "31m",
	 BAD "31m", BAD "31m", "C1: CSI as a byte"},
	{"a\xe2\x80\xaa\xe2\x80\xae"
	 "b",
	 "a" BAD BAD "b",
	 "a\xe2\x80\xaa\xe2\x80\xae"
	 "b",
	 "bidi embedding and override"},
	{"\xe2\x81\xa6\xe2\x81\xa9", BAD BAD, "\xe2\x81\xa6\xe2\x81\xa9", "bidi isolates"},
	{"\xe2\x80\xa9\xe2\x80\x8f", BAD BAD, "\xe2\x80\xa9\xe2\x80\x8f", "paragraph, RTL mark"},
	{"\xff\xfe", BAD BAD, BAD BAD, "bytes UTF-8 never has"},
	{"\xc0\xaf", BAD BAD, BAD BAD, "overlong /"},
	{"\xc1\xbf", BAD BAD, BAD BAD, "overlong DEL"},
	{"\xe0\x9f\xbf", BAD BAD BAD, BAD BAD BAD, "overlong, 3 bytes"},
	{"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD, BAD BAD BAD BAD, "overlong, 4 bytes"},
	{"\xe0\x80\x9b", BAD BAD BAD, BAD BAD BAD, "overlong ESC"},
	{"\xed\xa0\x80", BAD BAD BAD, BAD BAD BAD, "first surrogate"},
	{"\xed\xbf\xbf", BAD BAD BAD, BAD BAD BAD, "last surrogate"},
	{"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80",
	 "their neighbours are characters"},
	{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", "U+10FFFF"},
	{"\xf4\x90\x80\x80", BAD BAD BAD BAD, BAD BAD BAD BAD, "past it"},
	{"\xf5\x80\x80\x80", BAD BAD BAD BAD, BAD BAD BAD BAD, "far past it"},
	{"\xc3", BAD, BAD, "cut after 1 of 2"},
	{"\xe2\x82", BAD, BAD, "cut after 2 of 3: one mark"},
	{"\xf0\x9f\x90", BAD, BAD, "cut after 3 of 4: one mark"},
	{"\xe2\x82\033", BAD "\\x1b", BAD "\033", "a broken one swallows nothing"},
	{"\xc3\"x", BAD "\"x", BAD "\"x", "nor a quote"},
	{"\xe2\xc3\xa9", BAD "\xc3\xa9", BAD "\xc3\xa9", "nor a good one"},
};

TEST(clean_and_utf8)
{
	char out[64];

	for (size_t i = 0; i < ROWS(text_rows); i++) {
		const struct text_row *r = &text_rows[i];

		print_message("%s\n", r->why);
		assert_ptr_equal(text_clean(out, sizeof(out), r->in, SIZE_MAX), out);
		assert_string_equal(out, r->clean);
		assert_ptr_equal(text_utf8(out, sizeof(out), r->in, SIZE_MAX), out);
		assert_string_equal(out, r->utf8);
	}
}

TEST(characters)
{
	assert_int_equal(text_char("a\xc3\xa9", 3), 1);
	assert_int_equal(text_char("\xc3\xa9", 2), 2);
	assert_int_equal(text_char("\xf0\x9f\x90\xa7\"", 5), 4);
	assert_int_equal(text_char("\xc3\xa9", 1), 0); /* half of it */
	assert_int_equal(text_char("\xff", 1), 0);
	assert_int_equal(text_char("\xed\xa0\x80", 3), 0); /* a surrogate */
	assert_int_equal(text_char("", 0), 0);
}

/* Every byte, alone: what comes out has no byte a terminal acts on. */
TEST(every_byte)
{
	char out[8];

	for (int b = 1; b < 256; b++) {
		char in[] = {(char)b, '\0'};

		text_clean(out, sizeof(out), in, 1);
		for (const char *p = out; *p; p++) {
			assert_true((unsigned char)*p >= 0x20);
			assert_int_not_equal(*p, 0x7f);
		}
		if (b >= 0x80)
			assert_string_equal(out, BAD);
	}
}

/* Room for k bytes: as many whole characters as fit, always an end. */
TEST(narrow_room)
{
	static const struct {
		size_t room;
		const char *out;
	} rows[] = {
		{1, ""},
		{2, "a"},
		{3, "a"},
		{4, "a\xc3\xa9"},
		{5, "a\xc3\xa9"},
		{7, "a\xc3\xa9"},
		{8, "a\xc3\xa9\\x1b"},
	};
	char out[16];

	for (size_t i = 0; i < ROWS(rows); i++) {
		memset(out, '#', sizeof(out));
		text_clean(out, rows[i].room, "a\xc3\xa9\033", SIZE_MAX);
		assert_string_equal(out, rows[i].out);
		assert_int_equal(out[rows[i].room], '#');
	}
	out[0] = '#';
	text_clean(out, 0, "a", SIZE_MAX);
	assert_int_equal(out[0], '#');
}

/* Kernel fields need no NUL, and may have one early. */
TEST(bounded_input)
{
	static const char field[4] = {'a', 'b', '\0', 'c'};
	static const char full[3] = {'x', '\xc3', '\xa9'};
	char out[16];

	assert_string_equal(text_clean(out, sizeof(out), field, sizeof(field)), "ab");
	assert_string_equal(text_clean(out, sizeof(out), full, sizeof(full)), "x\xc3\xa9");
	assert_string_equal(text_utf8(out, sizeof(out), full, 2), "x" BAD);
	assert_string_equal(text_utf8(out, sizeof(out), full, 0), "");
}

/* Characters that have to be escaped, and their neighbours that have not. */
TEST(unseen)
{
	static const struct {
		const char *text;
		size_t bytes;
		uint32_t code;
	} rows[] = {
		{"\x01", 1, 1},
		{"\x1b[2J", 1, 0x1b},
		{"\x7f", 1, 0x7f},
		{" ", 0, 0},
		{"~", 0, 0},
		{"\xc2\x80", 2, 0x80},
		{"\xc2\x9f", 2, 0x9f},
		{"\xc2\xa0", 0, 0},
		{"\xe2\x80\xa8", 3, 0x2028},
		{"\xe2\x80\xae", 3, 0x202e},
		{"\xe2\x80\xaf", 0, 0},
		{"\xe2\x81\xa6", 3, 0x2066},
		{"\xe2\x81\xaa", 3, 0x206a},
		{"\xe2\x81\xb0", 0, 0},
		{"\xd8\x9c", 2, 0x61c},
		{"\xe2\x80\x8b", 3, 0x200b},
		{"\xef\xbb\xbf", 3, 0xfeff},
		{"\xe2\x80", 0, 0},
		{"語", 0, 0},
		{"\xf0\x9f\x90\xa7", 0, 0},
		{"\xf3\xa0\x81\x81", 4, 0xe0041},
		{"\xf3\xa0\x81", 0, 0},
		{"", 0, 0},
	};
	uint32_t code;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		assert_int_equal(text_unseen(rows[i].text, &code), rows[i].bytes);
		if (rows[i].bytes)
			assert_int_equal(code, rows[i].code);
	}
}

static size_t utf8_of(char out[5], uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

	for (i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
	out[n] = '\0';
	return n;
}

/*
 * Of every character there is: what Unicode (of the version Python has) says a reader cannot see is
 * escaped, what it says can be seen is not; of what had no meaning yet then nothing is said.
 */
TEST(unseen_as_unicode_says)
{
	enum { SURE, MAYBE, SEEN };
	static const struct {
		uint32_t first, last;
		int kind;
	} rows[] = {
#include "unseen.inc"
	};
	uint32_t c, code;
	char text[5], clean[8];

	for (size_t i = 0; i < ROWS(rows); i++) {
		for (c = rows[i].first; c <= rows[i].last; c++) {
			size_t n = utf8_of(text, c), took = text_unseen(text, &code);

			if (c >= 0xd800 && c < 0xe000) /* surrogates are no characters */
				assert_int_equal(took, 0);
			else if (rows[i].kind != MAYBE)
				assert_int_equal(took, rows[i].kind == SURE ? n : 0);
			text_clean(clean, sizeof(clean), text, SIZE_MAX);
			assert_int_equal(text_unseen(clean, &code), 0);
		}
	}
}

TEST(width)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *why;
	} rows[] = {
		{"", 0, "nothing"},
		{"abc", 3, "ASCII"},
		{"h\xc3\xa9", 2, "2 bytes, 1 column"},
		{"e\xcc\x81", 1, "a combining accent takes none"},
		{"\xe6\xbc\xa2\xe5\xad\x97", 4, "Han takes two"},
		{"\xea\xb0\x80", 2, "Hangul takes two"},
		{"\xf0\x9f\x90\xa7", 2, "a penguin takes two"},
		{BAD, 1, "U+FFFD"},
		{"\\x1b", 4, "an escaped byte"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		print_message("%s\n", rows[i].why);
		assert_int_equal(text_width(rows[i].text), rows[i].columns);
	}
}

TEST(count)
{
	static const struct {
		uint64_t v;
		const char *text;
	} rows[] = {
		{0, "0"},
		{999, "999"},
		{1000, "1,000"},
		{12904, "12,904"},
		{100000, "100,000"},
		{1234567, "1,234,567"},
		{UINT64_MAX, "18,446,744,073,709,551,615"},
	};
	char out[32];

	for (size_t i = 0; i < ROWS(rows); i++)
		assert_string_equal(format_count(out, sizeof(out), rows[i].v), rows[i].text);
	assert_string_equal(format_count(out, 4, 12904), "12,"); /* cut, with its end */
}

TEST(share)
{
	static const struct {
		uint64_t part, all;
		int most;
		const char *text, *why;
	} rows[] = {
		{0, 0, SHARE_EXACT, "-", "of nothing"},
		{0, 7, SHARE_EXACT, "0", "none"},
		{7, 7, SHARE_EXACT, "100", "all"},
		{1, 2, SHARE_EXACT, "50.0", "half"},
		{1, 3, SHARE_EXACT, "33.3", "one decimal"},
		{2, 3, SHARE_EXACT, "66.7", "rounded"},
		{1, 1000, SHARE_EXACT, "0.1", "last with one decimal"},
		{1, 1112, SHARE_EXACT, "0.09", "more, as it would be 0.0"},
		{999, 1000, SHARE_EXACT, "99.9", "the same from above"},
		{1111419, 1111429, SHARE_EXACT, "99.9991", "a miss in a hundred thousand"},
		{10, 1111429, SHARE_EXACT, "0.0009", "and its share"},
		{1000000, 1000001, SHARE_EXACT, "99.9999", "no zero at the end"},
		{1, 1000001, SHARE_EXACT, "0.0001", "nor here"},
		{1, UINT64_MAX, SHARE_EXACT, "0.000000001", "rarer: not 0 at least"},
		{UINT64_MAX - 1, UINT64_MAX, SHARE_EXACT, "99.999999999", "nor all"},
		{1, 100000, 1, "0.1", "with one decimal: not 0"},
		{99999, 100000, 1, "99.9", "nor 100"},
		{2, 3, 0, "67", "whole"},
		{1, 1000, 0, "1", "whole: not 0"},
		{999, 1000, 0, "99", "whole: nor 100"},
		{7, 7, 0, "100", "whole: all"},
	};
	char out[32];

	for (size_t i = 0; i < ROWS(rows); i++) {
		print_message("%s\n", rows[i].why);
		assert_string_equal(
			format_share(out, sizeof(out), rows[i].part, rows[i].all, rows[i].most),
			rows[i].text);
	}
}

TEST(time_share)
{
	static const struct {
		uint64_t ns, dur_ns;
		const char *text, *why;
	} rows[] = {
		{1, 0, "-", "of no time"},
		{0, 1000000000, "0", "nothing"},
		{1, 1000000000, "0.01", "not 0 at least"},
		{940000, 1000000000, "0.09", "two decimals"},
		{950001, 1000000000, "0.1", "one"},
		{674000000, 1000000000, "67.4", "one task"},
		{999499999, 1000000000, "99.9", "not all"},
		{1000000000, 1000000000, "100", "all the time"},
		{1000499999, 1000000000, "100", "but for a hair"},
		{1001000000, 1000000000, "1.0x", "no share is above 100"},
		{3674000000, 1000000000, "3.7x", "several tasks"},
		{9949000000, 1000000000, "9.9x", "the last with a decimal"},
		{9950000000, 1000000000, "10x", "whole"},
		{1234000000000, 1000000000, "1,234x", "thousands"},
	};
	char out[32];

	for (size_t i = 0; i < ROWS(rows); i++) {
		print_message("%s\n", rows[i].why);
		assert_string_equal(format_time_share(out, sizeof(out), rows[i].ns, rows[i].dur_ns),
				    rows[i].text);
	}
}

TEST(rate)
{
	static const struct {
		uint64_t n, dur_ns;
		const char *text;
	} rows[] = {
		{0, 1000000000, "0"},	      {5, 0, "-"},
		{1, 1000000000, "1.0"},	      {99, 10000000000, "9.9"},
		{100, 10000000000, "10"},     {1234, 1000000000, "1,234"},
		{1, 10000000000, "0.1"},      {1, 60000000000, "0.02"},
		{1, 3600000000000, "0.0003"}, {UINT64_MAX, 1, "18,446,744,073,709,551,615"},
	};
	char out[32];

	for (size_t i = 0; i < ROWS(rows); i++)
		assert_string_equal(format_rate(out, sizeof(out), rows[i].n, rows[i].dur_ns),
				    rows[i].text);
}

TEST(time_in_unit)
{
	static const struct {
		uint64_t ns;
		enum unit unit;
		const char *text, *why;
	} rows[] = {
		{0, UNIT_US, "0", "nothing"},
		{1, UNIT_US, "0.001", "1 ns is not 0"},
		{50, UNIT_US, "0.05", "nor rounded up to 0.1"},
		{99, UNIT_US, "0.099", "last below a tenth"},
		{100, UNIT_US, "0.1", "a tenth"},
		{149, UNIT_US, "0.1", "half up: below"},
		{150, UNIT_US, "0.2", "half up: at"},
		{900, UNIT_AUTO, "0.9", "usec is the default"},
		{5100, UNIT_US, "5.1", "one decimal"},
		{41000, UNIT_US, "41.0", "also when it is 0: columns line up"},
		{99949, UNIT_US, "99.9", "last below 100"},
		{99950, UNIT_US, "100", "rounds to 100: no decimal"},
		{125499, UNIT_US, "125", "whole from 100 on"},
		{999999, UNIT_US, "1,000", "rounds to a thousand"},
		{1708000, UNIT_US, "1,708", "commas"},
		{UINT64_MAX, UNIT_US, "18,446,744,073,709,552", "no overflow"},
		{UINT64_MAX, UNIT_MS, "18,446,744,073,710", "nor here"},
		{123, UNIT_NS, "123", "ns are whole"},
		{1234, UNIT_NS, "1,234", "with commas"},
		{1500000, UNIT_MS, "1.5", "msec"},
		{123456, UNIT_MS, "0.1", "a tenth of a msec"},
		{5000, UNIT_MS, "0.005", "5 us in msec"},
		{99999, UNIT_MS, "0.1", "rounds to a tenth"},
		{123, UNIT_MS, "0.00012", "two digits of 123 ns"},
	};
	char out[32];

	for (size_t i = 0; i < ROWS(rows); i++) {
		print_message("%s\n", rows[i].why);
		assert_string_equal(format_time(out, sizeof(out), rows[i].ns, rows[i].unit),
				    rows[i].text);
	}
	assert_string_equal(unit_name(UNIT_AUTO), "usec");
	assert_string_equal(unit_name(UNIT_NS), "nsec");
	assert_string_equal(unit_name(UNIT_US), "usec");
	assert_string_equal(unit_name(UNIT_MS), "msec");
}

TEST(duration)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1.0 us"},
		{12345, "12.3 us"},
		{999499, "999 us"},
		{999500, "1.0 ms"},
		{12300000, "12.3 ms"},
		{125000000, "125 ms"},
		{999500000, "1.0 s"},
		{1500000000, "1.5 s"},
		{7200000000000, "7,200 s"},
	};
	char out[32];

	for (size_t i = 0; i < ROWS(rows); i++)
		assert_string_equal(format_duration(out, sizeof(out), rows[i].ns), rows[i].text);
}

TEST(rfc3339)
{
	static const struct {
		int64_t sec;
		uint32_t nsec;
		const char *text;
	} rows[] = {
		{0, 0, "1970-01-01T00:00:00.000000000Z"},
		{1795231760, 123456789, "2026-11-21T03:29:20.123456789Z"},
		{1709164800, 1, "2024-02-29T00:00:00.000000001Z"},
		{-1, 999999999, "1969-12-31T23:59:59.999999999Z"},
		{-62167219200, 0, "0000-01-01T00:00:00.000000000Z"},
		{253402300799, 0, "9999-12-31T23:59:59.000000000Z"},
		{INT64_MAX, 0, "9999-12-31T23:59:59.000000000Z"},
		{INT64_MIN, 0, "0000-01-01T00:00:00.000000000Z"},
	};
	char out[40];

	for (size_t i = 0; i < ROWS(rows); i++)
		assert_string_equal(format_rfc3339(out, sizeof(out), rows[i].sec, rows[i].nsec),
				    rows[i].text);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
