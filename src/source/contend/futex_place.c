// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a shared futex lies: its file and the offset in it, which are the same for all who map it.
 * Anonymous shared memory has a file too, in the kernel's own tmpfs.
 *
 *	7f0a2c000000-7f0a2c001000 rw-s 00000000 00:01 1034	/dev/zero (deleted)
 */
#include <stdio.h>
#include <string.h>

#include "core/map_line.h"
#include "source/contend/futex.h"

bool futex_place_parse(const char *line, uint64_t addr, struct futex_place *out)
{
	static const char sysv[] = "/SYSV";
	struct map_line l;

	if (!map_line_parse(line, strlen(line), &l) || !(l.perms & MAP_SHARED_MEM))
		return false;
	if (addr < l.start || addr >= l.end)
		return false;
	if (map_line_anon_inode(&l))
		return false;
	out->dev = l.dev;
	out->inode = l.inode;
	out->offset = l.offset + (addr - l.start);
	out->sysv = l.path_len >= sizeof(sysv) - 1 && !memcmp(l.path, sysv, sizeof(sysv) - 1);
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
