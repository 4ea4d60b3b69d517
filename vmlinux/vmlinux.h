/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel types we read, by hand: only the members that are used. CO-RE finds their real place in
 * the running kernel; a flavour (name___suffix) is the same type as other kernels have it.
 * `make vmlinux-dump` writes the running kernel's full header for looking things up.
 */
#ifndef WS_VMLINUX_H
#define WS_VMLINUX_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };
#define NULL ((void *)0)

/* include/uapi/linux/bpf.h, as far as we use it */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_NO_PREALLOC = 1U << 0, BPF_F_MMAPABLE = 1U << 10 };
enum { BPF_RB_NO_WAKEUP = 1ULL << 0, BPF_RB_FORCE_WAKEUP = 1ULL << 1, BPF_RB_AVAIL_DATA = 0 };
enum { BPF_F_USER_STACK = 1ULL << 8 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1ULL << 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup_root;

struct cgroup {
	struct cgroup_root *root;
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_group;

struct rt_rq {
	int rt_throttled;
	struct task_group *tg;
};

struct rq {
	u64 clock;
	struct rt_rq rt;
};

struct sched_rt_entity {
	struct sched_rt_entity *parent;
	struct rt_rq *rt_rq;
};

struct sched_dl_entity {
	u64 dl_deadline;
	u64 dl_period;
	u64 deadline;
	unsigned int dl_throttled : 1;
};

struct cfs_rq {
	struct rq *rq;
	int throttle_count;
};

struct sched_entity {
	unsigned char sched_delayed;
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	u64 last_arrival;
	u64 last_queued;
};

struct thread_info {
	unsigned long flags;
	unsigned int cpu;
	u64 preempt_count; /* arm64 and others; x86 keeps it per CPU */
};

struct thread_struct {
	unsigned long fsbase; /* x86-64: the thread's TLS base */
};

struct mm_struct {
	unsigned long start_code, end_code, start_data, end_data, start_brk, start_stack;
};

/* Only how large they are. */
struct signal_struct {
};

struct sighand_struct {
};

struct files_struct {
};

struct fs_struct {
};

/* A number in each pid namespace, the initial one first. */
struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[];
};

/* Who holds a lock: tasks, with flags in the lowest bits. */
typedef struct {
	s64 counter;
} atomic64_t;

typedef atomic64_t atomic_long_t;

struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int on_cpu; /* a byte in 7.2: libbpf resizes loads of unsigned members only */
	unsigned int on_rq;
	int prio;
	unsigned int rt_priority;
	struct sched_entity se;
	struct sched_rt_entity rt;
	struct sched_dl_entity dl;
	unsigned int policy;
	bool throttled;
	struct sched_info sched_info;
	int softirq_disable_cnt;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_time;
	struct thread_struct thread;
	u64 self_exec_id;
	struct mm_struct *mm;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	struct css_set *cgroups;
};

struct kmem_cache {
	unsigned int size;
};

struct block_device {
	u32 bd_dev;
};

typedef struct {
	u8 b[16];
} uuid_t;

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
	void *s_fs_info;
	uuid_t s_uuid;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_generation;
};

struct dentry {
	struct inode *d_inode;
};

struct file {
	struct inode *f_inode;
};

struct kiocb {
	struct file *ki_filp;
	void *ki_complete;
	int ki_flags;
};

struct iov_iter {
	bool data_source;
	unsigned long count;
};

struct journal_s {
	struct block_device *j_fs_dev;
	void *j_private;
};

struct ext4_sb_info {
	struct journal_s *s_journal;
};

struct extent_status {
	u64 es_pblk;
};

union perf_mem_data_src {
	u64 val;
};

union perf_sample_weight {
	u64 full;
};

struct perf_sample_data {
	u64 sample_flags;
	union perf_sample_weight weight;
	union perf_mem_data_src data_src;
	u64 addr;
	u64 phys_addr;
};

struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_map;

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	void *key;
	void *value;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
