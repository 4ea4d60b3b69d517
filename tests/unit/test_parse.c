/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers: what is taken, what is refused, and that a refusal quotes the text and exits 2. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "unit.h"

/* A refusal: `ret` as wanted, the words begin with WHAT 'TEXT': expected. */
static void check_refused(int ret, int want, const char *text, const struct err *e)
{
	char start[700];

	snprintf(start, sizeof(start), "--opt '%s': expected ", text);
	assert_int_equal(ret, want);
	assert_int_equal(e->exit, EXIT_USAGE);
	assert_memory_equal(e->text, start, strlen(start));
}

TEST(whole_numbers)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int ret;
		uint64_t v;
		const char *why;
	} rows[] = {
		{"0", 0, 10, 0, 0, "lower end"},
		{"10", 0, 10, 0, 10, "upper end"},
		{"007", 0, 10, 0, 7, "leading zeros, no octal"},
		{"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX, "the largest"},
		{"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0, "one more"},
		{"99999999999999999999999", 0, UINT64_MAX, -ERANGE, 0, "much more"},
		{"11", 0, 10, -ERANGE, 0, "above the range"},
		{"2", 3, 10, -ERANGE, 0, "below the range"},
		{"", 0, 10, -EINVAL, 0, "empty"},
		{"12abc", 0, 100, -EINVAL, 0, "not all of it a number"},
		{"-1", 0, 10, -EINVAL, 0, "a sign"},
		{"+1", 0, 10, -EINVAL, 0, "a sign"},
		{" 1", 0, 10, -EINVAL, 0, "a blank before"},
		{"1 ", 0, 10, -EINVAL, 0, "a blank after"},
		{"1\n", 0, 10, -EINVAL, 0, "a line"},
		{"0x10", 0, 100, -EINVAL, 0, "hexadecimal"},
		{"1.0", 0, 10, -EINVAL, 0, "a decimal"},
		{"1e1", 0, 10, -EINVAL, 0, "an exponent"},
		{"99999999999999999999999x", 0, 10, -EINVAL, 0, "junk weighs more than range"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct err e = {0};
		uint64_t v = 4711;
		int ret = parse_u64(rows[i].text, rows[i].min, rows[i].max, "--opt", &v, &e);

		print_message("%s\n", rows[i].why);
		assert_int_equal(ret, rows[i].ret);
		assert_int_equal(v, ret ? 4711 : rows[i].v);
		if (ret && !strchr(rows[i].text, '\n')) /* that is quoted as \x0a */
			check_refused(ret, rows[i].ret, rows[i].text, &e);
	}
}

TEST(narrow_numbers)
{
	struct err e = {0};
	uint32_t v = 1;

	assert_int_equal(parse_u32("4294967295", 0, UINT32_MAX, "--opt", &v, &e), 0);
	assert_int_equal(v, UINT32_MAX);
	assert_int_equal(parse_u32("4294967296", 0, UINT32_MAX, "--opt", &v, &e), -ERANGE);
	assert_int_equal(v, UINT32_MAX);
	assert_string_equal(e.text,
			    "--opt '4294967296': expected a whole number from 0 to 4294967295");
	assert_int_equal(parse_u32("2", 3, 6, "--opt", &v, NULL), -ERANGE); /* e may be NULL */
}

#define S 1000000000ULL

TEST(times)
{
	static const struct {
		const char *text;
		uint64_t bare_ns;
		int ret;
		uint64_t ns;
		const char *why;
	} rows[] = {
		{"1", S, 0, S, "a bare number has the option's unit"},
		{"10", 1000, 0, 10000, "whatever that is"},
		{"0.5", S, 0, S / 2, "and decimals"},
		{"0.1", S, 0, S / 10, "exactly"},
		{"0.3", S, 0, 300000000, "as no float would"},
		{"1.5s", 1, 0, S + S / 2, "seconds"},
		{"500ns", S, 0, 500, "nanoseconds"},
		{"250us", S, 0, 250000, "microseconds"},
		{"250\xc2\xb5s", S, 0, 250000, "microseconds, as physicists write"},
		{"10ms", S, 0, 10000000, "milliseconds"},
		{"2m", S, 0, 120 * S, "minutes"},
		{"1h", S, 0, 3600 * S, "hours"},
		{"0.000000001", S, 0, 1, "a nanosecond"},
		{"1.000", S, 0, S, "zeros at the end"},
		{"0", S, 0, 0, "0 is a time; options may refuse it"},
		{"0ms", S, 0, 0, "in any unit"},
		{"9223372036854775807ns", S, 0, INT64_MAX, "the longest"},
		{"9223372036854775808ns", S, -ERANGE, 0, "one more"},
		{"9223372037", S, -ERANGE, 0, "in seconds"},
		{"2562048h", S, -ERANGE, 0, "in hours"},
		{"999999999999999999999999h", S, -ERANGE, 0, "no overflow on the way"},
		{"9999999999999999999999999", S, -ERANGE, 0, "too many digits"},
		{"0.0000000001", S, -EINVAL, 0, "finer than a nanosecond"},
		{"1.5ns", S, -EINVAL, 0, "half a nanosecond"},
		{"12abc", S, -EINVAL, 0, "no unit"},
		{"", S, -EINVAL, 0, "empty"},
		{"s", S, -EINVAL, 0, "a unit alone"},
		{".5", S, -EINVAL, 0, "no digit before"},
		{"5.", S, -EINVAL, 0, "no digit after"},
		{"1.2.3", S, -EINVAL, 0, "two points"},
		{"1,5", S, -EINVAL, 0, "a comma"},
		{"-1", S, -EINVAL, 0, "negative"},
		{"1 s", S, -EINVAL, 0, "a blank"},
		{"1S", S, -EINVAL, 0, "units are lower case"},
		{"1e3", S, -EINVAL, 0, "an exponent"},
		{"inf", S, -EINVAL, 0, "infinity"},
		{"1sec", S, -EINVAL, 0, "a longer name"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct err e = {0};
		uint64_t ns = 4711;
		int ret = parse_time_ns(rows[i].text, rows[i].bare_ns, "--opt", &ns, &e);

		print_message("%s\n", rows[i].why);
		assert_int_equal(ret, rows[i].ret);
		assert_int_equal(ns, ret ? 4711 : rows[i].ns);
		if (ret)
			check_refused(ret, rows[i].ret, rows[i].text, &e);
	}
}

TEST(refusal_words)
{
	struct err e = {0};
	uint64_t v;

	parse_time_ns("12abc", S, "--interval", &v, &e);
	assert_string_equal(e.text, "--interval '12abc': expected a time such as 1, 500ms or 2m");
}

/* What is quoted comes from the user, or from who made the user run it. */
TEST(quoting_is_safe)
{
	char text[400], want[600];
	struct err e = {0};
	uint64_t v;

	parse_u64("\033[2J\xff", 0, 9, "--opt", &v, &e);
	assert_string_equal(e.text,
			    "--opt '\\x1b[2J\xef\xbf\xbd': expected a whole number from 0 to 9");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text + 99, "\xe2\x82\xac", 3); /* lies across the cut */
	e = (struct err){0};
	parse_u64(text, 0, 9, "--opt", &v, &e);
	snprintf(want, sizeof(want), "--opt '%.99s...': expected a whole number from 0 to 9", text);
	assert_string_equal(e.text, want);
}

TEST(lists)
{
	static const struct {
		const char *text;
		int ret;
		size_t n;
		uint32_t v[3];
	} rows[] = {
		{"42", 0, 1, {42}},
		{"3,1,2", 0, 3, {3, 1, 2}},
		{"4294967295", 0, 1, {UINT32_MAX}},
		{"4294967296", -ERANGE, 0, {0}},
		{"1,0", -ERANGE, 0, {0}},
		{"", -EINVAL, 0, {0}},
		{",", -EINVAL, 0, {0}},
		{"1,", -EINVAL, 0, {0}},
		{",1", -EINVAL, 0, {0}},
		{"1,,2", -EINVAL, 0, {0}},
		{"1 2", -EINVAL, 0, {0}},
		{"1-3", -EINVAL, 0, {0}},
		{"1,2x", -EINVAL, 0, {0}},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct u32_list l = {0};
		struct err e = {0};
		int ret = parse_u32_list(rows[i].text, "--opt", &l, &e);

		print_message("'%s'\n", rows[i].text);
		assert_int_equal(ret, rows[i].ret);
		assert_int_equal(l.n, rows[i].n);
		if (ret)
			check_refused(ret, rows[i].ret, rows[i].text, &e);
		else
			assert_memory_equal(l.v, rows[i].v, l.n * sizeof(*l.v));
		free(l.v);
	}
}

TEST(lists_append)
{
	static const uint32_t want[] = {1, 2, 3, 9};
	struct u32_list l = {0};
	struct err e = {0};

	assert_int_equal(parse_u32_list("1,2", "--opt", &l, &e), 0);
	assert_int_equal(parse_u32_list("7,8,x", "--opt", &l, &e), -EINVAL);
	assert_int_equal(l.n, 2); /* a refused text leaves nothing behind */
	assert_int_equal(parse_u32_list("3,9", "--opt", &l, &e), 0);
	assert_int_equal(l.n, ROWS(want));
	assert_memory_equal(l.v, want, sizeof(want));
	free(l.v);
}

TEST(cpus)
{
	static const struct {
		const char *text;
		int ret;
		uint32_t nbits;
		uint64_t low; /* CPUs 0 to 63 */
		const char *why;
	} rows[] = {
		{"0", 0, 1, 1, "one"},
		{"0-3,7", 0, 8, 0x8f, "as the kernel prints it"},
		{"7,0-3", 0, 8, 0x8f, "in any order"},
		{"1,1-2,2", 0, 3, 6, "twice is once"},
		{"63", 0, 64, 1ULL << 63, "last of a word"},
		{"0,64", 0, 65, 1, "first of the next"},
		{"8191", 0, 8192, 0, "the last one possible"},
		{"8192", -ERANGE, 0, 0, "one more"},
		{"0-8192", -ERANGE, 0, 0, "as a range"},
		{"99999999999999999999", -ERANGE, 0, 0, "no overflow"},
		{"3-1", -EINVAL, 0, 0, "backwards"},
		{"", -EINVAL, 0, 0, "empty"},
		{"-", -EINVAL, 0, 0, "no numbers"},
		{"1-", -EINVAL, 0, 0, "no end"},
		{"-1", -EINVAL, 0, 0, "no beginning"},
		{"0-1-2", -EINVAL, 0, 0, "two ranges in one"},
		{"0,", -EINVAL, 0, 0, "nothing after the comma"},
		{"0;1", -EINVAL, 0, 0, "another separator"},
		{"all", -EINVAL, 0, 0, "a word"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct cpu_set s = {0};
		struct err e = {0};
		int ret = parse_cpu_list(rows[i].text, "--opt", &s, &e);

		print_message("%s\n", rows[i].why);
		assert_int_equal(ret, rows[i].ret);
		assert_int_equal(s.nbits, rows[i].nbits);
		if (ret)
			check_refused(ret, rows[i].ret, rows[i].text, &e);
		else
			assert_int_equal(s.bits[0], rows[i].low);
	}
}

TEST(cpu_sets)
{
	struct cpu_set s = {0};
	struct err e = {0};

	assert_true(cpu_set_has(&s, 0)); /* no list: all */
	assert_true(cpu_set_has(&s, 100000));
	assert_int_equal(parse_cpu_list("100", "--opt", &s, &e), 0);
	assert_int_equal(parse_cpu_list("2", "--opt", &s, &e), 0); /* joins */
	assert_true(cpu_set_has(&s, 2));
	assert_true(cpu_set_has(&s, 100));
	assert_false(cpu_set_has(&s, 0));
	assert_false(cpu_set_has(&s, 99));
	assert_false(cpu_set_has(&s, 101));
	assert_false(cpu_set_has(&s, UINT32_MAX));
}

TEST(quantiles_taken)
{
	static const struct quantile want[] = {
		{1, "0.0000001"},  {500000000, "50"},	{900000000, "90.0"},
		{990000000, "99"}, {999000000, "99.9"}, {999999999, "99.9999999"},
	};
	struct quantile *q = NULL;
	struct err e = {0};
	size_t n = 0;

	assert_int_equal(parse_quantiles("99.9,50,99,99.9999999,0.0000001,90.0,50.0,99.90", "--opt",
					 &q, &n, &e),
			 0);
	assert_int_equal(n, ROWS(want)); /* ascending, equal ones once */
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(q[i].ppb, want[i].ppb);
		assert_string_equal(q[i].text, want[i].text);
	}
	assert_int_equal(parse_quantiles("101", "--opt", &q, &n, &e), -ERANGE);
	assert_int_equal(n, ROWS(want)); /* a refused text changes nothing */
	assert_int_equal(parse_quantiles("75", "--opt", &q, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_int_equal(q[0].ppb, 750000000);
	free(q);
}

TEST(quantiles_refused)
{
	static const struct {
		const char *text;
		int ret;
		const char *why;
	} rows[] = {
		{"0", -ERANGE, "the minimum is no quantile"},
		{"0.0", -ERANGE, "however written"},
		{"100", -ERANGE, "nor is the maximum"},
		{"101", -ERANGE, "above all"},
		{"50,100.0000001", -ERANGE, "the second of two"},
		{"99999999999999999999999999", -ERANGE, "no overflow"},
		{"99.99999999", -EINVAL, "finer than ppb"},
		{"99.00000000", -EINVAL, "even if only zeros"},
		{"00000000000000050", -EINVAL, "longer than a label"},
		{"", -EINVAL, "empty"},
		{",", -EINVAL, "empty twice"},
		{"50,", -EINVAL, "nothing after the comma"},
		{"p50", -EINVAL, "a letter"},
		{"50%", -EINVAL, "a sign"},
		{"-5", -EINVAL, "negative"},
		{".5", -EINVAL, "no digit before the point"},
		{"5.", -EINVAL, "none after it"},
		{"50 90", -EINVAL, "a blank"},
		{"nan", -EINVAL, "not a number"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct quantile *q = NULL;
		struct err e = {0};
		size_t n = 0;
		int ret = parse_quantiles(rows[i].text, "--opt", &q, &n, &e);

		print_message("%s\n", rows[i].why);
		check_refused(ret, rows[i].ret, rows[i].text, &e);
		assert_null(q);
		assert_int_equal(n, 0);
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
