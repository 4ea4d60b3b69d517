// SPDX-License-Identifier: GPL-2.0-or-later
/* The source of waits for kernel locks: its BPF object, and what things are called. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "source/contend/contend.h"

#include "lock.skel.h" /* needs abi_contend.h */

struct lock {
	struct contend c;
	struct lock_bpf *skel;
	const char *lacks[2];
};

static struct lock *lock_of(struct contend *c)
{
	return (struct lock *)c;
}

/* ---- names ---- */

static const char *kind_name(uint32_t kind)
{
	static const char *const names[ABI_LOCK_KINDS] = {
		[ABI_LOCK_SPINLOCK] = "spinlock",
		[ABI_LOCK_RWLOCK_R] = "rwlock:r",
		[ABI_LOCK_RWLOCK_W] = "rwlock:w",
		[ABI_LOCK_MUTEX] = "mutex",
		[ABI_LOCK_RWSEM_R] = "rwsem:r",
		[ABI_LOCK_RWSEM_W] = "rwsem:w",
		[ABI_LOCK_PERCPU_RWSEM_R] = "percpu-rwsem:r",
		[ABI_LOCK_PERCPU_RWSEM_W] = "percpu-rwsem:w",
		[ABI_LOCK_RT_MUTEX] = "rt-mutex",
		[ABI_LOCK_RT_RW_R] = "rt-rwlock:r",
		[ABI_LOCK_RT_RW_W] = "rt-rwlock:w",
		[ABI_LOCK_SEMAPHORE] = "semaphore",
	};

	return kind < ABI_LOCK_KINDS && names[kind] ? names[kind] : "lock";
}

static void name_lock(struct contend *c, const struct contend_row *r, struct name *out)
{
	static const char *const types[ABI_OBJECTS] = {
		[ABI_OBJECT_MM] = "mm_struct",
		[ABI_OBJECT_SIGNAL] = "signal_struct",
		[ABI_OBJECT_SIGHAND] = "sighand_struct",
		[ABI_OBJECT_FILES] = "files_struct",
		[ABI_OBJECT_FS] = "fs_struct",
		[ABI_OBJECT_TASK] = "task_struct",
		[ABI_OBJECT_FUTEX] = "futex_hash_bucket",
	};
	struct kernel_hint hint = {0};

	if (r->first && r->first->type < ABI_OBJECTS && types[r->first->type]) {
		hint.object = r->first->object;
		hint.type = types[r->first->type];
	}
	hint.lock_kind = r->keyed.key.kind;
	if (r->first) {
		hint.pid = r->first->pid;
		hint.process = r->first->process;
		hint.ips = (const uint64_t *)r->first->ips;
		hint.nips = r->first->nips;
	}
	names_kernel_data(c->names, r->keyed.key.obj, &hint, out);
}

static void name_code(struct contend *c, const struct abi_contend_sample *s, uint64_t ip,
		      uint32_t frame, struct name *out)
{
	names_kernel_code(c->names, ip, out);
}

/* The locking functions, what wakes others for them, and above them what leads from the tracepoint
 * to our program (which has a name only where net.core.bpf_jit_kallsyms gives it one). */
static enum code_role role_of(struct contend *c, uint64_t ip, const struct name *name)
{
	static const char *const before[] = {
		"bpf_prog_",	     "bpf_trace_run",	   "__bpf_trace_",   "__traceiter_",
		"trace_contention_", "trace_sched_waking", "try_to_wake_up", "ttwu_",
		"wake_up_",	     "default_wake_",	   "up_read",	     "up_write",
		"__up_read",	     "__up_write",	   "mark_wakeup_",   "mmap_read_unlock",
		"mmap_write_unlock",
	};

	if (name->found == NAME_NONE || names_is_lock_code(c->names, ip))
		return CODE_LOCKS;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (!strncmp(name->text, before[i], strlen(before[i])))
			return CODE_LOCKS;
	return CODE_ASKS;
}

/* ---- the BPF object ---- */

static int no_tracepoint(struct err *e)
{
	return err_set(
		e, EXIT_CANNOT, -ENOTSUP,
		"lock: this kernel has no lock:contention_begin tracepoint (since Linux 5.19)");
}

static int lock_configure(struct contend *c, const struct bpf_object_open_opts *opts,
			  const struct btf *btf, struct err *e)
{
	struct lock_bpf *skel = lock_bpf__open_opts(opts);
	struct contend_rodata ro;

	if (!skel)
		return err_sys(e, -errno, "lock: open BPF object");
	lock_of(c)->skel = skel;
	c->skel = skel->skeleton;
	ro = (struct contend_rodata){
		CONTEND_RODATA(skel),
		.preempt_count_known = (bool *)&skel->rodata->preempt_count_known,
		.preempt_count_from_rq = (__s64 *)&skel->rodata->preempt_count_from_rq,
	};
	if (tracepoint_args(btf, "contention_begin") < 0)
		return no_tracepoint(e);
	skel->rodata->preempt_rt = struct_has_member(btf, "task_struct", "softirq_disable_cnt");
	if (bpf_map__set_max_entries(skel->maps.lock_cpus, c->ncpus))
		return err_sys(e, -EINVAL, "lock: CPUs");
	return contend_setup(c, skel->obj, btf, &ro, e);
}

static int lock_attach(struct contend *c, struct err *e)
{
	struct lock *l = lock_of(c);
	int ret = bpf_source_attach(&c->base, c->skel, e);

	c->base.epoch_word = &l->skel->bss->epoch;
	c->flight = l->skel->links.ws_lock_in_flight;
	l->lacks[0] = names_code_why(c->names);
	return ret;
}

static void lock_unload(struct contend *c)
{
	lock_bpf__destroy(lock_of(c)->skel);
}

static const struct contend_ops lock_ops = {
	.source = &source_lock,
	.metrics = &metric_list[METRIC_LOCK_WAIT],
	.nmetrics = 1,
	.others = ABI_KIND_OTHER + 1,
	.ring_bytes = 32U << 10,
	.size = sizeof(struct lock),
	.kernel_code = true,
	.configure = lock_configure,
	.attach = lock_attach,
	.unload = lock_unload,
	.kind = kind_name,
	.name = name_lock,
	.code = name_code,
	.role = role_of,
};

static int lock_open(struct source **out, const struct source_args *args, struct err *e)
{
	return contend_open(out, args, &lock_ops, e);
}

static const char *const *lock_lacks(const struct source *src)
{
	const struct lock *l = (const struct lock *)src;

	return l->lacks[0] ? l->lacks : NULL;
}

static const char *lock_notice(const struct source *src)
{
	return ((const struct lock *)src)->lacks[0];
}

static int lock_probe(struct err *e)
{
	struct btf *btf;
	int ret = bpf_probe(e);

	if (ret)
		return ret;
	btf = kernel_btf(NULL, e);
	if (!btf)
		return -ENOENT;
	if (tracepoint_args(btf, "contention_begin") < 0)
		ret = no_tracepoint(e);
	btf__free(btf);
	return ret;
}

static const struct option_row options[] = {CONTEND_STACK_EVERY, {0}};

const struct source_ops source_lock = {
	.name = "lock",
	.summary = "waits for kernel locks, by lock",
	.by_default = true,
	.options = options,
	/* The names of locks: a program reads memory, symbols come from kallsyms, inodes have
	 * paths. */
	.caps = SOURCE_CAP(CAP_BPF) | SOURCE_CAP(CAP_PERFMON) | SOURCE_CAP(CAP_SYSLOG) |
		SOURCE_CAP(CAP_DAC_READ_SEARCH),
	.fds = 60,
	.fds_why = 40,
	.metrics = SOURCE_METRICS(METRIC_LOCK_WAIT, METRIC_LOCK_WAIT),
	.groups = true,
	.contends = true,
	.slow = true,
	.why = true,
	.probe = lock_probe,
	.open = lock_open,
	.start = contend_start,
	.next_epoch = bpf_source_next_epoch,
	.drain_banks = contend_drain_banks,
	.collect = contend_collect,
	.stop = bpf_source_stop,
	.event_fd = bpf_source_event_fd,
	.drain = contend_drain,
	.cost_begin = contend_cost_begin,
	.cost_end = contend_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = bpf_source_hooks,
	.lacks = lock_lacks,
	.notice = lock_notice,
	.close = contend_close,
};
