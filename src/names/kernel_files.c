// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects behind open files: pipes, epoll and event descriptors are memory from kmalloc, which has
 * no type, but who waits for their locks mostly has them open, and a file says what it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "names/kernel.h"

/* What file.private_data is, by the file system and the name of its dentry: the kernel alone makes
 * either. */
static const struct {
	const char *fs, *dentry, *type;
} kinds[] = {
	{"anon_inodefs", "[eventpoll]", "eventpoll"},
	{"anon_inodefs", "[eventfd]", "eventfd_ctx"},
	{"anon_inodefs", "[timerfd]", "timerfd_ctx"},
	{"anon_inodefs", "[signalfd]", "signalfd_ctx"},
	{"anon_inodefs", "[userfaultfd]", "userfaultfd_ctx"},
	{"anon_inodefs", "inotify", "fsnotify_group"},
	{"anon_inodefs", "[fanotify]", "fsnotify_group"},
	{"anon_inodefs", "[io_uring]", "io_ring_ctx"},
	{"anon_inodefs", "[perf_event]", "perf_event"},
};

struct layout {
	int64_t fdt, fds, max;	     /* of files_struct, fdtable */
	int64_t data, inode, dentry; /* of file */
	int64_t sb, mode, pipe;	     /* of inode */
	int64_t fs_type, fs_name, dentry_name;
};

static int read_layout(struct names_kernel *k, struct layout *l)
{
	const struct kernel_member want[] = {
		{&l->fdt, "files_struct", "fdt"},
		{&l->fds, "fdtable", "fd"},
		{&l->max, "fdtable", "max_fds"},
		{&l->data, "file", "private_data"},
		{&l->inode, "file", "f_inode"},
		{&l->dentry, "file", "f_path.dentry"},
		{&l->sb, "inode", "i_sb"},
		{&l->mode, "inode", "i_mode"},
		{&l->pipe, "inode", "i_pipe"},
		{&l->fs_type, "super_block", "s_type"},
		{&l->fs_name, "file_system_type", "name"},
		{&l->dentry_name, "dentry", "d_name.name"},
	};

	return kernel_offsets(k, want, sizeof(want) / sizeof(want[0]));
}

/* What file.private_data is; NULL: not known. */
static const char *kind_of(struct names_kernel *k, const struct layout *l, uint64_t file,
			   uint64_t object)
{
	uint64_t inode = kernel_at(k, file, l->inode);
	uint64_t type = kernel_at(k, kernel_at(k, inode, l->sb), l->fs_type);
	uint32_t mode = inode ? peek_u32(&k->peek, inode + (uint64_t)l->mode) : 0;
	char fs[16], dentry[32];

	/* A pipe with a name is an inode of any file system. */
	if (S_ISFIFO(mode) && kernel_at(k, inode, l->pipe) == object)
		return "pipe_inode_info";
	peek_text(&k->peek, kernel_at(k, type, l->fs_name), fs, sizeof(fs));
	peek_text(&k->peek, kernel_at(k, kernel_at(k, file, l->dentry), l->dentry_name), dentry,
		  sizeof(dentry));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(fs, kinds[i].fs) && !strcmp(dentry, kinds[i].dentry))
			return kinds[i].type;
	return NULL;
}

#define FILES_MAX 65536U /* looked at for a name, a microsecond each */
#define BATCH 512U

/* The number of an open file whose private_data is `object`; negative: none, or not looked at. */
static int64_t find_file(struct names_kernel *k, const struct layout *l, uint64_t files,
			 uint64_t object, uint64_t *file)
{
	uint64_t table = kernel_at(k, files, l->fdt), fds = kernel_at(k, table, l->fds),
		 batch[BATCH];
	uint32_t n = table ? peek_u32(&k->peek, table + (uint64_t)l->max) : 0, i, j;

	for (i = 0; fds && i < n && i < FILES_MAX; i += BATCH) {
		uint32_t some = n - i < BATCH ? n - i : BATCH;

		peek_window(&k->peek, fds + 8ULL * i, (uint8_t *)batch, 8 * some);
		for (j = 0; j < some; j++) {
			*file = batch[j];
			if (*file && kernel_at(k, *file, l->data) == object)
				return i + j;
		}
	}
	return -ENOENT;
}

/* "pipe_inode_info.mutex (fd 4 of locks, pid 123)": object is where the address's slab object
 * begins, of `bytes`. */
bool file_name(struct names_kernel *k, uint64_t addr, uint64_t object, uint32_t bytes,
	       const struct kernel_hint *hint, struct name *out)
{
	struct layout l;
	const char *type;
	uint64_t file;
	int64_t fd;

	if (!hint || !hint->files || read_layout(k, &l))
		return false;
	fd = find_file(k, &l, hint->files, object, &file);
	type = fd < 0 ? NULL : kind_of(k, &l, file, object);
	if (!type || kernel_size(k, type, NULL) > bytes ||
	    !kernel_name_in(k, addr, object, type, NULL, out))
		return false;
	name_print(out->place, sizeof(out->place), false, "fd %" PRId64, fd);
	if (hint->pid && hint->process)
		name_print(out->place, sizeof(out->place), true, " of %s, pid %u", hint->process,
			   hint->pid);
	return true;
}
