/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the ext4 source's programs and user space share, beyond abi.h. */
#ifndef WS_ABI_EXT4_H
#define WS_ABI_EXT4_H

#include "abi.h"

/*
 * A file system: its device (kernel dev_t) and its UUID folded to 32 bits, since the device may
 * have another one later. User space folds what statfs(2) says, which is the XOR of the UUID's
 * halves.
 */
#define ABI_EXT4_OBJ(dev, fs) ((__u64)(fs) << 32 | (dev))

/* Operations: abi_key.kind of a keyed histogram; abi_key.obj is ABI_EXT4_OBJ. */
#define ABI_EXT4_FSYNC 0
#define ABI_EXT4_WRITE 1 /* a segment of a buffered write: copying and getting the page */
#define ABI_EXT4_MAP 2
#define ABI_EXT4_WRITEPAGES 3
#define ABI_EXT4_TRUNCATE 4
#define ABI_EXT4_UNLINK 5
#define ABI_EXT4_FALLOCATE 6
#define ABI_EXT4_DIO_READ 7 /* direct I/O that its task waits for */
#define ABI_EXT4_DIO_WRITE 8
#define ABI_EXT4_AIO_READ 9 /* direct I/O that ends elsewhere: no split */
#define ABI_EXT4_AIO_WRITE 10
#define ABI_EXT4_START_WAIT 11 /* for a journal handle */
#define ABI_EXT4_HANDLE_HELD 12
#define ABI_EXT4_COMMIT 13
#define ABI_EXT4_COMMIT_LOCKING 14
#define ABI_EXT4_COMMIT_FLUSHING 15
#define ABI_EXT4_COMMIT_LOGGING 16
#define ABI_EXT4_ES_LOOKUP 17 /* only with --es-time */
#define ABI_EXT4_FILE_READ 18 /* whole calls, only where functions can be traced */
#define ABI_EXT4_FILE_WRITE 19
#define ABI_EXT4_FILE_OPEN 20
#define ABI_EXT4_OPS 21

/* Events that are counted, not timed: abi_key.kind of a counter, after the operations. */
#define ABI_EXT4_WRITE_RETRY 21
#define ABI_EXT4_PUNCH_HOLE 22
#define ABI_EXT4_ZERO_RANGE 23
#define ABI_EXT4_COLLAPSE_RANGE 24
#define ABI_EXT4_INSERT_RANGE 25
#define ABI_EXT4_ES 26 /* look-ups of a group (--by): sums by ABI_ES_* */
#define ABI_EXT4_KINDS 27

/* abi_khead.sums of an operation. */
#define ABI_EXT4_SUM_BLOCKED_NS 0
#define ABI_EXT4_SUM_RUN_QUEUE_NS 1
#define ABI_EXT4_SUM_BYTES 2
/* ... and of a counted event */
#define ABI_EXT4_SUM_EVENTS 0

/* Extent status look-ups, by what was found. */
#define ABI_ES_WRITTEN 0
#define ABI_ES_UNWRITTEN 1
#define ABI_ES_DELAYED 2
#define ABI_ES_HOLE 3
#define ABI_ES_MISS 4
#define ABI_ES_RESULTS 5

_Static_assert(ABI_ES_RESULTS <= ABI_SUMS, "look-ups of a group fit its sums");

/* Look-ups of one device on one CPU; dev 0: free. */
struct abi_ext4_es {
	__u64 dev;
	__u64 n[ABI_ES_RESULTS];
	__u64 pad[2];
};

_Static_assert(sizeof(struct abi_ext4_es) == 64, "abi_ext4_es: a cache line");

/* A CPU's devices: a hash with open addressing, by device; how many it has room for, a power of
 * two, is set at load. */
#define ABI_EXT4_DEVS_MAX 256

/* Direct I/O that nobody waits for: what it counts for is known where it began. */
struct abi_ext4_dio {
	struct abi_key key; /* cpu: set at its end */
	__u64 start_ns;
	__u64 ino;
	__u64 cgroup_id;
	__u32 dev;
	__u32 generation;
	__u32 pid;
	__u32 tid;
	char comm[ABI_COMM_LEN];
	__u32 nowait; /* it may be refused without an end, and be tried again */
	__u32 fs;
};

_Static_assert(sizeof(struct abi_ext4_dio) == 96, "abi_ext4_dio size");

/* --by file: abi_key.id is the inode, .born its generation; .obj is as always. */
#define ABI_BY_FILE 16

#endif
