/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of real kernel objects: our own process's, a file's on a loop ext4, a pipe's, run queues.
 * kernel_truth.bpf.c says where they are.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "names/names.h"
#include "unit.h"

#include "kernel_truth.h"
#include "kernel_truth.skel.h" /* needs kernel_truth.h */

struct fixture {
	struct names *names;
	struct kernel_truth_bpf *skel;
	struct truth t;
	char dir[64], image[80], mount[80], file[96];
	bool mounted;
	int fd, pipe[2], memfd;
	void *page;
};

static int shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return n < (int)sizeof(line) ? system(line) : -1;
}

static int make_ext4(struct fixture *f)
{
	strcpy(f->dir, "/tmp/ws-names-XXXXXX");
	if (!mkdtemp(f->dir))
		return -errno;
	snprintf(f->image, sizeof(f->image), "%s/image", f->dir);
	snprintf(f->mount, sizeof(f->mount), "%s/mnt", f->dir);
	snprintf(f->file, sizeof(f->file), "%s/file", f->mount);
	if (mkdir(f->mount, 0700) ||
	    shell("truncate -s 16M %s && mkfs.ext4 -q -F %s", f->image, f->image))
		return -1;
	if (shell("mount -o loop %s %s", f->image, f->mount))
		return -1;
	f->mounted = true;
	f->fd = open(f->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return f->fd < 0 ? -errno : 0;
}

/* A page of our own in a pipe: its struct page is known there, its number in /proc/self/pagemap. */
static int make_pipe(struct fixture *f)
{
	struct iovec iov;

	f->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->page == MAP_FAILED || pipe(f->pipe))
		return -errno;
	memset(f->page, 'x', 4096);
	iov = (struct iovec){f->page, 4096};
	return vmsplice(f->pipe[1], &iov, 1, 0) == 4096 ? 0 : -errno;
}

static int find_truth(struct fixture *f)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	f->skel = kernel_truth_bpf__open_and_load();
	if (!f->skel)
		return -errno;
	f->skel->bss->truth.file_fd = f->fd;
	f->skel->bss->truth.pipe_fd = f->pipe[0];
	f->skel->bss->truth.other_fd = f->memfd;
	if (bpf_prog_test_run_opts(bpf_program__fd(f->skel->progs.find_truth), &opts))
		return -errno;
	f->t = f->skel->bss->truth;
	return f->t.sbi && f->t.page ? 0 : -EINVAL;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct names_args args = {0};

	*state = f;
	f->fd = f->memfd = f->pipe[0] = f->pipe[1] = -1;
	f->memfd = memfd_create("ws-names", MFD_CLOEXEC);
	if (make_ext4(f) || make_pipe(f) || find_truth(f))
		return -1;
	return names_open(&f->names, &args, NULL);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	names_close(f->names);
	kernel_truth_bpf__destroy(f->skel);
	close(f->fd);
	close(f->memfd);
	close(f->pipe[0]);
	close(f->pipe[1]);
	if (f->mounted)
		(void)umount(f->mount);
	(void)unlink(f->image);
	(void)rmdir(f->mount);
	(void)rmdir(f->dir);
	free(f);
	return 0;
}

static uint64_t truth_at(const struct fixture *f, size_t field)
{
	uint64_t v;

	memcpy(&v, (const char *)&f->t + field, sizeof(v));
	return v;
}

#define AT(field) offsetof(struct truth, field)

static void objects(void **state)
{
	static const struct {
		size_t field;
		uint32_t add;
		const char *text, *type;
	} rows[] = {
		{AT(mmap_lock), 0, "mm_struct.mmap_lock", "mm_struct"},
		{AT(mmap_wait_lock), 0, "mm_struct.mmap_lock.wait_lock", "mm_struct"},
		{AT(wait_chldexit), 0, "signal_struct.wait_chldexit.lock", "signal_struct"},
		{AT(siglock), 0, "sighand_struct.siglock", "sighand_struct"},
		{AT(task_alloc_lock), 0, "task_struct.alloc_lock", "task_struct"},
		{AT(i_rwsem), 0, "ext4_inode_info.vfs_inode.i_rwsem", "ext4_inode_info"},
		{AT(i_lock), 0, "ext4_inode_info.vfs_inode.i_lock", "ext4_inode_info"},
		{AT(xa_lock), 0, "ext4_inode_info.vfs_inode.i_data.i_pages.xa_lock",
		 "ext4_inode_info"},
		{AT(i_ino), 0, "ext4_inode_info.vfs_inode.i_ino", "ext4_inode_info"},
		{AT(i_es_lock), 0, "ext4_inode_info.i_es_lock", "ext4_inode_info"},
		{AT(i_es_lock), 4, "ext4_inode_info.i_es_lock.raw_lock.wait_lock",
		 "ext4_inode_info"},
		{AT(i_data_sem), 0, "ext4_inode_info.i_data_sem", "ext4_inode_info"},
		{AT(i_raw_lock), 0, "ext4_inode_info.i_raw_lock", "ext4_inode_info"},
		{AT(hits_lock), 0, "ext4_sb_info.s_es_stats.es_stats_cache_hits.lock",
		 "ext4_sb_info"},
		{AT(hits_lock), 8, "ext4_sb_info.s_es_stats.es_stats_cache_hits.count",
		 "ext4_sb_info"},
		{AT(misses_lock), 0, "ext4_sb_info.s_es_stats.es_stats_cache_misses.lock",
		 "ext4_sb_info"},
		{AT(s_orphan_lock), 0, "ext4_sb_info.s_orphan_lock", "ext4_sb_info"},
		{AT(s_desc_size), 0, "ext4_sb_info.s_desc_size", "ext4_sb_info"},
		{AT(d_lock), 0, "dentry.d_lockref.lock", "dentry"},
		{AT(page_refcount), 0, "page._refcount", "page"},
	};
	struct fixture *f = *state;
	struct name name;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		names_kernel_data(f->names, truth_at(f, rows[i].field) + rows[i].add, NULL, &name);
		print_message("# %s (%s)\n", name.text, name.place);
		assert_string_equal(name.text, rows[i].text);
		assert_string_equal(name.type, rows[i].type);
		assert_int_equal(name.found, NAME_MEMBER);
	}
}

static void dump(void **state)
{
	struct fixture *f = *state;
	struct name name;
	size_t i;

	for (i = AT(task); i < AT(rq); i += 8) {
		names_kernel_data(f->names, truth_at(f, i), NULL, &name);
		print_message("# %zu %llx %s (%s) %s\n", i, (unsigned long long)truth_at(f, i),
			      name.text, name.place, name.type);
	}
	print_message("# why %s\n", names_why(f->names));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dump),
		cmocka_unit_test(objects),
	};

	if (geteuid()) {
		printf("1..0 # SKIP not root\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
