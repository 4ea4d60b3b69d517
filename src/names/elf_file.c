// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/elf_file.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A file read: the main one of an elf_file, its debug file, dwz's. */
struct part {
	Elf *elf;
	int fd;
};

struct handle {
	struct elf_file *file; /* NULL: free */
	struct part debug, alt;
	struct elf_look look;
	uint64_t bytes, used;
};

struct elf_files {
	struct elf_file **v;
	size_t n, room, fds, fds_max;
	uint64_t clock;	  /* counts uses, for the least recent */
	uint64_t trimmed; /* the clock then */
	struct handle handles[ELF_HANDLES_MAX];
	bool debuginfod;
};

int elf_files_open(struct elf_files **out, bool debuginfod)
{
	struct elf_files *s;
	struct rlimit limit;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOTSUP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->debuginfod = debuginfod;
	s->fds_max = ELF_FDS_MAX;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 4 < s->fds_max)
		s->fds_max = limit.rlim_cur / 4;
	*out = s;
	return 0;
}

/* ---- contents ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void part_close(struct part *p)
{
	if (p->elf)
		elf_end(p->elf);
	p->elf = NULL;
	close_fd(&p->fd);
}

static void handle_close(struct handle *h)
{
	if (!h->file)
		return;
	part_close(&h->alt);
	part_close(&h->debug);
	if (h->look.main)
		elf_end(h->look.main);
	*h = (struct handle){0};
}

static void handle_drop(struct elf_files *s, const struct elf_file *f)
{
	for (size_t i = 0; i < ELF_HANDLES_MAX; i++)
		if (s->handles[i].file == f)
			handle_close(&s->handles[i]);
}

/* Those last used at `until` or before. */
static void give_back(struct elf_files *s, uint64_t until)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ELF_HANDLES_MAX; i++) {
		if (s->handles[i].used > until)
			continue;
		bytes += s->handles[i].bytes;
		handle_close(&s->handles[i]);
	}
	if (bytes > ELF_KEPT_BYTES / 8)
		(void)malloc_trim(0); /* whether anything could be given back is all the same */
}

void elf_files_trim(struct elf_files *s)
{
	give_back(s, s->trimmed);
	s->trimmed = s->clock;
}

/* Makes room: a free place; else the one longest unused. Much memory is for one at a time. */
static struct handle *handle_free(struct elf_files *s)
{
	struct handle *oldest = &s->handles[0];
	uint64_t bytes = 0;

	for (size_t i = 0; i < ELF_HANDLES_MAX; i++)
		bytes += s->handles[i].bytes;
	if (bytes > ELF_KEPT_BYTES)
		give_back(s, s->clock);
	for (size_t i = 0; i < ELF_HANDLES_MAX; i++) {
		if (!s->handles[i].file)
			return &s->handles[i];
		if (s->handles[i].used < oldest->used)
			oldest = &s->handles[i];
	}
	handle_close(oldest);
	return oldest;
}

static uint64_t file_size(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
}

static bool part_open(struct part *p, int fd)
{
	p->fd = fd;
	if (fd >= 0)
		p->elf = elf_checked(fd, file_size(fd));
	if (!p->elf)
		part_close(p);
	return p->elf != NULL;
}

/*
 * DWARF counts only with all that belongs to it, and if it is not too much: without what dwz moved
 * elsewhere its references lead nowhere.
 */
static void find_debug(struct elf_files *s, struct handle *h)
{
	struct elf_look *look = &h->look;
	int fd = -1, alt;

	look->debug = look->main;
	h->bytes = elf_debug_bytes(look->main);
	if (!h->bytes) {
		part_open(&h->debug, elf_debug_open(h->file, look->main, s->debuginfod));
		look->debug = h->debug.elf;
		if (look->debug)
			h->bytes = elf_debug_bytes(look->debug);
	}
	if (!h->bytes)
		return;
	alt = elf_alt_open(h->file, look->debug, &fd);
	if (alt > 0 && part_open(&h->alt, fd)) {
		look->alt = h->alt.elf;
		h->bytes += elf_debug_bytes(look->alt);
	}
	look->dwarf = h->bytes <= ELF_DEBUG_BYTES && (!alt || look->alt);
	if (look->dwarf)
		elf_end_strings(look->debug);
	if (look->dwarf && look->alt)
		elf_end_strings(look->alt);
}

static bool unchanged(const struct elf_file *f)
{
	struct stat st;

	return !fstat(f->fd, &st) && (uint64_t)st.st_size == f->size &&
	       st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec == f->changed_ns;
}

bool elf_file_look(struct elf_files *s, struct elf_file *f, struct elf_look *out)
{
	struct handle *h = NULL;

	f->used = ++s->clock;
	if (f->fd < 0 || !unchanged(f)) {
		handle_drop(s, f);
		return false;
	}
	for (size_t i = 0; i < ELF_HANDLES_MAX && !h; i++)
		if (s->handles[i].file == f)
			h = &s->handles[i];
	if (!h) {
		h = handle_free(s);
		*h = (struct handle){.debug.fd = -1, .alt.fd = -1};
		h->look.main = elf_checked(f->fd, f->size);
		if (!h->look.main)
			return false;
		h->file = f;
		find_debug(s, h);
	}
	h->used = s->clock;
	*out = h->look;
	return true;
}

/* ---- the files ---- */

/* Its names end at the mapping from here on. */
static void give_up_fd(struct elf_files *s, struct elf_file *f)
{
	handle_drop(s, f);
	s->fds -= (f->fd >= 0) + (f->root_fd >= 0);
	close_fd(&f->fd);
	close_fd(&f->root_fd);
}

static void file_free(struct elf_files *s, struct elf_file *f)
{
	if (!f)
		return;
	give_up_fd(s, f);
	free(f->index.v);
	free(f->segments);
	free(f->path);
	free(f);
}

void elf_files_close(struct elf_files *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		file_free(s, s->v[i]);
	free(s->v);
	free(s);
}

void elf_file_put(struct elf_file *f)
{
	if (f)
		f->refs--;
}

/* The one longest unused among those with an fd, or among those that nobody uses. */
static size_t oldest(const struct elf_files *s, bool with_fd)
{
	size_t found = s->n;

	for (size_t i = 0; i < s->n; i++) {
		const struct elf_file *f = s->v[i];

		if (with_fd ? f->fd < 0 : f->refs > 0)
			continue;
		if (found == s->n || f->used < s->v[found]->used)
			found = i;
	}
	return found;
}

static int make_room(struct elf_files *s)
{
	size_t at = s->n >= ELF_FILES_MAX ? oldest(s, false) : s->n;
	struct elf_file **grown;

	if (at < s->n) {
		file_free(s, s->v[at]);
		s->v[at] = s->v[--s->n];
	}
	if (s->n < s->room)
		return 0;
	grown = realloc(s->v, (s->n + 64) * sizeof(struct elf_file *));
	if (!grown)
		return -ENOMEM;
	s->v = grown;
	s->room = s->n + 64;
	return 0;
}

static struct elf_file *known(const struct elf_files *s, const struct elf_file *like)
{
	for (size_t i = 0; i < s->n; i++) {
		struct elf_file *f = s->v[i];

		if (f->ino == like->ino && f->dev == like->dev && f->size == like->size &&
		    f->changed_ns == like->changed_ns)
			return f;
	}
	return NULL;
}

/* PT_LOADs that can be, ascending as the format demands. */
static int read_segments(struct elf_file *f, Elf *elf)
{
	size_t n = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n)) /* leaves n alone if it fails */
		return -EINVAL;
	f->segments = calloc(n ? n : 1, sizeof(*f->segments));
	if (!f->segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct elf_segment *seg = &f->segments[f->nsegments];

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || !ph.p_memsz)
			continue;
		*seg = (struct elf_segment){ph.p_vaddr, ph.p_offset, ph.p_filesz, ph.p_memsz};
		if (seg->vaddr + seg->memsz < seg->vaddr || seg->filesz > seg->memsz ||
		    (f->nsegments && seg->vaddr < seg[-1].vaddr + seg[-1].memsz))
			return -EINVAL;
		f->nsegments++;
	}
	return f->nsegments ? 0 : -EINVAL;
}

static int file_read(struct elf_file *f, const char *path)
{
	Elf *elf = elf_checked(f->fd, f->size);
	int ret;

	if (!elf)
		return -EINVAL;
	ret = read_segments(f, elf);
	if (!ret)
		(void)elf_build_id(elf, f->fd, &f->id); /* it need not have one */
	elf_end(elf);
	f->path = strdup(path);
	return f->path ? ret : -ENOMEM;
}

/* The fds become those of a file that lost its own, or are closed. */
static struct elf_file *use(struct elf_files *s, struct elf_file *f, struct elf_file *offer)
{
	if (f->fd < 0) {
		f->fd = offer->fd;
		f->root_fd = offer->root_fd;
		s->fds += 1 + (f->root_fd >= 0);
	} else {
		close_fd(&offer->fd);
		close_fd(&offer->root_fd);
	}
	f->refs++;
	f->used = ++s->clock;
	return f;
}

struct elf_file *elf_file_get(struct elf_files *s, int fd, int root_fd, const char *path)
{
	struct elf_file like = {.fd = fd, .root_fd = root_fd}, *f = NULL;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		goto close;
	like.dev = st.st_dev;
	like.ino = st.st_ino;
	like.size = (uint64_t)st.st_size;
	like.changed_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
	f = known(s, &like);
	if (!f) {
		if (make_room(s))
			goto close;
		f = calloc(1, sizeof(*f));
		if (!f)
			goto close;
		*f = like;
		if (file_read(f, path)) {
			s->fds += 1 + (root_fd >= 0); /* as file_free counts */
			file_free(s, f);
			return NULL;
		}
		f->fd = -1;
		s->v[s->n++] = f;
	}
	f = use(s, f, &like);
	while (s->fds > s->fds_max && oldest(s, true) < s->n && s->v[oldest(s, true)] != f)
		give_up_fd(s, s->v[oldest(s, true)]);
	return f;
close:
	close_fd(&like.fd);
	close_fd(&like.root_fd);
	return NULL;
}
