// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/array.h"
#include "source/inodes/ext4_dev.h"
#include "source/inodes/ext4_path.h"
#include "source/inodes/ext4_places.h"

#define PATHS_MAX 256 /* in a report: each takes microseconds */

struct ext4_places {
	struct ext4_devs *devs; /* NULL: not needed yet, or not to be had */
	struct ext4_paths *paths;
	struct arena texts;
	unsigned int left; /* paths, in this report */
	bool tried;
	struct ext4_place_ask *asked;
	size_t nasked, cap;
};

struct ext4_places *ext4_places_new(void)
{
	struct ext4_places *p = calloc(1, sizeof(*p));

	if (p)
		p->left = PATHS_MAX;
	return p;
}

void ext4_places_close(struct ext4_places *p)
{
	if (!p)
		return;
	ext4_paths_free(p->paths);
	ext4_devs_close(p->devs);
	arena_free(&p->texts);
	free(p->asked);
	free(p);
}

void ext4_places_begin(struct ext4_places *p)
{
	p->left = PATHS_MAX;
	arena_reset(&p->texts);
	if (!p->paths)
		return;
	ext4_paths_trim(p->paths);
	ext4_texts_drop(&p->devs->old);
	ext4_devs_check(p->devs);
}

/* A name is not worth an error: without the mounts there are no paths. */
static bool ready(struct ext4_places *p)
{
	static const struct str_list all;
	struct err e = {0};

	if (!p->tried && !ext4_devs_open(&p->devs, &all, &e))
		p->paths = ext4_paths_new(p->devs);
	p->tried = true;
	return p->paths;
}

static const char *path_of(struct ext4_places *p, const struct name_inode *i)
{
	uint64_t fs = ext4_dev_now(p->devs, i->dev);
	const struct ext4_dev *dev;

	if (i->known)
		return ext4_path_found(p->paths, fs, i->ino, i->generation);
	dev = ext4_dev_get(p->devs, fs, 0);
	return dev && dev->ours ? dev->path : NULL;
}

const char *ext4_place(struct ext4_places *p, const struct name_inode *i, const char *place)
{
	char text[PATH_MAX + NAME_PLACE_LEN + 4];
	const char *path, *kept = NULL;

	if (!i->ext4 || !p->left || !ready(p))
		return place;
	p->left--;
	path = path_of(p, i);
	if (path) {
		snprintf(text, sizeof(text), "%s (%s)", path, place); /* fits */
		kept = arena_text(&p->texts, text);
	}
	return kept ? kept : place;
}

int ext4_places_ask(struct ext4_places *p, const struct ext4_place_ask *ask)
{
	struct ext4_place_ask *v;

	if (!ask->inode->ext4)
		return 0;
	v = array_room(p->asked, &p->cap, p->nasked, 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	p->asked = v;
	p->asked[p->nasked++] = *ask;
	return 0;
}

static int compare_weight(const void *a, const void *b)
{
	const struct ext4_place_ask *x = a, *y = b;

	return (x->weight < y->weight) - (x->weight > y->weight);
}

void ext4_places_answer(struct ext4_places *p)
{
	if (p->nasked)
		qsort(p->asked, p->nasked, sizeof(p->asked[0]), compare_weight);
	for (size_t i = 0; i < p->nasked; i++)
		*p->asked[i].out = ext4_place(p, p->asked[i].inode, p->asked[i].place);
	p->nasked = 0;
}
