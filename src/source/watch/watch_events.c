// SPDX-License-Identifier: GPL-2.0-or-later
/* Breakpoints: one for each slot on every CPU. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/text.h"
#include "source/watch/watch.h"

#include "watch.skel.h" /* needs abi_watch.h */

static int refused(const struct watch_source *w, const struct watch_slot *s, uint32_t cpu, int ret,
		   struct err *e)
{
	char text[128], what[sizeof(text) + 16] = ""; /* a line that was found is its own row's */

	if (!w->m.lent)
		(void)snprintf(what, sizeof(what), "--watch '%s': ",
			       text_clean(text, sizeof(text), s->text, SIZE_MAX)); /* fits */
	switch (ret) {
	case -ENOSPC:
	case -EBUSY:
		return err_set(e, EXIT_CANNOT, ret,
			       "%sno debug register is free on CPU %u (others use them, such as a "
			       "debugger or perf)",
			       what, cpu);
	case -EPERM:
	case -EACCES:
		return err_set(e, EXIT_CANNOT, ret, "%snot permitted (%s)", what,
			       s->addr & KERNEL_HALF ? "addresses of the kernel need CAP_SYS_ADMIN"
						     : "needs CAP_PERFMON, or root");
	case -EINVAL:
		return err_set(e, EXIT_CANNOT, ret, "%sthe kernel allows no breakpoint there",
			       what);
	default:
		return err_set(e, EXIT_CANNOT, ret, "%sbreakpoint: %s", what, strerror(-ret));
	}
}

static void close_one(struct watch_source *w, size_t at)
{
	if (w->fds[at] >= 0)
		close(w->fds[at]);
	w->fds[at] = -1;
}

/*
 * 1: it is there; 0: the CPU is offline; else why not. Not by libbpf's attaching, which enables the
 * event at once: without a limit yet.
 */
static int open_one(struct watch_source *w, size_t slot, uint32_t cpu, struct err *e)
{
	const struct watch_slot *s = &w->slots[slot < w->nslots ? slot : 0];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = w->writes_only ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW,
		.bp_addr = s->addr,
		.bp_len = s->len,
		.sample_period = 1,
		.disabled = 1,
		.pinned = 1, /* or another's breakpoint could have the register now and then */
	};
	size_t at = slot * w->m.ncpus + cpu;
	int ret, fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				   PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? 0 : refused(w, s, cpu, -errno, e);
	w->fds[at] = fd;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(w->skel->progs.ws_watch)))
		return 1;
	ret = -errno;
	close_one(w, at);
	return bpf_fail(e, ret, "watch: attach");
}

/* The kernel's own bound: it stops the event after as many traps as all bounds together allow. */
static int arm_one(struct watch_source *w, size_t at, struct err *e)
{
	uint64_t most = w->traps;

	if (!most)
		most = w->skel->rodata->hits_max + w->skel->rodata->foreign_max;

	if (w->fds[at] >= 0 && ioctl(w->fds[at], PERF_EVENT_IOC_REFRESH, (int)most))
		return err_sys(e, -errno, "watch: arm");
	return 0;
}

/* Short watches take all debug registers, also those that they do not need: or others have some. */
static size_t registers(const struct watch_source *w)
{
	return w->brief ? ABI_WATCH_SLOTS : w->nslots;
}

static bool is_watched(const struct watch_source *w, uint32_t cpu)
{
	return !w->cpus || w->cpus[cpu / 64] >> (cpu % 64) & 1;
}

static int make_fds(struct watch_source *w)
{
	size_t n = registers(w) * w->m.ncpus;

	w->fds = calloc(n, sizeof(*w->fds));
	for (size_t at = 0; w->fds && at < n; at++)
		w->fds[at] = -1;
	return w->fds ? 0 : -ENOMEM;
}

int watch_events_open(struct watch_source *w, struct err *e)
{
	size_t n = registers(w) * w->m.ncpus, at;
	uint32_t open = 0;
	int ret;

	if (!w->fds && make_fds(w))
		return err_sys(e, -ENOMEM, "watch");
	for (at = 0; at < n; at++) {
		if (w->fds[at] < 0 && is_watched(w, (uint32_t)(at % w->m.ncpus))) {
			ret = open_one(w, at / w->m.ncpus, (uint32_t)(at % w->m.ncpus), e);
			if (ret > 0 && w->armed)
				ret = arm_one(w, at, e);
			if (ret < 0)
				return ret;
		}
		open += w->fds[at] >= 0;
	}
	return open ? 0 : err_set(e, EXIT_CANNOT, -ENODEV, "watch: no CPU can be watched");
}

/*
 * Who opens a breakpoint on a CPU is the writer of a lock that tasks' breakpoints read
 * (bp_cpuset_sem, 01fe8a3f818e, 6.2): a grace period, 10 to 30 ms, but for those that follow within
 * another one.
 */
int watch_events_try(struct watch_source *w, struct err *e)
{
	size_t n = registers(w) * w->m.ncpus, at;
	int ret = 0;

	if (!w->fds && make_fds(w))
		return err_sys(e, -ENOMEM, "watch");
	for (at = 0; !ret && at < n; at++)
		if (is_watched(w, (uint32_t)(at % w->m.ncpus)))
			ret = open_one(w, at / w->m.ncpus, (uint32_t)(at % w->m.ncpus), e);
	for (at = 0; at < n; at++)
		close_one(w, at);
	return ret < 0 ? ret : 0;
}

int watch_events_arm(struct watch_source *w, struct err *e)
{
	int ret = 0;

	w->armed = true;
	for (size_t at = 0; !ret && at < w->nslots * w->m.ncpus; at++)
		ret = arm_one(w, at, e);
	return ret;
}

void watch_events_disarm(struct watch_source *w)
{
	w->armed = false;
	for (size_t at = 0; w->fds && at < w->nslots * w->m.ncpus; at++)
		if (w->fds[at] >= 0)
			(void)ioctl(w->fds[at], PERF_EVENT_IOC_DISABLE, 0); /* off is off */
}

void watch_events_close(struct watch_source *w)
{
	for (size_t at = 0; w->fds && at < registers(w) * w->m.ncpus; at++)
		close_one(w, at);
	free(w->fds);
	w->fds = NULL;
}
