// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a shared futex lies: its file and the offset in it, which are the same for all who map it.
 * Anonymous shared memory has a file too, in the kernel's own tmpfs.
 *
 *	7f0a2c000000-7f0a2c001000 rw-s 00000000 00:01 1034	/dev/zero (deleted)
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "source/futex.h"

bool futex_place_parse(const char *line, uint64_t addr, struct futex_place *out)
{
	uint64_t start, end, offset, inode;
	unsigned int major, minor;
	char perms[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start,
		   &end, perms, &offset, &major, &minor, &inode, &path) != 7)
		return false;
	if (addr < start || addr >= end || strlen(perms) != 4 || perms[3] != 's')
		return false;
	if (path && !strncmp(line + path, "anon_inode:", 11))
		return false; /* one inode for all of them (rings, maps of BPF): no place in common
			       */
	out->dev = (uint64_t)major << 32 | minor;
	out->inode = inode;
	out->offset = offset + (addr - start);
	out->sysv = path && !strncmp(line + path, "/SYSV", 5);
	return true;
}

bool futex_place_find(uint32_t pid, uint64_t addr, struct futex_place *out)
{
	char path[32], line[512];
	bool found = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%u/maps", pid); /* fits */
	f = fopen(path, "re");
	if (!f)
		return false;
	/* the rest of a line longer than ours is no mapping, and is not taken for one */
	while (!found && fgets(line, sizeof(line), f))
		found = futex_place_parse(line, addr, out);
	fclose(f);
	return found;
}
