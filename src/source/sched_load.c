// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler's BPF object: fitted to this kernel and these filters, loaded and attached. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/glob.h"
#include "source/sched.h"

#include "sched.skel.h" /* needs abi.h */

#define HASH_STAMPS_MIN 65536U
#define PREALLOC_KEYS_MAX 4096U

static uint32_t by_abi(enum by_key by)
{
	switch (by) {
	case BY_PID:
		return ABI_BY_PID;
	case BY_TID:
		return ABI_BY_TID;
	case BY_COMM:
		return ABI_BY_COMM;
	case BY_CGROUP:
		return ABI_BY_CGROUP;
	default:
		return ABI_BY_NONE;
	}
}

/* Without task storage: room for every thread the machine may have now, and as many again. */
static uint32_t hash_stamps(void)
{
	unsigned int threads = 0;
	FILE *f = fopen("/proc/loadavg", "re");

	if (f) {
		if (fscanf(f, "%*s %*s %*s %*u/%u", &threads) != 1)
			threads = 0;
		fclose(f);
	}
	return threads * 4 > HASH_STAMPS_MIN ? threads * 4 : HASH_STAMPS_MIN;
}

static void choose_store(struct sched_bpf *skel)
{
	bool task_storage = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;

	skel->rodata->use_task_storage = task_storage;
	bpf_map__set_autocreate(skel->maps.stamps, task_storage);
	bpf_map__set_autocreate(skel->maps.stamps_hash, !task_storage);
	bpf_program__set_autoload(skel->progs.ws_free, !task_storage);
	if (!task_storage)
		bpf_map__set_max_entries(skel->maps.stamps_hash, hash_stamps());
}

/*
 * Entries are made on demand where hash maps have an allocator that is safe under the run-queue
 * lock (7c8199e24fa0 "bpf: Introduce any context BPF specific memory allocator.", 6.1), else up
 * front. Also on RT: there a thread refills that allocator, too late for 20 % of the samples seen.
 */
static bool keys_on_demand(const struct btf *btf)
{
	return btf__find_by_name_kind(btf, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0 &&
	       !struct_has_member(btf, "task_struct", "softirq_disable_cnt"); /* PREEMPT_RT */
}

static int configure_keys(struct sched *s, const struct btf *btf)
{
	struct bpf_map *maps[ABI_BANKS] = {s->skel->maps.keyed_even, s->skel->maps.keyed_odd};
	bool on_demand = keys_on_demand(btf);
	uint32_t by = by_abi(s->cfg->by), keys = s->cfg->max_keys;
	int b, ret = 0;

	s->skel->rodata->by = by;
	if (bucket_table_init((struct bucket_table *)&s->skel->rodata->key_buckets, ABI_KEY_SCHEMA))
		return -EINVAL;
	if (by != ABI_BY_TID && s->banks.ncpus > 1)
		keys = keys > UINT32_MAX / s->banks.ncpus ? UINT32_MAX : keys * s->banks.ncpus;
	if (!on_demand && keys > PREALLOC_KEYS_MAX)
		keys = PREALLOC_KEYS_MAX;
	for (b = 0; !ret && b < ABI_BANKS; b++) {
		ret = bpf_map__set_max_entries(maps[b], by == ABI_BY_NONE ? 1 : keys);
		if (!ret && on_demand)
			ret = bpf_map__set_map_flags(maps[b], BPF_F_NO_PREALLOC);
	}
	return ret;
}

/* Room for the named ones and, with --follow, for twice the children they have now. */
static int size_target_ids(struct sched *s, uint32_t named)
{
	const struct filter *f = &s->cfg->filter;
	struct u32_list now = {0};
	int ret = f->follow && f->pids.n ? targets_descendants(f, &now) : 0;

	free(now.v);
	if (ret)
		return ret;
	return bpf_map__set_max_entries(s->skel->maps.target_ids, named + (uint32_t)now.n * 2 + 64);
}

static int configure_ids(struct sched *s)
{
	const struct filter *f = &s->cfg->filter;
	size_t n = f->pids.n ? f->pids.n : f->tids.n;
	const uint32_t *ids = f->pids.n ? f->pids.v : f->tids.v;
	bool command = s->args.command_pid != 0;

	s->skel->rodata->follow = f->follow;
	s->skel->rodata->command_tgid = s->args.command_pid;
	bpf_program__set_autoload(s->skel->progs.ws_exec, command);
	bpf_program__set_autoload(s->skel->progs.ws_fork, command || f->follow);
	if (!n && !command)
		return 0;
	s->skel->rodata->filter_ids = f->tids.n ? ABI_IDS_TID : ABI_IDS_PID;
	if (!n)
		s->skel->rodata->filter_one_id = UINT32_MAX; /* nobody: COMMAND joins by its exec */
	else if (n == 1 && !f->follow)
		s->skel->rodata->filter_one_id = ids[0];
	return size_target_ids(s, (uint32_t)n);
}

static int configure_slow(struct sched *s, const struct btf *btf)
{
	struct sched_bpf *skel = s->skel;
	int64_t from_rq;

	skel->rodata->slower = s->cfg->slower;
	skel->rodata->slower_ns = s->cfg->slower_ns;
	skel->rodata->slow_wake_bytes = SLOW_WAKE_BYTES;
	if (!s->cfg->slower)
		return bpf_map__set_autocreate(skel->maps.slow_events, false);
	if (!preempt_count_offset(btf, &from_rq)) {
		skel->rodata->preempt_count_known = true;
		skel->rodata->preempt_count_from_rq = from_rq;
	}
	return bpf_map__set_max_entries(skel->maps.slow_events, SLOW_RING_BYTES);
}

static int configure_late(struct sched *s, struct err *e)
{
	const struct filter *f = &s->cfg->filter;
	struct sched_bpf *skel = s->skel;
	uint32_t cpu;

	skel->rodata->filter_cgroups = f->cgroups.n > 0;
	if (bpf_map__set_max_entries(skel->maps.target_cgroups,
				     f->cgroups.n ? (uint32_t)f->cgroups.n : 1))
		return -EINVAL;
	if (f->comm) {
		if (glob_compile(f->comm, (struct abi_glob *)&skel->rodata->comm_glob, e))
			return -EINVAL;
		skel->rodata->filter_comm = true;
	}
	for (cpu = 0; cpu < f->cpus.nbits; cpu++) {
		if (!(f->cpus.bits[cpu / 64] >> (cpu % 64) & 1))
			continue;
		if (cpu >= s->banks.ncpus || cpu >= sizeof(skel->rodata->cpu_mask) * 8)
			return err_set(e, EXIT_USAGE, -ERANGE,
				       "--cpu '%s': CPU %u does not exist, expected 0-%u",
				       f->cpus_text, cpu, s->banks.ncpus - 1);
		((uint64_t *)skel->rodata->cpu_mask)[cpu / 64] |= 1ULL << (cpu % 64);
		skel->rodata->filter_cpus = true;
	}
	return 0;
}

static int configure(struct sched *s, const struct btf *btf, struct err *e)
{
	uint32_t schema = s->cfg->precision;
	struct sched_bpf *skel = s->skel;
	int ret, args = tracepoint_args(btf, "sched_switch");

	if (args < 3)
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "sched: this kernel's BTF has no sched_switch tracepoint");
	skel->rodata->switch_has_state = args >= 4;
	skel->rodata->schema = schema;
	skel->rodata->nslots = BUCKET_SLOTS(schema);
	ret = bucket_table_init((struct bucket_table *)&skel->rodata->buckets, schema);
	if (!ret)
		ret = bpf_map__set_value_size(skel->maps.banks, ABI_BANK_BYTES(schema));
	if (!ret)
		ret = bpf_map__set_max_entries(skel->maps.banks, s->banks.ncpus * ABI_BANKS);
	if (ret)
		return err_sys(e, ret, "sched: histogram map");
	choose_store(skel);
	ret = configure_keys(s, btf);
	if (!ret)
		ret = configure_ids(s);
	if (ret)
		return err_sys(e, ret, "sched: configure");
	ret = configure_slow(s, btf);
	if (ret)
		return err_sys(e, ret, "sched: --slower");
	return configure_late(s, e);
}

static int fill_ids(struct sched *s)
{
	const struct filter *f = &s->cfg->filter;
	const struct u32_list *ids = f->pids.n ? &f->pids : &f->tids;
	int fd = bpf_map__fd(s->skel->maps.target_ids);
	uint32_t one = 1;
	size_t i;

	for (i = 0; i < ids->n; i++)
		if (bpf_map_update_elem(fd, &ids->v[i], &one, BPF_ANY))
			return -errno;
	return 0;
}

/* --follow from the start: the children that are there already. */
static int fill_descendants(struct sched *s)
{
	struct u32_list more = {0};
	uint32_t one = 1;
	int ret = targets_descendants(&s->cfg->filter, &more);
	size_t i;

	for (i = 0; !ret && i < more.n; i++)
		if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.target_ids), &more.v[i], &one,
					BPF_ANY))
			ret = -errno;
	free(more.v);
	return ret;
}

static int fill_cgroups(struct sched *s)
{
	uint32_t one = 1;
	size_t i;

	for (i = 0; i < s->targets.ncgroups; i++)
		if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.target_cgroups),
					&s->targets.cgroups[i].id, &one, BPF_ANY))
			return -errno;
	return 0;
}

/* Opened and configured. The kernel's BTF is several MB of heap: it goes before libbpf loads its
 * own. */
static int open_object(struct sched *s, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = s->cfg->btf);
	struct btf *btf = kernel_btf(s->cfg->btf, e);
	int ret;

	if (!btf)
		return -ENOENT;
	s->skel = sched_bpf__open_opts(&opts);
	ret = s->skel ? configure(s, btf, e) : err_sys(e, -errno, "sched: open BPF object");
	btf__free(btf);
	return ret;
}

int sched_load(struct sched *s, struct err *e)
{
	int ret = open_object(s, e);

	if (ret)
		return ret;
	ret = sched_bpf__load(s->skel);
	(void)malloc_trim(0); /* of the kernel's BTF, again */
	if (ret)
		return bpf_fail(e, ret, "sched: load BPF programs");
	ret = fill_ids(s);
	if (!ret)
		ret = fill_cgroups(s);
	return ret ? err_sys(e, ret, "sched: fill the filters") : 0;
}

/*
 * Our own number, for the programs to leave us out. In a pid namespace it is not what getpid says,
 * nor are the numbers users give us.
 */
static int find_self(struct sched *s, struct err *e)
{
	const struct filter *f = &s->cfg->filter;
	struct abi_in_flight walk;
	int ret = sched_in_flight(s, &walk);

	if (ret)
		return err_sys(e, ret, "sched: walk over the tasks");
	s->skel->bss->self_tgid = walk.self_tgid;
	if (walk.self_tgid == (uint32_t)getpid() ||
	    (!f->pids.n && !f->tids.n && !s->args.command_pid))
		return 0;
	return err_set(
		e, EXIT_CANNOT, -ENOTSUP,
		"%s: waitscope runs in a pid namespace (it is %u there, %u for the kernel), so "
		"process numbers cannot be told; use --cgroup or --comm, or the host's namespace",
		f->pids.n   ? "--pid"
		: f->tids.n ? "--tid"
			    : "command",
		(uint32_t)getpid(), walk.self_tgid);
}

int sched_attach(struct sched *s, struct err *e)
{
	const struct filter *f = &s->cfg->filter;
	struct bpf_program *prog;
	size_t n = 0;
	int ret;

	bpf_object__for_each_program(prog, s->skel->obj)
	{
		const char *section = bpf_program__section_name(prog);

		if (bpf_program__fd(prog) >= 0 && !strncmp(section, "tp_btf/", 7) &&
		    n + 1 < sizeof(s->hooks) / sizeof(s->hooks[0]))
			s->hooks[n++] = section + 7;
	}
	ret = sched_bpf__attach(s->skel);
	if (ret)
		return bpf_fail(e, ret, "sched: attach BPF programs");
	ret = find_self(s, e);
	if (ret)
		return ret;
	if (f->follow && f->pids.n) { /* after the fork hook: no child can slip through */
		ret = fill_descendants(s);
		if (ret)
			return err_sys(e, ret, "--follow: children of the processes");
	}
	return 0;
}

void sched_unload(struct sched *s)
{
	sched_bpf__destroy(s->skel);
	s->skel = NULL;
}
