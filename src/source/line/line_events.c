// SPDX-License-Identifier: GPL-2.0-or-later
/* What samples, on every CPU: the CPU clock, or a PMU's events. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/sys/cpus.h"
#include "source/line/line.h"

#include "line.skel.h" /* needs abi_line.h */

struct line_event {
	int fd, leader; /* -1: none */
	struct bpf_link *link;
};

static int open_event(const struct perf_event_attr *attr, uint32_t cpu, int group)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, group, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_clock(uint32_t cpu, uint64_t freq)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = freq,
		.exclude_idle = 1,
		.exclude_hv = 1,
	};

	return open_event(&attr, cpu, -1);
}

/* -ENODEV: not on this CPU. */
static int open_pmu(const struct pmu_sampled *s, uint32_t cpu, struct line_event *to)
{
	if (!cpus_in(s->cpus, cpu))
		return -ENODEV;
	if (s->led) {
		to->leader = open_event(&s->leader, cpu, -1);
		if (to->leader < 0)
			return to->leader;
	}
	return open_event(&s->attr, cpu, to->leader);
}

static void close_one(struct line_event *one)
{
	if (one->link)
		(void)bpf_link__destroy(one->link); /* closes the event too */
	else if (one->fd >= 0)
		close(one->fd);
	if (one->leader >= 0)
		close(one->leader);
	*one = (struct line_event){.fd = -1, .leader = -1};
}

/* 1: it is sampled now; 0: not on this CPU, or that is offline; else why not. */
static int open_one(struct line_source *s, uint32_t cpu, uint32_t kind)
{
	struct line_event *one = &s->events[cpu * s->kinds + kind];
	int ret;

	one->fd = s->pmu ? open_pmu(&s->plan.v[kind], cpu, one) : open_clock(cpu, s->cfg->freq);
	ret = one->fd;
	if (one->fd >= 0) {
		one->link = bpf_program__attach_perf_event(
			s->pmu ? s->skel->progs.ws_pmu : s->skel->progs.ws_clock, one->fd);
		if (one->link)
			return 1;
		ret = -errno;
	}
	close_one(one);
	return ret == -ENODEV ? 0 : ret;
}

static int cannot(const struct line_source *s, uint32_t kind, int ret, struct err *e)
{
	const struct pmu_sampled *one = &s->plan.v[kind];
	char what[96];

	if (!s->pmu)
		return bpf_fail(e, ret, "line: sample the CPU clock");
	(void)snprintf(what, sizeof(what), "line: PMU: %s",
		       one->event ? one->event : one->device); /* fits: ours */
	return bpf_fail(e, ret, what);
}

int line_events_open(struct line_source *s, struct err *e)
{
	uint32_t k, open = 0;
	int ret;

	if (!s->events) {
		s->kinds = s->pmu ? s->plan.n : 1;
		s->events = calloc((size_t)s->m.ncpus * s->kinds, sizeof(*s->events));
		if (!s->events)
			return err_sys(e, -ENOMEM, "line");
		for (k = 0; k < s->m.ncpus * s->kinds; k++)
			s->events[k].fd = s->events[k].leader = -1;
	}
	for (k = 0; k < s->m.ncpus * s->kinds; k++) {
		ret = s->events[k].fd >= 0 ? 1 : open_one(s, k / s->kinds, k % s->kinds);
		if (ret < 0)
			return cannot(s, k % s->kinds, ret, e);
		open += (uint32_t)ret;
	}
	return open ? 0 : err_set(e, EXIT_CANNOT, -ENODEV, "line: no CPU can be sampled");
}

void line_events_close(struct line_source *s)
{
	for (uint32_t k = 0; s->events && k < s->m.ncpus * s->kinds; k++)
		close_one(&s->events[k]);
	free(s->events);
}
