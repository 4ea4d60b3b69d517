// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/user_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_LEN 64

static void proc_path(char out[PATH_LEN], uint32_t pid, const char *name)
{
	(void)snprintf(out, PATH_LEN, "/proc/%" PRIu32 "/%s", pid, name); /* fits */
}

/* Field 22 of stat, behind the command, which may hold anything. */
uint64_t proc_start(uint32_t pid)
{
	char path[PATH_LEN], line[1024], *at, *end;
	FILE *f;
	uint64_t v;

	proc_path(path, pid, "stat");
	f = fopen(path, "re");
	if (!f)
		return 0;
	line[fread(line, 1, sizeof(line) - 1, f)] = '\0';
	fclose(f);
	at = strrchr(line, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	v = strtoull(at + 1, &end, 10);
	return *end == ' ' ? v : 0;
}

static int read_maps(struct maps *m, uint32_t pid)
{
	char path[PATH_LEN], *line = NULL;
	size_t room = 0;
	ssize_t len;
	int ret = 0;
	FILE *f;

	proc_path(path, pid, "maps");
	f = fopen(path, "re");
	if (!f)
		return -errno;
	errno = 0;
	while (!ret && (len = getline(&line, &room, f)) > 0)
		ret = maps_add(m, line, (size_t)len - (line[len - 1] == '\n'));
	if (!ret && ferror(f))
		ret = errno ? -errno : -EIO;
	if (!ret && !m->n)
		ret = -ESRCH; /* a kernel thread, or it has ended but is not yet waited for */
	free(line);
	fclose(f);
	return ret;
}

/* The root of a process that has another than we, else -1. */
static int foreign_root(uint32_t pid)
{
	static const char *const places[][2] = {{"ns/mnt", "/proc/self/ns/mnt"}, {"root", "/"}};
	char path[PATH_LEN];
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

/*
 * The file behind a mapping: through map_files, which also leads to deleted ones and through any
 * namespace, but wants a capability; else by its path, if the inode there is the one mapped. Device
 * numbers are not compared: overlayfs and btrfs have others in maps than in stat.
 */
static int open_source(uint32_t pid, int root_fd, const struct map_source *s, const char *path)
{
	char link[PATH_LEN];
	struct stat st;
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
		       s->start, s->end); /* fits */
	fd = elf_open_below(-1, link);
	if (fd >= 0 || s->deleted || path[0] != '/')
		return fd;
	fd = elf_open_below(root_fd, path);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != s->ino)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* A process's root, if it is not ours. */
struct root {
	int fd;		       /* -1: ours */
	char prefix[PATH_MAX]; /* what the paths of a chroot begin with, seen from our root */
	size_t prefix_len;
};

static void root_open(struct root *r, uint32_t pid)
{
	char path[PATH_LEN];
	ssize_t len;

	r->prefix_len = 0;
	r->fd = foreign_root(pid);
	if (r->fd < 0)
		return;
	proc_path(path, pid, "root");
	len = readlink(path, r->prefix, sizeof(r->prefix));
	if (len > 1 && (size_t)len < sizeof(r->prefix))
		r->prefix_len = (size_t)len;
}

/* A path in maps as the process would write it. */
static const char *path_within(const struct root *r, const char *path)
{
	size_t len = r->prefix_len;

	return len && !strncmp(path, r->prefix, len) && path[len] == '/' ? path + len : path;
}

/* Those with code; others are data to us. */
static void hold_files(struct maps *m, uint32_t pid, struct elf_files *files)
{
	struct root root;

	root_open(&root, pid);
	for (size_t i = 0; i < m->nsources; i++) {
		struct map_source *s = &m->sources[i];
		const char *path = path_within(&root, s->path);
		int fd = s->exec && s->ino ? open_source(pid, root.fd, s, path) : -1, own = -1;

		if (fd >= 0 && root.fd >= 0)
			own = fcntl(root.fd, F_DUPFD_CLOEXEC, 0);
		if (fd >= 0)
			s->elf = elf_file_get(files, fd, own, path);
	}
	if (root.fd >= 0)
		close(root.fd);
}

int proc_read(struct user_proc *p, uint32_t pid, struct elf_files *files)
{
	struct user_proc fresh = {.pid = pid, .start = proc_start(pid)};
	int ret = fresh.start ? read_maps(&fresh.maps, pid) : -ESRCH;

	if (!ret)
		hold_files(&fresh.maps, pid, files);
	/* Another process may have got the number meanwhile. */
	if (!ret && proc_start(pid) != fresh.start)
		ret = -ESRCH;
	if (ret) {
		proc_free(&fresh);
		return ret;
	}
	proc_free(p);
	*p = fresh;
	return 0;
}

void proc_free(struct user_proc *p)
{
	for (size_t i = 0; i < p->maps.nsources; i++)
		elf_file_put(p->maps.sources[i].elf);
	maps_free(&p->maps);
}

/* ---- addresses ---- */

static uint64_t page_of(uint64_t addr)
{
	return addr & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/* The last mapping of a file at or before this one. */
static const struct map *file_map(const struct maps *m, const struct map *map)
{
	for (;; map--) {
		if (map->source != MAP_ANON && m->sources[map->source].ino)
			return map;
		if (map == m->v)
			return NULL;
	}
}

/* The first mapping of the same loading of a file: where its first segment starts. */
static const struct map *first_map(const struct maps *m, const struct map *map,
				   const struct elf_file *f)
{
	uint64_t first = page_of(f->segments[0].offset);
	uint32_t source = map->source;

	for (;; map--) {
		if (map->source == source && map->offset == first)
			return map;
		if (map == m->v)
			return NULL;
	}
}

/* Would loading the file at this bias have made this mapping? */
static bool maps_segment(const struct elf_file *f, const struct map *map, uint64_t bias)
{
	for (size_t i = 0; i < f->nsegments; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t in_segment = map->start - bias - page_of(s->vaddr);

		if (in_segment < s->memsz + (s->vaddr - page_of(s->vaddr)) &&
		    map->offset == page_of(s->offset) + in_segment)
			return true;
	}
	return false;
}

static bool in_segment(const struct elf_file *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->nsegments; i++)
		if (vaddr - f->segments[i].vaddr < f->segments[i].memsz)
			return true;
	return false;
}

/* How far from the addresses in the file it was loaded. */
static bool loaded_at(const struct maps *m, const struct map *file, const struct elf_file *f,
		      uint64_t *bias)
{
	const struct map *first;

	if (!f || !f->nsegments)
		return false;
	first = first_map(m, file, f);
	if (first)
		*bias = first->start - page_of(f->segments[0].vaddr);
	return first != NULL;
}

bool proc_elf_bias(const struct user_proc *p, const struct map *map, uint64_t *bias)
{
	const struct elf_file *f =
		map->source == MAP_ANON ? NULL : p->maps.sources[map->source].elf;

	return loaded_at(&p->maps, map, f, bias);
}

bool proc_elf_spot(const struct user_proc *p, const struct map *map, uint64_t addr,
		   struct elf_spot *out)
{
	const struct map *file = file_map(&p->maps, map);
	const struct elf_file *f;
	uint64_t bias;

	out->source = file ? &p->maps.sources[file->source] : NULL;
	f = out->source ? out->source->elf : NULL;
	if (!loaded_at(&p->maps, file, f, &bias))
		return false;
	out->vaddr = addr - bias;
	return file == map ? maps_segment(f, map, bias) : in_segment(f, out->vaddr);
}
