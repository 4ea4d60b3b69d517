// SPDX-License-Identifier: GPL-2.0-or-later
/* The CPU clock, on every CPU. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/line.h"

#include "line.skel.h" /* needs abi_line.h */

int line_events_init(struct line_events *v, uint32_t ncpus, uint64_t freq)
{
	uint32_t c;

	v->ncpus = ncpus;
	v->freq = freq;
	v->fds = calloc(ncpus, sizeof(*v->fds));
	v->links = calloc(ncpus, sizeof(*v->links));
	if (!v->fds || !v->links)
		return -ENOMEM;
	for (c = 0; c < ncpus; c++)
		v->fds[c] = -1;
	return 0;
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

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_one(struct line_events *v, uint32_t cpu)
{
	if (v->links[cpu])
		(void)bpf_link__destroy(v->links[cpu]); /* closes the event too */
	else if (v->fds[cpu] >= 0)
		close(v->fds[cpu]);
	v->links[cpu] = NULL;
	v->fds[cpu] = -1;
}

/* 1: it is sampled now; 0: it is offline; else why not. */
static int open_one(struct line_events *v, struct line_source *s, uint32_t cpu)
{
	int fd = open_clock(cpu, v->freq), ret;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	v->fds[cpu] = fd;
	v->links[cpu] = bpf_program__attach_perf_event(s->skel->progs.ws_clock, fd);
	if (v->links[cpu])
		return 1;
	ret = -errno;
	close_one(v, cpu);
	return ret;
}

int line_events_open(struct line_events *v, struct line_source *s, struct err *e)
{
	uint32_t c, open = 0;
	int ret;

	for (c = 0; c < v->ncpus; c++) {
		if (v->fds[c] >= 0) {
			open++;
			continue;
		}
		ret = open_one(v, s, c);
		if (ret < 0)
			return bpf_fail(e, ret, "line: sample the CPU clock");
		open += (uint32_t)ret;
	}
	return open ? 0 : err_set(e, EXIT_CANNOT, -ENODEV, "line: no CPU can be sampled");
}

void line_events_close(struct line_events *v)
{
	uint32_t c;

	for (c = 0; v->fds && v->links && c < v->ncpus; c++)
		close_one(v, c);
	free(v->fds);
	free(v->links);
	memset(v, 0, sizeof(*v));
}
