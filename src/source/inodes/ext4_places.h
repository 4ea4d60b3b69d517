/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose an object of ext4 is, for rows of addresses: the path of an inode, the mount point of a
 * super block, before what is known without the mounts ("inode 12 on 7:1").
 */
#ifndef WS_EXT4_PLACES_H
#define WS_EXT4_PLACES_H

#include "names/names.h"

struct ext4_places;

/* Cheap: the mounts are read for the first name that lies in ext4. NULL: no memory. */
struct ext4_places *ext4_places_new(void);
void ext4_places_close(struct ext4_places *p); /* NULL is fine */

/* A new report: what was handed out for the last one goes. */
void ext4_places_begin(struct ext4_places *p);

/*
 * "/data/x (inode 12 on 7:1)", "/data (loop0 on 7:1)"; `place` itself where there is no path, or no
 * more are looked for in this report. Never NULL if `place` is not. Holds until ext4_places_begin.
 */
const char *ext4_place(struct ext4_places *p, const struct name_inode *i, const char *place);

/*
 * The same for many, those that weigh most first: *out becomes what ext4_place says, or stays. What
 * is asked for must live until ext4_places_answer. 0 or -ENOMEM.
 */
struct ext4_place_ask {
	const struct name_inode *inode;
	const char *place;
	uint64_t weight;
	const char **out;
};
int ext4_places_ask(struct ext4_places *p, const struct ext4_place_ask *ask);
void ext4_places_answer(struct ext4_places *p);

#endif
