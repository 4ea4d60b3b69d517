// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi_holder.h"
#include "source/bpf_util.h"
#include "source/ledgers.h"
#include "source/shared.h"

#include "tasks.skel.h" /* needs abi_holder.h */

#define TASKS_MAX 32768 /* with 304 bytes each */
#define LOGS_MAX 512	/* of threads that others wait for, with 4 KB each */

struct ledgers {
	struct tasks_bpf *skel;
	bool chains;   /* what holders waited for is kept, too */
	uint64_t lost; /* as last told */
};

int ledgers_probe(const struct btf *btf, struct err *e)
{
	if (tracepoint_args(btf, "sched_switch") < 3)
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "--why: this kernel's BTF has no sched_switch tracepoint");
	return 0;
}

static int load(struct ledgers *l, const struct config *cfg, const struct btf *btf)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = cfg->btf);
	int ret;

	l->skel = tasks_bpf__open_opts(&opts);
	if (!l->skel)
		return -errno;
	l->skel->rodata->release_every = cfg->stack_every;
	l->skel->rodata->have_pt_regs = kernel_gives_pt_regs();
	l->skel->rodata->switch_has_state = tracepoint_args(btf, "sched_switch") >= 4;
	ret = bpf_map__set_max_entries(l->skel->maps.tasks, TASKS_MAX);
	if (!ret)
		ret = bpf_map__set_max_entries(l->skel->maps.vtids, TASKS_MAX);
	l->skel->rodata->chains = cfg->slower;
	l->chains = cfg->slower;
	if (!ret)
		ret = bpf_map__set_max_entries(l->skel->maps.held_logs, LOGS_MAX);
	if (!ret && !cfg->slower)
		ret = bpf_map__set_autocreate(l->skel->maps.held_logs, false);
	if (!ret && !cfg->slower)
		ret = bpf_map__set_autocreate(l->skel->maps.chain_cpus, false);
	if (!ret)
		ret = tasks_bpf__load(l->skel);
	if (!ret)
		ret = tasks_bpf__attach(l->skel);
	/* tasks that are not switched for long have a ledger from the start, too */
	return ret ? ret : bpf_iter_run(l->skel->links.ws_tasks_walk);
}

int ledgers_open(struct shared_maps *s, const struct config *cfg, const struct btf *btf,
		 struct err *e)
{
	struct ledgers *l;
	int ret;

	if (s->all)
		return 0;
	ret = ledgers_probe(btf, e);
	if (ret)
		return ret;
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_sys(e, -ENOMEM, "--why");
	ret = load(l, cfg, btf);
	if (ret) {
		ledgers_close(l);
		return bpf_fail(e, ret, "--why: load BPF programs");
	}
	s->all = l;
	return 0;
}

int ledgers_reuse(const struct shared_maps *s, struct bpf_object *obj)
{
	struct bpf_map *theirs[] = {s->all->skel->maps.tasks,	 s->all->skel->maps.vtids,
				    s->all->skel->maps.releases, s->all->skel->maps.released,
				    s->all->skel->maps.takes,	 s->all->skel->maps.held_logs};
	size_t n = sizeof(theirs) / sizeof(theirs[0]) - !s->all->chains;
	int ret = 0;

	for (size_t i = 0; !ret && i < n; i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(obj, bpf_map__name(theirs[i]));

		if (m)
			ret = bpf_map__reuse_fd(m, bpf_map__fd(theirs[i]));
	}
	return ret;
}

uint64_t ledgers_lost(struct shared_maps *s)
{
	uint64_t all, before;

	if (!s->all)
		return 0;
	all = *(volatile __u64 *)&s->all->skel->bss->tasks_full;
	before = s->all->lost;
	s->all->lost = all;
	return all - before;
}

const struct bpf_object *ledgers_object(const struct shared_maps *s)
{
	return s->all ? s->all->skel->obj : NULL;
}

void ledgers_close(struct ledgers *l)
{
	if (!l)
		return;
	tasks_bpf__destroy(l->skel);
	free(l);
}
