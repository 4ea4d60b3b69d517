// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache.h"

void cache_init(struct cache *c, size_t max, int (*compare)(const void *a, const void *b),
		void (*drop)(void *item))
{
	*c = (struct cache){.max = max, .compare = compare, .drop = drop};
}

static void link_newest(struct cache *c, struct cache_item *i)
{
	i->older = c->newest;
	i->newer = NULL;
	if (c->newest)
		c->newest->newer = i;
	else
		c->oldest = i;
	c->newest = i;
}

static void unlink_item(struct cache *c, struct cache_item *i)
{
	if (i->older)
		i->older->newer = i->newer;
	else
		c->oldest = i->newer;
	if (i->newer)
		i->newer->older = i->older;
	else
		c->newest = i->older;
}

void *cache_find(struct cache *c, const void *like)
{
	void *found = tfind(like, &c->tree, c->compare);
	struct cache_item *i = found ? *(struct cache_item **)found : NULL;

	if (i) {
		unlink_item(c, i);
		link_newest(c, i);
	}
	return i;
}

int cache_add(struct cache *c, void *item)
{
	if (!tsearch(item, &c->tree, c->compare)) {
		c->drop(item);
		return -ENOMEM;
	}
	link_newest(c, item);
	c->n++;
	return 0;
}

void *cache_get(struct cache *c, const void *like, size_t size)
{
	void *item = cache_find(c, like);

	if (item)
		return item;
	item = malloc(size);
	if (!item)
		return NULL;
	memcpy(item, like, size);
	return cache_add(c, item) ? NULL : item;
}

static void drop_down_to(struct cache *c, size_t n)
{
	struct cache_item *i;

	while (c->n > n) {
		i = c->oldest;
		unlink_item(c, i);
		(void)tdelete(i, &c->tree, c->compare); /* it is there */
		c->drop(i);
		c->n--;
	}
}

void cache_trim(struct cache *c)
{
	drop_down_to(c, c->max);
}

void cache_clear(struct cache *c)
{
	drop_down_to(c, 0);
}
