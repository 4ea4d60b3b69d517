// SPDX-License-Identifier: GPL-2.0-or-later
/* A cgroup's path below the mount: whoever may make cgroups chooses their names. The input is a
 * mount point, a newline, a directory. */
#include "fuzz.h"

#include <errno.h>

#include "source/sys/cgroup.h"

#define ROOM 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *mount = fuzz_string(data, size), *dir = strchr(mount, '\n'), *out = malloc(ROOM);
	size_t under;
	int ret;

	MUST(out);
	if (dir && *mount == '/' && dir[1] == '/') {
		*dir++ = '\0';
		ret = cgroup_path_below(mount, dir, out, ROOM);
		under = strcmp(mount, "/") ? strlen(mount) : 0;
		if (!ret) {
			MUST(out[0] == '/' && strlen(out) < ROOM);
			MUST(!strncmp(dir, mount, under));
			MUST(!strcmp(dir + under, out) || (!dir[under] && !strcmp(out, "/")));
		} else {
			MUST(ret == -ENOENT ||
			     (ret == -ENAMETOOLONG && strlen(dir) - under >= ROOM));
			MUST(ret != -ENOENT || strncmp(dir, mount, under) || dir[under] != '/');
		}
	}
	free(out);
	free(mount);
	return 0;
}
