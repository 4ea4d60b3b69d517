/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kernel_truth.bpf.c finds for the test_kernel_*.c: addresses of members whose names are known
 * because the compiler and libbpf placed them, not our own walk over types. */
#ifndef WS_TEST_KERNEL_TRUTH_H
#define WS_TEST_KERNEL_TRUTH_H

struct truth {
	__s32 file_fd, pipe_fd, other_fd; /* in: an open file on ext4, a pipe, a file elsewhere */
	__u64 task, mm, mmap_lock, mmap_wait_lock, signal, wait_chldexit, siglock, files, file_lock;
	__u64 task_alloc_lock, fs, fs_seq;
	__u64 inode, i_rwsem, xa_lock, i_lock, i_ino, sb, s_umount;
	__u64 ei, i_es_lock, i_data_sem, i_raw_lock, i_orphan;
	__u64 sbi, hits_lock, misses_lock, s_orphan_lock, s_desc_size;
	__u64 other_inode, other_rwsem;
	__u64 dentry, d_lock;
	__u64 file, f_ref;
	__u64 pipe_mutex, pipe_head, pipe_rd_wait;
	__u64 journal, j_state_lock, j_wait_commit; /* of sbi */
	__u64 page, page_refcount;
	__u64 rq, rq_lock, rq_clock; /* of the CPU the program ran on */
	__u32 ino, generation, dev, cpu;
};

#endif
