// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/cache.h"
#include "source/sys/bpf_util.h"
#include "source/inodes/ext4_path.h"
#include "source/sys/mountinfo.h"

#define FILEID_INO32_GEN 1 /* a handle: inode number and generation, 32 bits each */
#define EXT4_ROOT_INO 2
#define EXT4_JOURNAL_INO 8

#define REMEMBERED_MAX 4096
#define FRESH_NS 5000000000ULL

struct known {
	struct cache_item item;
	uint64_t fs;
	uint32_t generation;
	uint64_t ino;
	uint64_t asked_ns;
	char *name;
	bool named; /* by a path, not by its number */
};

struct ext4_paths {
	struct ext4_devs *devs;
	struct cache known;
	bool denied;
	struct str_list old;
};

static int compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	if (x->fs != y->fs)
		return x->fs < y->fs ? -1 : 1;
	return x->generation < y->generation ? -1 : x->generation > y->generation;
}

static void free_known(void *p)
{
	struct known *k = p;

	free(k->name);
	free(k);
}

static int open_inode(int mount_fd, const struct known *k)
{
	struct {
		struct file_handle h;
		uint32_t id[2];
	} fh = {.h = {.handle_bytes = sizeof(fh.id), .handle_type = FILEID_INO32_GEN}};
	int fd;

	fh.id[0] = (uint32_t)k->ino;
	fh.id[1] = k->generation;
	fd = open_by_handle_at(mount_fd, &fh.h, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Is it a path on that mount? What the kernel has no name of, or what lies outside of the part that
 * is mounted, comes as a path from the file system's own root.
 */
static bool lies_below(const char *path, const char *mount, uint64_t ino)
{
	size_t n = strlen(mount);

	if (!strcmp(mount, "/"))
		return path[1] || ino == EXT4_ROOT_INO;
	return !strncmp(path, mount, n) && (!path[n] || path[n] == '/');
}

static int resolve(const struct ext4_dev *dev, const struct known *k, char *out, size_t len)
{
	int mount_fd = ext4_dev_open_mount(dev), fd, ret;

	if (mount_fd < 0)
		return mount_fd == -EPERM ? -EACCES : mount_fd;
	fd = open_inode(mount_fd, k);
	ret = fd < 0 ? fd : fd_path(fd, out, len);
	if (!ret && !lies_below(out, dev->path, k->ino))
		ret = -ENOENT;
	if (fd >= 0)
		close(fd);
	close(mount_fd);
	return ret;
}

static void ask(struct ext4_paths *p, struct known *k, uint32_t pid)
{
	const struct ext4_dev *dev = ext4_dev_get(p->devs, k->fs, pid);
	char path[PATH_MAX];
	int ret = dev ? resolve(dev, k, path, sizeof(path)) : -ENOMEM;

	k->asked_ns = clock_mono_ns();
	p->denied |= ret == -EPERM; /* what was given up does not come back */
	if (!ret) {
		k->named = true;
		ext4_text_replace(&p->old, &k->name, path);
	} else if (!k->named) {
		snprintf(path, sizeof(path), "inode %llu%s", (unsigned long long)k->ino,
			 k->ino == EXT4_JOURNAL_INO ? " (journal)" : "");
		ext4_text_replace(&p->old, &k->name, path);
	}
}

static const struct known *look_up(struct ext4_paths *p, uint64_t fs, uint64_t ino,
				   uint32_t generation, uint32_t pid)
{
	struct known key = {.fs = fs, .ino = ino, .generation = generation};
	struct known *k = cache_get(&p->known, &key, sizeof(key));

	if (k && (!k->name || (!p->denied && clock_mono_ns() - k->asked_ns > FRESH_NS)))
		ask(p, k, pid);
	return k;
}

const char *ext4_path(struct ext4_paths *p, uint64_t fs, uint64_t ino, uint32_t generation,
		      uint32_t pid)
{
	const struct known *k = look_up(p, fs, ino, generation, pid);

	return k && k->name ? k->name : "inode ?";
}

const char *ext4_path_found(struct ext4_paths *p, uint64_t fs, uint64_t ino, uint32_t generation)
{
	const struct known *k = look_up(p, fs, ino, generation, 0);

	return k && k->named ? k->name : NULL;
}

void ext4_paths_trim(struct ext4_paths *p)
{
	ext4_texts_drop(&p->old);
	cache_trim(&p->known);
}

struct ext4_paths *ext4_paths_new(struct ext4_devs *devs)
{
	struct ext4_paths *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->devs = devs;
	cache_init(&p->known, REMEMBERED_MAX, compare, free_known);
	return p;
}

void ext4_paths_free(struct ext4_paths *p)
{
	if (!p)
		return;
	cache_clear(&p->known);
	ext4_texts_drop(&p->old);
	free(p);
}
