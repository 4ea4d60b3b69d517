/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations in flight, kept with the task that runs them: they nest (fsync > writepages > map), so
 * each has its own slot. The task's ledger (ledger.bpf.h) is kept while anything is in flight; an
 * operation remembers what it said when it began, and the difference is its split. All of these are
 * stretches between a switch-out and the next switch-in, which follow each other: blocked + run
 * queue <= total.
 */
#ifndef WS_EXT4_TASK_BPF_H
#define WS_EXT4_TASK_BPF_H

/* Slots. Several kinds share one if they never nest. */
#define OP_FSYNC 0
#define OP_WRITE 1
#define OP_MAP 2
#define OP_MAP_INNER 3 /* the quota file's blocks, while another file's are mapped */
#define OP_WRITEPAGES 4
#define OP_TRUNCATE 5
#define OP_UNLINK 6
#define OP_FALLOCATE 7
#define OP_DIO 8
#define OP_START_WAIT 9
#define OP_HANDLE 10
#define OP_COMMIT 11
#define OP_PHASE 12
#define OP_ES 13
#define OP_FILE_READ 14
#define OP_FILE_WRITE 15
#define OP_FILE_OPEN 16
#define OP_SLOTS 17

struct file_id {
	u64 ino;
	u32 generation; /* only if somebody asks for files */
	u32 fs;		/* the file system: ABI_EXT4_OBJ */
};

struct op {
	u64 start_ns;
	u64 blocked_ns; /* what the ledger said when it began */
	u64 run_queue_ns;
	struct file_id file;
	u64 kiocb; /* direct I/O */
	u64 bytes;
	u32 dev;
	u32 kind; /* ABI_EXT4_*, where the slot does not say */
};

_Static_assert(sizeof(struct op) == 64, "op: a cache line");

struct stamp {
	u64 cgroup_id; /* filter.bpf.h */
	u32 flags;
	u32 active; /* bit per slot: in flight */
	u32 seen;   /* bit per slot: has begun, or ended, before */
	u32 left;   /* times it had left a CPU when the ledger was read */
	u64 blocked_ns;
	u64 run_queue_ns;
	u64 pad[3];
	struct op op[OP_SLOTS];
};

_Static_assert(sizeof(struct stamp) == 64 + 64 * OP_SLOTS, "stamp size");

/* An operation that has ended, as it goes to everything that wants it. */
struct ended {
	u64 start_ns;
	u64 end_ns;
	u64 total_ns;
	u64 blocked_ns;
	u64 run_queue_ns;
	struct file_id file;
	u64 bytes;
	u32 kind; /* ABI_EXT4_* */
	u32 dev;
	u64 split; /* 0: blocked_ns and run_queue_ns are not known */
};

#endif
