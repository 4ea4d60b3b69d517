/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --slower of the ext4 source: records of its ring buffer into struct slow. Stands beside the
 * source, which hands it what it needs.
 */
#ifndef WS_EXT4_SLOW_H
#define WS_EXT4_SLOW_H

#include "source/cgroup.h"
#include "source/inodes/ext4_dev.h"
#include "source/source.h"

/* What an operation (ABI_EXT4_*) is called. */
struct ext4_slow_name {
	const char *metric; /* "ext4_op_latency" */
	const char *op;	    /* "fsync" */
};

struct ext4_slow_args {
	int map_fd; /* the ring buffer */
	const struct ext4_slow_name *names;
	size_t nnames;
	struct ext4_devs *devs;
	struct cgroup_names *cgroups; /* or NULL */
	source_slow_fn on_slow;
	void *slow_ctx;
};

struct ext4_slow;

int ext4_slow_open(struct ext4_slow **out, const struct ext4_slow_args *args, struct err *e);
void ext4_slow_close(struct ext4_slow *s);		 /* NULL is fine */
int ext4_slow_fd(const struct ext4_slow *s);		 /* to poll */
int ext4_slow_drain(struct ext4_slow *s, struct err *e); /* as source_ops.drain */

#endif
