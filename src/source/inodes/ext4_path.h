/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of inodes: opened by file handle (inode number and generation) on a mount of the file
 * system, which takes CAP_DAC_READ_SEARCH. The kernel must have a connected name in its memory: one
 * of a file that was just used is. Of several hard links any one.
 */
#ifndef WS_EXT4_PATH_H
#define WS_EXT4_PATH_H

#include <stdint.h>

#include "source/inodes/ext4_dev.h"

struct ext4_paths;

/* `devs` outlives it. NULL: no memory. */
struct ext4_paths *ext4_paths_new(struct ext4_devs *devs);
void ext4_paths_free(struct ext4_paths *p); /* NULL is fine */

/*
 * "/data/x", "/data/x (deleted)", or "inode 42" if it has no name that we can see. Never NULL. A
 * file that is gone keeps the name it had; others are asked again after some seconds, for they may
 * have been renamed. Holds until ext4_paths_trim.
 */
const char *ext4_path(struct ext4_paths *p, uint64_t fs, uint64_t ino, uint32_t generation,
		      uint32_t pid);

/* The same, but NULL where it has no name. */
const char *ext4_path_found(struct ext4_paths *p, uint64_t fs, uint64_t ino, uint32_t generation);

/* Bounds what is remembered, where nobody uses a path of before: at each report. */
void ext4_paths_trim(struct ext4_paths *p);

#endif
