// SPDX-License-Identifier: GPL-2.0-or-later
/* --dev, and mounts that are not ours. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/array.h"
#include "source/inodes/ext4_dev.h"
#include "source/sys/mountinfo.h"

#define EXPECTED "expected a mounted ext4: its device, MAJ:MIN, or a path on it"

/* Has a directory for every file system of the driver. */
#define DRIVER "/proc/fs/ext4"

uint32_t ext4_devs_mounted(void)
{
	DIR *dir = opendir(DRIVER);
	struct dirent *d;
	uint32_t n = 0;

	while (dir && (d = readdir(dir)))
		n += d->d_name[0] != '.';
	if (dir)
		(void)closedir(dir); /* only read */
	return n;
}

uint64_t ext4_fs_at(const char *path, uint32_t kdev)
{
	struct statfs fs;
	struct stat st;
	uint32_t half[2];

	if (stat(path, &st) || ext4_kdev(major(st.st_dev), minor(st.st_dev)) != kdev ||
	    statfs(path, &fs) || fs.f_type != EXT4_SUPER_MAGIC)
		return 0;
	memcpy(half, &fs.f_fsid, sizeof(half));
	return half[0] == half[1] ? 0 : (uint64_t)(half[0] ^ half[1]) << 32 | kdev;
}

static bool driver_has(uint32_t major, uint32_t minor)
{
	char name[NAME_MAX + 1], dir[sizeof(DRIVER "/") + NAME_MAX];

	if (!block_device_name(major, minor, name, sizeof(name)))
		return false;
	snprintf(dir, sizeof(dir), DRIVER "/%s", name);
	return !access(dir, F_OK);
}

bool ext4_is(const struct mount_entry *m)
{
	if (!strcmp(m->fstype, "ext4"))
		return true;
	return (!strcmp(m->fstype, "ext3") || !strcmp(m->fstype, "ext2")) &&
	       driver_has(m->major, m->minor);
}

/* ---- other mount namespaces ---- */

/* Ids of mounts are unique, so that of the first one tells namespaces apart. */
static bool is_new(struct u32_list *seen, uint32_t id)
{
	for (size_t i = 0; i < seen->n; i++)
		if (seen->v[i] == id)
			return false;
	return !u32_list_push(seen, id);
}

/* Enough of the file for its first line. */
static bool first_id(const char *path, uint32_t *id)
{
	char line[2 * PATH_MAX], *text = line;
	struct mount_entry m;
	bool ok = false;
	ssize_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	len = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (len > 0) {
		line[len] = '\0';
		ok = mountinfo_next(&text, &m);
	}
	if (ok)
		*id = m.id;
	return ok;
}

/* 1: fn is satisfied. */
static bool ask_namespace(const char *pid, struct u32_list *seen, ext4_mount_fn fn, void *ctx)
{
	char path[64], *text, *rest;
	struct mount_entry m;
	bool done = false;
	uint32_t id;

	if (snprintf(path, sizeof(path), "/proc/%.20s/mountinfo", pid) >= (int)sizeof(path) ||
	    !first_id(path, &id) || !is_new(seen, id))
		return false;
	text = rest = mountinfo_read(path);
	while (!done && mountinfo_next(&rest, &m))
		done = fn(ctx, (uint32_t)strtoul(pid, NULL, 10), &m);
	free(text);
	return done;
}

bool ext4_mounts_elsewhere(uint32_t pid, ext4_mount_fn fn, void *ctx)
{
	struct u32_list seen = {0};
	struct dirent *ent;
	bool done = false;
	char text[16];
	DIR *proc;

	if (pid) {
		snprintf(text, sizeof(text), "%u", pid);
		done = ask_namespace(text, &seen, fn, ctx);
		free(seen.v);
		return done;
	}
	proc = opendir("/proc");
	while (proc && !done && (ent = readdir(proc)))
		if (isdigit((unsigned char)ent->d_name[0]))
			done = ask_namespace(ent->d_name, &seen, fn, ctx);
	if (proc)
		closedir(proc);
	free(seen.v);
	return done;
}

/* ---- --dev ---- */

static int not_ext4(const char *text, const char *fstype, struct err *e)
{
	return err_set(e, EXIT_USAGE, -EINVAL, "--dev '%s': %s, not ext4 (" EXPECTED ")", text,
		       fstype);
}

struct by_dev {
	uint32_t kdev;
	bool ext4;
	char fstype[32]; /* of a mount of the device, if that is not ext4 */
};

/* A file system with device numbers of its own (btrfs) names the block device as its source. */
static bool lies_on(const struct mount_entry *m, uint32_t kdev)
{
	struct stat st;

	if (ext4_kdev(m->major, m->minor) == kdev)
		return true;
	return !strncmp(m->source, "/dev/", 5) && !stat(m->source, &st) && S_ISBLK(st.st_mode) &&
	       ext4_kdev(major(st.st_rdev), minor(st.st_rdev)) == kdev;
}

static bool match_dev(void *ctx, uint32_t pid, const struct mount_entry *m)
{
	struct by_dev *b = ctx;

	if (!lies_on(m, b->kdev))
		return false;
	b->ext4 = ext4_is(m);
	if (!b->ext4)
		snprintf(b->fstype, sizeof(b->fstype), "%s", m->fstype);
	return b->ext4;
}

static int check_device(const char *text, uint32_t kdev, struct err *e)
{
	struct by_dev b = {.kdev = kdev};
	uint32_t self = (uint32_t)getpid();

	if (ext4_mounts_elsewhere(self, match_dev, &b))
		return 0;
	if (!b.fstype[0] && ext4_mounts_elsewhere(0, match_dev, &b))
		return 0;
	if (b.fstype[0])
		return not_ext4(text, b.fstype, e);
	return err_set(e, EXIT_USAGE, -ENXIO, "--dev '%s': not mounted (" EXPECTED ")", text);
}

/* "mnt_id:\t42" of an open file. */
static bool mount_id(int fd, uint32_t *id)
{
	char path[64], line[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "mnt_id: %u", id) == 1;
	if (f)
		fclose(f);
	return found;
}

/* The mount that a path is on; one that we cannot see is asked for its magic number. */
static int check_path(const char *text, int fd, const struct stat *st, uint32_t *kdev,
		      struct err *e)
{
	char *info = mountinfo_read("/proc/self/mountinfo"), *rest = info;
	bool known = false;
	struct mount_entry m;
	struct statfs fs;
	uint32_t id;
	int ret = 0;

	known = mount_id(fd, &id);
	while (known && (known = mountinfo_next(&rest, &m)) && m.id != id)
		;
	*kdev = ext4_kdev(major(st->st_dev), minor(st->st_dev));
	if (known && !ext4_is(&m))
		ret = not_ext4(text, m.fstype, e);
	else if (known)
		*kdev = ext4_kdev(m.major, m.minor);
	else if (fstatfs(fd, &fs) || fs.f_type != EXT4_SUPER_MAGIC)
		ret = not_ext4(text, "another file system", e);
	free(info);
	return ret;
}

int ext4_dev_parse(const char *text, uint32_t *kdev, struct err *e)
{
	uint32_t maj, min;
	struct stat st;
	int fd, ret;

	if (mountinfo_dev(text, &maj, &min)) { /* even if a file has this name */
		*kdev = ext4_kdev(maj, min);
		return check_device(text, *kdev, e);
	}
	fd = open(text, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		ret = err_set(e, EXIT_USAGE, -errno, "--dev '%s': %s (" EXPECTED ")", text,
			      strerror(errno));
	} else if (S_ISBLK(st.st_mode)) {
		*kdev = ext4_kdev(major(st.st_rdev), minor(st.st_rdev));
		ret = check_device(text, *kdev, e);
	} else {
		ret = check_path(text, fd, &st, kdev, e);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}
