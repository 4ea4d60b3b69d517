// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/user_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/array.h"

#define CHUNK 65536
#define DELETED " (deleted)"
#define SOURCES_LOOKED_AT 16 /* a file's mappings lie together: no need to look at all */

/* ---- mappings ---- */

static bool same_source(const struct map_source *s, const char *path, size_t len, bool deleted,
			uint64_t ino)
{
	return s->ino == ino && s->deleted == deleted && strlen(s->path) == len &&
	       !memcmp(s->path, path, len);
}

/* The source that it names, added if it is new. */
static int source(struct maps *m, const struct map_line *l, uint32_t *out)
{
	size_t len = l->path_len, tail = sizeof(DELETED) - 1;
	bool deleted = l->inode && len > tail && !memcmp(l->path + len - tail, DELETED, tail);
	struct map_source *s;

	len -= deleted ? tail : 0;
	for (size_t i = m->nsources; i && m->nsources - i < SOURCES_LOOKED_AT; i--) {
		if (same_source(&m->sources[i - 1], l->path, len, deleted, l->inode)) {
			*out = (uint32_t)(i - 1);
			return 0;
		}
	}
	s = array_room(m->sources, &m->sources_cap, m->nsources, 1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	m->sources = s;
	s += m->nsources;
	*s = (struct map_source){.ino = l->inode, .dev = l->dev, .deleted = deleted};
	s->path = strndup(l->path, len);
	if (!s->path)
		return -ENOMEM;
	*out = (uint32_t)m->nsources++;
	return 0;
}

/*
 * Look-ups need them sorted, without overlap. The kernel sorts; but a mapping that grew downward
 * while the file was read can reach into the last one: what is left of it counts, if anything.
 */
static bool after_last(const struct maps *m, struct map *map)
{
	uint64_t last = m->n ? m->v[m->n - 1].end : 0;

	if (map->end <= last)
		return false;
	if (map->start < last) {
		map->offset += last - map->start;
		map->start = last;
	}
	return true;
}

int maps_add(struct maps *m, const char *line, size_t len)
{
	struct map map = {.source = MAP_NO_SOURCE};
	struct map_line l;
	struct map *v;
	int ret = 0;

	if (!map_line_parse(line, len, &l))
		return -EINVAL;
	map.start = l.start;
	map.end = l.end;
	map.offset = l.offset;
	map.perms = l.perms;
	if (!after_last(m, &map))
		return 0;
	if (m->n == MAPS_MAX)
		return -E2BIG;
	v = array_room(m->v, &m->cap, m->n, 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	m->v = v;
	if (l.inode || l.path_len)
		ret = source(m, &l, &map.source);
	if (ret)
		return ret;
	if (map.source != MAP_NO_SOURCE) {
		struct map_source *s = &m->sources[map.source];

		s->start = s->end ? s->start : map.start;
		s->end = s->end ? s->end : map.end;
		s->exec |= (map.perms & MAP_X) != 0;
	}
	v[m->n++] = map;
	return 0;
}

const struct map *maps_find(const struct maps *m, uint64_t addr)
{
	size_t n = array_upto(m->v, m->n, sizeof(*m->v), addr);

	return n && addr < m->v[n - 1].end ? &m->v[n - 1] : NULL;
}

size_t maps_bytes(const struct maps *m)
{
	size_t bytes = m->n * sizeof(*m->v) + m->nsources * sizeof(*m->sources);

	for (size_t i = 0; i < m->nsources; i++)
		bytes += strlen(m->sources[i].path) + 1;
	return bytes;
}

void maps_free(struct maps *m)
{
	for (size_t i = 0; i < m->nsources; i++)
		free(m->sources[i].path);
	free(m->sources);
	free(m->v);
	*m = (struct maps){0};
}

/* ---- processes ---- */

/* Whole lines of what the descriptor gives. */
static int read_maps(struct maps *m, int fd)
{
	size_t at = 0, room = CHUNK;
	char *buf = malloc(room), *line, *nl;
	ssize_t n = 1;
	int ret = buf ? 0 : -ENOMEM;

	while (!ret && (n = read(fd, buf + at, room - at)) > 0) {
		at += (size_t)n;
		for (line = buf; !ret && (nl = memchr(line, '\n', at - (size_t)(line - buf)));
		     line = nl + 1)
			ret = maps_add(m, line, (size_t)(nl - line));
		at -= (size_t)(line - buf);
		memmove(buf, line, at);
		if (at == room) /* no line of the kernel's is as long */
			ret = -EINVAL;
	}
	if (!ret && n < 0)
		ret = -errno;
	if (!ret && !m->n)
		ret = -ESRCH; /* a kernel thread, or it has ended but is not yet waited for */
	free(buf);
	return ret;
}

/* Both lists are in order of address: the one at the same place, from *at on. */
static struct elf_file *held_before(const struct user_proc *before, const struct map_source *s,
				    size_t *at)
{
	const struct map_source *b;

	if (!before)
		return NULL;
	while (*at < before->maps.nsources && before->maps.sources[*at].start < s->start)
		++*at;
	b = *at < before->maps.nsources ? &before->maps.sources[*at] : NULL;
	if (!b || b->start != s->start || b->end != s->end || b->ino != s->ino ||
	    b->dev != s->dev || b->deleted != s->deleted || strcmp(b->path, s->path))
		return NULL;
	return b->elf && b->elf->fd >= 0 ? b->elf : NULL;
}

static bool is_refused(const struct work *w, int fd)
{
	struct file_id id;

	return w && elf_file_id(fd, &id) && refused_has(w->refused, &id, 0);
}

/* Those with code; others are data to us. */
static void hold_files(struct maps *m, uint32_t pid, const struct user_proc *before,
		       struct elf_files *files, struct opener *o, struct work *w,
		       const struct opened_process *opened)
{
	size_t at = 0, held = 0;

	for (size_t i = 0; i < m->nsources && held < PROC_FILES_MAX && !work_over(w); i++) {
		struct map_source *s = &m->sources[i];
		int fd, own = -1;

		if (!s->exec || !s->ino)
			continue;
		held++;
		s->elf = held_before(before, s, &at);
		if (s->elf) {
			s->elf->refs++;
			continue;
		}
		fd = opener_of_process(o, OPEN_MAPPED, pid, s->dev, s->start, s->end);
		if (fd < 0) {
			s->refused = fd == -ETIMEDOUT;
			continue;
		}
		s->refused = is_refused(w, fd);
		if (opened->root_fd >= 0)
			own = fcntl(opened->root_fd, F_DUPFD_CLOEXEC, 0);
		s->elf = elf_file_get(files, fd, own, opener_path_within(opened->prefix, s->path));
	}
}

/* Whose files they were nobody can be asked now; the maps are certain. */
static void drop_files(struct maps *m)
{
	for (size_t i = 0; i < m->nsources; i++) {
		elf_file_put(m->sources[i].elf);
		m->sources[i].elf = NULL;
		m->sources[i].refused = true;
	}
}

int proc_read(struct user_proc *p, uint32_t pid, const struct user_proc *before,
	      struct elf_files *files, struct opener *o, struct work *w)
{
	struct opened_process opened;
	struct user_proc fresh = {.pid = pid};
	int ret = opener_process(o, pid, &opened);

	if (ret)
		return ret;
	fresh.start = opened.start;
	fresh.space = opened.space;
	if (before && (before->start != fresh.start || before->space != fresh.space))
		before = NULL;
	ret = read_maps(&fresh.maps, opened.maps_fd);
	if (!ret)
		hold_files(&fresh.maps, pid, before, files, o, w, &opened);
	fresh.partial = work_over(w);
	/* Another process may have got the number meanwhile, or it may have run another program. */
	if (!ret && opener_has_hung(o, pid))
		drop_files(&fresh.maps);
	else if (!ret && !opener_is(o, pid, fresh.start, fresh.space))
		ret = -ESRCH;
	close(opened.maps_fd);
	if (opened.root_fd >= 0)
		close(opened.root_fd);
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
		if (map->source != MAP_NO_SOURCE && m->sources[map->source].ino)
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

bool proc_elf_bias(const struct user_proc *p, const struct map *map, uint64_t *bias)
{
	const struct elf_file *f =
		map->source == MAP_NO_SOURCE ? NULL : p->maps.sources[map->source].elf;
	const struct map *first = f && f->nsegments ? first_map(&p->maps, map, f) : NULL;

	if (first)
		*bias = first->start - page_of(f->segments[0].vaddr);
	return first != NULL;
}

bool proc_elf_spot(const struct user_proc *p, const struct map *map, uint64_t addr,
		   struct elf_spot *out)
{
	const struct map *file = file_map(&p->maps, map);
	const struct elf_file *f;
	uint64_t bias;

	out->source = file ? &p->maps.sources[file->source] : NULL;
	if (!file || !proc_elf_bias(p, file, &bias))
		return false;
	f = out->source->elf;
	out->vaddr = addr - bias;
	return file == map ? maps_segment(f, map, bias) : elf_file_loads(f, out->vaddr);
}
