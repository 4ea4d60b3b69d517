/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line of /proc/PID/maps, just as the kernel writes it, but for the path, which others choose.
 * Pure.
 *
 *	7f0a2c000000-7f0a2c001000 rw-s 00000000 00:01 1034	/dev/zero (deleted)
 */
#ifndef WS_MAP_LINE_H
#define WS_MAP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum map_perm { MAP_R = 1, MAP_W = 2, MAP_X = 4, MAP_SHARED_MEM = 8 };

struct map_line {
	uint64_t start, end; /* start < end */
	uint64_t offset, inode;
	uint64_t dev;	  /* major << 32 | minor */
	uint32_t perms;	  /* MAP_* */
	const char *path; /* within the line, to its end; not terminated, may be empty */
	size_t path_len;
};

/* `line` ends at `len`; a newline there is no part of it. false: no line of the kernel's. */
bool map_line_parse(const char *line, size_t len, struct map_line *out);

/* Of the one inode that all of the kernel's own files have (rings of io_uring, maps of BPF, perf's
 * buffers): the same inode and offset are not the same memory there. */
bool map_line_anon_inode(const struct map_line *l);

#endif
