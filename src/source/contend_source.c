// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "source/contend_source.h"
#include "source/flight.h"
#include "source/groups.h"

#define RING_BYTES_OF_CPU (16U << 10)
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
	return bpf_object__find_map_fd_by_name(s->obj, name);
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
	return filters_setup(&s->filters, obj, ro->filter, e);
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
		.room = bpf_map__max_entries(bpf_object__find_map_by_name(s->obj, "keyed_even")),
		.rest_after = rest_after(s->cfg),
		.cgroups = s->filters.names,
		.names = s->names,
		.kernel_code = s->spec->kernel_code,
		.what = what,
	};
	int ret;

	ret = kmaps_others(s->obj, &s->keyed);
	if (ret)
		return err_sys(e, ret, "%s: entry for other addresses", what);
	ret = whole_open(&s->whole, map_fd(s, "banks"), s->spec->nmetrics, s->cfg->precision,
			 s->ncpus, e);
	if (ret)
		return ret;
	s->later = s->spec->rows->told ? calloc(LATER_MAX, sizeof(*s->later)) : NULL;
	if (s->spec->rows->told && !s->later)
		return err_sys(e, -ENOMEM, "%s", what);
	kmaps_keyed_fds(s->obj, args.fds);
	ret = contend_open(&s->rows, &args, e);
	if (ret)
		return ret;
	s->ring = ring_buffer__new(map_fd(s, "samples"), on_record, s, NULL);
	return s->ring ? 0 : err_sys(e, -errno, "%s: ring buffer", what);
}

static int open_poll(struct contend_source *s, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fds[2] = {ring_buffer__epoll_fd(s->ring), s->filters.targets.epoll_fd}, i;

	s->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->event_fd < 0)
		return err_sys(e, -errno, "%s: epoll", s->spec->ops->name);
	for (i = 0; i < 2; i++)
		if (fds[i] >= 0 && epoll_ctl(s->event_fd, EPOLL_CTL_ADD, fds[i], &ev))
			return err_sys(e, -errno, "%s: epoll", s->spec->ops->name);
	return 0;
}

static void list_hooks(struct contend_source *s)
{
	struct bpf_program *prog;
	size_t n = 0;

	bpf_object__for_each_program(prog, s->obj)
	{
		const char *section = bpf_program__section_name(prog);
		const char *slash = strchr(section, '/');

		if (bpf_program__fd(prog) >= 0 && slash && strncmp(section, "iter/", 5) &&
		    n + 1 < sizeof(s->hooks) / sizeof(s->hooks[0]))
			s->hooks[n++] = slash + 1;
	}
}

static int open_all(struct contend_source *s, struct err *e)
{
	const struct names_args names = {.btf = s->cfg->btf, .debuginfod = s->cfg->debuginfod};
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	s->ncpus = (uint32_t)ret;
	ret = filters_open(&s->filters, &s->args, s->ncpus, false, e);
	if (!ret)
		ret = names_open(&s->names, &names, e);
	if (!ret)
		ret = s->spec->load(s, e);
	if (!ret)
		ret = filters_fill(&s->filters, s->obj, e);
	if (!ret)
		ret = open_rows(s, e);
	if (!ret)
		ret = open_poll(s, e);
	if (!ret)
		ret = s->spec->attach(s, e);
	if (ret)
		return ret;
	list_hooks(s);
	return filters_follow(&s->filters, e);
}

int contend_source_open(struct source **out, const struct source_args *args,
			const struct contend_spec *spec, struct err *e)
{
	struct contend_source *s = calloc(1, spec->size);
	int ret;

	if (!s)
		return err_sys(e, -ENOMEM, "%s", spec->ops->name);
	s->base.ops = spec->ops;
	s->spec = spec;
	s->args = *args;
	s->cfg = args->cfg;
	s->event_fd = s->cost.stats_fd = -1;
	filters_init(&s->filters);
	ret = open_all(s, e);
	if (ret) {
		contend_source_close(&s->base);
		return ret;
	}
	*out = &s->base;
	return 0;
}

void contend_source_close(struct source *src)
{
	struct contend_source *s = source_of(src);

	if (!s)
		return;
	cost_sampler_close(&s->cost);
	if (s->ring)
		ring_buffer__free(s->ring);
	if (s->event_fd >= 0)
		close(s->event_fd);
	s->spec->unload(s);
	contend_close(s->rows);
	free(s->later);
	names_close(s->names);
	whole_close(&s->whole);
	filters_close(&s->filters);
	free(s);
}

/* ---- running ---- */

static void set_epoch(struct contend_source *s, uint64_t epoch)
{
	__atomic_store_n(s->epoch_word, epoch, __ATOMIC_SEQ_CST);
}

/* Running: the epoch before this one has ended; stopped: whatever is left, in both banks. */
static uint64_t ended_epoch(const struct contend_source *s)
{
	return s->stopped ? 0 : s->epoch - 1;
}

/* Descriptions first: a row that appears then knows what it is. */
static int describe(struct contend_source *s, struct err *e)
{
	size_t turns, most = ring_bytes(s) / DRAIN_BYTES_MIN + 1;
	int ret = 1;

	for (turns = 0; ret > 0 && turns < most; turns++)
		ret = contend_source_drain(&s->base, e);
	if (ret >= 0 && describe_later(s))
		ret = err_sys(e, -ENOMEM, "%s: describe waits", s->spec->ops->name);
	return ret < 0 ? ret : 0;
}

int contend_source_fold(struct source *src, struct err *e)
{
	struct contend_source *s = source_of(src);
	int ret = describe(s, e);

	if (!ret && whole_fold(&s->whole, ended_epoch(s)))
		ret = err_sys(e, -ENOMEM, "%s: read the histograms", s->spec->ops->name);
	return ret ? ret : contend_fold(s->rows, ended_epoch(s), e);
}

static int collect(struct contend_source *s, struct err *e)
{
	int ret = describe(s, e);

	if (!ret && whole_collect(&s->whole, ended_epoch(s)))
		ret = err_sys(e, -ENOMEM, "%s: read the histograms", s->spec->ops->name);
	return ret ? ret : contend_collect(s->rows, ended_epoch(s), e);
}

int contend_source_start(struct source *src, struct err *e)
{
	struct contend_source *s = source_of(src);
	int ret;

	s->misses_start = s->misses_seen = recursion_misses(s->obj);
	if (!s->epoch) {
		s->epoch = 1;
		set_epoch(s, s->epoch);
		return 0;
	}
	ret = collect(s, e);
	if (ret)
		return ret;
	whole_forget(&s->whole);
	contend_forget(s->rows);
	return 0;
}

int contend_source_flip(struct source *src, struct err *e)
{
	struct contend_source *s = source_of(src);

	s->epoch++;
	set_epoch(s, s->epoch);
	return 0;
}

int contend_source_stop(struct source *src, struct err *e)
{
	struct contend_source *s = source_of(src);

	s->stopped = true;
	set_epoch(s, 0);
	return 0;
}

static int fill_quality(struct contend_source *s, struct source_report *r, struct err *e)
{
	struct abi_in_flight flight;
	uint64_t misses;
	int ret;

	memset(&r->quality_interval, 0, sizeof(r->quality_interval));
	memset(&r->quality_total, 0, sizeof(r->quality_total));
	counts_quality(&s->whole.counts.interval, &r->quality_interval);
	counts_quality(&s->whole.counts.total, &r->quality_total);
	misses = recursion_misses(s->obj);
	r->quality_interval.recursion_misses = misses - s->misses_seen;
	r->quality_total.recursion_misses = misses - s->misses_start;
	s->misses_seen = misses;
	ret = flight_walk(s->flight, map_fd(s, "in_flight"), &flight);
	if (ret)
		return err_sys(e, ret, "%s: tasks still waiting", s->spec->ops->name);
	flight_quality(&flight, &r->quality_interval);
	flight_quality(&flight, &r->quality_total);
	return 0;
}

int contend_source_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct contend_source *s = source_of(src);
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
	return fill_quality(s, r, e);
}

int contend_source_event_fd(const struct source *src)
{
	return ((const struct contend_source *)src)->event_fd;
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

int contend_source_cost_begin(struct source *src, struct err *e)
{
	struct contend_source *s = source_of(src);

	return cost_sampler_begin(&s->cost, s->obj, e);
}

int contend_source_cost_end(struct source *src, struct self_cost *cost, struct err *e)
{
	struct contend_source *s = source_of(src);

	return cost_sampler_end(&s->cost, s->obj, cost);
}

bool contend_source_target_alive(struct source *src, char *why, size_t len)
{
	return filters_alive(&source_of(src)->filters, why, len);
}

const char *const *contend_source_hooks(const struct source *src)
{
	return ((const struct contend_source *)src)->hooks;
}
