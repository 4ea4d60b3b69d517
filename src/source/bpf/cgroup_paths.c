// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/bpf/cgroup_paths.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi_cgroups.h"
#include "source/bpf/groups.h"
#include "source/bpf/shared.h"

#include "cgroups.skel.h"

struct cgroup_paths {
	struct cgroups_bpf *skel;
};

static struct cgroup_paths *paths_open(const struct config *cfg)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = cfg->btf);
	struct cgroup_paths *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->skel = cgroups_bpf__open_opts(&opts);
	if (c->skel && !cgroups_bpf__load(c->skel) && !cgroups_bpf__attach(c->skel))
		return c;
	cgroup_paths_close(c);
	return NULL;
}

static int path_of_gone(void *ctx, uint64_t id, char *out, size_t len)
{
	const struct cgroup_paths *c = ctx;
	struct abi_cgroup_path found;
	__u64 key = id;

	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.cgroup_paths), &key, &found))
		return -ENOENT;
	return snprintf(out, len, "%.*s", ABI_CGROUP_PATH, found.path) < (int)len ? 0 : -ENOENT;
}

void cgroup_paths_use(struct shared_maps *s, const struct config *cfg, struct cgroup_names *n)
{
	if (group_abi(cfg->by) != ABI_BY_CGROUP)
		return;
	if (!s->paths)
		s->paths = paths_open(cfg);
	if (s->paths)
		cgroup_names_fall_back(n, path_of_gone, s->paths);
}

void cgroup_paths_close(struct cgroup_paths *c)
{
	if (!c)
		return;
	cgroups_bpf__destroy(c->skel);
	free(c);
}
