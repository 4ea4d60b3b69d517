// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler source: its life cycle, and reports out of banks and groups. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "source/sched.h"

#include "sched.skel.h" /* needs abi.h */

static struct sched *sched_of(struct source *src)
{
	return (struct sched *)src;
}

static int open_poll(struct sched *s, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fds[2] = {slow_ring_fd(&s->slow), s->targets.epoll_fd}, i;

	if (fds[0] < 0 && fds[1] < 0)
		return 0;
	s->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->event_fd < 0)
		return err_sys(e, -errno, "sched: epoll");
	for (i = 0; i < 2; i++)
		if (fds[i] >= 0 && epoll_ctl(s->event_fd, EPOLL_CTL_ADD, fds[i], &ev))
			return err_sys(e, -errno, "sched: epoll");
	return 0;
}

static int open_names(struct sched *s, struct err *e)
{
	struct err ignored = {0};
	uint32_t c;

	s->cpu_names = calloc(s->banks.ncpus, sizeof(*s->cpu_names));
	if (!s->cpu_names)
		return err_sys(e, -ENOMEM, "sched");
	for (c = 0; c < s->banks.ncpus; c++)
		snprintf(s->cpu_names[c], sizeof(s->cpu_names[c]), "%u", c);
	if (s->cfg->filter.cgroups.n || s->cfg->by == BY_CGROUP)
		return cgroup_mount_find(&s->mount, e);
	if (s->cfg->slower && cgroup_mount_find(&s->mount, &ignored))
		s->mount.fd = -1; /* names only: ids will do */
	return 0;
}

static int open_all(struct sched *s, struct err *e)
{
	int ret, fds[ABI_BANKS];

	ret = possible_cpus(e);
	if (ret < 0)
		return ret;
	s->banks.ncpus = (uint32_t)ret;
	ret = open_names(s, e);
	if (!ret)
		ret = targets_open(&s->targets, &s->cfg->filter, &s->mount, e);
	if (!ret)
		ret = sched_load(s, e);
	if (ret)
		return ret;
	ret = sched_banks_open(&s->banks, bpf_map__fd(s->skel->maps.banks), s->cfg->precision,
			       s->banks.ncpus, e);
	if (ret)
		return ret;
	s->names = cgroup_names_new(s->mount.fd > 0 ? &s->mount : NULL);
	if (!s->names)
		return err_sys(e, -ENOMEM, "sched");
	if (s->cfg->by > BY_CPU) {
		fds[0] = bpf_map__fd(s->skel->maps.keyed_even);
		fds[1] = bpf_map__fd(s->skel->maps.keyed_odd);
		ret = sched_keys_open(&s->keys, fds, s->cfg->by, s->names, e);
	}
	if (!ret && s->cfg->slower)
		ret = sched_slow_open(s, e);
	if (!ret)
		ret = open_poll(s, e);
	return ret ? ret : sched_attach(s, e);
}

static void sched_close(struct source *src)
{
	struct sched *s = sched_of(src);

	if (!s)
		return;
	cost_sampler_close(&s->cost);
	slow_ring_close(&s->slow);
	if (s->event_fd >= 0)
		close(s->event_fd);
	if (s->skel)
		sched_unload(s);
	sched_keys_close(s->keys);
	if (s->banks.cpus)
		sched_banks_close(&s->banks);
	targets_close(&s->targets);
	cgroup_names_free(s->names);
	cgroup_mount_close(&s->mount);
	free(s->cpu_names);
	free(s);
}

static int sched_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct sched *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_sys(e, -ENOMEM, "sched");
	s->base.ops = &source_sched;
	s->args = *args;
	s->cfg = args->cfg;
	s->event_fd = s->mount.fd = s->cost.stats_fd = -1;
	s->targets.epoll_fd = s->targets.inotify_fd = -1;
	ret = open_all(s, e);
	if (ret) {
		sched_close(&s->base);
		return ret;
	}
	*out = &s->base;
	return 0;
}

/* The word the programs read; raising it ends the interval for them. */
static void set_epoch(struct sched *s, uint64_t epoch)
{
	__atomic_store_n(&s->skel->bss->epoch, epoch, __ATOMIC_SEQ_CST);
}

static int collect(struct sched *s, struct err *e)
{
	/* running: the epoch before this one has ended; stopped: whatever is left, in both banks */
	uint64_t ended = s->stopped ? 0 : s->epoch - 1;
	int ret = sched_banks_collect(&s->banks, ended);

	if (ret)
		return err_sys(e, ret, "sched: read the histograms");
	return s->keys ? sched_keys_collect(s->keys, ended, e) : 0;
}

/* First call: begin. Later (the warm-up is over; flip and the grace time are behind us): forget. */
static int sched_start(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);
	int ret;

	s->misses_start = s->misses_seen = recursion_misses(s->skel->obj);
	if (!s->epoch) {
		s->epoch = 1;
		set_epoch(s, s->epoch);
		return 0;
	}
	ret = collect(s, e);
	if (ret)
		return ret;
	sched_banks_forget(&s->banks);
	if (s->keys)
		sched_keys_forget(s->keys);
	return 0;
}

static int sched_flip(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);

	s->epoch++;
	set_epoch(s, s->epoch);
	return 0;
}

static int sched_stop(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);

	s->stopped = true;
	set_epoch(s, 0);
	return 0;
}

int sched_push_row(struct source_report *r, const struct sched_row *row, const struct label *labels,
		   uint32_t nlabels, bool all)
{
	struct series one = {.nlabels = nlabels};
	int m, ret = 0;

	if (nlabels)
		memcpy(one.labels, labels, nlabels * sizeof(*labels));
	for (m = 0; !ret && m < SCHED_METRICS; m++) {
		bool wanted = all && m != SCHED_THROTTLE_WAIT;

		one.desc = &sched_metrics[m];
		one.hist = &row->interval[m];
		if (wanted || one.hist->count)
			ret = series_push(&r->interval.series, &one);
		one.hist = &row->total[m];
		if (!ret && (wanted || one.hist->count))
			ret = series_push(&r->total.series, &one);
	}
	return ret;
}

static int push_all(struct sched *s, struct source_report *r)
{
	struct label cpu = {.key = "cpu"};
	uint32_t c;
	int ret;

	rows_forget(&r->interval);
	rows_forget(&r->total);
	ret = sched_push_row(r, &s->banks.whole, NULL, 0, true);
	for (c = 0; !ret && c < s->banks.ncpus; c++) {
		if (!s->banks.cpu_used[c])
			continue;
		cpu.value = s->cpu_names[c];
		ret = sched_push_row(r, &s->banks.cpus[c], &cpu, 1, true);
	}
	if (!ret && s->keys)
		ret = sched_keys_push(s->keys, r);
	return ret;
}

static void fill_quality(const struct abi_counts *c, struct quality *q)
{
	memset(q, 0, sizeof(*q));
	q->unpaired = c->unpaired;
	q->clamped = c->clamped;
	q->map_full = c->store_full + c->keys_full;
	q->lost_events = c->slow_lost;
	q->over_range = c->over;
	q->missed = c->missed;
	q->inferred = c->inferred;
}

static void add_in_flight(const struct abi_in_flight *f, struct quality *q)
{
	q->missed += f->unseen;
	q->in_flight = f->count;
	q->longest_ns = f->longest_ns;
	q->longest_tid = f->tid;
	memcpy(q->longest_comm, f->comm, sizeof(q->longest_comm));
}

static int sched_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct sched *s = sched_of(src);
	struct abi_in_flight flight;
	uint64_t misses;
	int ret;

	ret = collect(s, e);
	if (ret)
		return ret;
	ret = push_all(s, r);
	if (ret)
		return err_sys(e, ret, "sched: report");
	fill_quality(&s->banks.interval, &r->quality_interval);
	fill_quality(&s->banks.total, &r->quality_total);
	misses = recursion_misses(s->skel->obj);
	r->quality_interval.recursion_misses = misses - s->misses_seen;
	r->quality_total.recursion_misses = misses - s->misses_start;
	s->misses_seen = misses;
	ret = sched_in_flight(s, &flight);
	if (ret)
		return err_sys(e, ret, "sched: tasks still waiting");
	add_in_flight(&flight, &r->quality_total);
	flight.unseen = 0; /* an edge of the run, not of an interval */
	add_in_flight(&flight, &r->quality_interval);
	return 0;
}

static int sched_event_fd(const struct source *src)
{
	return ((const struct sched *)src)->event_fd;
}

static int sched_drain(struct source *src, struct err *e)
{
	return slow_ring_drain(&sched_of(src)->slow, e);
}

static int sched_cost_begin(struct source *src, struct err *e)
{
	struct sched *s = sched_of(src);

	return cost_sampler_begin(&s->cost, s->skel->obj, e);
}

static int sched_cost_end(struct source *src, struct self_cost *cost, struct err *e)
{
	struct sched *s = sched_of(src);

	return cost_sampler_end(&s->cost, s->skel->obj, cost);
}

/* A target that has gone must not come back as another process with its number. */
static void drop_dead_ids(struct sched *s)
{
	const struct filter *f = &s->cfg->filter;
	const struct u32_list *ids = f->pids.n ? &f->pids : &f->tids;
	size_t i;

	for (i = 0; i < s->targets.npidfds; i++)
		if (!targets_id_alive(&s->targets, i))
			(void)bpf_map_delete_elem(bpf_map__fd(s->skel->maps.target_ids),
						  &ids->v[i]); /* -ENOENT: done before */
}

static bool sched_target_alive(struct source *src, char *why, size_t len)
{
	struct sched *s = sched_of(src);

	if (!targets_alive(&s->targets, why, len))
		return false;
	if (s->targets.npidfds > 1)
		drop_dead_ids(s);
	return true;
}

static const char *const *sched_hooks(const struct source *src)
{
	return ((const struct sched *)src)->hooks;
}

const struct source_ops source_sched = {
	.name = "sched",
	.summary = "scheduler waits: wakeup latency and run-queue delay",
	.by_default = true,
	.probe = bpf_probe,
	.open = sched_open,
	.start = sched_start,
	.flip = sched_flip,
	.collect = sched_collect,
	.stop = sched_stop,
	.event_fd = sched_event_fd,
	.drain = sched_drain,
	.cost_begin = sched_cost_begin,
	.cost_end = sched_cost_end,
	.target_alive = sched_target_alive,
	.hooks = sched_hooks,
	.close = sched_close,
};
