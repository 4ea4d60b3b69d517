// SPDX-License-Identifier: GPL-2.0-or-later
/* --slower: records of the ring buffer into struct slow. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
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

/* Of tasks that found no room in the record only the sum is known. */
static size_t add_parts(struct sched *s, const struct abi_slow_why *r, struct culprit *to)
{
	uint64_t rest = r->kinds[ABI_WHY_TASK], i, n = 0;

	for (i = 0; i < r->n && i < ABI_WHY_PARTS; i++) {
		const struct abi_culprit *who = &r->parts[i].who;

		s->why_names[i] = strdup(cgroup_name(s->base.filters.names, who->cgroup_id));
		to[n++] = (struct culprit){
			.kind = sched_why_kinds[ABI_WHY_TASK],
			.pid = who->pid,
			.tid = who->tid,
			.comm = who->comm,
			.cgroup = s->why_names[i],
			.count = 1,
			.wait_ns = r->parts[i].ns,
		};
		sched_why_class(&to[n - 1], (uint32_t)r->parts[i].rt_class);
		rest -= r->parts[i].ns;
	}
	for (i = ABI_WHY_TASK; i < ABI_WHY_KINDS; i++) {
		to[n] = (struct culprit){.kind = sched_why_kinds[i], .count = 1};
		to[n].wait_ns = i == ABI_WHY_TASK ? rest : r->kinds[i];
		n += to[n].wait_ns != 0;
	}
	return n;
}

static int more_first(const void *a, const void *b)
{
	const struct culprit *x = a, *y = b;

	return x->wait_ns < y->wait_ns ? 1 : -(x->wait_ns > y->wait_ns);
}

static void forget_names(struct sched *s)
{
	for (size_t i = 0; i < ABI_WHY_PARTS; i++) {
		free(s->why_names[i]);
		s->why_names[i] = NULL;
	}
}

static int on_record(void *ctx, const void *data, size_t len)
{
	struct sched *s = ctx;
	struct culprit parts[ABI_WHY_PARTS + ABI_WHY_KINDS];
	struct abi_slow_why why;
	struct abi_slow r;
	struct slow w = {0};
	int ret;

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, data, sizeof(r));
	if (r.kind >= sizeof(kinds) / sizeof(kinds[0]) ||
	    r.waker >= sizeof(wakers) / sizeof(wakers[0]))
		return -EINVAL;
	w.mono_ns = bpf_source_time(&s->base, r.t2_ns);
	w.time = wall_at(w.mono_ns);
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
	if (s->why) {
		if (len < sizeof(why))
			return -EINVAL;
		memcpy(&why, data, sizeof(why));
		w.cgroup = s->why_victim = strdup(w.cgroup); /* others are looked up */
		w.nculprits = add_parts(s, &why, parts);
		w.culprits = parts;
		qsort(parts, w.nculprits, sizeof(parts[0]), more_first);
	}
	ret = s->args.on_slow ? s->args.on_slow(s->args.slow_ctx, &w) : 0;
	forget_names(s);
	free(s->why_victim);
	s->why_victim = NULL;
	return ret;
}

int sched_slow_open(struct sched *s, struct err *e)
{
	s->slow = (struct ring){
		.what = "--slower: ring buffer", .fn = on_record, .ctx = s, .most = SLOW_RING_MOST};
	return ring_open(&s->slow, sched_object_map(&s->bpf, "slow_events"), e);
}
