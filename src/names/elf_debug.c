// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Separate debug files: by build-id, by .gnu_debuglink, what dwz moved out of them, and .dwo files.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "names/elf_file.h"
#include "names/opener.h"

#define LINK_MAX_BYTES 4096

static bool has_id(int fd, const struct build_id *want)
{
	struct build_id have = {.len = 0};
	struct file_id file;
	Elf *elf = elf_file_id(fd, &file) ? elf_checked(fd, file.size) : NULL;

	if (!elf)
		return false;
	(void)elf_build_id(elf, fd, &have); /* none has length 0 */
	elf_end(elf);
	return have.len && have.len == want->len && !memcmp(have.bytes, want->bytes, have.len);
}

/* fd, if it has the build-id; else it is closed. */
static int if_id(int fd, const struct build_id *want)
{
	if (fd >= 0 && !has_id(fd, want)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* In the process's root, then in ours. */
static int by_build_id(struct elf_debug *d, const struct elf_file *f, const struct build_id *id)
{
	int fd = -1;

	if (id->len < 2)
		return -1;
	if (f->root_fd >= 0)
		fd = if_id(opener_by_id(d->opener, OPEN_BUILD_ID, f->root_fd, id->bytes, id->len),
			   id);
	if (fd < 0)
		fd = if_id(opener_by_id(d->opener, OPEN_BUILD_ID, -1, id->bytes, id->len), id);
	return fd;
}

/* What is known of a file's checksum so far. */
static struct crc_done *crc_of(struct elf_debug *d, const struct file_id *file)
{
	size_t n = d->ncrcs < CRCS_KEPT ? d->ncrcs : CRCS_KEPT;
	struct crc_done *c;

	for (size_t i = 0; i < n; i++)
		if (file_id_same(&d->crcs[i].file, file))
			return &d->crcs[i];
	c = &d->crcs[d->ncrcs++ % CRCS_KEPT];
	*c = (struct crc_done){.file = *file, .crc = (uint32_t)crc32(0, NULL, 0)};
	return c;
}

/* A file is read once for its checksum, however many name it; one that is too big to be used is
 * not. What there was no time for is read the next time. */
static bool crc_fits(struct elf_debug *d, int fd, uint32_t want)
{
	unsigned char buf[65536];
	struct file_id file;
	struct crc_done *c;
	ssize_t n = 1;

	if (!elf_file_id(fd, &file) || !file.size || file.size > 2 * ELF_DEBUG_BYTES)
		return false;
	c = crc_of(d, &file);
	while (c->at < file.size && n > 0 && !work_over(d->work)) {
		n = pread(fd, buf, sizeof(buf), (off_t)c->at);
		if (n <= 0)
			break;
		c->crc = (uint32_t)crc32(c->crc, buf, (uInt)n);
		c->at += (uint64_t)n;
	}
	return c->at == file.size && c->crc == want;
}

static int if_crc(struct elf_debug *d, int fd, uint32_t want)
{
	if (fd >= 0 && !crc_fits(d, fd, want)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* A section's bytes, at most LINK_MAX_BYTES; NULL: none, or not of that kind. */
static const char *small_section(Elf *elf, const char *name, size_t *len)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_section(elf, name, &sh);
	Elf_Data *data;

	if (!scn || sh.sh_size > LINK_MAX_BYTES || sh.sh_flags & SHF_COMPRESSED)
		return NULL;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !memchr(data->d_buf, '\0', data->d_size))
		return NULL;
	*len = data->d_size;
	return data->d_buf;
}

/* .gnu_debuglink: a name, padded to 4, and the checksum of the file it means */
static int by_link(struct elf_debug *d, const struct elf_file *f, Elf *main)
{
	size_t len, crc_at;
	const char *name = small_section(main, ".gnu_debuglink", &len), *slash;
	char dir[PATH_MAX];
	uint32_t crc;
	int fd = -1;

	if (!name || !*name || strchr(name, '/') || f->path[0] != '/')
		return -1;
	crc_at = (strlen(name) + 4) & ~(size_t)3;
	slash = strrchr(f->path, '/');
	if (len < 4 || crc_at > len - 4 || (size_t)(slash - f->path) >= sizeof(dir))
		return -1;
	memcpy(&crc, name + crc_at, sizeof(crc));
	memcpy(dir, f->path, (size_t)(slash - f->path));
	dir[slash - f->path] = '\0';
	for (uint32_t i = 0; fd < 0 && i < OPEN_LINKS; i++) {
		if (f->root_fd >= 0)
			fd = if_crc(d, opener_link(d->opener, f->root_fd, f->fd, i, dir, name),
				    crc);
		/* Beside a program that is in our root it has been looked for above. */
		if (fd < 0 && (f->root_fd < 0 || i == OPEN_LINKS - 1))
			fd = if_crc(d, opener_link(d->opener, -1, f->fd, i, dir, name), crc);
	}
	return fd;
}

int elf_debug_open(struct elf_debug *d, const struct elf_file *f, Elf *main)
{
	int fd = by_build_id(d, f, &f->id);

	if (fd < 0)
		fd = by_link(d, f, main);
	if (fd < 0 && d->debuginfod && f->id.len) {
		fd = opener_by_id(d->opener, OPEN_FETCH, -1, f->id.bytes, f->id.len);
		if (fd != -EAGAIN)
			fd = if_id(fd, &f->id);
	}
	return fd;
}

int elf_alt_open(struct elf_debug *d, const struct elf_file *f, Elf *debug, int *fd)
{
	size_t len, name_len;
	const char *name = small_section(debug, ".gnu_debugaltlink", &len);
	struct build_id id;
	GElf_Shdr sh;

	if (!name)
		return elf_section(debug, ".gnu_debugaltlink", &sh) ||
				       elf_section(debug, ".debug_sup", &sh)
			       ? -1
			       : 0;
	name_len = strlen(name) + 1;
	id.len = len - name_len;
	if (!id.len || id.len > BUILD_ID_MAX)
		return -1;
	memcpy(id.bytes, name + name_len, id.len);
	*fd = by_build_id(d, f, &id);
	/* "/usr/lib/debug/.dwz/x86_64-linux-gnu/foo.debug"; a relative one says less than the id */
	if (*fd < 0 && name[0] == '/' && f->root_fd >= 0)
		*fd = if_id(opener_alt(d->opener, f->root_fd, name), &id);
	if (*fd < 0 && name[0] == '/')
		*fd = if_id(opener_alt(d->opener, -1, name), &id);
	return *fd >= 0 ? 1 : -1;
}

static int split_at(struct elf_debug *d, struct elf_file *f, int len, const char *path)
{
	int fd;

	if (len <= 0 || len >= PATH_MAX || path[0] != '/' || f->splits_hang)
		return -1;
	fd = opener_split(d->opener, f->root_fd, f->fd, path);
	f->splits_hang = fd == -ETIMEDOUT;
	return fd;
}

int elf_split_open(struct elf_debug *d, struct elf_file *f, const char *dir, const char *name)
{
	const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
	char path[PATH_MAX];
	int fd;

	if (!*last)
		return -1;
	fd = split_at(d, f,
		      *name == '/' ? snprintf(path, sizeof(path), "%s", name)
				   : snprintf(path, sizeof(path), "%s/%s", dir, name),
		      path);
	slash = strrchr(f->path, '/');
	if (fd >= 0 || !slash)
		return fd;
	return split_at(
		d, f,
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - f->path), f->path, last),
		path);
}
