// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi_holder.h"
#include "source/sys/bpf_util.h"
#include "source/bpf/ledgers.h"
#include "source/sys/map_setup.h"
#include "source/bpf/shared.h"

#include "tasks.skel.h" /* needs abi_holder.h */

#define TASKS_MAX 32768 /* with 320 bytes each, besides those that are at their places */
#define LOGS_MAX 512	/* of threads that others wait for, with 4 KB each */

struct ledgers {
	struct tasks_bpf *skel;
	bool chains;   /* what holders waited for is kept, too */
	uint64_t lost; /* tasks that found no room, as last told */
};

void ledgers_words(const struct ledgers_words *w, const struct config *cfg)
{
	*w->release_every = cfg->stack_every;
	*w->have_pt_regs = kernel_gives_pt_regs();
	*w->chains = cfg->slower;
}

/* `programs`: those at events too. */
static int configure(struct ledgers *l, const struct config *cfg, const struct btf *btf,
		     bool programs)
{
	const struct ledgers_words words = {
		.release_every = (__u32 *)&l->skel->rodata->release_every,
		.have_pt_regs = (bool *)&l->skel->rodata->have_pt_regs,
		.chains = (bool *)&l->skel->rodata->chains,
	};
	int ret;

	ledgers_words(&words, cfg);
	l->skel->rodata->switch_has_state = tracepoint_args(btf, "sched_switch") >= 4;
	l->chains = cfg->slower;
	ret = bpf_map__set_max_entries(l->skel->maps.tasks, ABI_TASK_PLACES + TASKS_MAX);
	if (!ret)
		ret = bpf_map__set_max_entries(l->skel->maps.tasks_at, ABI_TASK_PLACES + TASKS_MAX);
	if (!ret)
		ret = bpf_map__set_max_entries(l->skel->maps.tasks_spare, TASKS_MAX);
	if (!ret)
		ret = bpf_map__set_max_entries(l->skel->maps.vtids, TASKS_MAX);
	if (!ret)
		ret = bpf_map__set_max_entries(l->skel->maps.held_logs, LOGS_MAX);
	if (!ret && !cfg->slower)
		ret = map_setup_create(l->skel->obj, "held_logs", false);
	if (!ret && !(cfg->slower && programs))
		ret = map_setup_create(l->skel->obj, "chain_cpus", false);
	if (!ret)
		ret = bpf_program__set_autoload(l->skel->progs.ws_tasks_switch, programs);
	return ret ? ret : bpf_program__set_autoload(l->skel->progs.ws_tasks_waking, programs);
}

/* What lies behind the places is free. */
static int fill_spare(const struct ledgers *l)
{
	int fd = bpf_map__fd(l->skel->maps.tasks_spare), ret = 0;

	for (__u32 at = ABI_TASK_PLACES + TASKS_MAX; !ret && at-- > ABI_TASK_PLACES;)
		ret = bpf_map_update_elem(fd, NULL, &at, BPF_ANY);
	return ret ? -errno : 0;
}

static int load(struct ledgers *l, const struct config *cfg, const struct btf *btf, bool programs)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = cfg->btf);
	int ret;

	l->skel = tasks_bpf__open_opts(&opts);
	if (!l->skel)
		return -errno;
	ret = configure(l, cfg, btf, programs);
	if (!ret)
		ret = tasks_bpf__load(l->skel);
	if (!ret)
		ret = fill_spare(l);
	return ret ? ret : tasks_bpf__attach(l->skel);
}

static int open_with(struct shared_maps *s, const struct config *cfg, const struct btf *btf,
		     bool programs, struct err *e)
{
	struct ledgers *l;
	int ret;

	if (tracepoint_args(btf, "sched_switch") < 3)
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "--why: this kernel's BTF has no sched_switch tracepoint");
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_sys(e, -ENOMEM, "--why");
	ret = load(l, cfg, btf, programs);
	if (!ret)
		ret = bpf_iter_run(l->skel->links.ws_tasks_walk); /* tasks that are there already */
	if (ret) {
		ledgers_close(l);
		return bpf_fail(e, ret, "--why: load BPF programs");
	}
	s->all = l;
	return 0;
}

int ledgers_open(struct shared_maps *s, const struct config *cfg, const struct btf *btf,
		 struct err *e)
{
	return s->all ? 0 : open_with(s, cfg, btf, true, e);
}

int ledgers_reuse(const struct shared_maps *s, struct bpf_object *obj)
{
	struct bpf_map *theirs[] = {s->all->skel->maps.tasks,	    s->all->skel->maps.tasks_at,
				    s->all->skel->maps.tasks_spare, s->all->skel->maps.vtids,
				    s->all->skel->maps.tasks_kept,  s->all->skel->maps.releases,
				    s->all->skel->maps.released,    s->all->skel->maps.takes,
				    s->all->skel->maps.held_logs};
	size_t n = sizeof(theirs) / sizeof(theirs[0]) - !s->all->chains;
	int ret = 0;

	for (size_t i = 0; !ret && i < n; i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(obj, bpf_map__name(theirs[i]));

		if (m)
			ret = bpf_map__reuse_fd(m, bpf_map__fd(theirs[i]));
	}
	return ret;
}

int ledgers_open_for(struct shared_maps *s, const struct config *cfg, const struct btf *btf,
		     struct bpf_object *obj, struct err *e)
{
	int ret = open_with(s, cfg, btf, false, e);

	if (ret)
		return ret;
	ret = ledgers_reuse(s, obj);
	if (!ret && !cfg->slower)
		ret = map_setup_create(obj, "held_logs", false);
	if (!ret && !cfg->slower)
		ret = map_setup_create(obj, "chain_cpus", false);
	return ret ? err_sys(e, ret, "--why") : 0;
}

int ledgers_unused(struct bpf_object *obj)
{
	/*
	 * Not `found`: before 6.8 the verifier takes global functions also where nobody calls them.
	 */
	static const char *const maps[] = {"tasks",	 "tasks_at",   "tasks_spare",  "vtids",
					   "tasks_kept", "releases",   "released",     "takes",
					   "held_logs",	 "chain_cpus", "release_rates"};

	return map_setup_leave_out(obj, maps, sizeof(maps) / sizeof(maps[0]));
}

void ledgers_drop(struct shared_maps *s)
{
	ledgers_close(s->all);
	s->all = NULL;
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
