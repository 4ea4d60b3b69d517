/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of members of our own process's objects, found by CO-RE. Needs its own types: those of
 * vmlinux.h are the ones the tool reads.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "kernel_truth.h"

char LICENSE[] SEC("license") = "GPL";

struct truth truth;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct lock___t {
	int any;
};
struct rw_semaphore___t {
	struct lock___t wait_lock;
};
struct mutex___t {
	struct lock___t wait_lock;
};
struct percpu_counter___t {
	struct lock___t lock;
};
struct xarray___t {
	struct lock___t xa_lock;
};
struct address_space___t {
	struct xarray___t i_pages;
};
struct ext4_es_stats___t {
	struct percpu_counter___t es_stats_cache_hits, es_stats_cache_misses;
};
struct journal_s___t {
	struct lock___t j_state_lock;
	struct lock___t j_wait_commit;
};
struct ext4_sb_info___t {
	struct journal_s___t *s_journal;
	unsigned long s_desc_size;
	struct mutex___t s_orphan_lock;
	struct ext4_es_stats___t s_es_stats;
};
struct super_block___t {
	u32 s_dev;
	struct rw_semaphore___t s_umount;
	void *s_fs_info;
};
struct inode___t {
	struct super_block___t *i_sb;
	unsigned long i_ino;
	u32 i_generation;
	struct lock___t i_lock;
	struct rw_semaphore___t i_rwsem;
	struct address_space___t i_data;
};
struct ext4_inode_info___t {
	struct lock___t i_raw_lock;
	struct rw_semaphore___t i_data_sem;
	struct inode___t vfs_inode;
	struct lock___t i_es_lock;
	struct lock___t i_orphan;
};
struct lockref___t {
	struct lock___t lock;
};
struct dentry___t {
	struct lockref___t d_lockref;
};
struct path___t {
	struct dentry___t *dentry;
};
struct file___t {
	struct inode___t *f_inode;
	struct path___t f_path;
	void *private_data;
	struct lock___t f_ref;
};
struct page___t {
	struct lock___t _refcount;
};
struct pipe_buffer___t {
	struct page___t *page;
};
struct pipe_inode_info___t {
	struct mutex___t mutex;
	struct lock___t rd_wait;
	u32 head;
	struct pipe_buffer___t *bufs;
};
struct fdtable___t {
	struct file___t **fd;
};
struct files_struct___t {
	struct lock___t file_lock;
	struct fdtable___t *fdt;
};
struct fs_struct___t {
	struct lock___t seq;
};
struct mm_struct___t {
	struct rw_semaphore___t mmap_lock;
};
struct signal_struct___t {
	struct lock___t wait_chldexit;
};
struct sighand_struct___t {
	struct lock___t siglock;
};
struct rq___t {
	struct lock___t __lock;
	u64 clock;
};
struct cfs_rq___t {
	struct rq___t *rq;
};
struct sched_entity___t {
	struct cfs_rq___t *cfs_rq;
};
struct task_struct___t {
	struct sched_entity___t se;
	struct mm_struct___t *mm;
	struct fs_struct___t *fs;
	struct files_struct___t *files;
	struct signal_struct___t *signal;
	struct sighand_struct___t *sighand;
	struct lock___t alloc_lock;
};

#pragma clang attribute pop

#define ADDR(p) ((u64)(p))
#define MEMBER(p, m) (ADDR(p) + bpf_core_field_offset((p)->m))

static struct file___t *file_of(struct files_struct___t *files, int fd)
{
	struct file___t **fds = BPF_CORE_READ(files, fdt, fd), *file = NULL;

	if (fd >= 0)
		bpf_probe_read_kernel(&file, sizeof(file), fds + fd);
	return file;
}

static void of_process(struct task_struct___t *task)
{
	struct mm_struct___t *mm = BPF_CORE_READ(task, mm);
	struct files_struct___t *files = BPF_CORE_READ(task, files);
	struct fs_struct___t *fs = BPF_CORE_READ(task, fs);
	struct signal_struct___t *signal = BPF_CORE_READ(task, signal);
	struct sighand_struct___t *sighand = BPF_CORE_READ(task, sighand);

	truth.task = ADDR(task);
	truth.task_alloc_lock = MEMBER(task, alloc_lock);
	truth.mm = ADDR(mm);
	truth.mmap_lock = MEMBER(mm, mmap_lock);
	truth.mmap_wait_lock = MEMBER(mm, mmap_lock.wait_lock);
	truth.signal = ADDR(signal);
	truth.wait_chldexit = MEMBER(signal, wait_chldexit);
	truth.siglock = MEMBER(sighand, siglock);
	truth.files = ADDR(files);
	truth.file_lock = MEMBER(files, file_lock);
	truth.fs = ADDR(fs);
	truth.fs_seq = MEMBER(fs, seq);
}

static void of_journal(struct journal_s___t *journal)
{
	truth.journal = ADDR(journal);
	truth.j_state_lock = MEMBER(journal, j_state_lock);
	truth.j_wait_commit = MEMBER(journal, j_wait_commit);
}

static void of_ext4(struct file___t *file)
{
	struct inode___t *inode = BPF_CORE_READ(file, f_inode);
	struct super_block___t *sb = BPF_CORE_READ(inode, i_sb);
	struct dentry___t *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct ext4_inode_info___t *ei;
	struct ext4_sb_info___t *sbi = BPF_CORE_READ(sb, s_fs_info);

	truth.file = ADDR(file);
	truth.f_ref = bpf_core_field_exists(file->f_ref) ? MEMBER(file, f_ref) : 0;
	truth.dentry = ADDR(dentry);
	truth.d_lock = MEMBER(dentry, d_lockref.lock);
	truth.inode = ADDR(inode);
	truth.ino = BPF_CORE_READ(inode, i_ino);
	truth.generation = BPF_CORE_READ(inode, i_generation);
	truth.dev = BPF_CORE_READ(sb, s_dev);
	truth.i_ino = MEMBER(inode, i_ino);
	truth.i_lock = MEMBER(inode, i_lock);
	truth.i_rwsem = MEMBER(inode, i_rwsem);
	truth.xa_lock = MEMBER(inode, i_data.i_pages.xa_lock);
	truth.sb = ADDR(sb);
	truth.s_umount = MEMBER(sb, s_umount);
	ei = (void *)(ADDR(inode) - bpf_core_field_offset(struct ext4_inode_info___t, vfs_inode));
	truth.ei = ADDR(ei);
	truth.i_es_lock = MEMBER(ei, i_es_lock);
	truth.i_data_sem = MEMBER(ei, i_data_sem);
	truth.i_raw_lock = MEMBER(ei, i_raw_lock);
	truth.i_orphan = MEMBER(ei, i_orphan);
	truth.sbi = ADDR(sbi);
	truth.s_desc_size = MEMBER(sbi, s_desc_size);
	truth.s_orphan_lock = MEMBER(sbi, s_orphan_lock);
	truth.hits_lock = MEMBER(sbi, s_es_stats.es_stats_cache_hits.lock);
	truth.misses_lock = MEMBER(sbi, s_es_stats.es_stats_cache_misses.lock);
	of_journal(BPF_CORE_READ(sbi, s_journal));
}

static void of_pipe(struct file___t *file)
{
	struct pipe_inode_info___t *pipe = BPF_CORE_READ(file, private_data);
	struct pipe_buffer___t *bufs = BPF_CORE_READ(pipe, bufs);
	struct page___t *page = BPF_CORE_READ(bufs, page);

	truth.pipe_mutex = MEMBER(pipe, mutex);
	truth.pipe_head = MEMBER(pipe, head);
	truth.pipe_rd_wait = MEMBER(pipe, rd_wait);
	truth.page = ADDR(page);
	truth.page_refcount = MEMBER(page, _refcount);
}

static void of_rq(struct task_struct___t *task)
{
	struct rq___t *rq = BPF_CORE_READ(task, se.cfs_rq, rq);

	truth.cpu = bpf_get_smp_processor_id();
	truth.rq = ADDR(rq);
	truth.rq_lock = MEMBER(rq, __lock);
	truth.rq_clock = MEMBER(rq, clock);
}

SEC("raw_tp")
int find_truth(void *ctx)
{
	struct task_struct___t *task = (void *)bpf_get_current_task();
	struct files_struct___t *files = BPF_CORE_READ(task, files);
	struct file___t *file = file_of(files, truth.other_fd);
	struct inode___t *other = BPF_CORE_READ(file, f_inode);

	of_process(task);
	of_ext4(file_of(files, truth.file_fd));
	of_pipe(file_of(files, truth.pipe_fd));
	truth.other_inode = ADDR(other);
	truth.other_rwsem = MEMBER(other, i_rwsem);
	return 0;
}

SEC("raw_tp")
int find_rq(void *ctx)
{
	of_rq((void *)bpf_get_current_task());
	return 0;
}
