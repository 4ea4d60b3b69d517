/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is remembered by its key, and no more of it than a bound: the one longest unasked for leaves
 * first. For what can be found out again, or was only good to know.
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
/* The item with the key of `like`, which is the newest then; or NULL. */
void *cache_find(struct cache *c, const void *like);
/* The same; where there is none a copy of `like`, of `size` bytes from malloc. NULL: no memory. */
void *cache_get(struct cache *c, const void *like, size_t size);
/* An item whose key is not there: the cache's from now on. 0, or -ENOMEM: it was dropped. */
int cache_add(struct cache *c, void *item);
/* Down to the bound. Where nobody uses what was found or added before. */
void cache_trim(struct cache *c);
void cache_clear(struct cache *c); /* all of them go; zeroed and never used is fine */

#endif
