/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of cgroups that are gone: their paths, as BPF programs saw them made or joined
 * (bpf/cgroups.bpf.c), for all sources. */
#ifndef WS_CGROUP_PATHS_H
#define WS_CGROUP_PATHS_H

#include <linux/types.h>

#include "core/config.h"
#include "source/sys/cgroup.h"

struct cgroup_paths;
struct shared_maps;

/*
 * Paths are kept from now on, unless they are already; and n asks there for what it does not find.
 * Where rows are not grouped by cgroups, or this kernel has not the tracepoints, nothing happens:
 * what is gone has a number for a name.
 */
void cgroup_paths_use(struct shared_maps *s, const struct config *cfg, struct cgroup_names *n);
void cgroup_paths_close(struct cgroup_paths *c); /* NULL is fine */

#endif
