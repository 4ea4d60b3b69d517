// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/clock.h"
#include "source/sys/bpf_util.h"
#include "source/inodes/ext4_dev.h"
#include "source/sys/mountinfo.h"

#define MOUNTS "/proc/self/mountinfo"
#define ASK_AGAIN_NS 10000000000ULL /* other namespaces: a walk over all processes */

/*
 * One for each device and file system ever met: a few hundred bytes times those the machine has
 * had. Texts stay while a report may use them.
 */
struct known {
	struct ext4_dev dev; /* first: handed out */
	char *mount, *path;
	uint64_t now;	/* of a device: what is mounted, or was last; 0: never told */
	uint32_t nth;	/* file system of the device; of that: how many there were */
	uint64_t look;	/* d->looks when it was last seen mounted, here */
	uint64_t asked; /* ... when it was last looked for elsewhere */
	uint64_t asked_ns;
};

void ext4_text_replace(struct str_list *old, char **text, const char *value)
{
	char *copy = value ? strdup(value) : NULL, **v;

	if ((value && !copy) || (*text && value && !strcmp(*text, value))) {
		free(copy);
		return;
	}
	if (*text) {
		v = realloc(old->v, (old->n + 1) * sizeof(*v));
		if (!v) {
			free(copy);
			return;
		}
		old->v = v;
		old->v[old->n++] = *text;
	}
	*text = copy;
}

void ext4_texts_drop(struct str_list *old)
{
	while (old->n)
		free(old->v[--old->n]);
	free(old->v);
	old->v = NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct known *)a)->dev.fs, y = ((const struct known *)b)->dev.fs;

	return x < y ? -1 : x > y;
}

static struct known *known_get(struct ext4_devs *d, uint64_t fs)
{
	struct known key = {.dev.fs = fs}, *n, *dev = NULL;
	void *found = tfind(&key, &d->tree, compare);
	uint32_t kdev = (uint32_t)fs;
	int len;

	if (found)
		return *(struct known **)found;
	if (fs != kdev) {
		dev = known_get(d, kdev);
		if (!dev)
			return NULL;
	}
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->dev.fs = fs;
	n->dev.kdev = kdev;
	n->nth = dev ? dev->nth + 1 : 0; /* a device's counts its file systems */
	len = snprintf(n->dev.id, sizeof(n->dev.id), "%u:%u", kdev >> 20, kdev & 0xfffff);
	if (n->nth > 1)
		snprintf(n->dev.id + len, sizeof(n->dev.id) - (size_t)len, " (%u)", n->nth);
	if (!tsearch(n, &d->tree, compare)) {
		free(n);
		return NULL;
	}
	if (dev)
		dev->nth++;
	return n;
}

static void set_text(struct ext4_devs *d, struct known *n, const char *text)
{
	ext4_text_replace(&d->old, &n->mount, text);
	n->dev.mount = n->mount;
}

static void set_mount(struct ext4_devs *d, struct known *n, const struct mount_entry *m, bool ours)
{
	set_text(d, n, m->path);
	ext4_text_replace(&d->old, &n->path, m->path);
	n->dev.path = n->path;
	n->dev.ours = ours;
	n->dev.bind = strcmp(m->root, "/") != 0;
}

/* The file system of a mount, or what stands for the device where that cannot be told: it is hidden
 * by another mount. */
static struct known *known_mounted(struct ext4_devs *d, const struct mount_entry *m)
{
	uint32_t kdev = ext4_kdev(m->major, m->minor);
	uint64_t fs = ext4_fs_at(m->path, kdev);
	struct known *dev = known_get(d, kdev);

	if (!dev)
		return NULL;
	if (fs)
		dev->now = fs;
	return fs ? known_get(d, fs) : dev;
}

/* The first mount of the whole file system names it, else the first of a part. */
static void read_mounts(struct ext4_devs *d)
{
	char *text = mountinfo_read(MOUNTS), *rest = text;
	struct mount_entry m;
	struct known *n;

	if (!text)
		return;
	d->looks++;
	d->any = false;
	while (mountinfo_next(&rest, &m)) {
		if (!ext4_is(&m))
			continue;
		d->any = true;
		n = known_mounted(d, &m);
		if (!n || (n->look == d->looks && (!n->dev.bind || strcmp(m.root, "/") != 0)))
			continue;
		n->look = d->looks;
		set_mount(d, n, &m, true);
	}
	free(text);
}

/* Readable until it is asked: who waits for the one descriptor takes the news away. */
static bool mounts_changed(const struct ext4_devs *d)
{
	struct pollfd p = {.fd = d->change_fd, .events = POLLPRI};

	return d->change_fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLPRI);
}

void ext4_devs_check(struct ext4_devs *d)
{
	if (mounts_changed(d))
		read_mounts(d);
}

struct elsewhere {
	struct ext4_devs *d;
	struct known *n;
	bool found;
};

/* What cannot be told may be. */
static bool is_at(const struct ext4_dev *dev, const char *path)
{
	uint64_t fs = dev->fs == dev->kdev ? 0 : ext4_fs_at(path, dev->kdev);

	return !fs || fs == dev->fs;
}

static bool name_elsewhere(void *ctx, uint32_t pid, const struct mount_entry *m)
{
	struct elsewhere *w = ctx;
	bool whole = !strcmp(m->root, "/"), is;
	char *path;

	if (ext4_kdev(m->major, m->minor) != w->n->dev.kdev || !ext4_is(m) ||
	    (w->found && !whole) || asprintf(&path, "/proc/%u/root%s", pid, m->path) < 0)
		return false;
	is = is_at(&w->n->dev, path);
	free(path);
	if (!is)
		return false;
	w->found = true;
	set_mount(w->d, w->n, m, false);
	return whole;
}

uint64_t ext4_dev_now(struct ext4_devs *d, uint32_t kdev)
{
	const struct known *dev = known_get(d, kdev);

	return dev && dev->now ? dev->now : kdev;
}

/* Its device is mounted, but which file system that is could not be told: no other, as far as we
 * know. */
static bool take_hidden(struct ext4_devs *d, struct known *n)
{
	const struct known *dev = known_get(d, n->dev.kdev);

	if (!dev || dev == n || dev->now || !dev->dev.ours || dev->look != d->looks)
		return false;
	set_text(d, n, dev->dev.path);
	ext4_text_replace(&d->old, &n->path, dev->dev.path);
	n->dev.path = n->path;
	n->dev.ours = true;
	n->dev.bind = dev->dev.bind;
	return true;
}

const struct ext4_dev *ext4_dev_get(struct ext4_devs *d, uint64_t fs, uint32_t pid)
{
	struct known *n = known_get(d, fs);
	struct elsewhere w = {.d = d, .n = n};
	char name[NAME_MAX + 1];

	if (!n || n->dev.ours || n->asked == d->looks ||
	    (n->asked && clock_mono_ns() - n->asked_ns < ASK_AGAIN_NS))
		return n ? &n->dev : NULL;
	if (mounts_changed(d))
		read_mounts(d);
	n->asked = d->looks;
	n->asked_ns = clock_mono_ns();
	if (n->dev.ours || take_hidden(d, n))
		return &n->dev;
	if (pid)
		ext4_mounts_elsewhere(pid, name_elsewhere, &w);
	if (!w.found)
		ext4_mounts_elsewhere(0, name_elsewhere, &w);
	/* else as the kernel's messages and /proc/fs/ext4 call it */
	if (!w.found &&
	    block_device_name(n->dev.kdev >> 20, n->dev.kdev & 0xfffff, name, sizeof(name)))
		set_text(d, n, name);
	return &n->dev;
}

int ext4_dev_open_mount(const struct ext4_dev *dev)
{
	char self[64];
	struct stat st;
	int fd, ret;

	if (!dev->ours)
		return -ENOENT;
	/* Not for reading yet: what is mounted there by now may be anything. */
	fd = open(dev->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = fstat(fd, &st) ? -errno : 0;
	if (!ret && (ext4_kdev(major(st.st_dev), minor(st.st_dev)) != dev->kdev ||
		     !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))))
		ret = -ESTALE;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (!ret && !is_at(dev, self))
		ret = -ESTALE;
	if (!ret) {
		ret = open(self, O_RDONLY | O_CLOEXEC);
		ret = ret < 0 ? -errno : ret;
	}
	close(fd);
	return ret;
}

static int open_wanted(struct ext4_devs *d, const struct str_list *wanted, struct err *e)
{
	uint32_t kdev;
	size_t i, k;
	int ret;

	if (!wanted->n)
		return 0;
	d->wanted = calloc(wanted->n, sizeof(*d->wanted));
	if (!d->wanted)
		return err_sys(e, -ENOMEM, "ext4");
	for (i = 0; i < wanted->n; i++) {
		ret = ext4_dev_parse(wanted->v[i], &kdev, e);
		if (ret)
			return ret;
		for (k = 0; k < d->nwanted && d->wanted[k] != kdev; k++)
			;
		if (k == d->nwanted)
			d->wanted[d->nwanted++] = kdev;
	}
	return 0;
}

/*
 * The file is always readable and has urgent data after a change, told once for each descriptor and
 * to whoever polls first. Hence two: one to be woken by, one to ask.
 */
static int open_watch(struct ext4_devs *d, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLPRI};

	d->change_fd = open(MOUNTS, O_RDONLY | O_CLOEXEC);
	d->wake_fd = open(MOUNTS, O_RDONLY | O_CLOEXEC);
	if (d->change_fd < 0 || d->wake_fd < 0)
		return err_sys(e, -errno, "ext4: " MOUNTS);
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll_fd < 0 || epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, d->wake_fd, &ev))
		return err_sys(e, -errno, "ext4: epoll");
	return 0;
}

int ext4_devs_open(struct ext4_devs **out, const struct str_list *wanted, struct err *e)
{
	struct ext4_devs *d = calloc(1, sizeof(*d));
	int ret;

	if (!d)
		return err_sys(e, -ENOMEM, "ext4");
	d->epoll_fd = d->wake_fd = d->change_fd = -1;
	ret = open_watch(d, e); /* before the first look: no change is missed */
	if (!ret)
		ret = open_wanted(d, wanted, e);
	if (ret) {
		ext4_devs_close(d);
		return ret;
	}
	read_mounts(d);
	*out = d;
	return 0;
}

static void free_known(void *p)
{
	struct known *n = p;

	free(n->mount);
	free(n->path);
	free(n);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void ext4_devs_close(struct ext4_devs *d)
{
	if (!d)
		return;
	tdestroy(d->tree, free_known);
	ext4_texts_drop(&d->old);
	close_fd(d->epoll_fd);
	close_fd(d->wake_fd);
	close_fd(d->change_fd);
	free(d->wanted);
	free(d);
}
