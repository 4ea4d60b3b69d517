// SPDX-License-Identifier: GPL-2.0-or-later
/* Separate debug files: by build-id, by .gnu_debuglink, and what dwz moved out of them. */
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "names/debuginfod.h"
#include "names/elf_file.h"

#define DEBUG_DIR "/usr/lib/debug"
#define LINK_MAX_BYTES 4096

int elf_open_below(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		/* A process chooses its links: they must not lead to files outside its root. */
		.resolve = root_fd >= 0 ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0,
	};
	int dir = root_fd >= 0 ? root_fd : AT_FDCWD, fd;
	struct open_how look = how;
	struct stat st;

	/* First without opening: opening a device does things, opening a pipe waits. */
	look.flags = O_PATH | O_CLOEXEC;
	fd = (int)syscall(SYS_openat2, dir, path, &look, sizeof(look));
	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		st.st_mode = 0;
	close(fd);
	if (!S_ISREG(st.st_mode))
		return -1;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool has_id(int fd, const struct build_id *want)
{
	struct build_id have = {.len = 0};
	struct stat st;
	Elf *elf = fstat(fd, &st) ? NULL : elf_checked(fd, (uint64_t)st.st_size);

	if (!elf)
		return false;
	(void)elf_build_id(elf, fd, &have); /* none has length 0 */
	elf_end(elf);
	return have.len && have.len == want->len && !memcmp(have.bytes, want->bytes, have.len);
}

/* In the process's root, then in ours. The file at path if `fits` says so. */
static int open_debug(const struct elf_file *f, const char *path,
		      bool (*fits)(int fd, const void *want), const void *want)
{
	int roots[2] = {f->root_fd, -1};

	for (size_t i = f->root_fd < 0; i < 2; i++) {
		int fd = elf_open_below(roots[i], path);

		if (fd >= 0 && fits(fd, want))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

static bool id_fits(int fd, const void *want)
{
	return has_id(fd, want);
}

static int by_build_id(const struct elf_file *f, const struct build_id *id)
{
	char path[sizeof(DEBUG_DIR "/.build-id//.debug") + 2 * BUILD_ID_MAX + 1];
	size_t at;

	if (id->len < 2)
		return -1;
	at = (size_t)snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%02x/", id->bytes[0]);
	for (size_t i = 1; i < id->len; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", id->bytes[i]);
	(void)snprintf(path + at, sizeof(path) - at, ".debug"); /* fits */
	return open_debug(f, path, id_fits, id);
}

static bool crc_fits(int fd, const void *want)
{
	unsigned char buf[65536];
	uLong crc = crc32(0, NULL, 0);
	uint64_t total = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), (off_t)total)) > 0) {
		crc = crc32(crc, buf, (uInt)n);
		total += (uint64_t)n;
		if (total > 2 * ELF_DEBUG_BYTES)
			return false; /* more than we would use */
	}
	return !n && crc == *(const uint32_t *)want;
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
static int by_link(const struct elf_file *f, Elf *main)
{
	static const char *const places[] = {"%.*s/%s", "%.*s/.debug/%s", DEBUG_DIR "%.*s/%s"};
	size_t len, crc_at;
	const char *name = small_section(main, ".gnu_debuglink", &len), *slash;
	char path[PATH_MAX];
	uint32_t crc;

	if (!name || strchr(name, '/') || f->path[0] != '/')
		return -1;
	crc_at = (strlen(name) + 4) & ~(size_t)3;
	if (len < 4 || crc_at > len - 4)
		return -1;
	memcpy(&crc, name + crc_at, sizeof(crc));
	slash = strrchr(f->path, '/');
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int fd = -1, n;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the table is right above */
		n = snprintf(path, sizeof(path), places[i], (int)(slash - f->path), f->path, name);
#pragma GCC diagnostic pop
		if (n > 0 && (size_t)n < sizeof(path))
			fd = open_debug(f, path, crc_fits, &crc);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int elf_debug_open(const struct elf_file *f, Elf *main, bool debuginfod)
{
	int fd = by_build_id(f, &f->id);

	if (fd < 0)
		fd = by_link(f, main);
	if (fd < 0 && debuginfod && f->id.len) {
		fd = debuginfod_fetch(f->id.bytes, f->id.len);
		if (fd >= 0 && !has_id(fd, &f->id)) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}

int elf_alt_open(const struct elf_file *f, Elf *debug, int *fd)
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
	*fd = by_build_id(f, &id);
	/* "/usr/lib/debug/.dwz/x86_64-linux-gnu/foo.debug"; a relative one says less than the id */
	if (*fd < 0 && name[0] == '/')
		*fd = open_debug(f, name, id_fits, &id);
	return *fd >= 0 ? 1 : -1;
}
