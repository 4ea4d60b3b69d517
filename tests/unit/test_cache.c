// SPDX-License-Identifier: GPL-2.0-or-later
/* What is remembered stays within its bound, and what leaves is what nobody asked for. */
#include <stdlib.h>

#include "core/cache.h"
#include "unit.h"

struct number {
	struct cache_item item;
	int key;
};

static int live; /* items */

static int compare(const void *a, const void *b)
{
	const struct number *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static void drop(void *item)
{
	live--;
	free(item);
}

static void add(struct cache *c, int key)
{
	struct number *n = malloc(sizeof(*n));

	assert_non_null(n);
	*n = (struct number){.key = key};
	live++;
	assert_int_equal(cache_add(c, n), 0);
}

static struct number *find(struct cache *c, int key)
{
	struct number like = {.key = key};

	return cache_find(c, &like);
}

TEST(bounded)
{
	struct cache c;
	int i;

	cache_init(&c, 4, compare, drop);
	for (i = 0; i < 100; i++) {
		assert_null(find(&c, i));
		add(&c, i);
		assert_int_equal(find(&c, i)->key, i);
		cache_trim(&c);
		assert_int_equal(live, i < 4 ? i + 1 : 4);
	}
	for (i = 0; i < 100; i++)
		assert_int_equal(find(&c, i) != NULL, i >= 96);
	cache_clear(&c);
	assert_int_equal(live, 0);
	add(&c, 7); /* it can be used again */
	assert_int_equal(find(&c, 7)->key, 7);
	cache_clear(&c);
	assert_int_equal(live, 0);
}

TEST(oldest_leave)
{
	static const struct {
		const char *why;
		int asked[3], n, left[3];
	} rows[] = {
		{"nothing was asked for: the first two leave", {0}, 0, {3, 4, 5}},
		{"the first was asked for", {1}, 1, {1, 4, 5}},
		{"so were two", {2, 1}, 2, {1, 2, 5}},
		{"the newest stays the newest", {5, 3, 3}, 3, {3, 4, 5}},
		{"in any order", {4, 1, 2}, 3, {1, 2, 4}},
	};
	size_t k;
	int i;

	for (k = 0; k < ROWS(rows); k++) {
		struct cache c;

		print_message("%s\n", rows[k].why);
		cache_init(&c, 3, compare, drop);
		for (i = 1; i <= 5; i++)
			add(&c, i);
		for (i = 0; i < rows[k].n; i++)
			assert_non_null(find(&c, rows[k].asked[i]));
		assert_int_equal(live, 5); /* what was found may be in use */
		cache_trim(&c);
		assert_int_equal(live, 3);
		for (i = 0; i < 3; i++)
			assert_non_null(find(&c, rows[k].left[i]));
		cache_clear(&c);
		assert_int_equal(live, 0);
	}
}

TEST(got)
{
	struct number like = {.key = 3}, *n;
	struct cache c;

	cache_init(&c, 2, compare, drop);
	n = cache_get(&c, &like, sizeof(like));
	assert_non_null(n);
	live++;
	assert_true(n != &like && n->key == 3);
	add(&c, 4);
	assert_ptr_equal(cache_get(&c, &like, sizeof(like)), n); /* it is there, and the newest */
	add(&c, 5);
	cache_trim(&c);
	assert_null(find(&c, 4));
	assert_ptr_equal(find(&c, 3), n);
	cache_clear(&c);
	assert_int_equal(live, 0);
}

TEST(never_used)
{
	struct cache c = {0};

	cache_clear(&c);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
