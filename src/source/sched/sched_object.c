// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "abi.h"
#include "source/bpf/ledgers.h"
#include "source/sched/sched_object.h"

#include "sched.skel.h" /* need abi.h */
#include "sched_plain.skel.h"
#include "sched_raw.skel.h"
#include "abi_holder.h"
#include "abi_why.h"
#include "sched_why.skel.h"

/* One source, one layout: who sets the options of either needs to know one of them alone. */
#define SAME(field)                                                                \
	_Static_assert(offsetof(struct sched_bpf__rodata, field) ==                \
			       offsetof(struct sched_raw_bpf__rodata, field),      \
		       #field " lies elsewhere in the object of raw tracepoints"); \
	_Static_assert(offsetof(struct sched_bpf__rodata, field) ==                \
			       offsetof(struct sched_plain_bpf__rodata, field),    \
		       #field " lies elsewhere in the plain object");              \
	_Static_assert(offsetof(struct sched_bpf__rodata, field) ==                \
			       offsetof(struct sched_why_bpf__rodata, field),      \
		       #field " lies elsewhere in the object of --why")
_Static_assert(sizeof(struct sched_bpf__rodata) == sizeof(struct sched_raw_bpf__rodata) &&
		       sizeof(struct sched_bpf__rodata) == sizeof(struct sched_plain_bpf__rodata) &&
		       sizeof(struct sched_bpf__rodata) <= sizeof(struct sched_why_bpf__rodata),
	       "the objects have the same read-only data, that of --why more behind it");
SAME(filter);
SAME(hists);
SAME(keyed);
SAME(slower);
SAME(slower_ns);
SAME(slow_wake_bytes);
SAME(preempt_count_known);
SAME(preempt_count_from_rq);
SAME(switch_has_state);
SAME(kernel_record);
SAME(keeps_ledgers);

/* All have the same read-only data, as far as one of them has it. */
static int opened(struct sched_object *o, struct bpf_object *obj,
		  struct bpf_object_skeleton *skeleton, void *rodata)
{
	o->obj = obj;
	o->skeleton = skeleton;
	o->rodata = rodata;
	return 0;
}

static int open_btf(struct sched_object *o, const struct bpf_object_open_opts *opts)
{
	o->btf = sched_bpf__open_opts(opts);
	return o->btf ? opened(o, o->btf->obj, o->btf->skeleton, o->btf->rodata) : -errno;
}

static int open_plain(struct sched_object *o, const struct bpf_object_open_opts *opts)
{
	o->plain = sched_plain_bpf__open_opts(opts);
	return o->plain ? opened(o, o->plain->obj, o->plain->skeleton, o->plain->rodata) : -errno;
}

static int open_raw(struct sched_object *o, const struct bpf_object_open_opts *opts)
{
	o->raw_tp = sched_raw_bpf__open_opts(opts);
	return o->raw_tp ? opened(o, o->raw_tp->obj, o->raw_tp->skeleton, o->raw_tp->rodata)
			 : -errno;
}

static int open_why(struct sched_object *o, const struct bpf_object_open_opts *opts)
{
	o->why = sched_why_bpf__open_opts(opts);
	return o->why ? opened(o, o->why->obj, o->why->skeleton, o->why->rodata) : -errno;
}

int sched_object_open(struct sched_object *o, const char *btf_file, enum sched_variant variant)
{
	static int (*const open[])(struct sched_object *, const struct bpf_object_open_opts *) = {
		[SCHED_BTF] = open_btf,
		[SCHED_PLAIN] = open_plain,
		[SCHED_RAW] = open_raw,
		[SCHED_WHY] = open_why,
	};
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf_file);

	memset(o, 0, sizeof(*o));
	o->raw = variant == SCHED_RAW;
	return open[variant](o, &opts);
}

bool sched_object_fits(const struct sched_object *o)
{
	const struct sched_bpf__rodata *ro = o->rodata;

	return !o->plain ||
	       (ro->filter.ids == ABI_IDS_NONE && !ro->filter.asks_late && !ro->slower &&
		ro->keyed.by == ABI_BY_NONE && ro->hists.schema == BUCKET_SCHEMA_DEFAULT &&
		ro->switch_has_state && ro->kernel_record);
}

volatile __u64 *sched_object_epoch(const struct sched_object *o)
{
	if (o->why)
		return &o->why->bss->epoch;
	if (o->plain)
		return &o->plain->bss->epoch;
	return o->raw ? &o->raw_tp->bss->epoch : &o->btf->bss->epoch;
}

volatile __u64 *sched_object_started(const struct sched_object *o)
{
	if (o->why)
		return &o->why->bss->started_ns;
	if (o->plain)
		return &o->plain->bss->started_ns;
	return o->raw ? &o->raw_tp->bss->started_ns : &o->btf->bss->started_ns;
}

struct bpf_link *sched_object_iter(const struct sched_object *o)
{
	if (o->why)
		return o->why->links.ws_in_flight;
	if (o->plain)
		return o->plain->links.ws_in_flight;
	return o->raw ? NULL : o->btf->links.ws_in_flight;
}

void sched_object_keep_tasks(const struct sched_object *o, const struct config *cfg)
{
	struct sched_why_bpf__rodata *ro = o->why->rodata;
	const struct ledgers_words words = {
		.release_every = (__u32 *)&ro->release_every,
		.have_pt_regs = (bool *)&ro->have_pt_regs,
		.chains = (bool *)&ro->chains,
	};

	ro->keeps_tasks = true;
	ledgers_words(&words, cfg);
}

int sched_object_map(const struct sched_object *o, const char *name)
{
	return bpf_object__find_map_fd_by_name(o->obj, name);
}

void sched_object_close(struct sched_object *o)
{
	if (o->btf)
		sched_bpf__destroy(o->btf);
	if (o->plain)
		sched_plain_bpf__destroy(o->plain);
	if (o->why)
		sched_why_bpf__destroy(o->why);
	if (o->raw_tp)
		sched_raw_bpf__destroy(o->raw_tp);
	memset(o, 0, sizeof(*o));
}
