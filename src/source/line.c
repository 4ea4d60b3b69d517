// SPDX-License-Identifier: GPL-2.0-or-later
/* The line source: contended cache lines from samples of the CPU clock; its life cycle. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "insn/insn.h"
#include "source/line.h"

#include "line.skel.h" /* needs abi_line.h */

#define LINES_MAX 262144
#define BATCH 256

static struct line_source *line_of(struct source *src)
{
	return (struct line_source *)src;
}

static int line_probe(struct err *e)
{
	if (!insn_available())
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "line: this build has no decoder of this machine's instructions "
			       "(it was built without Zydis)");
	return bpf_probe(e);
}

static int open_poll(struct line_source *s, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fds[2] = {line_ips_fd(s->ips), s->filters.targets.epoll_fd}, i;

	s->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->event_fd < 0)
		return err_sys(e, -errno, "line: epoll");
	for (i = 0; i < 2; i++)
		if (fds[i] >= 0 && epoll_ctl(s->event_fd, EPOLL_CTL_ADD, fds[i], &ev))
			return err_sys(e, -errno, "line: epoll");
	return 0;
}

static int map_counts(struct line_source *s, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	s->counts_len = (s->ncpus * sizeof(struct abi_line_counts) + page - 1) / page * page;
	map = mmap(NULL, s->counts_len, PROT_READ, MAP_SHARED,
		   bpf_map__fd(s->skel->maps.line_counts), 0);
	if (map == MAP_FAILED)
		return err_sys(e, -errno, "line: map the counters");
	s->counts_map = map;
	return 0;
}

/* First CPU of each CPU's core, by sysfs; a CPU that says nothing is its own core. */
static int open_table(struct line_source *s)
{
	uint32_t *core = calloc(s->ncpus, sizeof(*core)), c;
	char path[96];
	int ret;

	if (!core)
		return -ENOMEM;
	for (c = 0; c < s->ncpus; c++) {
		FILE *f;

		core[c] = c;
		(void)snprintf(path, sizeof(path),
			       "/sys/devices/system/cpu/cpu%u/topology/core_cpus_list", c);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%u", &core[c]) != 1 || core[c] >= s->ncpus)
			core[c] = c;
		fclose(f);
	}
	ret = line_table_open(&s->table, core, s->ncpus, LINES_MAX);
	free(core);
	return ret;
}

static int open_buffers(struct line_source *s)
{
	s->batch_keys = calloc(BATCH, sizeof(*s->batch_keys));
	s->batch_values = calloc(BATCH, sizeof(*s->batch_values));
	if (!s->batch_keys || !s->batch_values)
		return -ENOMEM;
	return open_table(s);
}

static int open_all(struct line_source *s, struct err *e)
{
	struct names_args args = {.btf = s->cfg->btf, .debuginfod = s->cfg->debuginfod};
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	s->ncpus = (uint32_t)ret;
	ret = open_buffers(s);
	if (!ret)
		ret = line_events_init(&s->events, s->ncpus, s->cfg->freq);
	if (ret)
		return err_sys(e, ret, "line");
	ret = names_open(&s->names, &args, e);
	if (!ret)
		ret = filters_open(&s->filters, &s->args, s->ncpus, false, e);
	if (!ret)
		ret = line_load(s, e);
	if (!ret)
		ret = map_counts(s, e);
	if (!ret)
		ret = line_ips_open(&s->ips, s, e);
	if (!ret)
		ret = open_poll(s, e);
	if (!ret)
		ret = line_events_open(&s->events, s, e);
	return ret ? ret : filters_follow(&s->filters, e);
}

static void line_close(struct source *src)
{
	struct line_source *s = line_of(src);

	if (!s)
		return;
	cost_sampler_close(&s->cost);
	line_events_close(&s->events);
	line_ips_close(s->ips);
	if (s->event_fd >= 0)
		close(s->event_fd);
	if (s->counts_map)
		(void)munmap((void *)s->counts_map, s->counts_len); /* nothing to do about it */
	line_bpf__destroy(s->skel);
	line_table_close(s->table);
	names_close(s->names);
	arena_free(&s->arena);
	filters_close(&s->filters);
	free(s->batch_keys);
	free(s->batch_values);
	free(s);
}

static int line_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct line_source *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return err_sys(e, -ENOMEM, "line");
	s->base.ops = &source_line;
	s->args = *args;
	s->cfg = args->cfg;
	s->event_fd = s->cost.stats_fd = -1;
	filters_init(&s->filters);
	ret = open_all(s, e);
	if (ret) {
		line_close(&s->base);
		return ret;
	}
	*out = &s->base;
	return 0;
}

static void set_epoch(struct line_source *s, uint64_t epoch)
{
	__atomic_store_n(&s->skel->bss->epoch, epoch, __ATOMIC_SEQ_CST);
}

/* ---- collecting ---- */

/*
 * Takes all accesses out of a bank that nobody writes: nothing is lost between reading and
 * deleting, and the map is empty for its next turn.
 */
static int take_bank(struct line_source *s, int fd)
{
	struct abi_access_key cursor;
	void *in = NULL;
	int last, ret = 0;
	__u32 n, i;

	do {
		n = BATCH;
		last = bpf_map_lookup_and_delete_batch(fd, in, &cursor, s->batch_keys,
						       s->batch_values, &n, NULL);
		if (last && last != -ENOENT)
			return last;
		for (i = 0; !ret && i < n; i++) {
			ret = line_table_add(s->table, &s->batch_keys[i], &s->batch_values[i]);
			if (ret == -ENOSPC)
				ret = 0; /* counted */
		}
		in = &cursor;
	} while (!ret && !last);
	return ret;
}

/* How lines that two threads touch went from CPU to CPU since they were last asked about. */
static void take_turns(struct line_source *s)
{
	struct abi_turns now;
	struct line *l;

	for (l = line_table_first(s->table); l; l = l->next) {
		struct abi_turns_key key = {.line = l->key.line, .tgid = l->key.tgid};

		if (!line_contended(s->table, l, LINE_TOTAL) ||
		    bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.turns), &key, &now))
			continue;
		line_turns(l, now.pairs, now.changes);
	}
}

static void sum_counts(struct line_source *s)
{
	uint64_t *to = (uint64_t *)&s->counted;
	uint32_t c;
	size_t k;

	memset(&s->counted, 0, sizeof(s->counted));
	for (c = 0; c < s->ncpus; c++) {
		const uint64_t *from =
			(const uint64_t *)(s->counts_map + c * sizeof(struct abi_line_counts));

		for (k = 0; k < sizeof(s->counted) / sizeof(*to); k++)
			to[k] += from[k];
	}
}

static int collect(struct line_source *s, struct err *e)
{
	uint64_t ended = s->stopped ? 0 : s->epoch - 1;
	int fds[ABI_BANKS] = {bpf_map__fd(s->skel->maps.accesses_even),
			      bpf_map__fd(s->skel->maps.accesses_odd)};
	uint32_t b;
	int ret = 0;

	s->previous = s->counted;
	sum_counts(s);
	line_table_begin(s->table);
	for (b = 0; !ret && b < ABI_BANKS; b++)
		if (!ended || b == (ended & 1))
			ret = take_bank(s, fds[b]);
	if (ret)
		return err_sys(e, ret, "line: read the accesses");
	take_turns(s);
	line_table_end(s->table);
	return 0;
}

static int line_start(struct source *src, struct err *e)
{
	struct line_source *s = line_of(src);
	int ret;

	if (!s->epoch) {
		s->epoch = 1;
		set_epoch(s, s->epoch);
		return 0;
	}
	ret = collect(s, e);
	if (ret)
		return ret;
	line_table_forget(s->table);
	s->started = s->counted;
	return 0;
}

static int line_flip(struct source *src, struct err *e)
{
	struct line_source *s = line_of(src);

	s->epoch++;
	set_epoch(s, s->epoch);
	return line_events_open(&s->events, s, e); /* CPUs that came back */
}

static int line_stop(struct source *src, struct err *e)
{
	struct line_source *s = line_of(src);

	s->stopped = true;
	set_epoch(s, 0);
	return 0;
}

static void fill_quality(const struct line_source *s, const struct abi_line_counts *since,
			 uint64_t dropped, struct quality *q)
{
	const struct abi_line_counts *now = &s->counted;

	*q = (struct quality){0};
	q->map_full =
		now->lines_full - since->lines_full + now->ips_full - since->ips_full + dropped;
	q->pending = now->pending - since->pending; /* also those that found the ring full */
}

static int line_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct line_source *s = line_of(src);
	uint64_t dropped;
	int ret = collect(s, e);

	if (ret)
		return ret;
	rows_forget(&r->interval);
	rows_forget(&r->total);
	dropped = line_table_dropped(s->table);
	fill_quality(s, &s->previous, dropped - s->dropped_previous, &r->quality_interval);
	fill_quality(s, &s->started, dropped, &r->quality_total);
	s->dropped_previous = dropped;
	ret = line_push_rows(s, r);
	return ret ? err_sys(e, ret, "line: report") : 0;
}

static int line_event_fd(const struct source *src)
{
	return ((const struct line_source *)src)->event_fd;
}

static int line_drain(struct source *src, struct err *e)
{
	return line_ips_drain(line_of(src)->ips, e);
}

static int line_cost_begin(struct source *src, struct err *e)
{
	struct line_source *s = line_of(src);

	return cost_sampler_begin(&s->cost, s->skel->obj, e);
}

static int line_cost_end(struct source *src, struct self_cost *cost, struct err *e)
{
	struct line_source *s = line_of(src);

	return cost_sampler_end(&s->cost, s->skel->obj, cost);
}

static bool line_target_alive(struct source *src, char *why, size_t len)
{
	return filters_alive(&line_of(src)->filters, why, len);
}

static const char *const *line_hooks(const struct source *src)
{
	static const char *const hooks[] = {"cpu-clock", NULL};

	return hooks;
}

const struct source_ops source_line = {
	.name = "line",
	.summary = "contended cache lines, by sampling",
	.lines = true,
	.probe = line_probe,
	.open = line_open,
	.start = line_start,
	.flip = line_flip,
	.collect = line_collect,
	.stop = line_stop,
	.event_fd = line_event_fd,
	.drain = line_drain,
	.cost_begin = line_cost_begin,
	.cost_end = line_cost_end,
	.target_alive = line_target_alive,
	.hooks = line_hooks,
	.close = line_close,
};
