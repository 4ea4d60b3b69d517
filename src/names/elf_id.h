/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which file it is. */
#ifndef WS_NAMES_ELF_ID_H
#define WS_NAMES_ELF_ID_H

#include <stdint.h>

#define BUILD_ID_MAX 64

/* Device, inode, size and time of change stand for its contents. ino 0: none. */
struct file_id {
	uint64_t dev, ino, size;
	int64_t changed_ns;
};

static inline int file_id_same(const struct file_id *a, const struct file_id *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

#endif
