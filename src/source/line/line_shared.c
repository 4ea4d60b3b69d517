// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/array.h"
#include "core/cache.h"
#include "core/map_line.h"
#include "source/line/line_shared.h"

#define PROCESSES_MAX 1024 /* whose mappings are remembered */
#define FILES_MAX 4096	   /* a file that comes back after so many others has new lines */
#define READS_PER_TURN 64  /* of maps; a storm's other processes wait for the next interval */
#define FRESH_TURNS 30	   /* then maps are read again: a mapping may have given way to another */
#define SHARE_PHYSICAL UINT32_MAX
#define PFN_BITS 55

struct process {
	struct cache_item item;
	uint32_t tgid;
	uint32_t read_turn;
	struct line_mapping *v; /* by address */
	size_t n;
};

/* What is mapped, and its number in line_key.share. */
struct file_id {
	struct cache_item item;
	uint64_t dev, inode;
	uint32_t share;
};

struct line_shared {
	struct cache processes, files;
	uint32_t turn, reads;
	uint32_t shares; /* handed out */
};

bool line_mapping_parse(const char *text, struct line_mapping *out)
{
	struct map_line l;

	if (!map_line_parse(text, strlen(text), &l))
		return false;
	*out = (struct line_mapping){
		.start = l.start,
		.end = l.end,
		.offset = l.offset,
		.dev = l.dev,
		.inode = l.inode,
		.shared = (l.perms & MAP_SHARED_MEM) && l.inode,
		.anonymous_inode = map_line_anon_inode(&l),
	};
	return true;
}

/* ---- what is remembered ---- */

static int compare_process(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->tgid > y->tgid) - (x->tgid < y->tgid);
}

static int compare_file(const void *a, const void *b)
{
	const struct file_id *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void process_free(void *p)
{
	free(((struct process *)p)->v);
	free(p);
}

int line_shared_open(struct line_shared **out)
{
	struct line_shared *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	cache_init(&s->processes, PROCESSES_MAX, compare_process, process_free);
	cache_init(&s->files, FILES_MAX, compare_file, free);
	return 0;
}

void line_shared_close(struct line_shared *s)
{
	if (!s)
		return;
	cache_clear(&s->processes);
	cache_clear(&s->files);
	free(s);
}

void line_shared_turn(struct line_shared *s)
{
	s->turn++;
	s->reads = 0;
	cache_trim(&s->processes);
	cache_trim(&s->files);
}

/* ---- mappings ---- */

/* A process that has ended keeps the mappings it had. */
static void read_maps(struct line_shared *s, struct process *p)
{
	struct line_mapping *v = NULL, *grown, m;
	char path[32], text[512];
	size_t n = 0, cap = 0;
	FILE *f;

	p->read_turn = s->turn;
	s->reads++;
	(void)snprintf(path, sizeof(path), "/proc/%u/maps", p->tgid); /* fits */
	f = fopen(path, "re");
	if (!f)
		return;
	/* the rest of a line longer than ours is no mapping, and is not taken for one */
	while (fgets(text, sizeof(text), f)) {
		if (!line_mapping_parse(text, &m))
			continue;
		grown = array_room(v, &cap, n, 1, sizeof(*v));
		if (!grown) {
			free(v);
			n = 0;
			break;
		}
		v = grown;
		v[n++] = m;
	}
	fclose(f);
	if (!n)
		return;
	free(p->v);
	p->v = v;
	p->n = n;
}

static const struct line_mapping *mapping_at(const struct process *p, uint64_t addr)
{
	size_t from = 0, end = p->n, mid;

	while (from < end) {
		mid = from + (end - from) / 2;
		if (addr >= p->v[mid].end)
			from = mid + 1;
		else if (addr < p->v[mid].start)
			end = mid;
		else
			return &p->v[mid];
	}
	return NULL;
}

/* NULL: not known. */
static const struct line_mapping *find(struct line_shared *s, uint32_t tgid, uint64_t addr)
{
	struct process like = {.tgid = tgid, .read_turn = s->turn - 1};
	struct process *p = cache_find(&s->processes, &like);
	bool may_read = s->reads < READS_PER_TURN;
	const struct line_mapping *m;

	if (!p && may_read)
		p = cache_get(&s->processes, &like, sizeof(like));
	if (!p)
		return NULL;
	m = mapping_at(p, addr);
	if (p->read_turn == s->turn || !may_read || (m && s->turn - p->read_turn < FRESH_TURNS))
		return m;
	read_maps(s, p);
	return mapping_at(p, addr);
}

/* ---- keys ---- */

/* 0: no memory. */
static uint32_t file_number(struct line_shared *s, const struct line_mapping *m)
{
	struct file_id like = {.dev = m->dev, .inode = m->inode};
	struct file_id *f = cache_get(&s->files, &like, sizeof(like));

	if (f && !f->share)
		f->share = ++s->shares;
	return f ? f->share : 0;
}

/* 0: not told. */
static uint64_t physical(uint32_t tgid, uint64_t addr)
{
	uint64_t entry = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
	char path[32];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/pagemap", tgid); /* fits */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (pread(fd, &entry, sizeof(entry), (off_t)(addr / page * sizeof(entry))) !=
	    (ssize_t)sizeof(entry))
		entry = 0;
	close(fd);
	entry &= (1ULL << PFN_BITS) - 1;
	return entry ? entry * page + addr % page : 0;
}

void line_shared_key(struct line_shared *s, const struct abi_access_key *at, uint64_t phys,
		     struct line_key *out)
{
	uint64_t addr = at->addr;
	const struct line_mapping *m;

	*out = (struct line_key){.line = addr >> ABI_LINE_SHIFT, .tgid = at->tgid};
	if (!at->tgid || addr & KERNEL_HALF)
		return;
	out->space = at->space;
	m = find(s, at->tgid, addr);
	if (!m || !m->shared)
		return;
	if (m->anonymous_inode) {
		phys = phys ? phys : physical(at->tgid, addr);
		if (phys)
			*out = (struct line_key){.line = phys >> ABI_LINE_SHIFT,
						 .share = SHARE_PHYSICAL};
		return;
	}
	out->share = file_number(s, m);
	if (!out->share)
		return;
	out->tgid = 0;
	out->space = 0;
	out->line = (m->offset + (addr - m->start)) >> ABI_LINE_SHIFT;
}
