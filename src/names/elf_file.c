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

#define BUCKETS 4096 /* a power of two */

struct elf_files {
	struct elf_file **v;
	struct elf_file *buckets[BUCKETS];
	size_t n, room, fds, fds_max;
	uint64_t clock;	  /* counts uses, for the least recent */
	uint64_t trimmed; /* the clock then */
	struct handle handles[ELF_HANDLES_MAX];
	struct elf_debug debug;
	struct work *work;
};

int elf_files_open(struct elf_files **out, bool debuginfod, struct opener *opener,
		   struct work *work)
{
	struct elf_files *s;
	struct rlimit limit;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOTSUP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->debug = (struct elf_debug){.opener = opener, .work = work, .debuginfod = debuginfod};
	s->work = work;
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

bool elf_file_id(int fd, struct file_id *out)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	*out = (struct file_id){st.st_dev, st.st_ino, (uint64_t)st.st_size,
				st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec};
	return true;
}

static bool part_open(struct part *p, int fd)
{
	struct file_id id;

	p->fd = fd;
	if (fd >= 0 && elf_file_id(fd, &id))
		p->elf = elf_checked(fd, id.size);
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
		fd = elf_debug_open(&s->debug, h->file, look->main);
		h->file->fetching = fd == -EAGAIN;
		part_open(&h->debug, fd);
		fd = -1;
		look->debug = h->debug.elf;
		if (look->debug)
			h->bytes = elf_debug_bytes(look->debug);
	}
	if (!h->bytes)
		return;
	alt = elf_alt_open(&s->debug, h->file, look->debug, &fd);
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

bool elf_file_look(struct elf_files *s, struct elf_file *f, struct elf_look *out)
{
	struct handle *h = NULL;
	struct file_id now;

	f->used = ++s->clock;
	if (!work_on_file(s->work, &f->what) || f->fd < 0 || !elf_file_id(f->fd, &now) ||
	    !file_id_same(&now, &f->what)) {
		handle_drop(s, f);
		return false;
	}
	for (size_t i = 0; i < ELF_HANDLES_MAX && !h; i++)
		if (s->handles[i].file == f && s->handles[i].used)
			h = &s->handles[i];
	if (!h) {
		handle_drop(s, f);
		h = handle_free(s);
		*h = (struct handle){.debug.fd = -1, .alt.fd = -1};
		h->look.main = elf_checked(f->fd, f->what.size);
		if (!h->look.main)
			return false;
		h->file = f;
		h->look.work = s->work;
		h->look.file = f;
		h->look.finder = &s->debug;
		find_debug(s, h);
	}
	h->used = s->clock;
	*out = h->look;
	/* What was not found in time, or has yet to come, is looked for again. */
	if (f->fetching || (s->work && s->work->over && !h->look.dwarf))
		h->used = 0;
	return true;
}

/* ---- the files ---- */

bool elf_file_loads(const struct elf_file *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->nsegments; i++)
		if (vaddr - f->segments[i].vaddr < f->segments[i].memsz)
			return true;
	return false;
}

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

static struct elf_file **bucket(struct elf_files *s, const struct file_id *id)
{
	uint64_t key = (id->ino ^ id->dev << 32) * 0x9e3779b97f4a7c15ULL;

	return &s->buckets[key >> 40 & (BUCKETS - 1)];
}

static struct elf_file *known(struct elf_files *s, const struct file_id *id)
{
	struct elf_file *f = *bucket(s, id);

	while (f && !file_id_same(&f->what, id))
		f = f->next;
	return f;
}

static void unlink_file(struct elf_files *s, struct elf_file *f)
{
	struct elf_file **at = bucket(s, &f->what);

	while (*at && *at != f)
		at = &(*at)->next;
	if (*at)
		*at = f->next;
}

/*
 * A time of use before which about a quarter of those that could go (with an fd; or used by nobody)
 * were used last: they go together, so that each that comes does not cost a look at all of them.
 */
static bool may_go(const struct elf_file *f, bool with_fd)
{
	return with_fd ? f->fd >= 0 : !f->refs;
}

static int by_use(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t old_use(const struct elf_files *s, bool with_fd)
{
	uint64_t *used = malloc((s->n + 1) * sizeof(*used)), at = 0;
	size_t n = 0;

	for (size_t i = 0; used && i < s->n; i++)
		if (may_go(s->v[i], with_fd))
			used[n++] = s->v[i]->used;
	if (n)
		qsort(used, n, sizeof(*used), by_use);
	if (n)
		at = used[n / 4];
	free(used);
	return at;
}

static int make_room(struct elf_files *s)
{
	struct elf_file **grown;

	if (s->n >= ELF_FILES_MAX && s->n % (ELF_FILES_MAX / 4) == 0) {
		uint64_t old = old_use(s, false);

		for (size_t i = s->n; i--;) {
			if (!may_go(s->v[i], false) || s->v[i]->used > old)
				continue;
			unlink_file(s, s->v[i]);
			file_free(s, s->v[i]);
			s->v[i] = s->v[--s->n];
		}
	}
	if (s->n >= ELF_FILES_EVER)
		return -E2BIG;
	if (s->n < s->room)
		return 0;
	grown = realloc(s->v, (s->n + 64) * sizeof(struct elf_file *));
	if (!grown)
		return -ENOMEM;
	s->v = grown;
	s->room = s->n + 64;
	return 0;
}

/* Never f's, which is being used. */
static void limit_fds(struct elf_files *s, const struct elf_file *f)
{
	uint64_t old = s->fds > s->fds_max ? old_use(s, true) : 0;

	for (size_t i = 0; old && i < s->n; i++)
		if (s->v[i] != f && may_go(s->v[i], true) && s->v[i]->used <= old)
			give_up_fd(s, s->v[i]);
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
	Elf *elf = elf_checked(f->fd, f->what.size);
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

static struct elf_file *add_file(struct elf_files *s, const struct elf_file *like, const char *path)
{
	struct elf_file *f = make_room(s) ? NULL : calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = *like;
	if (file_read(f, path)) {
		f->fd = f->root_fd = -1; /* the caller's */
		file_free(s, f);
		return NULL;
	}
	f->fd = -1;
	f->next = *bucket(s, &f->what);
	*bucket(s, &f->what) = f;
	s->v[s->n++] = f;
	return f;
}

struct elf_file *elf_file_get(struct elf_files *s, int fd, int root_fd, const char *path)
{
	struct elf_file like = {.fd = fd, .root_fd = root_fd}, *f = NULL;

	if (elf_file_id(fd, &like.what) && work_on_file(s->work, &like.what))
		f = known(s, &like.what) ?: add_file(s, &like, path);
	if (!f) {
		close_fd(&like.fd);
		close_fd(&like.root_fd);
		return NULL;
	}
	f = use(s, f, &like);
	limit_fds(s, f);
	return f;
}
