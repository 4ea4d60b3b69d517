/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "unit.h"

TEST(room)
{
	size_t cap = 0, grown = 0, before, n;
	uint32_t *v = NULL, *at;

	for (n = 0; n < 10000; n++) {
		before = cap;
		at = array_room(v, &cap, n, 1, sizeof(*v));
		assert_non_null(at);
		v = at;
		assert_true(cap > n);
		assert_true(cap == before || cap >= 2 * before);
		grown += cap != before;
		v[n] = (uint32_t)n;
	}
	assert_true(grown < 12);
	for (n = 0; n < 10000; n++)
		assert_int_equal(v[n], n);
	at = array_room(v, &cap, 10000, 100000, sizeof(*v));
	assert_non_null(at);
	assert_true(cap >= 110000);
	assert_int_equal(at[9999], 9999);
	free(at);
}

TEST(upto)
{
	static const struct __attribute__((packed)) {
		uint64_t key;
		uint8_t rest;
	} v[] = {{10, 0}, {20, 0}, {20, 1}, {UINT64_MAX, 0}};
	static const struct {
		uint64_t key;
		size_t n;
	} rows[] = {{0, 0}, {9, 0}, {10, 1}, {19, 1}, {20, 3}, {21, 3}, {UINT64_MAX, 4}};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(array_upto(v, 4, sizeof(v[0]), rows[i].key), rows[i].n);
	assert_int_equal(array_upto(NULL, 0, 8, 5), 0);
}

TEST(texts)
{
	struct str_list l = {0};

	assert_int_equal(str_list_push(&l, strdup("a")), 0);
	assert_int_equal(str_list_push(&l, strdup("b")), 0);
	assert_int_equal(str_list_push(&l, NULL), -ENOMEM);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0], "a");
	assert_string_equal(l.v[1], "b");
	str_list_free(&l);
	assert_int_equal(l.n, 0);
	str_list_free(&l);
}

TEST(numbers)
{
	struct u32_list l = {0};

	assert_int_equal(u32_list_push(&l, 7), 0);
	assert_int_equal(u32_list_push(&l, 8), 0);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.v[0], 7);
	assert_int_equal(l.v[1], 8);
	free(l.v);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
