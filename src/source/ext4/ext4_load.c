// SPDX-License-Identifier: GPL-2.0-or-later
/* The ext4 source's BPF object: fitted to this kernel and these options, loaded and attached. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "source/ext4/ext4.h"
#include "source/sys/map_setup.h"
#include "source/bpf/shared.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

#define DEVS_SPARE 4	    /* file systems that may yet be mounted, without --by */
#define DEVS_PREALLOCATED 3 /* at most, where all entries are there from the start */
#define KINDS_OF_GROUP 8    /* operations of one group, usually */
#define EVENTS_OF_DEV (ABI_EXT4_KINDS - ABI_EXT4_OPS)
#define EVENTS_OF_GROUP 2
/* Direct I/O in flight that nobody waits for. The devices' queues bound it: a thousand requests are
 * many for a machine, whose CPUs share them. */
#define DIOS 2048 /* at least */
#define DIOS_OF_CPU 64

/* ---- what the machine has ---- */

/* Negative errno: it cannot be told. */
static int file_system_known(void)
{
	char line[128];
	FILE *f = fopen("/proc/filesystems", "re");
	bool found = false;

	if (!f)
		return -errno;
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, "\text4\n") != NULL;
	fclose(f);
	return found;
}

/* A module tells its state; what is built in has a directory there at most. */
static int module_has_btf(const char *module, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s/initstate", module);
	if (access(path, F_OK))
		return 0;
	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
	if (!access(path, F_OK))
		return 0;
	return err_set(e, EXIT_CANNOT, -ENOTSUP,
		       "ext4: its module '%s' has no BTF on this kernel (expected %s: Linux 5.11 "
		       "or later with CONFIG_DEBUG_INFO_BTF_MODULES)",
		       module, path);
}

int ext4_probe(struct err *e)
{
	int ret = bpf_probe(e);

	if (ret)
		return ret;
	ret = file_system_known();
	if (ret < 0)
		return err_set(e, EXIT_CANNOT, ret,
			       "ext4: cannot read /proc/filesystems: %s (is /proc mounted here?)",
			       err_words(ret));
	if (!ret)
		return err_set(e, EXIT_CANNOT, -ENODEV,
			       "ext4: not in this kernel now ('modprobe ext4', or mount one)");
	ret = module_has_btf("jbd2", e);
	return ret ? ret : module_has_btf("ext4", e);
}

/* Types of the kernel and of the two modules, where they are modules. */
struct kernel_types {
	struct btf *kernel, *modules[2];
};

static int types_open(struct kernel_types *t, const char *file, struct err *e)
{
	static const char *const names[] = {"jbd2", "ext4"};

	memset(t, 0, sizeof(*t));
	t->kernel = kernel_btf(file, e);
	if (!t->kernel)
		return -ENOENT;
	for (int i = 0; !file && i < 2; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/kernel/btf/%s", names[i]);
		if (!access(path, R_OK))
			t->modules[i] = btf__load_module_btf(names[i], t->kernel);
	}
	return 0;
}

static void types_close(struct kernel_types *t)
{
	btf__free(t->modules[0]); /* they stand on the kernel's */
	btf__free(t->modules[1]);
	btf__free(t->kernel);
}

static int hook_args(const struct kernel_types *t, const char *name)
{
	int i, ret = tracepoint_args(t->kernel, name);

	for (i = 0; ret < 0 && i < 2; i++)
		if (t->modules[i])
			ret = tracepoint_args(t->modules[i], name);
	return ret;
}

/* ---- configuring ---- */

/* Which of the two programs counts look-ups? */
static int choose_look_up(struct ext4 *x, const struct btf *kernel)
{
	struct ext4_bpf *skel = x->skel;
	bool plain = !skel->rodata->es_by && !skel->rodata->es_time &&
		     !skel->rodata->filter.asks_late && skel->rodata->filter.ids == ABI_IDS_NONE &&
		     kernel_casts(kernel, x->cfg->btf) &&
		     struct_has_member(kernel, "task_struct", "on_cpu");
	uint64_t task = 0;
	int ret;

	plain = plain && !self_task(&task);
	skel->rodata->self_task = task;
	ret = bpf_program__set_autoload(skel->progs.ws_es_end_plain, plain);
	return ret ? ret : bpf_program__set_autoload(skel->progs.ws_es_end, !plain);
}

/*
 * Kernels differ in their tracepoints: programs for those that are not there are left out. Not all
 * at once: without look-ups or fsync this is no ext4 that we know.
 */
static int choose_programs(struct ext4 *x, const struct kernel_types *t, struct err *e)
{
	static const char *const needed[] = {"ext4_es_lookup_extent_exit", "ext4_sync_file_exit",
					     "jbd2_handle_stats"};
	struct bpf_program *prog;
	const char *section;
	int ret;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (hook_args(t, needed[i]) < 0)
			return err_set(e, EXIT_CANNOT, -ENOTSUP,
				       "ext4: this kernel's BTF has no tracepoint '%s'", needed[i]);
	bpf_object__for_each_program(prog, x->skel->obj)
	{
		section = bpf_program__section_name(prog);
		if (!strncmp(section, "tp_btf/", 7) && hook_args(t, section + 7) < 0)
			bpf_program__set_autoload(prog, false);
	}
	bpf_program__set_autoload(x->skel->progs.ws_es_begin, x->cfg->es_time);
	ret = choose_look_up(x, t->kernel);
	return ret ? err_sys(e, ret, "ext4: look-ups") : 0;
}

/* Ledgers: by the scheduler source's program where there is one, else by our own. */
static int choose_split(struct ext4 *x, const struct btf *btf)
{
	struct ext4_bpf *skel = x->skel;
	bool keeps = !shared_ledgers(x->args.shared);
	int ret = bpf_program__set_autoload(skel->progs.ws_ext4_switch, keeps);

	if (!ret)
		ret = bpf_program__set_autoload(skel->progs.ws_ext4_wakeup,
						keeps && !kernel_keeps_record(btf));
	return ret ? ret
		   : shared_setup(x->args.shared, skel->obj, x->ncpus,
				  skel->rodata->filter.task_storage, true);
}

/* With other types than the kernel's own (--btf) functions are not found. */
static void choose_file_programs(struct ext4 *x, const struct kernel_types *t)
{
	struct bpf_program *prog;
	const char *section;
	bool can;

	if (x->cfg->btf)
		snprintf(x->files_why, sizeof(x->files_why), "not with --btf");
	can = !x->cfg->btf && !ext4_file_try(t->kernel, x->files_why, sizeof(x->files_why));
	bpf_object__for_each_program(prog, x->skel->obj)
	{
		section = bpf_program__section_name(prog);
		if (!strncmp(section, "fentry/", 7) || !strncmp(section, "fexit/", 6))
			bpf_program__set_autoload(prog, can);
	}
}

uint32_t ext4_schema(const struct config *cfg)
{
	return ext4_by_group(cfg) ? ABI_KEY_SCHEMA : cfg->precision;
}

static uint32_t times(uint32_t a, uint32_t b)
{
	uint64_t n = (uint64_t)a * b;

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Of operations or of events. */
static uint32_t keys_wanted(const struct ext4 *x, uint32_t devs, uint32_t of_dev, uint32_t of_group)
{
	if (ext4_by_group(x->cfg))
		return times(x->cfg->max_keys, of_group);
	return times(devs, of_dev);
}

static int configure_counted(struct ext4 *x, uint32_t keys, bool on_demand)
{
	struct bpf_map *maps[ABI_BANKS] = {x->skel->maps.counted_even, x->skel->maps.counted_odd};
	uint32_t n = times(keys, x->ncpus);
	int b, ret = 0;

	for (b = 0; !ret && b < ABI_BANKS; b++) {
		ret = bpf_map__set_max_entries(maps[b], n);
		if (!ret && on_demand)
			ret = bpf_map__set_map_flags(maps[b], BPF_F_NO_PREALLOC);
	}
	return ret;
}

/* A table half full at most, if no more are mounted than expected. */
static int configure_look_ups(struct ext4 *x, uint32_t devs)
{
	struct bpf_map *m = x->skel->maps.es_counts;
	uint32_t n = 1;
	int ret;

	while (n < 2 * devs && n < ABI_EXT4_DEVS_MAX)
		n *= 2;
	x->es.ndevs = n;
	x->skel->rodata->es_mask = n - 1;
	ret = bpf_map__set_value_size(m, n * (uint32_t)sizeof(struct abi_ext4_es));
	return ret ? ret : bpf_map__set_max_entries(m, x->ncpus);
}

static int configure_maps(struct ext4 *x, const struct btf *btf)
{
	struct ext4_bpf *skel = x->skel;
	bool on_demand = map_setup_on_demand(btf);
	/* file systems that there may be operations of: those mounted now, and some to come */
	uint32_t devs =
		x->devs->nwanted ? (uint32_t)x->devs->nwanted : ext4_devs_mounted() + DEVS_SPARE;
	uint32_t op_devs = on_demand || devs < DEVS_PREALLOCATED ? devs : DEVS_PREALLOCATED;
	uint32_t dios = map_setup_pow2(times(DIOS_OF_CPU, x->ncpus));
	struct map_setup_keyed keyed = {
		.used = true,
		.by = x->cfg->by == BY_FILE ? ABI_BY_FILE : group_abi(x->cfg->by),
		.nhists = 1,
		.schema = ext4_schema(x->cfg),
		.keys = keys_wanted(x, op_devs, ABI_EXT4_OPS, KINDS_OF_GROUP),
		.per_cpu = true,
		.ncpus = x->ncpus,
	};
	int ret = map_setup_banks(skel->obj, x->ncpus, sizeof(struct abi_counts));

	x->base.schemas.keyed = keyed.schema;
	if (!ret)
		ret = map_setup_keyed(skel->obj, (struct abi_keyed *)&skel->rodata->keyed, btf,
				      &keyed);
	if (!ret)
		ret = configure_counted(x, keys_wanted(x, devs, EVENTS_OF_DEV, EVENTS_OF_GROUP),
					on_demand);
	if (!ret)
		ret = configure_look_ups(x, devs);
	if (!ret)
		ret = bpf_map__set_max_entries(skel->maps.dios, dios > DIOS ? dios : DIOS);
	return ret;
}

static int fill_devs(struct ext4 *x)
{
	uint32_t one = 1;

	for (size_t i = 0; i < x->devs->nwanted; i++)
		if (bpf_map_update_elem(bpf_map__fd(x->skel->maps.target_devs), &x->devs->wanted[i],
					&one, BPF_ANY))
			return -errno;
	return 0;
}

static int configure(struct ext4 *x, const struct kernel_types *t, struct err *e)
{
	struct ext4_bpf *skel = x->skel;
	int ret, args = tracepoint_args(t->kernel, "sched_switch");
	size_t n = x->devs->nwanted;

	if (args < 3)
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "ext4: this kernel's BTF has no sched_switch tracepoint");
	skel->rodata->switch_has_state = args >= 4;
	skel->rodata->es_time = x->cfg->es_time;
	skel->rodata->es_by = ext4_by_group(x->cfg);
	skel->rodata->want_files = x->cfg->by == BY_FILE || x->cfg->slower;
	skel->rodata->slower = x->cfg->slower;
	skel->rodata->slower_ns = x->cfg->slower_ns;
	skel->rodata->slow_wake_bytes = SLOW_WAKE_BYTES;
	skel->rodata->filter_devs = n > 0;
	skel->rodata->filter_one_dev = n == 1 ? x->devs->wanted[0] : 0;
	ret = configure_maps(x, t->kernel);
	if (ret)
		return err_sys(e, ret, "ext4: maps");
	ret = n ? bpf_map__set_max_entries(skel->maps.target_devs, (uint32_t)n) : 0;
	if (!ret)
		ret = x->cfg->slower
			      ? bpf_map__set_max_entries(skel->maps.slow_events, SLOW_RING_BYTES)
			      : bpf_map__set_autocreate(skel->maps.slow_events, false);
	if (ret)
		return err_sys(e, ret, "ext4: --dev, --slower");
	ret = filters_setup(&x->base.filters, skel->obj, (struct abi_filter *)&skel->rodata->filter,
			    e);
	if (ret)
		return ret;
	choose_file_programs(x, t);
	ret = choose_programs(x, t, e);
	if (ret)
		return ret;
	ret = choose_split(x, t->kernel);
	return ret ? err_sys(e, ret, "ext4: ledgers") : 0;
}

int ext4_load(struct ext4 *x, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = x->cfg->btf);
	struct kernel_types types;
	int ret = types_open(&types, x->cfg->btf, e);

	if (ret)
		return ret;
	x->skel = ext4_bpf__open_opts(&opts);
	ret = x->skel ? configure(x, &types, e) : err_sys(e, -errno, "ext4: open BPF object");
	types_close(&types); /* several MB of heap: it goes before libbpf loads its own */
	if (!ret)
		ret = bpf_source_load(&x->base, x->skel->skeleton, e);
	if (ret)
		return ret;
	x->base.epoch_word = &x->skel->bss->epoch;
	ret = shared_keep(x->args.shared, x->skel->obj);
	if (!ret)
		ret = fill_devs(x);
	if (ret)
		return err_sys(e, ret, "ext4: --dev");
	return filters_fill(&x->base.filters, x->skel->obj, e);
}
