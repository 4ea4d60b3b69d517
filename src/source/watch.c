// SPDX-License-Identifier: GPL-2.0-or-later
/* The watch source: every access to the addresses that --watch names; its life cycle. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "insn/insn.h"
#include "source/kmaps.h"
#include "source/watch.h"

#include "watch.skel.h" /* needs abi_watch.h */

#define FOREIGN_FACTOR 10 /* traps of others that are borne, for each that is wanted */

static struct watch_source *watch_of(struct source *src)
{
	return (struct watch_source *)src;
}

static int watch_probe(struct err *e)
{
#ifndef __x86_64__
	return err_set(
		e, EXIT_CANNOT, -ENOTSUP,
		"watch: this machine's breakpoints come before the access and would be taken "
		"again and again");
#endif
	if (!insn_available())
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "watch: this build has no decoder of this machine's instructions "
			       "(it was built without Zydis)");
	return bpf_probe(e);
}

const struct abi_watch_counts *watch_counts(const struct watch_source *w)
{
	return (const struct abi_watch_counts *)w->counts_map;
}

static int configure(struct watch_source *w, struct err *e)
{
	struct watch_bpf *skel = w->skel;
	int ret;

	skel->rodata->hits_max = w->line.cfg->confirm;
	skel->rodata->foreign_max = w->line.cfg->confirm * FOREIGN_FACTOR;
	skel->rodata->user_tgid = w->user_pid;
	ret = kmaps_banks(skel->obj, w->line.ncpus, sizeof(struct abi_counts));
	if (ret)
		return err_sys(e, ret, "watch: configure");
	return filters_setup(&w->line.filters, skel->obj,
			     (struct abi_filter *)&skel->rodata->filter, e);
}

static int load(struct watch_source *w, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = w->line.cfg->btf);
	int ret;

	w->skel = watch_bpf__open_opts(&opts);
	ret = w->skel ? configure(w, e) : err_sys(e, -errno, "watch: open BPF object");
	if (ret)
		return ret;
	ret = watch_bpf__load(w->skel);
	(void)malloc_trim(0); /* of the kernel's BTF */
	if (ret)
		return bpf_fail(e, ret, "watch: load BPF programs");
	ret = filters_fill(&w->line.filters, w->skel->obj, e);
	if (ret)
		return ret;
	ret = watch_bpf__attach(w->skel); /* those of follow.bpf.h */
	return ret ? bpf_fail(e, ret, "watch: attach") : 0;
}

static int map_counts(struct watch_source *w, struct err *e)
{
	void *map;

	w->counts_len = (size_t)sysconf(_SC_PAGESIZE);
	map = mmap(NULL, w->counts_len, PROT_READ, MAP_SHARED,
		   bpf_map__fd(w->skel->maps.watch_counts), 0);
	if (map == MAP_FAILED)
		return err_sys(e, -errno, "watch: map the counters");
	w->counts_map = map;
	return 0;
}

static int open_poll(struct watch_source *w, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fds[2] = {bpf_map__fd(w->skel->maps.hits), w->line.filters.targets.epoll_fd}, i;

	w->line.event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->line.event_fd < 0)
		return err_sys(e, -errno, "watch: epoll");
	for (i = 0; i < 2; i++)
		if (fds[i] >= 0 && epoll_ctl(w->line.event_fd, EPOLL_CTL_ADD, fds[i], &ev))
			return err_sys(e, -errno, "watch: epoll");
	return 0;
}

static int open_table(struct watch_source *w)
{
	size_t words = (w->line.ncpus + 63) / 64;
	int v;

	for (v = 0; v < LINE_VIEWS; v++) {
		w->none.cores[v] = calloc(words, sizeof(uint64_t));
		w->none.cpus[v] = calloc(words, sizeof(uint64_t));
		if (!w->none.cores[v] || !w->none.cpus[v])
			return -ENOMEM;
	}
	return line_open_table(&w->line);
}

static int open_all(struct watch_source *w, struct err *e)
{
	struct line_source *s = &w->line;
	struct names_args args = {.btf = s->cfg->btf, .debuginfod = s->cfg->debuginfod};
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	s->ncpus = (uint32_t)ret;
	ret = open_table(w);
	if (ret)
		return err_sys(e, ret, "watch");
	ret = filters_open(&s->filters, &s->args, s->ncpus, false, e);
	if (!ret && !w->borrowed)
		ret = names_open(&s->names, &args, e);
	if (!ret && !w->borrowed)
		ret = watch_resolve(w, e);
	if (!ret)
		ret = load(w, e);
	if (!ret)
		ret = map_counts(w, e);
	if (!ret)
		ret = watch_hits_open(w, e);
	if (!ret)
		ret = open_poll(w, e);
	if (!ret)
		ret = watch_events_open(w, e);
	return ret ? ret : filters_follow(&s->filters, e);
}

void watch_free(struct watch_source *w)
{
	int v;

	if (!w)
		return;
	cost_sampler_close(&w->line.cost);
	watch_events_close(w);
	watch_hits_close(w);
	if (w->line.event_fd >= 0)
		close(w->line.event_fd);
	if (w->counts_map)
		(void)munmap((void *)w->counts_map, w->counts_len); /* nothing to do */
	watch_bpf__destroy(w->skel);
	line_table_close(w->line.table);
	if (!w->borrowed)
		names_close(w->line.names);
	arena_free(&w->line.arena);
	filters_close(&w->line.filters);
	for (v = 0; v < LINE_VIEWS; v++) {
		free(w->none.cores[v]);
		free(w->none.cpus[v]);
	}
	free(w);
}

static void watch_close(struct source *src)
{
	watch_free(watch_of(src));
}

static struct watch_source *watch_new(const struct source_args *args)
{
	struct watch_source *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->line.base.ops = &source_watch;
	w->line.args = *args;
	w->line.cfg = args->cfg;
	w->line.event_fd = w->line.cost.stats_fd = -1;
	filters_init(&w->line.filters);
	return w;
}

static int watch_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct watch_source *w = watch_new(args);
	int ret;

	if (!w)
		return err_sys(e, -ENOMEM, "watch");
	ret = open_all(w, e);
	if (ret) {
		watch_free(w);
		return ret;
	}
	*out = &w->line.base;
	return 0;
}

int watch_open_line(struct watch_source **out, const struct line_source *s,
		    const struct line_key *line, const struct watch_slot *slots, size_t n,
		    struct err *e)
{
	struct watch_source *w = watch_new(&s->args);
	int ret;

	if (!w)
		return err_sys(e, -ENOMEM, "watch");
	w->borrowed = true;
	w->line.names = s->names;
	w->user_pid = line->tgid;
	memcpy(w->slots, slots, n * sizeof(*slots));
	w->nslots = n;
	w->lines[0] = (struct watch_line){.key = *line, .addr = slots[0].addr};
	w->nlines = 1;
	ret = open_all(w, e);
	if (ret) {
		watch_free(w);
		return ret;
	}
	*out = w;
	return 0;
}

static void set_epoch(struct watch_source *w, uint64_t epoch)
{
	w->line.epoch = epoch;
	__atomic_store_n(&w->skel->bss->epoch, epoch, __ATOMIC_SEQ_CST);
}

int watch_begin(struct watch_source *w, struct err *e)
{
	set_epoch(w, 1);
	return watch_events_arm(w, e);
}

void watch_end(struct watch_source *w)
{
	watch_events_disarm(w);
	set_epoch(w, 0);
}

/* Nothing is watched during a warm-up: the accesses that may be spent are not for that. */
static int watch_start(struct source *src, struct err *e)
{
	struct watch_source *w = watch_of(src);

	if (w->line.cfg->warmup_ns && !w->warming) {
		w->warming = true;
		return 0;
	}
	return watch_begin(w, e);
}

/* Interval and whole are told apart by user space alone: hits come one by one. */
static int watch_flip(struct source *src, struct err *e)
{
	struct watch_source *w = watch_of(src);

	return w->armed ? watch_events_open(w, e) : 0; /* CPUs that came back */
}

static int watch_stop(struct source *src, struct err *e)
{
	watch_end(watch_of(src));
	return 0;
}

int watch_report(struct watch_source *w, struct source_report *r, struct err *e)
{
	int ret = watch_hits_drain(w, e);
	uint64_t lost;

	if (ret)
		return ret;
	lost = watch_counts(w)->lost;
	r->quality_interval.lost_events += lost - w->lost_previous;
	r->quality_total.lost_events += lost;
	w->lost_previous = lost;
	ret = watch_push_rows(w, r);
	line_table_begin(w->line.table);
	return ret ? err_sys(e, ret, "watch: report") : 0;
}

static int watch_collect(struct source *src, struct source_report *r, struct err *e)
{
	rows_forget(&r->interval);
	rows_forget(&r->total);
	r->quality_interval = r->quality_total = (struct quality){0};
	return watch_report(watch_of(src), r, e);
}

static int watch_event_fd(const struct source *src)
{
	return ((const struct watch_source *)src)->line.event_fd;
}

static int watch_drain(struct source *src, struct err *e)
{
	return watch_hits_drain(watch_of(src), e);
}

static int watch_cost_begin(struct source *src, struct err *e)
{
	struct watch_source *w = watch_of(src);

	return cost_sampler_begin(&w->line.cost, w->skel->obj, e);
}

static int watch_cost_end(struct source *src, struct self_cost *cost, struct err *e)
{
	struct watch_source *w = watch_of(src);

	return cost_sampler_end(&w->line.cost, w->skel->obj, cost);
}

/* A run of nothing else ends with what it waited for. */
static bool watch_target_alive(struct source *src, char *why, size_t len)
{
	struct watch_source *w = watch_of(src);

	if (!w->stopped || w->line.cfg->sources.n > 1)
		return filters_alive(&w->line.filters, why, len);
	if (w->counted < w->line.cfg->confirm)
		(void)snprintf(why, len,
			       "stopped watching: too many accesses by others"); /* fits */
	else
		(void)snprintf(why, len, "%" PRIu64 " accesses seen", w->counted); /* fits */
	return false;
}

static const char *const *watch_hooks(const struct source *src)
{
	static const char *const hooks[] = {"breakpoint", NULL};

	return hooks;
}

const struct source_ops source_watch = {
	.name = "watch",
	.summary = "every access to the addresses of --watch",
	.ungrouped = "its rows name their threads",
	.probe = watch_probe,
	.open = watch_open,
	.start = watch_start,
	.flip = watch_flip,
	.collect = watch_collect,
	.stop = watch_stop,
	.event_fd = watch_event_fd,
	.drain = watch_drain,
	.cost_begin = watch_cost_begin,
	.cost_end = watch_cost_end,
	.target_alive = watch_target_alive,
	.hooks = watch_hooks,
	.close = watch_close,
};
