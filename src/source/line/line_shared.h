/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that processes share is at another address in each of them: its lines are known by what
 * is mapped, a file (also those of the kernel's own tmpfs: anonymous shared memory, memfd, System
 * V) and the offset in it. Unlike physical pages that stays the same when memory is moved, and can
 * be told of a process that has ended. Mappings of anonymous inodes (BPF's, io_uring's, perf's)
 * all have the same inode: for those it is the physical page, from the PMU or from
 * /proc/PID/pagemap (CAP_SYS_ADMIN, and not of perf's rings on 6.18, which are no normal
 * pages); else they stay apart.
 */
#ifndef WS_LINE_SHARED_H
#define WS_LINE_SHARED_H

#include "source/cacheline/line_table.h"

struct line_shared;

/* One mapping of a process. */
struct line_mapping {
	uint64_t start, end, offset, dev, inode;
	bool shared, anonymous_inode;
};

/* A line of /proc/PID/maps. Pure. */
bool line_mapping_parse(const char *text, struct line_mapping *out);

int line_shared_open(struct line_shared **out); /* 0 or -ENOMEM */
void line_shared_close(struct line_shared *s);	/* NULL is fine */
/* A new interval: mappings that were not there may be looked for again. */
void line_shared_turn(struct line_shared *s);
/* Under which key the access counts. `phys`: of the line, or 0. Without memory or permission: its
 * own process's. */
void line_shared_key(struct line_shared *s, const struct abi_access_key *at, uint64_t phys,
		     struct line_key *out);

#endif
