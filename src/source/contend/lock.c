// SPDX-License-Identifier: GPL-2.0-or-later
/* The source of waits for kernel locks: its BPF object, and what things are called. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "source/contend/contend_source.h"

#include "lock.skel.h" /* needs abi_contend.h */

struct lock {
	struct contend_source base;
	struct lock_bpf *skel;
	const char *lacks[2];
};

static struct lock *lock_of(struct contend_source *s)
{
	return (struct lock *)s;
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

static void name_lock(void *ctx, const struct contend_info *i, struct name *out)
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
	struct contend_source *s = ctx;
	struct kernel_hint hint = {0};

	if (i->said && i->said->type < ABI_OBJECTS && types[i->said->type]) {
		hint.object = i->said->object;
		hint.type = types[i->said->type];
	}
	hint.lock_kind = i->key->kind;
	if (i->said) {
		hint.pid = i->said->pid;
		hint.process = i->said->process;
		hint.files = i->said->files;
		hint.ips = (const uint64_t *)i->said->ips;
		hint.nips = i->said->nips;
	}
	names_kernel_data(s->names, i->key->obj, &hint, out);
}

static void name_code(void *ctx, const struct abi_contend_sample *said, uint64_t ip,
		      struct name *out)
{
	struct contend_source *s = ctx;

	names_kernel_code(s->names, ip, out);
}

/* The locking functions, and above them what leads from the tracepoint to our program (which has a
 * name only where net.core.bpf_jit_kallsyms gives it one). */
static bool skip_code(void *ctx, const struct abi_contend_sample *said, uint64_t ip,
		      const struct name *name)
{
	static const char *const tracing[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_",
					      "__traceiter_", "trace_contention_"};
	struct contend_source *s = ctx;
	size_t i;

	if (name->found == NAME_NONE || names_is_lock_code(s->names, ip))
		return true;
	for (i = 0; i < sizeof(tracing) / sizeof(tracing[0]); i++)
		if (!strncmp(name->text, tracing[i], strlen(tracing[i])))
			return true;
	return false;
}

static const struct contend_ops lock_rows = {
	.source = "lock",
	.kind = kind_name,
	.name = name_lock,
	.code = name_code,
	.skip = skip_code,
};

/* ---- the BPF object ---- */

static int no_tracepoint(struct err *e)
{
	return err_set(
		e, EXIT_CANNOT, -ENOTSUP,
		"lock: this kernel has no lock:contention_begin tracepoint (since Linux 5.19)");
}

static struct bpf_object_skeleton *lock_object(struct contend_source *s,
					       const struct bpf_object_open_opts *opts)
{
	struct lock *l = lock_of(s);

	l->skel = lock_bpf__open_opts(opts);
	return l->skel ? l->skel->skeleton : NULL;
}

static int lock_configure(struct contend_source *s, const struct btf *btf, struct err *e)
{
	struct lock_bpf *skel = lock_of(s)->skel;
	const struct contend_rodata ro = {
		.hists = (struct abi_buckets *)&skel->rodata->hists,
		.keyed = (struct abi_keyed *)&skel->rodata->keyed,
		.filter = (struct abi_filter *)&skel->rodata->filter,
		.stack_every = (__u32 *)&skel->rodata->stack_every,
		.ring_wake_bytes = (__u64 *)&skel->rodata->ring_wake_bytes,
		.preempt_count_known = (bool *)&skel->rodata->preempt_count_known,
		.preempt_count_from_rq = (__s64 *)&skel->rodata->preempt_count_from_rq,
	};

	if (tracepoint_args(btf, "contention_begin") < 0)
		return no_tracepoint(e);
	skel->rodata->preempt_rt = struct_has_member(btf, "task_struct", "softirq_disable_cnt");
	if (bpf_map__set_max_entries(skel->maps.lock_cpus, s->ncpus))
		return err_sys(e, -EINVAL, "lock: CPUs");
	return contend_source_setup(s, skel->obj, btf, &ro, e);
}

static int lock_loaded(struct contend_source *s, struct err *e)
{
	s->base.epoch_word = &lock_of(s)->skel->bss->epoch;
	return 0;
}

static int lock_attach(struct contend_source *s, struct err *e)
{
	int ret = bpf_source_attach(&s->base, s->skel, e);

	s->flight = lock_of(s)->skel->links.ws_lock_in_flight;
	lock_of(s)->lacks[0] = names_code_why(s->names);
	return ret;
}

static void lock_unload(struct contend_source *s)
{
	lock_bpf__destroy(lock_of(s)->skel);
}

static const struct contend_spec lock_spec = {
	.ops = &source_lock,
	.rows = &lock_rows,
	.metrics = &metric_list[METRIC_LOCK_WAIT],
	.nmetrics = 1,
	.others = ABI_KIND_OTHER + 1,
	.ring_bytes = 32U << 10,
	.size = sizeof(struct lock),
	.kernel_code = true,
	.object = lock_object,
	.configure = lock_configure,
	.loaded = lock_loaded,
	.attach = lock_attach,
	.unload = lock_unload,
};

static int lock_open(struct source **out, const struct source_args *args, struct err *e)
{
	return contend_source_open(out, args, &lock_spec, e);
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

const struct source_ops source_lock = {
	.name = "lock",
	.summary = "waits for kernel locks, by lock",
	.by_default = true,
	.groups = true,
	.contends = true,
	.probe = lock_probe,
	.open = lock_open,
	.start = contend_source_start,
	.flip = bpf_source_flip,
	.fold = contend_source_fold,
	.collect = contend_source_collect,
	.stop = bpf_source_stop,
	.event_fd = bpf_source_event_fd,
	.drain = contend_source_drain,
	.cost_begin = bpf_source_cost_begin,
	.cost_end = bpf_source_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = bpf_source_hooks,
	.lacks = lock_lacks,
	.notice = lock_notice,
	.close = contend_source_close,
};
