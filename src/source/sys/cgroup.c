// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "abi.h"
#include "core/cache.h"
#include "core/text.h"
#include "source/sys/cgroup.h"
#include "source/sys/mountinfo.h"

#define NAMES_MAX 1024 /* remembered: containers come and go */

#ifndef FILEID_KERNFS
#define FILEID_KERNFS 0xfe
#endif

int cgroup_mount_parse(char *mountinfo, struct cgroup_mount *m)
{
	struct mount_entry entry;

	while (mountinfo_next(&mountinfo, &entry)) {
		if (strcmp(entry.fstype, "cgroup2") ||
		    snprintf(m->path, sizeof(m->path), "%s", entry.path) >= (int)sizeof(m->path))
			continue;
		m->whole = !strcmp(entry.root, "/");
		return 0;
	}
	return -ENOENT;
}

bool cgroup_v1_parse(char *mountinfo)
{
	static const char systemd[] =
		"/systemd"; /* a hierarchy without controllers, of hybrid systems */
	struct mount_entry entry;
	size_t len;

	while (mountinfo_next(&mountinfo, &entry)) {
		len = strlen(entry.path);
		if (!strcmp(entry.fstype, "cgroup") &&
		    (len < strlen(systemd) || strcmp(entry.path + len - strlen(systemd), systemd)))
			return true;
	}
	return false;
}

bool cgroup_v1_mounted(void)
{
	char *info = mountinfo_read("/proc/self/mountinfo");
	bool v1 = info && cgroup_v1_parse(info);

	free(info);
	return v1;
}

int cgroup_mount_find(struct cgroup_mount *m, struct err *e)
{
	char *info = mountinfo_read("/proc/self/mountinfo");
	int ret;

	m->fd = -1;
	if (!info)
		return err_set(e, EXIT_CANNOT, -ENOENT, "cgroup: cannot read /proc/self/mountinfo");
	ret = cgroup_mount_parse(info, m);
	free(info);
	if (ret)
		return err_set(
			e, EXIT_CANNOT, ret, "cgroup: no cgroup v2 hierarchy is mounted (%s)",
			cgroup_v1_mounted()
				? "beside the v1 tree: mkdir /run/cgroup2 && mount -t cgroup2 "
				  "none /run/cgroup2"
				: "mount -t cgroup2 none /sys/fs/cgroup");
	m->fd = open(m->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->fd < 0)
		return err_sys(e, -errno, "cgroup: %s", m->path);
	return 0;
}

void cgroup_mount_close(struct cgroup_mount *m)
{
	if (m && m->fd > 0)
		close(m->fd);
	if (m)
		m->fd = -1;
}

static int open_by_id(const struct cgroup_mount *m, uint64_t id)
{
	struct {
		struct file_handle h;
		uint64_t id;
	} fh = {.h = {.handle_bytes = sizeof(uint64_t), .handle_type = FILEID_KERNFS}};
	int fd;

	memcpy(fh.h.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(m->fd, &fh.h, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int cgroup_path_below(const char *mount, const char *dir, char *out, size_t len)
{
	size_t skip = strcmp(mount, "/") ? strlen(mount) : 0;

	if (strncmp(dir, mount, skip) || (dir[skip] && dir[skip] != '/'))
		return -ENOENT;
	if (snprintf(out, len, "%s", dir[skip] ? dir + skip : "/") >= (int)len)
		return -ENAMETOOLONG;
	return 0;
}

/* Of an open directory. */
static int path_below(const struct cgroup_mount *m, int fd, char *out, size_t len)
{
	char dir[PATH_MAX];
	int ret = fd_path(fd, dir, sizeof(dir));

	return ret ? ret : cgroup_path_below(m->path, dir, out, len);
}

/* Path below the mount of a living cgroup, or negative errno (-ESTALE: gone). */
static int path_of(const struct cgroup_mount *m, uint64_t id, char *out, size_t len)
{
	struct stat st;
	int fd, ret;

	if (!fstat(m->fd, &st) && st.st_ino == id)
		return snprintf(out, len, "/") < 0 ? -EIO : 0;
	fd = open_by_id(m, id);
	if (fd < 0)
		return fd;
	ret = path_below(m, fd, out, len);
	close(fd);
	return ret;
}

static int finish_ref(const struct cgroup_mount *m, int fd, struct cgroup_ref *out,
		      const char *text, struct err *e)
{
	struct statfs fs;
	struct stat st;
	int ret;

	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return err_sys(e, -errno, "--cgroup '%s'", text);
	if (fs.f_type == CGROUP_SUPER_MAGIC)
		return err_set(
			e, EXIT_USAGE, -EINVAL,
			"--cgroup '%s': a cgroup v1 directory, expected one of cgroup v2 (below %s)",
			text, m->path);
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--cgroup '%s': not a cgroup, expected a directory below %s", text,
			       m->path);
	ret = path_below(m, fd, out->path, sizeof(out->path));
	if (ret)
		return err_set(e, EXIT_USAGE, ret, "--cgroup '%s': expected a directory below %s",
			       text, m->path);
	out->id = st.st_ino;
	if (snprintf(out->dir, sizeof(out->dir), "%s%s", m->path, out->path) >=
	    (int)sizeof(out->dir))
		return err_set(e, EXIT_USAGE, -ENAMETOOLONG, "--cgroup '%s': path too long", text);
	return 0;
}

static int open_text(const struct cgroup_mount *m, const char *text, struct err *e)
{
	char below[2 * PATH_MAX];
	int fd;

	if (text[0] && strspn(text, "0123456789") == strlen(text)) {
		uint64_t id;
		char root[2];

		if (parse_u64(text, 1, UINT64_MAX, "--cgroup", &id, e))
			return -EINVAL;
		if (!path_of(m, id, root, sizeof(root)) && !strcmp(root, "/"))
			return dup(m->fd);
		fd = open_by_id(m, id);
		if (fd < 0)
			return err_set(e, EXIT_USAGE, fd,
				       "--cgroup '%s': no cgroup has this id (%s)", text,
				       fd == -EPERM ? "not permitted to open by id: needs "
						      "CAP_DAC_READ_SEARCH"
						    : "expected the inode number of its directory");
		return fd;
	}
	fd = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		struct statfs fs;

		/* "/" or "lib" exist outside, too: prefer the cgroup of that name */
		if (!fstatfs(fd, &fs) &&
		    (fs.f_type == CGROUP2_SUPER_MAGIC || fs.f_type == CGROUP_SUPER_MAGIC))
			return fd;
		close(fd);
	}
	if (snprintf(below, sizeof(below), "%s/%s", m->path, text) < (int)sizeof(below)) {
		int sub = open(below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (sub >= 0)
			return sub;
	}
	if (fd >= 0)
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--cgroup '%s': not a cgroup, expected a directory below %s", text,
			       m->path);
	return err_set(
		e, EXIT_USAGE, -ENOENT,
		"--cgroup '%s': no such cgroup, expected a directory below %s or a cgroup id", text,
		m->path);
}

int cgroup_resolve(const struct cgroup_mount *m, const char *text, struct cgroup_ref *out,
		   struct err *e)
{
	int fd = open_text(m, text, e), ret;

	if (fd < 0)
		return fd;
	ret = finish_ref(m, fd, out, text, e);
	close(fd);
	return ret;
}

#define INITIAL_NAMESPACE 0xeffffffbU /* PROC_CGROUP_INIT_INO, include/linux/proc_ns.h */

uint32_t cgroup_levels(const struct cgroup_mount *m, const struct cgroup_ref *v, size_t n)
{
	uint32_t most = 1, levels;
	struct stat st;

	if (!m->whole || stat("/proc/self/ns/cgroup", &st) || st.st_ino != INITIAL_NAMESPACE)
		return ABI_CGROUP_LEVELS;
	for (size_t i = 0; i < n; i++) {
		levels = 1;
		for (const char *at = v[i].path; (at = strchr(at, '/')); at++)
			levels += at[1] != '\0' && at[1] != '/'; /* "/" is the root */
		if (levels > most)
			most = levels;
	}
	return most < ABI_CGROUP_LEVELS ? most : ABI_CGROUP_LEVELS;
}

/* ---- names by id ---- */

struct cgroup_name_entry {
	struct cache_item item;
	uint64_t id;
	char *name;
};

struct cgroup_names {
	struct cgroup_mount *mount;
	struct cache cache;
	int (*path)(void *ctx, uint64_t id, char *out, size_t len); /* or NULL */
	void *ctx;
};

static int compare_id(const void *a, const void *b)
{
	uint64_t x = ((const struct cgroup_name_entry *)a)->id;
	uint64_t y = ((const struct cgroup_name_entry *)b)->id;

	return x < y ? -1 : x > y;
}

static void free_entry(void *p)
{
	struct cgroup_name_entry *n = p;

	free(n->name);
	free(n);
}

struct cgroup_names *cgroup_names_new(struct cgroup_mount *m)
{
	struct cgroup_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->mount = m;
	cache_init(&n->cache, NAMES_MAX, compare_id, free_entry);
	return n;
}

void cgroup_names_fall_back(struct cgroup_names *n,
			    int (*path)(void *ctx, uint64_t id, char *out, size_t len), void *ctx)
{
	n->path = path;
	n->ctx = ctx;
}

const char *cgroup_name(struct cgroup_names *n, uint64_t id)
{
	struct cgroup_name_entry like = {.id = id}, *e;
	char path[PATH_MAX];

	cache_trim(&n->cache);
	e = cache_get(&n->cache, &like, sizeof(like));
	if (e && !e->name) {
		if ((!n->mount || path_of(n->mount, id, path, sizeof(path))) &&
		    (!n->path || n->path(n->ctx, id, path, sizeof(path))))
			snprintf(path, sizeof(path), "id:%llu", (unsigned long long)id);
		e->name = strdup(path);
	}
	return e && e->name ? e->name : "?";
}

void cgroup_names_free(struct cgroup_names *n)
{
	if (!n)
		return;
	cache_clear(&n->cache);
	free(n);
}
