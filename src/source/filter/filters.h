/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filters of one source: what they name, and the rodata, maps and programs of filter.bpf.h and
 * follow.bpf.h. In order:
 *
 *	filters_open	the targets exist, their cgroup paths and watches
 *	filters_setup	between opening the BPF object and loading it
 *	filters_fill	after loading it
 *	filters_follow	after attaching: no child can slip through
 */
#ifndef WS_FILTERS_H
#define WS_FILTERS_H

#include <linux/types.h>

#include "abi.h"
#include "source/sys/cgroup.h"
#include "source/source.h"
#include "source/filter/targets.h"

struct bpf_object;

struct filters {
	const struct config *cfg;
	uint32_t command_pid;
	uint32_t ncpus; /* possible */
	uint32_t named; /* ids given */
	struct cgroup_mount mount;
	struct cgroup_names *names; /* paths of cgroups, or "id:N" where there is no mount */
	struct targets targets;	    /* epoll_fd: readable when something may be gone, or -1 */
	int ids_fd;
};

/* Before anything else: filters_close then is fine. */
void filters_init(struct filters *f);
/* `paths`: cgroup names are wanted if they can be had; --cgroup and --by cgroup must have them. */
int filters_open(struct filters *f, const struct source_args *args, uint32_t ncpus, bool paths,
		 struct err *e);
/* Does any of them ask about a task, or where it runs? */
bool filters_any(const struct filters *f);
int filters_setup(struct filters *f, struct bpf_object *obj, struct abi_filter *rodata,
		  struct err *e);
int filters_fill(struct filters *f, const struct bpf_object *obj, struct err *e);
int filters_follow(struct filters *f, struct err *e);
/* Is any target left? If not: false and words. Numbers of those gone are no longer looked for. */
bool filters_alive(struct filters *f, char *why, size_t len);
void filters_close(struct filters *f);

#endif
