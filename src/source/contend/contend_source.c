// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/contend/contend_source.h"
#include "source/cpus.h"
#include "source/inodes/ext4_places.h"
#include "source/flight.h"
#include "source/groups.h"
#include "source/poll.h"

#define RING_BYTES_OF_CPU (8U << 10)
#define KEYS 511 /* with the others' entry a power of two for each CPU: no bucket idles */
#define REST_NS 10000000000ULL
#define REST_INTERVALS 8 /* at least */
#define LATER_MAX 1024
#define DRAIN_MAX 256 /* records at a time */
#define DRAIN_BYTES_MIN (DRAIN_MAX * sizeof(struct abi_contend_sample))

static struct contend_source *source_of(struct source *src)
{
	return (struct contend_source *)src;
}

static int map_fd(const struct contend_source *s, const char *name)
{
	return bpf_object__find_map_fd_by_name(s->base.obj, name);
}

/* ---- opening ---- */

/* A power of two, as ring buffers are. */
static uint32_t ring_bytes(const struct contend_source *s)
{
	uint32_t bytes = s->spec->ring_bytes;

	while (bytes < s->ncpus * RING_BYTES_OF_CPU)
		bytes *= 2;
	return bytes;
}

int contend_source_setup(struct contend_source *s, struct bpf_object *obj, const struct btf *btf,
			 const struct contend_rodata *ro, struct err *e)
{
	struct bpf_map *ring = bpf_object__find_map_by_name(obj, "samples");
	int64_t from_rq;
	int ret;

	s->keyed = (struct kmaps_keyed){
		.used = true,
		.by = group_abi(s->cfg->by),
		.nhists = 1,
		.schema = ABI_KEY_SCHEMA,
		.keys = s->cfg->max_keys_given ? s->cfg->max_keys : KEYS,
		.per_cpu = true,
		.others = s->spec->others,
		.ncpus = s->ncpus,
	};
	s->base.schemas = (struct bucket_schemas){s->cfg->precision, s->keyed.schema};
	*ro->stack_every = s->cfg->stack_every;
	*ro->ring_wake_bytes = ring_bytes(s) / 4;
	if (ro->preempt_count_known && !preempt_count_offset(btf, &from_rq)) {
		*ro->preempt_count_known = true;
		*ro->preempt_count_from_rq = from_rq;
	}
	ret = ring ? bpf_map__set_max_entries(ring, ring_bytes(s)) : -ENOENT;
	if (!ret)
		ret = kmaps_buckets(ro->hists, s->cfg->precision);
	if (!ret)
		ret = kmaps_banks(obj, s->ncpus,
				  WHOLE_BANK_BYTES(s->spec->nmetrics, s->cfg->precision));
	if (!ret)
		ret = kmaps_keyed(obj, ro->keyed, btf, &s->keyed);
	if (ret)
		return err_sys(e, ret, "%s: histogram maps", s->spec->ops->name);
	return filters_setup(&s->base.filters, obj, ro->filter, e);
}

static int describe_later(struct contend_source *s)
{
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < s->nlater; i++)
		ret = contend_sample(s->rows, &s->later[i]);
	s->nlater = 0;
	return ret;
}

/*
 * Looking for names takes long, and meanwhile the processes of other records may end. Where that
 * matters they are looked at first.
 */
static int take_record(struct contend_source *s, const struct abi_contend_sample *r)
{
	if (!s->spec->rows->told)
		return contend_sample(s->rows, r);
	s->spec->rows->told(s, r);
	s->later[s->nlater++] = *r;
	return s->nlater < LATER_MAX ? 0 : describe_later(s);
}

static int on_record(void *ctx, void *data, size_t len)
{
	struct contend_source *s = ctx;
	struct abi_contend_sample r;
	int ret;

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, data, sizeof(r));
	ret = take_record(s, &r);
	return ret || ++s->drained < DRAIN_MAX ? ret : -EAGAIN;
}

/* Intervals without a wait, before an address leaves the kernel's maps. */
static uint32_t rest_after(const struct config *cfg)
{
	uint64_t n = cfg->interval_ns ? REST_NS / cfg->interval_ns : 0;

	return n > REST_INTERVALS ? (uint32_t)n : REST_INTERVALS;
}

static int open_rows(struct contend_source *s, struct err *e)
{
	const char *what = s->spec->ops->name;
	struct contend_args args = {
		.ops = s->spec->rows,
		.ctx = s,
		.nhists = s->keyed.nhists,
		.ncpus = s->ncpus,
		.by = s->cfg->by,
		.room = bpf_map__max_entries(
			bpf_object__find_map_by_name(s->base.obj, "keyed_even")),
		.rest_after = rest_after(s->cfg),
		.cgroups = s->base.filters.names,
		.names = s->names,
		.places = s->places,
		.kernel_code = s->spec->kernel_code,
		.what = what,
	};
	int ret;

	ret = kmaps_others(s->base.obj, &s->keyed);
	if (ret)
		return err_sys(e, ret, "%s: entry for other addresses", what);
	ret = whole_open(&s->whole, map_fd(s, "banks"), s->spec->nmetrics, s->cfg->precision,
			 s->ncpus, e);
	if (ret)
		return ret;
	s->later = s->spec->rows->told ? calloc(LATER_MAX, sizeof(*s->later)) : NULL;
	if (s->spec->rows->told && !s->later)
		return err_sys(e, -ENOMEM, "%s", what);
	kmaps_keyed_fds(s->base.obj, args.fds);
	ret = contend_open(&s->rows, &args, e);
	if (ret)
		return ret;
	s->ring = ring_buffer__new(map_fd(s, "samples"), on_record, s, NULL);
	return s->ring ? 0 : err_sys(e, -errno, "%s: ring buffer", what);
}

static int open_poll(struct contend_source *s, struct err *e)
{
	const int fds[] = {ring_buffer__epoll_fd(s->ring), s->base.filters.targets.epoll_fd};

	return poll_open(&s->base.event_fd, fds, sizeof(fds) / sizeof(fds[0]), s->spec->ops->name,
			 e);
}

/* The kernel's BTF is several MB of heap: it goes before libbpf loads its own. */
static int load(struct contend_source *s, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = s->cfg->btf);
	struct btf *btf = kernel_btf(s->cfg->btf, e);
	int ret;

	if (!btf)
		return -ENOENT;
	s->skel = s->spec->object(s, &opts);
	ret = s->skel ? s->spec->configure(s, btf, e)
		      : err_sys(e, -errno, "%s: open BPF object", s->spec->ops->name);
	btf__free(btf);
	if (!ret)
		ret = bpf_source_load(&s->base, s->skel, e);
	return ret ? ret : s->spec->loaded(s, e);
}

static int open_all(struct contend_source *s, struct err *e)
{
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	s->ncpus = (uint32_t)ret;
	ret = filters_open(&s->base.filters, &s->args, s->ncpus, false, e);
	if (!ret)
		ret = names_borrow(s->args.names, &s->names, e);
	s->places = ext4_places_new();
	if (!ret && !s->places)
		ret = err_sys(e, -ENOMEM, "%s", s->spec->ops->name);
	if (!ret)
		ret = load(s, e);
	if (!ret)
		ret = filters_fill(&s->base.filters, s->base.obj, e);
	if (!ret)
		ret = open_rows(s, e);
	if (!ret)
		ret = open_poll(s, e);
	if (!ret)
		ret = s->spec->attach(s, e);
	if (!ret)
		ret = bpf_source_list_hooks(&s->base, e);
	return ret ? ret : filters_follow(&s->base.filters, e);
}

int contend_source_open(struct source **out, const struct source_args *args,
			const struct contend_spec *spec, struct err *e)
{
	struct contend_source *s = calloc(1, spec->size);
	int ret;

	if (!s)
		return err_sys(e, -ENOMEM, "%s", spec->ops->name);
	bpf_source_init(&s->base, spec->ops);
	s->spec = spec;
	s->args = *args;
	s->cfg = args->cfg;
	ret = open_all(s, e);
	if (ret) {
		contend_source_close(&s->base.source);
		return ret;
	}
	*out = &s->base.source;
	return 0;
}

void contend_source_close(struct source *src)
{
	struct contend_source *s = source_of(src);

	if (!s)
		return;
	ring_buffer__free(s->ring);
	s->spec->unload(s);
	contend_close(s->rows);
	free(s->later);
	ext4_places_close(s->places);
	whole_close(&s->whole);
	bpf_source_close(&s->base);
	free(s);
}

/* ---- running ---- */

/* Descriptions first: a row that appears then knows what it is. */
static int describe(struct contend_source *s, struct err *e)
{
	size_t turns, most = ring_bytes(s) / DRAIN_BYTES_MIN + 1;
	int ret = 1;

	for (turns = 0; ret > 0 && turns < most; turns++)
		ret = contend_source_drain(&s->base.source, e);
	if (ret >= 0 && describe_later(s))
		ret = err_sys(e, -ENOMEM, "%s: describe waits", s->spec->ops->name);
	return ret < 0 ? ret : 0;
}

int contend_source_fold(struct source *src, struct err *e)
{
	struct contend_source *s = source_of(src);
	int ret = describe(s, e);

	if (!ret && whole_fold(&s->whole, bpf_source_ended(&s->base)))
		ret = err_sys(e, -ENOMEM, "%s: read the histograms", s->spec->ops->name);
	return ret ? ret : contend_fold(s->rows, bpf_source_ended(&s->base), e);
}

static int collect(struct contend_source *s, struct err *e)
{
	int ret = describe(s, e);

	if (!ret && whole_collect(&s->whole, bpf_source_ended(&s->base)))
		ret = err_sys(e, -ENOMEM, "%s: read the histograms", s->spec->ops->name);
	return ret ? ret : contend_collect(s->rows, bpf_source_ended(&s->base), e);
}

int contend_source_start(struct source *src, struct err *e)
{
	struct contend_source *s = source_of(src);
	int ret;

	if (bpf_source_begin(&s->base))
		return 0;
	ret = collect(s, e);
	if (ret)
		return ret;
	whole_forget(&s->whole);
	contend_forget(s->rows);
	return 0;
}

int contend_source_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct contend_source *s = source_of(src);
	struct abi_in_flight flight;
	int ret = collect(s, e);

	if (ret)
		return ret;
	rows_forget(&r->interval);
	rows_forget(&r->total);
	ret = whole_push(&s->whole, s->spec->metrics, r);
	if (!ret)
		ret = contend_push_rows(s->rows, r);
	if (ret)
		return err_sys(e, ret, "%s: report", s->spec->ops->name);
	ret = flight_walk(s->flight, map_fd(s, "in_flight"), &flight);
	if (ret)
		return err_sys(e, ret, "%s: tasks still waiting", s->spec->ops->name);
	bpf_source_quality(&s->base, &s->whole.counts, &flight, r);
	return 0;
}

/* After some records the other events have their turn. */
int contend_source_drain(struct source *src, struct err *e)
{
	struct contend_source *s = source_of(src);
	int ret;

	s->drained = 0;
	ret = ring_buffer__consume(s->ring);
	if (ret == -EAGAIN && s->drained == DRAIN_MAX)
		return 1;
	return ret < 0 ? err_sys(e, ret, "%s: read the ring buffer", s->spec->ops->name) : 0;
}
