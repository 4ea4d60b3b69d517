/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel objects of our own, and where they are; for the programs that have them named. */
#ifndef WS_TEST_KERNEL_FIXTURE_H
#define WS_TEST_KERNEL_FIXTURE_H

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
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi_contend.h"
#include "names/kernel.h"
#include "unit.h"

#include "kernel_truth.h"
#include "kernel_truth.skel.h" /* needs kernel_truth.h */

struct fixture {
	struct names *names;
	struct kernel_truth_bpf *skel;
	struct truth t;
	int fd, pipe[2], memfd;
	void *page;
};

#define PLACE "/mnt" /* covered by memory, for this process and its children only */

/* In a mount namespace of its own: all of it goes with the process, however that ends. */
static int make_ext4(struct fixture *f)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", PLACE, "tmpfs", 0, NULL))
		return -errno;
	if (system("truncate -s 16M " PLACE "/image && mkfs.ext4 -q -F " PLACE "/image && "
		   "mkdir " PLACE "/mnt && mount -o loop " PLACE "/image " PLACE "/mnt"))
		return -1;
	f->fd = open(PLACE "/mnt/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
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

static int tear_down(void **state)
{
	struct fixture *f = *state;

	names_close(f->names);
	kernel_truth_bpf__destroy(f->skel);
	close(f->fd);
	close(f->memfd);
	close(f->pipe[0]);
	close(f->pipe[1]);
	free(f);
	return 0;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct names_args args = {0};

	*state = f;
	f->fd = f->memfd = f->pipe[0] = f->pipe[1] = -1;
	f->memfd = memfd_create("ws-names", MFD_CLOEXEC);
	if (!make_ext4(f) && !make_pipe(f) && !find_truth(f) && !names_open(&f->names, &args, NULL))
		return 0;
	(void)tear_down(state);
	return -1;
}

static uint64_t truth_at(const struct fixture *f, size_t field)
{
	uint64_t v;

	memcpy(&v, (const char *)&f->t + field, sizeof(v));
	return v;
}

#define AT(field) offsetof(struct truth, field)

static uint64_t symbol(const char *wanted)
{
	char line[512], name[256];
	unsigned long long addr;
	FILE *f = fopen("/proc/kallsyms", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %255s", &addr, name) == 2 && !strcmp(name, wanted)) {
			fclose(f);
			return addr;
		}
	}
	fail_msg("%s: not in /proc/kallsyms", wanted);
	return 0;
}

#endif
