// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf/cgroup_paths.h"
#include "source/contend/contend.h"
#include "source/inodes/ext4_places.h"

#define RING_BYTES_OF_CPU (8U << 10)
#define ENTRIES_OF_CPU 512 /* the others' among them */
#define LATER_MAX 1024
#define DRAIN_MAX 256 /* records at a time */
#define DRAIN_BYTES_MIN (DRAIN_MAX * sizeof(struct abi_contend_sample))

static struct contend *source_of(struct source *src)
{
	return (struct contend *)src;
}

static int map_fd(const struct contend *c, const char *name)
{
	return bpf_object__find_map_fd_by_name(c->base.obj, name);
}

/* ---- opening ---- */

static uint32_t ring_bytes(const struct contend *c)
{
	uint32_t bytes = map_setup_pow2(c->ncpus * RING_BYTES_OF_CPU);

	return bytes > c->ops->ring_bytes ? bytes : c->ops->ring_bytes;
}

/* Of a CPU; with the others' entries they fill the table's buckets, so that none idles. */
static uint32_t keys(const struct contend *c)
{
	return map_setup_pow2(c->ncpus * ENTRIES_OF_CPU) / c->ncpus - c->ops->others;
}

int contend_setup(struct contend *c, struct bpf_object *obj, const struct btf *btf,
		  const struct contend_rodata *ro, struct err *e)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(obj, "samples");
	int64_t from_rq;
	int ret;

	c->maps = (struct map_setup_keyed){
		.used = true,
		.by = group_abi(c->cfg->by),
		.nhists = 1,
		.schema = ABI_KEY_SCHEMA,
		.keys = c->cfg->max_keys_given ? c->cfg->max_keys : keys(c),
		.per_cpu = true,
		.others = c->ops->others,
		.ncpus = c->ncpus,
	};
	c->base.schemas = (struct bucket_schemas){c->cfg->precision, c->maps.schema};
	*ro->stack_every = c->cfg->stack_every;
	*ro->ring_wake_bytes = ring_bytes(c) / 4;
	*ro->why = c->cfg->why;
	if (ro->preempt_count_known && !preempt_count_offset(btf, &from_rq)) {
		*ro->preempt_count_known = true;
		*ro->preempt_count_from_rq = from_rq;
	}
	ret = ring ? bpf_map__set_max_entries(ring, ring_bytes(c)) : -ENOENT;
	if (!ret)
		ret = map_setup_buckets(ro->hists, c->cfg->precision);
	if (!ret)
		ret = map_setup_banks(obj, c->ncpus,
				      BANK_BYTES(c->ops->nmetrics, c->cfg->precision));
	if (!ret)
		ret = map_setup_keyed(obj, ro->keyed, btf, &c->maps);
	if (!ret)
		ret = holders_setup(c, obj);
	if (!ret)
		ret = contend_slow_setup(c, obj, ro);
	if (ret)
		return err_sys(e, ret, "%s: histogram maps", c->ops->source->name);
	return filters_setup(&c->base.filters, obj, ro->filter, e);
}

int contend_describe_later(struct contend *c)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < c->nlater; i++)
		ret = contend_describe(c, &c->later[i]);
	c->nlater = 0;
	return ret;
}

/*
 * Looking for names takes long, and meanwhile the processes of other records may end. Where that
 * matters they are looked at first.
 */
static int on_record(void *ctx, const void *data, size_t len)
{
	struct contend *c = ctx;
	struct abi_contend_sample r;

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, data, sizeof(r));
	if (!c->ops->described)
		return contend_describe(c, &r);
	if (r.role == ABI_ROLE_WAITED)
		c->ops->described(c, &r);
	c->later[c->nlater++] = r;
	return c->nlater < LATER_MAX ? 0 : contend_describe_later(c);
}

static int open_rows(struct contend *c, struct err *e)
{
	const struct banks_args banks = {
		.map_fd = map_fd(c, "banks"),
		.nhists = c->ops->nmetrics,
		.schema = c->cfg->precision,
		.ncpus = c->ncpus,
		.metrics = c->ops->metrics,
		.nmetrics = c->ops->nmetrics,
	};
	const char *what = c->ops->source->name;
	int ret = map_setup_others(c->base.obj, &c->maps);

	if (ret)
		return err_sys(e, ret, "%s: entry for other addresses", what);
	ret = banks_open(&c->banks, &banks, e);
	if (!ret)
		ret = contend_rows_open(c, e);
	if (ret)
		return ret;
	ret = holders_open(c);
	if (ret)
		return err_sys(e, ret, "%s: holders", what);
	c->later = calloc(LATER_MAX, sizeof(*c->later));
	if (!c->later)
		return err_sys(e, -ENOMEM, "%s", what);
	c->ring = (struct ring){.what = what, .fn = on_record, .ctx = c, .most = DRAIN_MAX};
	return ring_open(&c->ring, map_fd(c, "samples"), e);
}

/* The kernel's BTF is several MB of heap: it goes before libbpf loads its own. */
static int load(struct contend *c, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = c->cfg->btf);
	struct btf *btf = kernel_btf(c->cfg->btf, e);
	int ret;

	if (!btf)
		return -ENOENT;
	c->ledgers_ours = c->cfg->why && !ledgers_object(c->args.shared);
	ret = c->cfg->why ? ledgers_open(c->args.shared, c->cfg, btf, e) : 0;
	if (!ret)
		ret = c->ops->configure(c, &opts, btf, e);
	btf__free(btf);
	return ret ? ret : bpf_source_load(&c->base, c->skel, e);
}

static int open_all(struct contend *c, struct err *e)
{
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	c->ncpus = (uint32_t)ret;
	ret = filters_open(&c->base.filters, &c->args, c->ncpus, c->cfg->slower, e);
	if (!ret)
		cgroup_paths_use(c->args.shared, c->cfg, c->base.filters.names);
	if (!ret)
		ret = names_borrow(c->args.names, &c->names, e);
	c->places = ext4_places_new();
	if (!ret && !c->places)
		ret = err_sys(e, -ENOMEM, "%s", c->ops->source->name);
	if (!ret)
		ret = load(c, e);
	if (!ret)
		ret = filters_fill(&c->base.filters, c->base.obj, e);
	if (!ret)
		ret = open_rows(c, e);
	if (!ret)
		ret = bpf_source_poll(&c->base, ring_fd(&c->ring), e);
	if (!ret)
		ret = contend_slow_open(c, e);
	if (!ret)
		ret = c->ops->attach(c, e);
	if (!ret)
		ret = bpf_source_list_hooks(&c->base, e);
	return ret ? ret : filters_follow(&c->base.filters, e);
}

int contend_open(struct source **out, const struct source_args *args, const struct contend_ops *ops,
		 struct err *e)
{
	struct contend *c = calloc(1, ops->size);

	if (!c)
		return err_sys(e, -ENOMEM, "%s", ops->source->name);
	bpf_source_init(&c->base, ops->source);
	c->ledgers_cost.stats_fd = -1;
	c->ops = ops;
	c->args = *args;
	c->cfg = args->cfg;
	*out = &c->base.source;
	return open_all(c, e);
}

void contend_close(struct source *src)
{
	struct contend *c = source_of(src);

	if (!c)
		return;
	ring_close(&c->ring);
	ring_close(&c->slow);
	c->ops->unload(c);
	keyed_close(c->keyed);
	holders_close(c->holders);
	cost_sampler_close(&c->ledgers_cost);
	cache_clear(&c->codes);
	arena_free(&c->arena);
	free(c->later);
	contend_rows_free(c);
	ext4_places_close(c->places);
	banks_close(&c->banks);
	bpf_source_close(&c->base);
	free(c);
}

/* ---- running ---- */

/* Descriptions first: a row that appears then knows what it is. */
static int describe_all(struct contend *c, struct err *e)
{
	size_t turns, most = ring_bytes(c) / DRAIN_BYTES_MIN + 1;
	int ret = 1;

	for (turns = 0; ret > 0 && turns < most; turns++)
		ret = ring_drain(&c->ring, e);
	if (ret >= 0 && contend_describe_later(c))
		ret = err_sys(e, -ENOMEM, "%s: describe waits", c->ops->source->name);
	return ret < 0 ? ret : 0;
}

static int collect(struct contend *c, bool ends, struct err *e)
{
	uint64_t ended = bpf_source_ended(&c->base);
	int ret = describe_all(c, e);

	if (!ret)
		ret = banks_collect(&c->banks, ended, false, e);
	if (ret)
		return ret;
	ret = holders_take(c->holders, ended);
	if (ret)
		return err_sys(e, ret, "%s: read holders", c->ops->source->name);
	ret = keyed_collect(c->keyed, ended, ends, e);
	if (ret)
		return ret;
	holders_place(c, ends);
	if (!ends)
		return 0;
	if (contend_rows_moved(c))
		return err_sys(e, -ENOMEM, "%s: waits by class", c->ops->source->name);
	return banks_end(&c->banks, e);
}

int contend_drain_banks(struct source *src, struct err *e)
{
	return collect(source_of(src), false, e);
}

int contend_start(struct source *src, struct err *e)
{
	struct contend *c = source_of(src);
	int ret;

	if (bpf_source_begin(&c->base))
		return 0;
	ret = collect(c, true, e);
	if (ret)
		return ret;
	banks_forget(&c->banks);
	keyed_forget(c->keyed);
	holders_forget(c);
	return 0;
}

int contend_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct contend *c = source_of(src);
	struct abi_in_flight flight;
	uint64_t lost;
	int ret = bpf_source_in_flight(&c->base, c->flight, map_fd(c, "in_flight"), &flight);

	if (ret)
		return err_sys(e, ret, "%s: tasks still waiting", c->ops->source->name);
	ret = collect(c, true, e);
	if (ret)
		return ret;
	arena_reset(&c->arena);
	ret = banks_push(&c->banks, r);
	if (!ret)
		ret = contend_rows_push(c, r);
	if (ret)
		return err_sys(e, ret, "%s: report", c->ops->source->name);
	/* of --why: holders that found no room, and tasks without a ledger, told by whoever asks
	 * first */
	lost = holders_lost(c->holders) + ledgers_lost(c->args.shared);
	c->banks.counts.interval.keys_full += lost;
	c->banks.counts.total.keys_full += lost;
	bpf_source_quality(&c->base, &c->banks.counts, &flight, r);
	return 0;
}

int contend_drain(struct source *src, struct err *e)
{
	struct contend *c = source_of(src);
	int more = ring_drain(&c->ring, e), ret;

	if (more < 0 || !c->cfg->slower)
		return more;
	ret = ring_drain(&c->slow, e);
	return ret ? ret : more;
}

int contend_cost_begin(struct source *src, struct err *e)
{
	struct contend *c = source_of(src);
	int ret = bpf_source_cost_begin(src, e);

	if (!ret && c->ledgers_ours)
		ret = cost_sampler_begin(&c->ledgers_cost, ledgers_object(c->args.shared), e);
	return ret;
}

int contend_cost_end(struct source *src, struct self_cost *cost, struct err *e)
{
	struct contend *c = source_of(src);
	int ret = bpf_source_cost_end(src, cost, e);
	struct self_cost more = {0};
	double events = 0;

	if (ret || !c->ledgers_ours ||
	    cost_sampler_end(&c->ledgers_cost, ledgers_object(c->args.shared), &more))
		return ret;
	if (cost->bpf_ns_per_event > 0)
		events += cost->bpf_cpu_ppm / cost->bpf_ns_per_event;
	if (more.bpf_ns_per_event > 0)
		events += more.bpf_cpu_ppm / more.bpf_ns_per_event;
	cost->bpf_cpu_ppm += more.bpf_cpu_ppm;
	cost->bpf_ns_per_event = events > 0 ? cost->bpf_cpu_ppm / events : 0;
	return 0;
}
