/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The devices of ext4 file systems: where they are mounted, and those that --dev means. A kernel
 * dev_t is major << 20 | minor.
 *
 * Mounts come and go while we trace. The mount table is read again whenever it changed, and what is
 * gone keeps the name it had. Nothing is held open that would keep a file system from being
 * unmounted.
 */
#ifndef WS_EXT4_DEV_H
#define WS_EXT4_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/err.h"

/*
 * A file system is its device (the low 32 bits) and its UUID, folded (ABI_EXT4_OBJ): a device that
 * is detached and attached again may have another one. 0 for the UUID: not known which.
 */
struct ext4_dev {
	uint64_t fs;
	uint32_t kdev;
	char id[32];	   /* "8:1"; of a second file system of this device "8:1 (2)" */
	const char *mount; /* mount point; else the block device ("loop0"); NULL: neither known */
	const char *path;  /* the mount point, as it is; NULL where it is not ours */
	bool ours;	   /* mounted in our mount namespace, now or last */
	bool bind;	   /* only a part of the file system is mounted there */
};

struct ext4_devs {
	void *tree;
	uint64_t looks;
	bool any;	       /* is there an ext4 mounted where we can see it? */
	int epoll_fd, wake_fd; /* a change of the mounts wakes us once ... */
	int change_fd;	       /* ... and this one tells that it was that */
	uint32_t *wanted;      /* those of --dev, each once; none: all */
	size_t nwanted;
	struct str_list old; /* texts that were replaced */
};

/* `wanted`: --dev. Exit 2 with words that quote what is not there, not ext4 or not mounted. */
int ext4_devs_open(struct ext4_devs **out, const struct str_list *wanted, struct err *e);
void ext4_devs_close(struct ext4_devs *d); /* NULL is fine */

/* How many the driver has mounted, in whatever namespace; 0 where it does not tell. */
uint32_t ext4_devs_mounted(void);

/*
 * What is known of a file system; NULL without memory. `pid`: of a task that uses it, whose mounts
 * are asked if ours do not have it; 0: anybody's.
 */
const struct ext4_dev *ext4_dev_get(struct ext4_devs *d, uint64_t fs, uint32_t pid);

/*
 * The file system that is, or was last, mounted from a device; the UUID is 0 if that is not known.
 */
uint64_t ext4_dev_now(struct ext4_devs *d, uint32_t kdev);

/* epoll_fd becomes readable (EPOLLIN) when the mounts change: then this reads them. Texts that were
 * replaced stay until ext4_texts_drop(&old): call it when nobody uses those of the last report. */
void ext4_devs_check(struct ext4_devs *d);

/* Opens the root of its mount, to be closed soon; negative errno. */
int ext4_dev_open_mount(const struct ext4_dev *dev);

/* ---- ext4_dev_find.c ---- */

struct mount_entry;

/* The file system at a path, 0 if it cannot be told or is not of that device. */
uint64_t ext4_fs_at(const char *path, uint32_t kdev);
/* Of the ext4 driver? It also mounts ext2 and ext3. */
bool ext4_is(const struct mount_entry *m);
/* What one --dev means, as kernel dev_t; exit 2 with words. */
int ext4_dev_parse(const char *text, uint32_t *kdev, struct err *e);

/*
 * Mounts in other mount namespaces, each of which is read once: calls fn until it returns true. A
 * `pid` is asked alone. True if fn was satisfied.
 */
typedef bool (*ext4_mount_fn)(void *ctx, uint32_t pid, const struct mount_entry *m);
bool ext4_mounts_elsewhere(uint32_t pid, ext4_mount_fn fn, void *ctx);

static inline uint32_t ext4_kdev(uint32_t major, uint32_t minor)
{
	return major << 20 | minor;
}

/* Texts that were replaced while a report may still show them: kept until it is gone. *text becomes
 * a copy of `value` (NULL: none); without memory it stays as it is. */
void ext4_text_replace(struct str_list *old, char **text, const char *value);
void ext4_texts_drop(struct str_list *old); /* frees them; the list can be used again */

#endif
