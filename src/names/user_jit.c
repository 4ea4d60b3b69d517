// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that a run-time compiler wrote down: /tmp/perf-PID.map. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names/user_proc.h"

#define LINE_MAX_BYTES 4096
#define FILE_MAX_BYTES (64 << 20) /* from its end when first seen: compilers append */
#define LINES_MAX (1U << 20)	  /* remembered of a file, 16 bytes each: the last ones */
#define BLOCK 256		  /* lines that are skipped together */
#define MAPS_KEPT 2		  /* files */
#define CHUNK 65536
#define HEX_DIGITS "0123456789abcdefABCDEF"

/* A line: where its code is, and where it stands in the file. */
struct jit_span {
	uint64_t start;
	uint32_t size; /* a longer one is none */
	uint32_t at;   /* from `base` of the file */
};

/* What BLOCK lines reach over. */
struct jit_block {
	uint64_t start, end;
};

struct jit_map {
	uint64_t dev, ino, used;
	int64_t changed_ns;
	uint64_t base, read_to, size; /* in the file: where we began, the next line, its end then */
	struct jit_span *v;
	struct jit_block *blocks;
	size_t n;
};

struct jit_maps {
	struct jit_map v[MAPS_KEPT];
	uint64_t clock;
};

struct jit_maps *jit_open(void)
{
	return calloc(1, sizeof(struct jit_maps));
}

static void map_clear(struct jit_map *m)
{
	free(m->v);
	free(m->blocks);
	*m = (struct jit_map){0};
}

void jit_close(struct jit_maps *j)
{
	for (size_t i = 0; j && i < MAPS_KEPT; i++)
		map_clear(&j->v[i]);
	free(j);
}

/* ---- a line ---- */

static bool hex(const char **p, uint64_t *out)
{
	size_t digits;

	if (!strncmp(*p, "0x", 2))
		*p += 2;
	digits = strspn(*p, HEX_DIGITS);
	*out = digits ? strtoull(*p, NULL, 16) : 0;
	*p += digits;
	return digits && digits <= 16;
}

static bool parse(const char *line, uint64_t *start, uint64_t *size, const char **name)
{
	if (!hex(&line, start) || *line++ != ' ' || !hex(&line, size) || *line++ != ' ' || !*line ||
	    *line == '\n')
		return false;
	*name = line;
	return true;
}

bool jit_line(const char *line, uint64_t ip, const char **name, uint64_t *offset)
{
	uint64_t start, size;

	if (!parse(line, &start, &size, name))
		return false;
	*offset = ip - start;
	return *offset < size;
}

/* ---- the lines of a file ---- */

/* The older half goes where there is no more room. */
static bool make_room(struct jit_map *m)
{
	size_t room = m->n ? m->n * 2 : BLOCK * 4;

	if (m->n & (m->n - 1) || (m->n && m->n < BLOCK * 4))
		return true;
	if (m->n == LINES_MAX) {
		m->n /= 2;
		memmove(m->v, m->v + m->n, m->n * sizeof(*m->v));
		memmove(m->blocks, m->blocks + m->n / BLOCK, m->n / BLOCK * sizeof(*m->blocks));
		return true;
	}
	void *v = realloc(m->v, room * sizeof(*m->v));

	m->v = v ? v : m->v;
	void *blocks = v ? realloc(m->blocks, room / BLOCK * sizeof(*m->blocks)) : NULL;

	m->blocks = blocks ? blocks : m->blocks;
	return blocks != NULL;
}

static bool add_line(struct jit_map *m, const char *line, uint64_t at)
{
	struct jit_block *b;
	const char *name;
	uint64_t start, size;

	if (!parse(line, &start, &size, &name) || !size || size > UINT32_MAX ||
	    start + size < start || at - m->base > UINT32_MAX)
		return true; /* not of the format */
	if (!make_room(m))
		return false;
	b = &m->blocks[m->n / BLOCK];
	if (m->n % BLOCK == 0)
		*b = (struct jit_block){start, start + size};
	b->start = start < b->start ? start : b->start;
	b->end = start + size > b->end ? start + size : b->end;
	m->v[m->n++] = (struct jit_span){start, (uint32_t)size, (uint32_t)(at - m->base)};
	return true;
}

/* Adds the lines of a piece; how far they reach. A last one may still be being written. */
static size_t add_lines(struct jit_map *m, char *piece, size_t len)
{
	size_t at = 0;
	char *nl;

	while ((nl = memchr(piece + at, '\n', len - at))) {
		size_t end = (size_t)(nl - piece);

		*nl = '\0';
		if (end - at < LINE_MAX_BYTES && !add_line(m, piece + at, m->read_to + at))
			return 0;
		at = end + 1;
	}
	return at;
}

/* What is there now and was not read yet, as far as the time goes. */
static void read_on(struct jit_map *m, int fd, struct work *w)
{
	char *piece = malloc(CHUNK);

	while (piece && m->read_to < m->size && !work_over(w)) {
		ssize_t n = pread(fd, piece, CHUNK, (off_t)m->read_to);
		size_t took = n > 0 ? add_lines(m, piece, (size_t)n) : 0;

		if (!took && n == CHUNK)
			took = CHUNK; /* a line longer than any */
		if (!took)
			break;
		m->read_to += took;
	}
	free(piece);
}

/* ---- files ---- */

static struct jit_map *map_of(struct jit_maps *j, const struct stat *st)
{
	struct jit_map *m = &j->v[0];
	int64_t changed = st->st_mtim.tv_sec * 1000000000LL + st->st_mtim.tv_nsec;
	uint64_t size = (uint64_t)st->st_size;

	for (size_t i = 0; i < MAPS_KEPT; i++) {
		struct jit_map *c = &j->v[i];

		if (c->used && c->dev == st->st_dev && c->ino == st->st_ino) {
			m = c;
			break;
		}
		if (c->used < m->used)
			m = c;
	}
	/* Another file, or not only appended to. */
	if (m->dev != st->st_dev || m->ino != st->st_ino || size < m->size ||
	    (size == m->size && changed != m->changed_ns)) {
		map_clear(m);
		m->dev = st->st_dev;
		m->ino = st->st_ino;
		m->base = size > FILE_MAX_BYTES ? size - FILE_MAX_BYTES : 0;
		m->read_to = m->base;
	}
	m->size = size;
	m->changed_ns = changed;
	m->used = ++j->clock;
	return m;
}

static const struct jit_span *last_at(const struct jit_map *m, uint64_t ip)
{
	size_t i = m->n;

	while (i) {
		const struct jit_block *b = &m->blocks[(i - 1) / BLOCK];

		if (ip < b->start || ip >= b->end) {
			i = (i - 1) / BLOCK * BLOCK;
			continue;
		}
		i--;
		if (ip - m->v[i].start < m->v[i].size)
			return &m->v[i];
	}
	return NULL;
}

/* Its name, from the file: what stands there must still say so. */
static bool read_name(int fd, const struct jit_map *m, const struct jit_span *s, uint64_t ip,
		      char *out, size_t len, uint64_t *offset)
{
	char line[LINE_MAX_BYTES];
	ssize_t n = pread(fd, line, sizeof(line) - 1, (off_t)(m->base + s->at));
	const char *name;

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (!jit_line(line, ip, &name, offset))
		return false;
	(void)snprintf(out, len, "%s", name); /* cut is fine */
	return true;
}

bool jit_find(struct jit_maps *j, struct opener *o, struct work *w, uint32_t pid, uint64_t ip,
	      char *out, size_t len, uint64_t *offset)
{
	int fd = j ? opener_of_process(o, OPEN_PERF_MAP, pid, 0, 0, 0) : -1;
	const struct jit_span *s;
	struct jit_map *m;
	struct stat st;
	bool found = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st)) {
		struct file_id id = {st.st_dev, st.st_ino, 0, 0};

		m = map_of(j, &st);
		if (work_on_file(w, &id))
			read_on(m, fd, w);
		s = last_at(m, ip);
		found = s && read_name(fd, m, s, ip, out, len, offset);
		if (s && !found) /* it was written over: from its start the next time */
			m->size = UINT64_MAX;
	}
	close(fd);
	return found;
}
