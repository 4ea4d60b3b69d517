// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps the path of each cgroup at its removal. A report looks for a cgroup's path by its id, and
 * by then the directory may be gone. Loaded only where rows are grouped by cgroup, unit or
 * container.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "abi_cgroups.h"

char LICENSE[] SEC("license") = "GPL";

/* An LRU hash: of many that come and go those used longest ago are evicted. 272 bytes each. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, u64);
	__type(value, struct abi_cgroup_path);
} cgroup_paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_cgroup_path);
} cgroup_fresh SEC(".maps");

/* Of the hierarchy of version 2: others count their ids by themselves. Tracepoints hand over kernel
 * pointers. */
static __always_inline int keep(const struct cgroup *cgrp, const char *path)
{
	struct task_struct *p = (void *)bpf_get_current_task();
	struct abi_cgroup_path *fresh;
	u32 zero = 0;
	u64 id;

	if (BPF_CORE_READ(cgrp, root) != BPF_CORE_READ(p, cgroups, dfl_cgrp, root))
		return 0;
	id = BPF_CORE_READ(cgrp, kn, id);
	fresh = bpf_map_lookup_elem(&cgroup_fresh, &zero);
	if (!id || !fresh || bpf_probe_read_kernel_str(fresh->path, sizeof(fresh->path), path) <= 0)
		return 0;
	bpf_map_update_elem(&cgroup_paths, &id, fresh, BPF_ANY);
	return 0;
}

/* The kernel still has the path here, also of a cgroup that was made before waitscope started. */
SEC("tp_btf/cgroup_rmdir")
int ws_cgroup_rmdir(u64 *ctx)
{
	return keep((const struct cgroup *)ctx[0], (const char *)ctx[1]);
}
