/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "unit.h"

/* A text of its own, so that reading past its end is seen. */
static int read_text(const struct json **v, const char *text, size_t len, struct arena *a,
		     char **copy, struct err *e)
{
	*copy = malloc(len + 1);
	assert_non_null(*copy);
	memcpy(*copy, text, len);
	(*copy)[len] = '\0';
	return json_read(v, *copy, len, a, e);
}

static const struct {
	const char *text;
	const char *words; /* of the error; NULL: it is JSON */
} texts[] = {
	{"0", NULL},
	{" \t\r\n[ 1 , 2 ] ", NULL},
	{"[]", NULL},
	{"{}", NULL},
	{"{\"a\":{\"b\":[true,false,null,\"\",-1,1.5e-3,[1,2]]}}", NULL},
	{"[[[[[[[[[[[[\"a\"]]]]]]]]]]]]", NULL},
	{"\"\\u0041\\\"\\\\\\/\\b\\f\\n\\r\\t\x7f\"", NULL},
	{"[-0,-0.0,0e0,0E+1,1e-1]", NULL},
	{"", "too early"},
	{" ", "too early"},
	{"{", "too early"},
	{"[1", "too early"},
	{"[1,", "too early"},
	{"\"a", "too early"},
	{"\"\\", "too early"},
	{"\"\\u12", "too early"},
	{"tru", "too early"},
	{"-", "at byte 0"},
	{"[[[[[[[[[[[[[\"a\"]]]]]]]]]]]]]", "at byte 13: expected fewer"},
	{"1 2", "at byte 2: expected its end"},
	{"[1,]", "at byte 3"},
	{"[,1]", "at byte 1"},
	{"[1,,2]", "at byte 3"},
	{"[ 1 , 2\t,\r\n3 ]", NULL},
	{"[ ]", NULL},
	{"[1, ]", "at byte 4"},
	{"[ , 1]", "at byte 2"},
	{"[1, 02]", "at byte 4"},
	{"[1, 2 3]", "at byte 6: expected a comma or ]"},
	{"[1, 2 ", "too early"},
	{"[\"a\",]", "at byte 5"},
	{"[1 2]", "at byte 3: expected a comma or ]"},
	{"[1}", "at byte 2"},
	{"{\"a\"}", "at byte 4: expected a colon"},
	{"{\"a\":1,}", "at byte 7: expected a key"},
	{"{a:1}", "at byte 1: expected a key"},
	{"{'a':1}", "at byte 1"},
	{"{\"a\":1 \"b\":2}", "at byte 7: expected a comma or }"},
	{"01", "at byte 0"},
	{"[01]", "at byte 1"},
	{"[1,02]", "at byte 3"},
	{"-01", "at byte 0"},
	{"+1", "at byte 0"},
	{".5", "at byte 0"},
	{"[1.]", "at byte 1"},
	{"[1e]", "at byte 1"},
	{"[1e+]", "at byte 1"},
	{"[0x1]", "at byte 2"},
	{"NaN", "at byte 0"},
	{"Infinity", "at byte 0"},
	{"True", "at byte 0"},
	{"nul1", "at byte 3: expected true, false or null"},
	{"truex", "at byte 4"},
	{"\"a\nb\"", "at byte 2: expected a text without control characters"},
	{"\"\\x\"", "at byte 2: expected an escape"},
	{"\"\\u12g4\"", "at byte 5: expected four hexadecimal digits"},
	{"\"\xff\"", "no UTF-8 at byte 1"},
	{"\"ab\xc3\"", "no UTF-8 at byte 3"},
	{"\"\xed\xa0\x80\"", "no UTF-8 at byte 1"},
	{"// 1", "at byte 0"},
	{"\xef\xbb\xbf{}", "at byte 0"},
};

TEST(strict)
{
	struct arena a = {0};
	const struct json *v;
	size_t i;

	for (i = 0; i < ROWS(texts); i++) {
		struct err e = {0};
		char *copy;
		int ret = read_text(&v, texts[i].text, strlen(texts[i].text), &a, &copy, &e);

		if (!ret != !texts[i].words || (ret && !strstr(e.text, texts[i].words)))
			fail_msg("%s: %d '%s', expected '%s'", texts[i].text, ret, e.text,
				 texts[i].words ? texts[i].words : "JSON");
		if (ret)
			assert_int_equal(ret, -EINVAL);
		free(copy);
		arena_reset(&a);
	}
	arena_free(&a);
}

/* Cut off anywhere, it ends too early, and nothing past its end is looked at. */
TEST(cut)
{
	static const char text[] = "{\"a\":[12,[-1.5e+3,\"x\\u00e9\xc3\xa9\\n\"],{\"b\":null}]}";
	struct arena a = {0};
	const struct json *v;
	size_t len;

	for (len = 0; len + 1 < sizeof(text) - 1; len++) {
		struct err e = {0};
		char *copy;

		assert_int_equal(read_text(&v, text, len, &a, &copy, &e), -EINVAL);
		assert_true(strstr(e.text, "too early") || strstr(e.text, "no UTF-8") ||
			    strstr(e.text, "expected a value"));
		free(copy);
		arena_reset(&a);
	}
	arena_free(&a);
}

TEST(values)
{
	static const char text[] =
		"{\"wide\": [ 0 ,\t7,\r\n18446744073709551615 ], \"none in\": [ ], "
		"\"n\":[0,7,18446744073709551615],\"big\":[1,18446744073709551616],"
		"\"mixed\":[1,\"x\"],\"whole\":18446744073709551615,\"neg\":-9223372036854775808,"
		"\"below\":-9223372036854775809,\"half\":0.5,\"yes\":true,\"no\":null,"
		"\"text\":\"a\\u00e9\xc3\xa9\\ud83d\\udc27\\ud83d-\\n\",\"nul\":\"x\\u0000y\","
		"\"twice\":1,\"twice\":2}";
	struct arena a = {0};
	struct err e = {0};
	const struct json *o, *v;
	char *copy;

	assert_int_equal(read_text(&o, text, sizeof(text) - 1, &a, &copy, &e), 0);
	assert_int_equal(o->type, JSON_OBJECT);
	assert_int_equal(o->n, 15);
	v = json_member(o, "n");
	assert_int_equal(v->type, JSON_NUMBERS);
	assert_int_equal(v->n, 3);
	assert_true(!v->numbers[0] && v->numbers[1] == 7 && v->numbers[2] == UINT64_MAX);
	v = json_member(o, "wide"); /* as other programs write them */
	assert_int_equal(v->type, JSON_NUMBERS);
	assert_int_equal(v->n, 3);
	assert_true(!v->numbers[0] && v->numbers[1] == 7 && v->numbers[2] == UINT64_MAX);
	assert_int_equal(json_member(o, "none in")->n, 0);
	v = json_member(o, "big"); /* no whole number of 64 bits: each by itself */
	assert_int_equal(v->type, JSON_ARRAY);
	assert_int_equal(v->first->type, JSON_WHOLE);
	assert_int_equal(v->first->next->type, JSON_DECIMAL);
	v = json_member(o, "mixed");
	assert_int_equal(v->type, JSON_ARRAY);
	assert_string_equal(v->first->next->text, "x");
	assert_true(json_member(o, "whole")->whole == UINT64_MAX);
	assert_int_equal(json_member(o, "neg")->type, JSON_NEGATIVE);
	assert_true(json_member(o, "neg")->negative == INT64_MIN);
	assert_int_equal(json_member(o, "below")->type, JSON_DECIMAL);
	assert_true(json_member(o, "half")->decimal == 0.5);
	assert_true(json_member(o, "yes")->truth);
	assert_int_equal(json_member(o, "no")->type, JSON_NULL);
	assert_string_equal(json_member(o, "text")->text,
			    "a\xc3\xa9\xc3\xa9\xf0\x9f\x90\xa7\xef\xbf\xbd-\n");
	assert_int_equal(json_member(o, "nul")->n, 3);
	assert_int_equal(json_member(o, "twice")->whole, 1);
	assert_null(json_member(o, "none"));
	assert_null(json_member(json_member(o, "half"), "x"));
	assert_null(json_member(NULL, "x"));
	free(copy);
	arena_free(&a);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
