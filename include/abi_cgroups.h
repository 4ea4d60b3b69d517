/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of cgroups, by id, as bpf/cgroups.bpf.c keeps them. */
#ifndef WS_ABI_CGROUPS_H
#define WS_ABI_CGROUPS_H

#define ABI_CGROUP_PATH 256 /* a longer one is cut */

struct abi_cgroup_path {
	char path[ABI_CGROUP_PATH];
};

#endif
