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

#include "source/cpus.h"
#include "source/line/line.h"

#include "line.skel.h" /* needs abi_line.h */

struct line_event {
	int fd, leader; /* -1: none */
	struct bpf_link *link;
};

int line_events_init(struct line_events *v, uint32_t ncpus, uint64_t freq,
		     const struct pmu_plan *plan)
{
	uint32_t k;

	v->ncpus = ncpus;
	v->freq = freq;
	v->plan = plan;
	v->kinds = plan ? plan->n : 1;
	v->v = calloc((size_t)ncpus * v->kinds, sizeof(*v->v));
	if (!v->v)
		return -ENOMEM;
	for (k = 0; k < ncpus * v->kinds; k++)
		v->v[k].fd = v->v[k].leader = -1;
	return 0;
}

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
static int open_one(struct line_events *v, struct line_source *s, uint32_t cpu, uint32_t kind)
{
	struct line_event *one = &v->v[cpu * v->kinds + kind];
	int ret;

	one->fd = v->plan ? open_pmu(&v->plan->v[kind], cpu, one) : open_clock(cpu, v->freq);
	if (one->fd < 0) {
		ret = one->fd;
		close_one(one);
		return ret == -ENODEV ? 0 : ret;
	}
	one->link = bpf_program__attach_perf_event(
		v->plan ? s->skel->progs.ws_pmu : s->skel->progs.ws_clock, one->fd);
	if (one->link)
		return 1;
	ret = -errno;
	close_one(one);
	return ret;
}

static int cannot(const struct line_events *v, uint32_t kind, int ret, struct err *e)
{
	char what[96];

	if (!v->plan)
		return bpf_fail(e, ret, "line: sample the CPU clock");
	(void)snprintf(what, sizeof(what), "line: PMU: %s",
		       v->plan->v[kind].event ? v->plan->v[kind].event
					      : v->plan->v[kind].device); /* fits: ours */
	return bpf_fail(e, ret, what);
}

int line_events_open(struct line_events *v, struct line_source *s, struct err *e)
{
	uint32_t k, open = 0;
	int ret;

	for (k = 0; k < v->ncpus * v->kinds; k++) {
		if (v->v[k].fd >= 0) {
			open++;
			continue;
		}
		ret = open_one(v, s, k / v->kinds, k % v->kinds);
		if (ret < 0)
			return cannot(v, k % v->kinds, ret, e);
		open += (uint32_t)ret;
	}
	return open ? 0 : err_set(e, EXIT_CANNOT, -ENODEV, "line: no CPU can be sampled");
}

void line_events_close(struct line_events *v)
{
	uint32_t k;

	for (k = 0; v->v && k < v->ncpus * v->kinds; k++)
		close_one(&v->v[k]);
	free(v->v);
	memset(v, 0, sizeof(*v));
}
