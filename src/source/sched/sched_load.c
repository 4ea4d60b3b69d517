// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler's BPF object: fitted to this kernel and these filters, loaded and attached. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "source/bpf/groups.h"
#include "source/bpf/ledgers.h"
#include "source/sys/map_setup.h"
#include "source/sched/sched.h"

#include "sched.skel.h" /* needs abi.h */

static int configure_slow(struct sched *s, const struct btf *btf)
{
	struct sched_bpf__rodata *ro = s->bpf.rodata;
	struct bpf_map *ring = bpf_object__find_map_by_name(s->bpf.obj, "slow_events");
	int64_t from_rq;

	ro->slower = s->cfg->slower;
	ro->slower_ns = s->cfg->slower_ns;
	ro->slow_wake_bytes = SLOW_WAKE_BYTES;
	if (!s->cfg->slower)
		return bpf_map__set_autocreate(ring, false);
	if (!preempt_count_offset(btf, &from_rq)) {
		ro->preempt_count_known = true;
		ro->preempt_count_from_rq = from_rq;
	}
	return bpf_map__set_max_entries(ring, SLOW_RING_BYTES);
}

/* Other groups than processes and threads are what they are called. */
static int configure_names(struct sched *s)
{
	struct bpf_program *p = bpf_object__find_program_by_name(s->bpf.obj, "ws_rename");
	bool named = s->cfg->by == BY_PID || s->cfg->by == BY_TID;

	return p ? bpf_program__set_autoload(p, named) : -ENOENT;
}

/* With the record there is nothing to stamp when a task is queued. */
static int configure_record(struct sched *s, const struct btf *btf)
{
	static const char *const stamped[] = {"ws_wakeup", "ws_wakeup_new"};
	struct bpf_program *p;
	int ret = 0;
	size_t i;

	s->by_record = !s->bpf.raw && kernel_keeps_record(btf);
	s->bpf.rodata->kernel_record = s->by_record;
	for (i = 0; !ret && i < sizeof(stamped) / sizeof(stamped[0]); i++) {
		p = bpf_object__find_program_by_name(s->bpf.obj, stamped[i]);
		ret = p ? bpf_program__set_autoload(p, !s->by_record) : -ENOENT;
	}
	return ret;
}

/* Ledgers are kept here for whoever splits its times, unless somebody does already. */
static int configure_ledgers(struct sched *s)
{
	struct sched_bpf__rodata *ro = s->bpf.rodata;
	bool keeps = s->by_record && sources_split(s->cfg) && !shared_ledgers(s->args.shared);

	ro->keeps_ledgers = keeps;
	return shared_setup(s->args.shared, s->bpf.obj, s->ncpus, ro->filter.task_storage, keeps);
}

static int configure_maps(struct sched *s, const struct btf *btf)
{
	struct sched_bpf__rodata *ro = s->bpf.rodata;
	struct map_setup_keyed keyed = {
		.used = group_abi(s->cfg->by) != ABI_BY_NONE,
		.by = group_abi(s->cfg->by),
		.nhists = ABI_SCHED_HISTS,
		.schema = ABI_KEY_SCHEMA,
		.keys = s->cfg->max_keys,
		.per_cpu = s->cfg->by != BY_TID,
		.ncpus = s->ncpus,
	};
	int ret = map_setup_buckets((struct abi_buckets *)&ro->hists, s->cfg->precision);

	s->base.schemas = (struct bucket_schemas){s->cfg->precision, ABI_KEY_SCHEMA};
	if (!ret)
		ret = map_setup_banks(s->bpf.obj, s->ncpus, ABI_BANK_BYTES(s->cfg->precision));
	if (ret)
		return ret;
	return map_setup_keyed(s->bpf.obj, (struct abi_keyed *)&ro->keyed, btf, &keyed);
}

/* A file of --btf may be cut down to what the programs read: tracepoints are not in it. */
static int configure_switch(struct sched *s, const struct btf *btf, struct err *e)
{
	int args = tracepoint_args(btf, "sched_switch"), ret;

	if (args < 3 && !s->bpf.raw)
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "sched: this kernel's BTF has no sched_switch tracepoint");
	s->bpf.rodata->switch_has_state = args >= 4;
	if (!s->bpf.raw)
		return 0;
	ret = tracepoint_has_arg("sched_switch", 4);
	if (ret < 0)
		return bpf_fail(e, ret, "sched: raw tracepoint sched_switch");
	s->bpf.rodata->switch_has_state = ret;
	return 0;
}

/* Those of all tasks, where lock or futex asks for them. */
static int configure_tasks(struct sched *s, const struct btf *btf, struct err *e)
{
	int ret;

	if (s->args.shared->all || !sources_hold(s->cfg)) {
		ret = ledgers_unused(s->bpf.obj);
		return ret ? err_sys(e, ret, "sched: --why") : 0;
	}
	sched_object_keep_tasks(&s->bpf, s->cfg);
	ret = ledgers_open_for(s->args.shared, s->cfg, btf, s->bpf.obj, e);
	s->keeps_tasks = !ret || s->args.shared->all;
	return ret;
}

static int configure(struct sched *s, const struct btf *btf, struct err *e)
{
	struct sched_bpf__rodata *ro = s->bpf.rodata;
	int ret = configure_switch(s, btf, e);

	if (ret)
		return ret;
	ret = configure_record(s, btf);
	if (!ret)
		ret = configure_maps(s, btf);
	if (ret)
		return err_sys(e, ret, "sched: programs and histogram maps");
	ret = configure_names(s);
	if (ret)
		return err_sys(e, ret, "sched: names of --by");
	ret = configure_slow(s, btf);
	if (ret)
		return err_sys(e, ret, "sched: --slower");
	ret = filters_setup(&s->base.filters, s->bpf.obj, (struct abi_filter *)&ro->filter, e);
	if (ret)
		return ret;
	ro->slots_used = s->by_record && ro->filter.task_storage && !s->cfg->slower;
	if (!sched_object_fits(&s->bpf))
		return err_sys(e, -EINVAL, "sched: the plain object does not do what is asked for");
	ret = configure_ledgers(s);
	if (!ret && s->cfg->why)
		ret = sched_why_configure(s, btf);
	if (ret)
		return err_sys(e, ret, "sched: ledgers");
	return s->cfg->why ? configure_tasks(s, btf, e) : 0;
}

static enum sched_variant variant_of(const struct sched *s, const struct btf *btf)
{
	const struct config *cfg = s->cfg;

	if (!kernel_has_btf())
		return SCHED_RAW;
	if (cfg->why)
		return SCHED_WHY;
	if (filters_any(&s->base.filters) || cfg->slower || group_abi(cfg->by) != ABI_BY_NONE ||
	    cfg->precision != BUCKET_SCHEMA_DEFAULT || !kernel_keeps_record(btf) ||
	    tracepoint_args(btf, "sched_switch") < 4)
		return SCHED_BTF;
	return SCHED_PLAIN;
}

/* Opened and configured. The kernel's BTF is several MB of heap: it goes before libbpf loads its
 * own. */
static int open_object(struct sched *s, struct err *e)
{
	struct btf *btf = kernel_btf(s->cfg->btf, e);
	int ret;

	if (!btf)
		return -ENOENT;
	if (s->cfg->why && !kernel_has_btf()) {
		btf__free(btf);
		return err_set(e, EXIT_CANNOT, -ENOTSUP, "sched: --why: this kernel has no BTF");
	}
	ret = sched_object_open(&s->bpf, s->cfg->btf, variant_of(s, btf));
	ret = ret ? err_sys(e, ret, "sched: open BPF object") : configure(s, btf, e);
	btf__free(btf);
	return ret;
}

static int other_types(const struct sched *s, int err, struct err *e)
{
	struct utsname un;

	(void)uname(&un); /* cannot fail */
	return err_set(e, EXIT_CANNOT, err,
		       "--btf '%s': these are not the types of the kernel that runs, %s",
		       s->cfg->btf ? s->cfg->btf : "the kernel's vmlinux in /boot", un.release);
}

/* Relocations that went wrong are invalid instructions, those that went astray read nonsense. */
static int load_raw(struct sched *s, struct err *e)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct err why = {0};
	int ret = bpf_source_load(&s->base, s->bpf.skeleton, &why);

	if (ret == -EINVAL || ret == -ENOENT || ret == -ESRCH)
		return other_types(s, ret, e); /* better words */
	if (ret && e)
		*e = why;
	if (ret)
		return ret;
	ret = bpf_prog_test_run_opts(
		bpf_program__fd(bpf_object__find_program_by_name(s->bpf.obj, "ws_types_fit")),
		&run);
	if (ret)
		return bpf_fail(e, ret, "sched: run a BPF program");
	return run.retval ? 0 : other_types(s, -EINVAL, e);
}

int sched_load(struct sched *s, struct err *e)
{
	int ret = open_object(s, e);

	if (ret)
		return ret;
	ret = s->bpf.raw ? load_raw(s, e) : bpf_source_load(&s->base, s->bpf.skeleton, e);
	if (ret)
		return ret;
	s->base.epoch_word = sched_object_epoch(&s->bpf);
	ret = s->cfg->why ? sched_why_fill(s) : 0;
	if (ret)
		return err_sys(e, ret, "sched: --why");
	ret = shared_keep(s->args.shared, s->base.obj);
	if (ret)
		return err_sys(e, ret, "sched: ledgers");
	return filters_fill(&s->base.filters, s->base.obj, e);
}

int sched_attach(struct sched *s, struct err *e)
{
	int ret = bpf_source_attach(&s->base, s->bpf.skeleton, e);

	if (!ret)
		ret = bpf_source_list_hooks(&s->base, e);
	return ret ? ret : filters_follow(&s->base.filters, e);
}
