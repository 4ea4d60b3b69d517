/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes: cmocka and what it wants before it. */
#ifndef WS_UNIT_H
#define WS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka 2 names the type, and warns of the name that version 1 has. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif

/*
 * A test of this file: TEST(name) { ... }. Each lists itself, so that none can be forgotten: the
 * linker puts the pointers of section unit_tests one behind the other, in the order of the file.
 * `state` is what the group's set-up has made.
 */
#define TEST(name)                                                                    \
	static void name(void **state);                                               \
	static const struct CMUnitTest name##_test = {#name, name, NULL, NULL, NULL}; \
	static const struct CMUnitTest *const name##_at                               \
		__attribute__((used, section("unit_tests"))) = &name##_test;          \
	static void name(void **state)

extern const struct CMUnitTest *const __start_unit_tests[], *const __stop_unit_tests[];

#define UNIT_TESTS_MAX 64

/* Runs all of them, between set_up and tear_down (NULL: none). Returns how many failed. */
static inline int unit_main(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	size_t n = (size_t)(__stop_unit_tests - __start_unit_tests), i;
	struct CMUnitTest tests[UNIT_TESTS_MAX] = {{0}};

	assert_true(n <= UNIT_TESTS_MAX);
	for (i = 0; i < n; i++)
		tests[i] = *__start_unit_tests[i];
	return _cmocka_run_group_tests("tests", tests, n, set_up, tear_down);
}

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

#endif
