/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded LRU cache: items are found by their key, and when the cache is full the least recently
 * used item is evicted. For values that can be found out again, or that are only good to know.
 *
 *	cache_init -> (cache_find | cache_add)* -> cache_trim -> ... -> cache_clear
 */
#ifndef WS_CACHE_H
#define WS_CACHE_H

#include <stddef.h>

/* An item's struct begins with it. */
struct cache_item {
	struct cache_item *older, *newer;
};

struct cache {
	size_t max, n;
	int (*compare)(const void *a, const void *b); /* items, by their keys */
	void (*drop)(void *item);		      /* frees it */
	void *tree;
	struct cache_item *oldest, *newest;
};

void cache_init(struct cache *c, size_t max, int (*compare)(const void *a, const void *b),
		void (*drop)(void *item));
/*
 * Finds the item with the key of `like` and makes it the most recently used; NULL if there is none.
 */
void *cache_find(struct cache *c, const void *like);
/* As cache_find(), but adds a copy of `like` (`size` bytes from malloc) if there is none. NULL: no
 * memory. */
void *cache_get(struct cache *c, const void *like, size_t size);
/* Adds an item whose key is not in the cache; the cache owns it from now on. Returns 0, or -ENOMEM
 * after the item was dropped. */
int cache_add(struct cache *c, void *item);
/* Evicts items until the bound is kept. Call it where no pointer to an item is in use. */
void cache_trim(struct cache *c);
void cache_clear(struct cache *c); /* drops all items; a zeroed struct is fine */

#endif
