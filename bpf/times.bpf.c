// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the time of the tasks that the filters ask for went, by the kernel's own sums: how long a
 * task ran (se.sum_exec_runtime) and how long it was queued (sched_info.run_delay, with what it has
 * waited by now); the rest it slept. User space has the kernel walk over all tasks at the end of an
 * interval: no program runs at a switch. What is left of a task that ends is told at its end, and
 * one that is born counts from its birth.
 *
 * The parts of a task add up to the time from one look at it to the next, always: what its sums are
 * ahead of the clock (a CPU's own clock lags by a tick) is told at the next look.
 */
#include "lib/common.bpf.h"
#include "compat.bpf.h"

#include "abi_times.h"

char LICENSE[] SEC("license") = "GPL";

/* Up to at_ns the task's time is told: of the kernel's sums ran_ns and waited_ns. */
#define STAMP_OF_SOURCE
struct stamp {
	u64 cgroup_id;
	u32 flags;
	u32 pad;
	u64 at_ns; /* 0: never looked at */
	u64 ran_ns;
	u64 waited_ns;
};

#define STAMP_ENDED STAMP_OWN

#include "lib/filter.bpf.h"
#include "lib/group.bpf.h"

const volatile __u32 by; /* ABI_BY_* */

/* Does the kernel keep the sums (CONFIG_SCHED_INFO)? Known after the first walk. */
volatile __u64 recorded;

/* Tasks that the walk before counting could not give a stamp: another program was using the task
 * storage of the same CPU. */
volatile __u64 unseen;

/* When counting began: all that a task born since then did counts. */
volatile __u64 started_ns;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_BANKS);
	__type(key, u32);
	__type(value, struct abi_times);
} times_all SEC(".maps");

struct times_groups {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct abi_key);
	__type(value, struct abi_times);
} times_even SEC(".maps"), times_odd SEC(".maps");

struct part {
	u64 running, waiting, asleep, throttled, late;
};

/* Other CPUs may add to the same sums, though hardly ever do. */
static __always_inline void times_add(struct abi_times *to, const struct part *t)
{
	__sync_fetch_and_add(&to->running_ns, t->running);
	__sync_fetch_and_add(&to->waiting_ns, t->waiting);
	__sync_fetch_and_add(&to->asleep_ns, t->asleep);
	__sync_fetch_and_add(&to->throttled_ns, t->throttled);
	__sync_fetch_and_add(&to->late_ns, t->late);
}

static __always_inline u64 until(u64 now, u64 told, u64 most)
{
	u64 more = now > told ? now - told : 0;

	return more < most ? more : most;
}

/* What it has waited so far of the wait that lasts. Most tasks sleep, and no clock is read. */
static __always_inline u64 waits_ns(struct task_struct *p)
{
	return compat_last_queued(p) ? compat_task_waits(p, compat_task_clock(p)) : 0;
}

/* From here on its time counts. */
static __always_inline void look_first(struct stamp *st, struct task_struct *p, u64 now)
{
	st->at_ns = now;
	st->ran_ns = TASK_READ(p, se.sum_exec_runtime);
	st->waited_ns = compat_run_delay(p) + waits_ns(p);
}

/* What it did since the last look. */
static __always_inline void look(struct stamp *st, struct task_struct *p, u64 now, struct part *t)
{
	u64 waits = waits_ns(p), lived = until(now, st->at_ns, ~0ULL);

	t->running = until(TASK_READ(p, se.sum_exec_runtime), st->ran_ns, lived);
	t->waiting = until(compat_run_delay(p) + waits, st->waited_ns, lived - t->running);
	t->asleep = lived - t->running - t->waiting;
	t->throttled = waits && compat_throttled(p) ? waits : 0;
	st->ran_ns += t->running;
	st->waited_ns += t->waiting;
	st->at_ns = now;
}

static __always_inline struct abi_times *group_times(void *map, const struct abi_key *key,
						     struct task_struct *p)
{
	struct abi_times *t = bpf_map_lookup_elem(map, key), new = {};

	if (t)
		return t;
	if (by == ABI_BY_PID || by == ABI_BY_TID) {
		bpf_probe_read_kernel(new.comm, sizeof(new.comm), group_named(by, p)->comm);
		new.pid = (u32)TASK_READ(p, tgid);
	}
	bpf_map_update_elem(map, key, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

static __always_inline void count(struct task_struct *p, const struct part *t, u64 ep)
{
	u32 bank = ep & 1;
	struct abi_times *all = bpf_map_lookup_elem(&times_all, &bank), *group;
	struct abi_key key = {};
	struct abi_counts *counts;

	if (all)
		times_add(all, t);
	if (by == ABI_BY_NONE)
		return;
	group_id(by, &key, p);
	group = bank ? group_times(&times_odd, &key, p) : group_times(&times_even, &key, p);
	if (group) {
		times_add(group, t);
		return;
	}
	counts = bank_get(ep);
	if (counts)
		counts->keys_full++;
}

/*
 * A task that ends runs on a CPU, so its sums lag by up to a tick. When the task is freed they are
 * what they will be. Before follow.bpf.h's program there, which deletes the stamp where tasks have
 * no storage.
 */
TRACEPOINT(sched_process_free)
int ws_times_late(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct stamp *st = stamp_stored(p, false);
	struct part t = {};
	u64 ep = epoch;

	if (!st || !(st->flags & STAMP_ENDED))
		return 0;
	t.late = until(TASK_READ(p, se.sum_exec_runtime), st->ran_ns, ~0ULL);
	if (ep && t.late && filter_late(st, p))
		count(p, &t, ep);
	return 0;
}

/* COMMAND counts from its exec on: it was born before counting began. */
#define STAMP_JOINS(st, p)                                     \
	do {                                                   \
		if (!(st)->at_ns)                              \
			look_first(st, p, bpf_ktime_get_ns()); \
	} while (0)

#include "lib/follow.bpf.h"

static __always_inline int tell(struct task_struct *p, bool ends)
{
	u64 now = bpf_ktime_get_ns(), ep = epoch, began = started_ns;
	struct abi_counts *counts;
	struct part t = {};
	struct stamp *st;

	if (!TASK_READ(p, pid) || !filter_early(p))
		return 0;
	st = stamp_get(p, true);
	if (!st) {
		counts = bank_get(ep);
		/* Before counting nothing is lost: user space does the walk again. */
		if (!ep)
			__sync_fetch_and_add(&unseen, 1);
		else if (counts)
			counts->store_full++;
		return 0;
	}
	if (st->flags & STAMP_ENDED)
		return 0;
	if (ends)
		st->flags |= STAMP_ENDED;
	if (!st->at_ns && began && TASK_READ(p, start_time) >= began)
		st->at_ns = TASK_READ(p, start_time);
	else if (!st->at_ns)
		look_first(st, p, now);
	look(st, p, now, &t);
	if (ep && filter_late(st, p))
		count(p, &t, ep);
	return 0;
}

/* Run by user space before counting begins, then at the end of each interval. */
SEC("iter/task")
int ws_times(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;

	recorded = compat_has_record();
	return p ? tell(p, false) : 0;
}

TRACEPOINT(sched_process_exit)
int ws_times_exit(u64 *ctx)
{
	return tell((void *)ctx[0], true);
}
