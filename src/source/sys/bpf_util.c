// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "source/sys/bpf_util.h"
#include "source/privs.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static int log_all(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return vfprintf(stderr, fmt, ap);
}

void bpf_util_log(bool verbose)
{
	libbpf_set_print(verbose ? log_all : NULL);
}

int bad_btf_file(struct err *e, int err, const char *file)
{
	char why[128] = "";

	(void)libbpf_strerror(err, why, sizeof(why)); /* its own error numbers too */
	return err_set(e, err == -ENOENT || err == -EACCES ? EXIT_USAGE : EXIT_CANNOT, err,
		       "--btf '%s': %s (expected a kernel's BTF, or an ELF file with it)", file,
		       why);
}

bool kernel_has_btf(void)
{
	return !access(KERNEL_BTF, R_OK);
}

bool kernel_gives_pt_regs(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACEPOINT, BPF_FUNC_task_pt_regs, NULL) == 1;
}

struct btf *kernel_btf(const char *file, struct err *e)
{
	struct btf *btf = file ? btf__parse(file, NULL) : btf__load_vmlinux_btf();
	int err = errno == ESRCH ? ENOENT : errno; /* libbpf's word for it */

	if (!btf && file)
		bad_btf_file(e, -errno, file);
	else if (!btf)
		err_set(e, EXIT_CANNOT, -err,
			"kernel BTF: %s: %s (the kernel needs CONFIG_DEBUG_INFO_BTF, and /sys must be "
			"mounted; without, the sched source alone can run, with --btf FILE: the types of "
			"this very kernel, as in the vmlinux of its debug package)",
			KERNEL_BTF, strerror(err));
	return btf;
}

bool kernel_keeps_record(const struct btf *btf)
{
	unsigned long long ran, waited, times = 0;
	FILE *f = fopen("/proc/self/schedstat", "re");

	if (f) {
		if (fscanf(f, "%llu %llu %llu", &ran, &waited, &times) != 3)
			times = 0;
		fclose(f);
	}
	return times && struct_has_member(btf, "task_struct", "sched_info") &&
	       struct_has_member(btf, "sched_entity", "cfs_rq");
}

int tracepoint_args(const struct btf *btf, const char *name)
{
	char type_name[128];
	const struct btf_type *t;
	int id;

	if (snprintf(type_name, sizeof(type_name), "btf_trace_%s", name) >= (int)sizeof(type_name))
		return -ENAMETOOLONG;
	id = btf__find_by_name_kind(btf, type_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -ENOENT;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type); /* typedef -> pointer */
	if (!t || !btf_is_ptr(t))
		return -ENOENT;
	t = btf__type_by_id(btf, t->type);
	if (!t || !btf_is_func_proto(t))
		return -ENOENT;
	return btf_vlen(t) - 1; /* the first is the probe's own data pointer */
}

/*
 * A program that reads an argument is not let on to a tracepoint that has fewer
 * (9df1c28bb752 "bpf: add writable context for raw tracepoints", 5.2, and before it c4f6699dfcb8).
 */
int tracepoint_has_arg(const char *name, unsigned int n)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_DW,
		 .dst_reg = BPF_REG_0,
		 .src_reg = BPF_REG_1,
		 .off = (__s16)(8 * (n - 1))},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int link, fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "ws_args", "GPL", insns,
				     sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd < 0)
		return fd;
	link = bpf_raw_tracepoint_open(name, fd);
	close(fd);
	if (link == -EINVAL)
		return 0;
	if (link < 0)
		return link;
	close(link);
	return 1;
}

int btf_section_var(const struct btf *btf, const char *section, const char *name, int64_t *offset,
		    __u32 *type)
{
	int sec = btf__find_by_name_kind(btf, section, BTF_KIND_DATASEC);
	const struct btf_type *t, *var;
	const struct btf_var_secinfo *v;

	if (sec < 0)
		return -ENOENT;
	t = btf__type_by_id(btf, (__u32)sec);
	v = btf_var_secinfos(t);
	for (__u32 i = 0; i < btf_vlen(t); i++, v++) {
		var = btf__type_by_id(btf, v->type);
		if (strcmp(btf__name_by_offset(btf, var->name_off), name))
			continue;
		*offset = v->offset;
		*type = var->type;
		return 0;
	}
	return -ENOENT;
}

/* Of a per-CPU variable, from the CPU's struct rq. */
static int from_rq_var(const struct btf *btf, const char *name, int64_t *from_rq, __u32 *type)
{
	int64_t rq, at;
	int ret = btf_section_var(btf, ".data..percpu", "runqueues", &rq, type);

	if (!ret)
		ret = btf_section_var(btf, ".data..percpu", name, &at, type);
	if (!ret)
		*from_rq = at - rq;
	return ret;
}

static int member_offset(const struct btf *btf, __u32 type, const char *name, int64_t *offset)
{
	const struct btf_type *t = btf__type_by_id(btf, type);
	const struct btf_member *m;
	int64_t inner;

	if (!btf_is_composite(t))
		return -ENOENT;
	m = btf_members(t);
	for (__u32 i = 0; i < btf_vlen(t); i++) {
		int64_t at = btf_member_bit_offset(t, i) / 8;

		if (!strcmp(btf__name_by_offset(btf, m[i].name_off), name)) {
			*offset = at;
			return 0;
		}
		if (!m[i].name_off &&
		    !member_offset(btf, m[i].type, name, &inner)) { /* anonymous */
			*offset = at + inner;
			return 0;
		}
	}
	return -ENOENT;
}

bool struct_has_member(const struct btf *btf, const char *name, const char *member)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	int64_t offset;

	return id > 0 && !member_offset(btf, (__u32)id, member, &offset);
}

bool kernel_casts(const struct btf *btf, const char *path)
{
	return !path && btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
}

int preempt_count_offset(const struct btf *btf, int64_t *from_rq)
{
	int64_t hot, inside;
	__u32 type;
	int ret = from_rq_var(btf, "__preempt_count", from_rq, &type);

	if (!ret)
		return 0;
	ret = from_rq_var(btf, "pcpu_hot", &hot, &type);
	if (!ret)
		ret = member_offset(btf, type, "preempt_count", &inside);
	if (!ret)
		*from_rq = hot + inside;
	return ret;
}

int steal_offset(const struct btf *btf, int64_t *from_rq)
{
	__u32 type;

	return from_rq_var(btf, "steal_time", from_rq, &type);
}

/* "none [integrity] confidentiality" */
bool lockdown_level(char *level, size_t len)
{
	char line[128] = "";
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	const char *from, *end;

	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		fclose(f);
	}
	from = strchr(line, '[');
	end = from ? strchr(from, ']') : NULL;
	if (end)
		(void)snprintf(level, len, "%.*s", (int)(end - from - 1),
			       from + 1); /* cut is fine */
	return end;
}

bool bpf_locked_down(void)
{
	char level[32];

	return lockdown_level(level, sizeof(level)) && !strcmp(level, "confidentiality");
}

int bpf_fail(struct err *e, int err, const char *what)
{
	bool refused = err == -EPERM || err == -EACCES;

	if ((refused || err == -EINVAL) && bpf_locked_down())
		return err_set(
			e, EXIT_CANNOT, err,
			"%s: the kernel is locked down (lockdown=confidentiality refuses to let "
			"BPF read kernel memory)",
			what);
	if (refused && !privs_suffice())
		return privs_missing(e, err, what, NULL);
	if ((refused || err == -ENOSYS) && privs_filtered())
		return err_set(
			e, EXIT_CANNOT, err,
			"%s: a seccomp filter refuses bpf(2) (it says \"%s\"; let the sandbox's or "
			"container's profile allow bpf and perf_event_open)",
			what, strerror(-err));
	if (refused)
		return err_set(
			e, EXIT_CANNOT, err,
			"%s: not permitted, though we have the capabilities (a sandbox may refuse "
			"bpf(2); before Linux 5.11 locked memory limits it: ulimit -l unlimited)",
			what);
	if (err == -ENOSYS)
		return err_set(e, EXIT_CANNOT, err,
			       "%s: this kernel has no bpf() system call (CONFIG_BPF_SYSCALL)",
			       what);
	return err_set(e, EXIT_CANNOT, err, "%s: %s (-v shows what libbpf and the verifier say)",
		       what, err_words(err));
}

int bpf_probe_call(struct err *e)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ws_probe", 4, 8, 1, NULL);

	if (fd < 0)
		return bpf_fail(e, fd, "BPF");
	close(fd);
	return 0;
}

int bpf_probe(struct err *e)
{
	int ret = bpf_probe_call(e);

	if (ret || kernel_has_btf())
		return ret;
	return err_set(e, EXIT_CANNOT, -errno,
		       "the kernel has no BTF (%s: %s), which this source needs; sched can do with "
		       "--btf FILE",
		       KERNEL_BTF, strerror(errno));
}

/* Three instructions that the kernel runs for us, here and now (of raw tracepoints since
 * 1b4d60ec162f "bpf: Enable BPF_PROG_TEST_RUN for raw_tracepoint", 5.10): what a helper says of the
 * calling thread, 32 bits of it. */
static int run_self(int32_t helper, int32_t shift, uint32_t *bits)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = helper},
		{.code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_0, .imm = shift},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int ret, fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "ws_self", "GPL", insns,
				    sizeof(insns) / sizeof(insns[0]), NULL);

	if (fd < 0)
		return fd;
	ret = bpf_prog_test_run_opts(fd, &run);
	close(fd);
	*bits = run.retval;
	return ret;
}

static int self_number(uint32_t *tgid)
{
	return run_self(BPF_FUNC_get_current_pid_tgid, 32, tgid);
}

int bpf_test_runs(void)
{
	uint32_t tgid;

	return self_number(&tgid);
}

/* The initial pid namespace has a number of its own: PROC_PID_INIT_INO (include/linux/proc_ns.h).
 */
static bool in_first_pid_namespace(void)
{
	static const char first[] = "pid:[4026531836]";
	char link[64];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link));

	return n == (ssize_t)strlen(first) && !memcmp(link, first, strlen(first));
}

int bpf_iter_run(const struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link)), ret = 0;
	char buf[64];
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		n = read(fd, buf, sizeof(buf)); /* the program writes nothing: reading runs it */
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	if (n < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int self_tgid(uint32_t *tgid)
{
	int ret = self_number(tgid);

	if (!ret || !in_first_pid_namespace())
		return ret;
	*tgid = (uint32_t)getpid();
	return 0;
}

int self_task(uint64_t *address)
{
	uint32_t low = 0, high = 0;
	int ret = run_self(BPF_FUNC_get_current_task, 0, &low);

	if (!ret)
		ret = run_self(BPF_FUNC_get_current_task, 32, &high);
	*address = (uint64_t)high << 32 | low;
	return ret;
}

/* Sum over the programs of an object; false when none could be read. */
static bool sum_prog_info(const struct bpf_object *obj, uint64_t *run_ns, uint64_t *runs,
			  uint64_t *misses)
{
	struct bpf_prog_info info;
	struct bpf_program *prog;
	__u32 len;
	bool any = false;

	*run_ns = *runs = *misses = 0;
	bpf_object__for_each_program(prog, obj)
	{
		if (bpf_program__fd(prog) < 0)
			continue;
		memset(&info, 0, sizeof(info));
		len = sizeof(info);
		if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			continue;
		any = true;
		*run_ns += info.run_time_ns;
		*runs += info.run_cnt;
		*misses += info.recursion_misses;
	}
	return any;
}

uint64_t recursion_misses(const struct bpf_object *obj)
{
	uint64_t run_ns, runs, misses;

	sum_prog_info(obj, &run_ns, &runs, &misses);
	return misses;
}

int cost_sampler_begin(struct cost_sampler *c, const struct bpf_object *obj, struct err *e)
{
	uint64_t misses;

	c->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (c->stats_fd < 0)
		return err_sys(e, -errno, "BPF run-time statistics");
	if (!sum_prog_info(obj, &c->run_ns, &c->runs, &misses)) {
		cost_sampler_close(c);
		return err_sys(e, -ENOENT, "BPF run-time statistics");
	}
	c->begin_ns = clock_mono_ns();
	return 0;
}

int cost_sampler_end(struct cost_sampler *c, const struct bpf_object *obj, struct self_cost *out)
{
	uint64_t run_ns, runs, misses, dur;

	if (c->stats_fd < 0)
		return -EINVAL;
	if (!sum_prog_info(obj, &run_ns, &runs, &misses)) {
		cost_sampler_close(c);
		return -ENOENT;
	}
	dur = clock_mono_ns() - c->begin_ns;
	cost_sampler_close(c);
	run_ns -= c->run_ns;
	runs -= c->runs;
	out->bpf_known = true;
	out->bpf_ns_per_event = runs ? (double)run_ns / (double)runs : 0;
	out->bpf_cpu_ppm = dur ? (double)run_ns * 1e6 / (double)dur : 0;
	return 0;
}

void cost_sampler_close(struct cost_sampler *c)
{
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	c->stats_fd = -1;
}

int64_t time_ns_parse(const char *text)
{
	const char *line = strstr(text, "monotonic");
	long long s, ns;

	if (!line || sscanf(line, "monotonic %lld %lld", &s, &ns) != 2)
		return 0;
	return (int64_t)s * 1000000000LL + ns;
}

int64_t time_ns_ahead(void)
{
	char text[256];
	FILE *f = fopen("/proc/self/timens_offsets", "re"); /* 769071ac9f20, 5.6 */
	size_t n;

	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return time_ns_parse(text);
}

struct timespec wall_at(uint64_t mono_ns)
{
	struct timespec wall;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &wall);
	ns = (uint64_t)wall.tv_sec * 1000000000ULL + (uint64_t)wall.tv_nsec -
	     (clock_mono_ns() - mono_ns);
	wall.tv_sec = (time_t)(ns / 1000000000ULL);
	wall.tv_nsec = (long)(ns % 1000000000ULL);
	return wall;
}
