// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "source/sys/bpf_util.h"
#include "source/filter/filters.h"
#include "source/filter/glob.h"
#include "source/sys/map_setup.h"

#define HASH_STAMPS_MIN 65536U
#define BORN_MEANWHILE 4096U

void filters_init(struct filters *f)
{
	memset(f, 0, sizeof(*f));
	f->mount.fd = f->ids_fd = -1;
	f->targets.epoll_fd = f->targets.inotify_fd = -1;
}

int filters_open(struct filters *f, const struct source_args *args, uint32_t ncpus, bool paths,
		 struct err *e)
{
	const struct filter *filter = &args->cfg->filter;
	struct err ignored = {0};
	int ret = 0;

	f->cfg = args->cfg;
	f->command_pid = args->command_pid;
	f->ncpus = ncpus;
	f->named = (uint32_t)targets_named(filter)->n;
	if (filter->late[ABI_FILTER_CGROUP].n || by_cgroups(f->cfg->by))
		ret = cgroup_mount_find(&f->mount, e);
	else if (paths && cgroup_mount_find(&f->mount, &ignored))
		f->mount.fd = -1; /* names only: ids will do */
	if (!ret)
		ret = targets_open(&f->targets, filter, &f->mount, e);
	if (ret)
		return ret;
	f->names = cgroup_names_new(f->mount.fd > 0 ? &f->mount : NULL);
	return f->names ? 0 : err_sys(e, -ENOMEM, "cgroup names");
}

/* ---- before the load ---- */

/* Parts of filter.bpf.h and follow.bpf.h; a source that leaves one out has no use for it. */
static int autoload(struct bpf_object *obj, const char *program, bool on)
{
	struct bpf_program *p = bpf_object__find_program_by_name(obj, program);

	return p ? bpf_program__set_autoload(p, on) : on ? -ENOENT : 0;
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

/* An object of raw tracepoints has no task storage (filter.bpf.h). */
static int setup_store(struct bpf_object *obj, struct abi_filter *ro)
{
	struct bpf_map *stamps = bpf_object__find_map_by_name(obj, "stamps");
	bool task_storage =
		stamps && libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;
	int ret;

	ro->task_storage = task_storage;
	ret = stamps ? bpf_map__set_autocreate(stamps, task_storage) : 0;
	if (!ret)
		ret = map_setup_create(obj, "stamps_hash", !task_storage);
	if (!ret)
		ret = autoload(obj, "ws_free", !task_storage);
	if (!ret && !task_storage)
		ret = map_setup_entries(obj, "stamps_hash", hash_stamps());
	return ret;
}

/*
 * Room for the named ones and, with --follow, for the children they have now and those that are
 * born before filters_follow puts them in: a build starts hundreds at a time. Entries are allocated
 * when they are used.
 */
static int size_target_ids(const struct filters *f, struct bpf_object *obj)
{
	const struct filter *filter = &f->cfg->filter;
	struct u32_list now = {0};
	uint32_t room = f->named + 1;
	int ret = 0;

	if (filter->follow && filter->pids.n) {
		ret = targets_descendants(filter, &now);
		room += (uint32_t)now.n * 2 + BORN_MEANWHILE;
		free(now.v);
	}
	return ret ? ret : map_setup_entries(obj, "target_ids", room);
}

static int setup_ids(const struct filters *f, struct bpf_object *obj, struct abi_filter *ro)
{
	const struct filter *filter = &f->cfg->filter;
	bool command = f->command_pid != 0, joins = command || filter->follow;
	/* Can the programs ask about the current task? */
	bool asks_current = ro->task_storage || !bpf_object__find_map_by_name(obj, "stamps");
	int ret;

	ro->follow = filter->follow;
	ro->command_tgid = f->command_pid;
	ret = autoload(obj, "ws_exec", command);
	if (!ret)
		ret = autoload(obj, "ws_newtask", joins && asks_current);
	if (!ret)
		ret = autoload(obj, "ws_fork", joins && !asks_current);
	if (ret || (!f->named && !command))
		return ret;
	ro->asks_task = true;
	ro->ids = filter->tids.n ? ABI_IDS_TID : ABI_IDS_PID;
	if (!f->named)
		ro->one_id = UINT32_MAX; /* nobody: COMMAND joins by its exec */
	else if (f->named == 1 && !filter->follow)
		ro->one_id = targets_named(filter)->v[0];
	return size_target_ids(f, obj);
}

/* In a pid namespace our number is not what getpid says, nor are the numbers users give us. */
static int setup_self(const struct filters *f, struct abi_filter *ro, struct err *e)
{
	const struct filter *filter = &f->cfg->filter;
	uint32_t tgid = 0;
	int ret = self_tgid(&tgid);

	if (ret)
		return bpf_fail(e, ret, "BPF: our own process number");
	ro->self_tgid = tgid;
	if (tgid == (uint32_t)getpid() || (!f->named && !f->command_pid))
		return 0;
	return err_set(
		e, EXIT_CANNOT, -ENOTSUP,
		"%s: waitscope runs in a pid namespace (it is %u there, %u for the kernel), so "
		"process numbers cannot be told; use --cgroup or --comm, or the host's namespace",
		filter->pids.n	 ? "--pid"
		: filter->tids.n ? "--tid"
				 : "command",
		(uint32_t)getpid(), tgid);
}

/* ---- filters that are asked late: filter_late in filter.bpf.h ---- */

struct late {
	const struct filters *f;
	struct bpf_object *obj;
	const struct str_list *given; /* at least one */
};

#define QUOTED 128

#define COMM_BYTES (ABI_COMM_LEN - 1)

static int check_comm(const char *glob, struct err *e)
{
	char quoted[QUOTED], cut[COMM_BYTES + 1];

	if (strpbrk(glob, "*?[\\") || strlen(glob) <= COMM_BYTES)
		return 0;
	return err_set(
		e, EXIT_USAGE, -EINVAL,
		"--comm '%s': no task can match: the kernel keeps %d bytes of a name (try '%s*')",
		text_clean(quoted, sizeof(quoted), glob, SIZE_MAX), COMM_BYTES,
		text_clean(cut, sizeof(cut), glob, SIZE_MAX)); /* splits no character */
}

static int setup_comm(const struct late *l, struct abi_filter *ro, struct err *e)
{
	return glob_compile(l->given->v[0], &ro->glob, e);
}

static int check_cpus(const char *list, struct err *e)
{
	struct cpu_set cpus = {0};

	return parse_cpu_list(list, "--cpu", &cpus, e);
}

static int setup_cpus(const struct late *l, struct abi_filter *ro, struct err *e)
{
	struct cpu_set cpus = {0};
	int ret = parse_cpu_list(l->given->v[0], "--cpu", &cpus, e);

	for (uint32_t cpu = 0; !ret && cpu < cpus.nbits; cpu++) {
		if (!cpu_set_has(&cpus, cpu))
			continue;
		if (cpu >= l->f->ncpus || cpu >= ABI_CPUS_MAX)
			ret = err_set(e, EXIT_USAGE, -ERANGE,
				      "--cpu '%s': CPU %u does not exist, expected 0-%u",
				      l->given->v[0], cpu, l->f->ncpus - 1);
		else
			ro->cpu_mask[cpu / 64] |= 1ULL << (cpu % 64);
	}
	return ret;
}

static int setup_cgroups(const struct late *l, struct abi_filter *ro, struct err *e)
{
	int ret = map_setup_entries(l->obj, "target_cgroups", (uint32_t)l->given->n);

	ro->cgroup_levels =
		cgroup_levels(&l->f->mount, l->f->targets.cgroups, l->f->targets.ncgroups);
	return ret ? err_sys(e, ret, "set up the filters") : 0;
}
#define TO(member) .at = offsetof(struct config, filter.member)

/* clang-format off */
const struct option_row filters_options[] = {
	{"pid", 'p', "PID[,PID...]", "only these processes, all their threads", OPTION_IDS, TO(pids),
	 .kind = OPTION_PIDS, .repeat = true},
	{"tid", 't', "TID[,TID...]", "only these threads", OPTION_IDS, TO(tids),
	 .kind = OPTION_TIDS, .repeat = true},
	{"cgroup", 'c', "CGROUP", "only this cgroup (v2 path or id) and those below it", OPTION_TEXTS,
	 TO(late[ABI_FILTER_CGROUP]), .kind = OPTION_CGROUPS, .repeat = true},
	{"comm", 0, "GLOB", "only tasks whose command name matches", OPTION_TEXTS,
	 TO(late[ABI_FILTER_COMM]), .check = check_comm, .kind = OPTION_COMMS},
	{"cpu", 0, "LIST", "only waits that end on these CPUs: 0-3,7", OPTION_TEXTS,
	 TO(late[ABI_FILTER_CPU]), .check = check_cpus, .kind = OPTION_CPUS},
	{"dev", 0, "DEV|MOUNT", "only file systems on this device or mounted here", OPTION_TEXTS,
	 TO(devs), .kind = OPTION_MOUNTS, .repeat = true},
	{"follow", 0, NULL, "children of -p, -t or COMMAND join (default with COMMAND)", OPTION_FLAG,
	 TO(follow), .value = true},
	{"no-follow", 0, NULL, "children do not join (default with -p and -t)", OPTION_FLAG,
	 TO(follow), .value = false},
	{0},
};
/* clang-format on */

static int (*const late_setup[ABI_FILTERS])(const struct late *l, struct abi_filter *ro,
					    struct err *e) = {
	[ABI_FILTER_CPU] = setup_cpus,
	[ABI_FILTER_CGROUP] = setup_cgroups,
	[ABI_FILTER_COMM] = setup_comm,
};

static int setup_late(const struct filters *f, struct bpf_object *obj, struct abi_filter *ro,
		      struct err *e)
{
	struct late l = {f, obj, NULL};
	int ret = 0;

	for (uint32_t which = 0; !ret && which < ABI_FILTERS; which++) {
		l.given = &f->cfg->filter.late[which];
		if (!l.given->n)
			continue;
		ro->asked[which] = ro->asks_late = true;
		ro->asks_task |= which != ABI_FILTER_CPU;
		ret = late_setup[which](&l, ro, e);
	}
	return ret;
}

bool filters_any(const struct filters *f)
{
	uint32_t which;

	for (which = 0; which < ABI_FILTERS; which++)
		if (f->cfg->filter.late[which].n)
			return true;
	return f->named || f->command_pid;
}

int filters_setup(struct filters *f, struct bpf_object *obj, struct abi_filter *ro, struct err *e)
{
	int ret = setup_self(f, ro, e);

	if (ret)
		return ret;
	ret = setup_store(obj, ro);
	if (!ret)
		ret = setup_ids(f, obj, ro);
	return ret ? err_sys(e, ret, "set up the filters") : setup_late(f, obj, ro, e);
}

/* ---- after it ---- */

static int put(int map_fd, const void *id)
{
	uint32_t one = 1;

	return bpf_map_update_elem(map_fd, id, &one, BPF_ANY) ? -errno : 0;
}

int filters_fill(struct filters *f, const struct bpf_object *obj, struct err *e)
{
	const struct u32_list *ids = targets_named(&f->cfg->filter);
	int cgroups_fd = bpf_object__find_map_fd_by_name(obj, "target_cgroups"), ret = 0;

	f->ids_fd = bpf_object__find_map_fd_by_name(obj, "target_ids");
	for (size_t i = 0; !ret && i < ids->n; i++)
		ret = put(f->ids_fd, &ids->v[i]);
	for (size_t i = 0; !ret && i < f->targets.ncgroups; i++)
		ret = put(cgroups_fd, &f->targets.cgroups[i].id);
	return ret ? err_sys(e, ret, "fill the filters") : 0;
}

/* --follow from the start: the children that are there already. */
int filters_follow(struct filters *f, struct err *e)
{
	const struct filter *filter = &f->cfg->filter;
	struct u32_list more = {0};
	int ret;

	if (!filter->follow || !filter->pids.n)
		return 0;
	ret = targets_descendants(filter, &more);
	for (size_t i = 0; !ret && i < more.n; i++)
		ret = put(f->ids_fd, &more.v[i]);
	free(more.v);
	return ret ? err_sys(e, ret, "--follow: children of the processes") : 0;
}

bool filters_alive(struct filters *f, char *why, size_t len)
{
	const struct u32_list *ids = targets_named(&f->cfg->filter);

	if (!targets_alive(&f->targets, why, len))
		return false;
	/* one that has gone must not come back as another process with its number */
	for (size_t i = 0; f->targets.npidfds > 1 && i < f->targets.npidfds; i++)
		if (!targets_id_alive(&f->targets, i))
			(void)bpf_map_delete_elem(f->ids_fd, &ids->v[i]); /* -ENOENT: done before */
	return true;
}

void filters_close(struct filters *f)
{
	targets_close(&f->targets);
	cgroup_names_free(f->names);
	cgroup_mount_close(&f->mount);
	filters_init(f);
}
