// SPDX-License-Identifier: GPL-2.0-or-later
/* --slower: records of the ring buffer into struct slow. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "source/sched/sched.h"

static const struct {
	const char *kind;
	const char *metric;
} kinds[] = {
	[ABI_WAIT_WAKEUP] = {"wakeup", "sched_wakeup_latency"},
	[ABI_WAIT_NEW] = {"new", "sched_queue_to_run"},
	[ABI_WAIT_PREEMPT] = {"preempt", "sched_preempt_wait"},
	[ABI_WAIT_THROTTLE] = {"throttle", "sched_throttle_wait"},
	[ABI_WAIT_WOKEN_EARLY] = {"wakeup", "sched_queue_to_run"},
	[ABI_WAIT_WOKEN_UNSEEN] = {"wakeup", "sched_queue_to_run"},
};

static const char *const wakers[] = {
	[ABI_WAKER_NONE] = NULL,
	[ABI_WAKER_TASK] = "task",
	[ABI_WAKER_IRQ] = "irq",
	[ABI_WAKER_UNKNOWN] = "unknown",
};

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int on_record(void *ctx, const void *data, size_t len)
{
	struct sched *s = ctx;
	struct abi_slow r;
	struct slow w = {0};

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, data, sizeof(r));
	if (r.kind >= sizeof(kinds) / sizeof(kinds[0]) ||
	    r.waker >= sizeof(wakers) / sizeof(wakers[0]))
		return -EINVAL;
	w.time = wall_at(r.t2_ns);
	w.mono_ns = r.t2_ns;
	w.metric = kinds[r.kind].metric;
	w.kind = kinds[r.kind].kind;
	w.cpu = r.cpu;
	w.pid = r.pid;
	w.tid = r.tid;
	w.comm = r.comm;
	w.cgroup = cgroup_name(s->base.filters.names, r.cgroup_id);
	w.queue_to_run_ns = minus(r.t2_ns, r.t1_ns);
	w.wait_ns = w.queue_to_run_ns;
	w.has_legs = r.t0_ns != 0;
	if (w.has_legs) {
		w.wake_to_queue_ns = minus(r.t1_ns, r.t0_ns);
		w.wait_ns += w.wake_to_queue_ns;
	}
	w.waker = wakers[r.waker];
	w.waker_pid = r.waker_pid;
	w.waker_tid = r.waker_tid;
	w.waker_comm = r.waker_comm;
	w.prev_pid = r.prev_pid;
	w.prev_tid = r.prev_tid;
	w.prev_comm = r.prev_known ? r.prev_comm : NULL;
	w.last_cpu_known = r.last_cpu != UINT32_MAX;
	w.last_cpu = r.last_cpu;
	w.migrated = w.last_cpu_known && r.last_cpu != r.cpu;
	return s->args.on_slow ? s->args.on_slow(s->args.slow_ctx, &w) : 0;
}

int sched_slow_open(struct sched *s, struct err *e)
{
	s->slow = (struct ring){
		.what = "--slower: ring buffer", .fn = on_record, .ctx = s, .most = SLOW_RING_MOST};
	return ring_open(&s->slow, sched_object_map(&s->bpf, "slow_events"), e);
}
