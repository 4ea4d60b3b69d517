// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "source/bpf/ledgers.h"
#include "source/bpf/shared.h"
#include "source/bpf/cgroup_paths.h"

static const char *const names[SHARED_LEDGERS] = {"ledgers", "ledgers_hash", "cpu_ops"};
enum { STORAGE, HASH, CPU_OPS };

bool shared_ledgers(const struct shared_maps *s)
{
	return s->ledgers[CPU_OPS] > 0;
}

int shared_setup(const struct shared_maps *s, struct bpf_object *obj, uint32_t ncpus,
		 bool task_storage, bool used)
{
	int i, ret = 0;

	for (i = 0; !ret && i < SHARED_LEDGERS; i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(obj, names[i]);
		bool here = used && (i == CPU_OPS || task_storage == (i == STORAGE));

		if (!m) /* no task storage without BTF */
			continue;
		if (!here)
			ret = bpf_map__set_autocreate(m, false);
		else if (s->ledgers[i] > 0)
			ret = bpf_map__reuse_fd(m, s->ledgers[i]);
		else if (i == CPU_OPS)
			ret = bpf_map__set_max_entries(m, ncpus);
	}
	return ret;
}

int shared_keep(struct shared_maps *s, const struct bpf_object *obj)
{
	int i, fd;

	for (i = 0; i < SHARED_LEDGERS; i++) {
		fd = bpf_object__find_map_fd_by_name(obj, names[i]);
		if (fd < 0 || s->ledgers[i] > 0)
			continue;
		s->ledgers[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (s->ledgers[i] < 0)
			return -errno;
	}
	return 0;
}

void shared_close(struct shared_maps *s)
{
	for (int i = 0; i < SHARED_LEDGERS; i++)
		if (s->ledgers[i] > 0)
			close(s->ledgers[i]);
	ledgers_close(s->all);
	cgroup_paths_close(s->paths);
	memset(s, 0, sizeof(*s));
}
