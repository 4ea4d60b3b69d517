// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/user_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DELETED " (deleted)"
#define SOURCES_LOOKED_AT 16 /* a file's mappings lie together: no need to look at all */

/* Room for one more in an array whose size doubles. */
static int room(void **v, size_t n, size_t size)
{
	void *grown;

	if (n & (n - 1)) /* not full before the next power of two */
		return 0;
	grown = realloc(*v, (n ? 2 * n : 1) * size);
	if (!grown)
		return -ENOMEM;
	*v = grown;
	return 0;
}

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
	int ret;

	len -= deleted ? tail : 0;
	for (size_t i = m->nsources; i && m->nsources - i < SOURCES_LOOKED_AT; i--) {
		if (same_source(&m->sources[i - 1], l->path, len, deleted, l->inode)) {
			*out = (uint32_t)(i - 1);
			return 0;
		}
	}
	ret = room((void **)&m->sources, m->nsources, sizeof(*m->sources));
	if (ret)
		return ret;
	s = &m->sources[m->nsources];
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
	int ret;

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
	ret = room((void **)&m->v, m->n, sizeof(*m->v));
	if (!ret && (l.inode || l.path_len))
		ret = source(m, &l, &map.source);
	if (ret)
		return ret;
	if (map.source != MAP_NO_SOURCE) {
		struct map_source *s = &m->sources[map.source];

		s->start = s->end ? s->start : map.start;
		s->end = s->end ? s->end : map.end;
		s->exec |= (map.perms & MAP_X) != 0;
	}
	m->v[m->n++] = map;
	return 0;
}

const struct map *maps_find(const struct maps *m, uint64_t addr)
{
	size_t from = 0, to = m->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (m->v[mid].end <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from < m->n && m->v[from].start <= addr ? &m->v[from] : NULL;
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
