// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/self/mountinfo: others choose the names of mounts. */
#include "fuzz.h"

#include <errno.h>

#include "source/sys/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_mount m;
	char *text = fuzz_string(data, size);
	int ret;

	memset(&m, 'x', sizeof(m));
	ret = cgroup_mount_parse(text, &m);
	MUST(ret == 0 || ret == -ENOENT);
	if (!ret)
		MUST(memchr(m.path, '\0', sizeof(m.path)));
	free(text);
	return 0;
}
