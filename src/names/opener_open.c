// SPDX-License-Identifier: GPL-2.0-or-later
/* What the opener opens, and what it does not: regular files only, never through a magic link. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "abi_space.h"
#include "core/map_line.h"
#include "names/opener.h"

#define PROC_LEN 64

static void proc_path(char out[PROC_LEN], uint32_t pid, const char *name)
{
	(void)snprintf(out, PROC_LEN, "/proc/%" PRIu32 "/%s", pid, name); /* fits */
}

static int open_how(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Where reading may do something: takes lines from the kernel's log, asks a device. */
static bool is_of_kernel(int fd)
{
	static const long kernels[] = {
		PROC_SUPER_MAGIC,     SYSFS_MAGIC,    DEBUGFS_MAGIC,	  TRACEFS_MAGIC,
		SECURITYFS_MAGIC,     SELINUX_MAGIC,  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		BPF_FS_MAGIC,	      EFIVARFS_MAGIC, PSTOREFS_MAGIC,	  BINFMTFS_MAGIC,
		RDTGROUP_SUPER_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if ((uint32_t)fs.f_type == (uint32_t)kernels[i])
			return true;
	return false;
}

/* Regular by their mode are the kernel's own, too. Most of these are empty, as far as stat knows;
 * of what is really empty there is nothing to be read. */
static bool is_regular(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && !is_of_kernel(fd);
}

/* First without opening: opening a device does things, opening a pipe waits. */
static int open_regular(int dir, const char *path, uint64_t resolve)
{
	int fd = open_how(dir, path, O_PATH, resolve);
	bool regular;

	if (fd < 0)
		return fd;
	regular = is_regular(fd);
	close(fd);
	if (!regular)
		return -EACCES;
	fd = open_how(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, resolve);
	if (fd >= 0 && !is_regular(fd)) {
		close(fd);
		fd = -EACCES;
	}
	return fd;
}

/* ---- processes ---- */

/* Of /proc/PID/stat. */
struct proc_stat {
	char state;
	uint64_t start, space;
};

#define STAT_FIELDS 52
#define STAT_START 22

/* Behind the command, which may hold anything. False: it has ended. */
static bool proc_stat(uint32_t pid, struct proc_stat *out)
{
	static const int parts[ABI_SPACE_PARTS] = {26, 27, 28, 45, 47};
	__u64 field[STAT_FIELDS + 1] = {0}, v[ABI_SPACE_PARTS];
	char path[PROC_LEN], line[1024], *at;
	ssize_t n;
	int fd;

	proc_path(path, pid, "stat");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n < 0 ? 0 : n] = '\0';
	at = strrchr(line, ')');
	if (!at || at[1] != ' ')
		return false;
	out->state = at[2];
	for (int i = 3; i <= STAT_FIELDS && (at = strchr(at + 1, ' ')); i++)
		field[i] = strtoull(at + 1, NULL, 10);
	for (int i = 0; i < ABI_SPACE_PARTS; i++)
		v[i] = field[parts[i]];
	out->start = field[STAT_START];
	out->space = abi_space(v);
	return out->start != 0;
}

/*
 * The number below which a process's files are read. Where its main thread has ended, that has no
 * address space any more: the first of its threads that lives has.
 */
static uint32_t living_thread(uint32_t pid, struct proc_stat *st)
{
	char path[PROC_LEN];
	struct proc_stat own;
	struct dirent *d;
	uint32_t found = pid;
	DIR *dir;

	if (!proc_stat(pid, st) || st->state != 'Z')
		return pid;
	proc_path(path, pid, "task");
	dir = opendir(path);
	while (dir && found == pid && (d = readdir(dir))) {
		uint32_t tid = (uint32_t)strtoul(d->d_name, NULL, 10);

		if (!tid || tid == pid || !proc_stat(tid, &own) || own.state == 'Z' || !own.space)
			continue;
		st->space = own.space;
		found = tid;
	}
	if (dir)
		(void)closedir(dir); /* it was only read */
	return found;
}

/* The root of a process that has another than we, else -1. */
static int foreign_root(uint32_t pid)
{
	static const char *const places[][2] = {{"ns/mnt", "/proc/self/ns/mnt"}, {"root", "/"}};
	char path[PROC_LEN];
	struct stat theirs, ours;
	bool same = true;

	for (size_t i = 0; i < 2; i++) {
		proc_path(path, pid, places[i][0]);
		same &= !stat(path, &theirs) && !stat(places[i][1], &ours) &&
			theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
	}
	proc_path(path, pid, "root");
	return same ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* What the paths of a chroot begin with, seen from our root; "" none. */
static void root_prefix(uint32_t pid, char out[PATH_MAX])
{
	char path[PROC_LEN];
	ssize_t len;

	proc_path(path, pid, "root");
	len = readlink(path, out, PATH_MAX - 1);
	out[len > 1 ? len : 0] = '\0';
}

static int open_process(uint32_t pid, struct open_tell *tell, struct wire_fds *fds)
{
	char path[PROC_LEN];
	struct proc_stat before = {0}, after = {0};
	uint32_t thread = living_thread(pid, &before);

	if (!before.start)
		return -ESRCH;
	proc_path(path, thread, "maps");
	fds->v[0] = open(path, O_RDONLY | O_CLOEXEC);
	if (fds->v[0] < 0)
		return -errno;
	/* or these maps are another's, who got its number, or of the program before */
	if (living_thread(pid, &after) != thread || after.start != before.start ||
	    after.space != before.space)
		return -ESRCH;
	tell->start = before.start;
	tell->space = before.space;
	fds->v[1] = foreign_root(thread);
	tell->has_root = fds->v[1] >= 0;
	if (tell->has_root)
		root_prefix(thread, tell->prefix);
	return 0;
}

/* ---- the file behind a mapping ---- */

const char *opener_path_within(const char *prefix, const char *path)
{
	size_t len = strlen(prefix);

	return len && !strncmp(path, prefix, len) && path[len] == '/' ? path + len : path;
}

/* By its path, if the inode there is the one mapped. Device numbers are not compared: overlayfs and
 * btrfs have others in maps than in stat. */
static int open_by_path(uint32_t pid, const struct map_line *l)
{
	char prefix[PATH_MAX] = "", path[PATH_MAX];
	int root = foreign_root(pid), fd;
	struct stat st;

	if (!l->inode || l->path_len >= sizeof(path) || l->path[0] != '/') {
		fd = -ENOENT;
	} else {
		memcpy(path, l->path, l->path_len);
		path[l->path_len] = '\0';
		if (root >= 0)
			root_prefix(pid, prefix);
		fd = root >= 0 ? open_regular(root, opener_path_within(prefix, path),
					      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
			       : open_regular(AT_FDCWD, path, RESOLVE_NO_MAGICLINKS);
	}
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != l->inode)) {
		close(fd);
		fd = -ESTALE;
	}
	if (root >= 0)
		close(root);
	return fd;
}

static int open_in_maps(uint32_t pid, uint64_t start, uint64_t end)
{
	char path[PROC_LEN], *line = NULL;
	size_t room = 0;
	ssize_t len;
	struct map_line l;
	int fd = -ENOENT;
	FILE *f;

	proc_path(path, pid, "maps");
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fd == -ENOENT && (len = getline(&line, &room, f)) > 0) {
		if (!map_line_parse(line, (size_t)len, &l) || l.start > start)
			continue;
		if (l.start == start && l.end == end) {
			fd = open_by_path(pid, &l);
			break;
		}
	}
	free(line);
	fclose(f);
	return fd;
}

/* Through map_files, which also leads to deleted ones and through any namespace, but wants a
 * capability: the one magic link that is followed, for it can only lead to what is mapped. */
static int open_mapped(uint32_t pid, uint64_t start, uint64_t end)
{
	char link[PROC_LEN];
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
		       start, end); /* fits */
	fd = open_regular(AT_FDCWD, link, 0);
	return fd >= 0 || fd == -EACCES ? fd : open_in_maps(pid, start, end);
}

/* ---- debug files ---- */

/* path: below the root `root`, or below DEBUG_DIR of ours. */
static int open_below(int root, const char *path)
{
	size_t len = sizeof(DEBUG_DIR "/") - 1;
	int dir, fd;

	if (root >= 0)
		return open_regular(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (strncmp(path, DEBUG_DIR "/", len))
		return -EACCES;
	dir = open(DEBUG_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = open_regular(dir, path + len, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	close(dir);
	return fd;
}

static int open_build_id(int root, const uint8_t *id, size_t len)
{
	char path[sizeof(DEBUG_DIR "/.build-id//.debug") + 2 * BUILD_ID_MAX + 1];
	size_t at;

	if (len < 2 || len > BUILD_ID_MAX)
		return -EINVAL;
	at = (size_t)snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < len; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", id[i]);
	(void)snprintf(path + at, sizeof(path) - at, ".debug"); /* fits */
	return open_below(root, path);
}

/* Is the program's file in that directory? */
static bool lies_in(int program, const char *dir)
{
	char link[PROC_LEN], path[PATH_MAX], *slash;
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", program); /* fits */
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return !strcmp(path, dir);
}

static int open_link(const struct open_ask *ask, int program, int root)
{
	char path[PATH_MAX + OPEN_NAME_LEN + sizeof(DEBUG_DIR) + 16];
	const char *before = ask->which == 2 ? DEBUG_DIR : "",
		   *between = ask->which == 1 ? "/.debug" : "";

	if (ask->which >= OPEN_LINKS || !ask->name[0] || strchr(ask->name, '/') ||
	    (ask->path[0] && ask->path[0] != '/'))
		return -EINVAL;
	(void)snprintf(path, sizeof(path), "%s%s%s/%s", before, ask->path, between,
		       ask->name); /* fits */
	/* What lies there, not what is pointed to from there: its directory's path has no links. */
	if (root < 0 && ask->which < 2)
		return lies_in(program, ask->path)
			       ? open_regular(AT_FDCWD, path, RESOLVE_NO_SYMLINKS)
			       : -EACCES;
	return open_below(root, path);
}

/* Does the file belong to that user, to root or to us? Others could have put it there. */
static bool is_owned(int fd, uid_t owner)
{
	struct stat file;

	return !fstat(fd, &file) &&
	       (!file.st_uid || file.st_uid == geteuid() || file.st_uid == owner);
}

/* A program names its .dwo files by any path: one is opened only if it is_owned by the program's
 * owner. */
static int open_split(const char *path, int program, int root)
{
	struct stat owner;
	int fd;

	if (path[0] != '/' || fstat(program, &owner))
		return -EINVAL;
	fd = root >= 0 ? open_regular(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
		       : open_regular(AT_FDCWD, path, RESOLVE_NO_MAGICLINKS);
	if (fd >= 0 && !is_owned(fd, owner.st_uid)) {
		close(fd);
		fd = -EACCES;
	}
	return fd;
}

/* ---- what run-time compilers wrote down ---- */

/* Its number in its own PID namespace, by which it names the file; 0: it has ended. */
static uint32_t own_pid(uint32_t pid)
{
	char path[PROC_LEN], line[256], *last;
	uint32_t own = 0;
	FILE *f;

	proc_path(path, pid, "status");
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		last = strrchr(line, '\t');
		own = last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
		break;
	}
	fclose(f);
	return own;
}

/* Anybody may write to /tmp: only the process itself, root and we say what its code is. */
static bool trusted(int fd, uint32_t pid)
{
	char path[PROC_LEN];
	struct stat proc;

	proc_path(path, pid, "");
	return !stat(path, &proc) && is_owned(fd, proc.st_uid);
}

static int open_perf_map(uint32_t pid, uint32_t thread)
{
	char path[PROC_LEN];
	int root, fd;

	proc_path(path, thread, "root");
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", own_pid(pid)); /* fits */
	fd = open_regular(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	close(root);
	if (fd >= 0 && !trusted(fd, pid)) {
		close(fd);
		fd = -EACCES;
	}
	return fd;
}

void opener_serve(struct fetches *f, const struct open_ask *ask, const struct wire_fds *with,
		  struct open_tell *tell, struct wire_fds *fds)
{
	struct proc_stat st = {0};
	int fd = -EINVAL;

	switch (ask->type) {
	case OPEN_PROCESS:
		tell->status = open_process(ask->pid, tell, fds);
		if (tell->status)
			wire_close_fds(fds);
		return;
	case OPEN_START:
		(void)living_thread(ask->pid, &st); /* start 0: it has ended */
		tell->start = st.start;
		tell->space = st.space;
		return;
	case OPEN_MAPPED:
		fd = open_mapped(living_thread(ask->pid, &st), ask->start, ask->end);
		break;
	case OPEN_BUILD_ID:
		fd = open_build_id(with->v[0], ask->id, ask->id_len);
		break;
	case OPEN_LINK:
		fd = open_link(ask, with->v[0], ask->start ? with->v[1] : -1);
		break;
	case OPEN_ALT:
		fd = open_below(with->v[0], ask->path);
		break;
	case OPEN_SPLIT:
		fd = open_split(ask->path, with->v[0], ask->start ? with->v[1] : -1);
		break;
	case OPEN_PERF_MAP:
		fd = open_perf_map(ask->pid, living_thread(ask->pid, &st));
		break;
	case OPEN_FETCH:
		fd = fetch_get(f, ask->id, ask->id_len);
		break;
	}
	tell->status = fd < 0 ? fd : 0;
	fds->v[0] = fd < 0 ? -1 : fd;
}
