/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between kernels, each with the commit that made it. Asked for by CO-RE, not by
 * version. */
#ifndef WS_COMPAT_BPF_H
#define WS_COMPAT_BPF_H

#include "lib/common.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* 2f064a59a11f ("sched: Change task_struct::state", 5.14) renamed state and made it unsigned int.
 */
struct task_struct___state {
	long state;
};

/* See compat_task_cpu. */
struct task_struct___cpu {
	unsigned int cpu;
};

/*
 * 7f203bc89eb6 ("cgroup: Replace cgroup->ancestor_ids[] with ->ancestors[]", 6.1): before it the
 * ids of the ancestors themselves.
 */
struct cgroup___ancestor_ids {
	u64 ancestor_ids[0];
};

/*
 * 80367ad01d93 ("futex: Add basic infrastructure for local task local hash", 6.16): processes with
 * threads have a table of futexes of their own (CONFIG_FUTEX_PRIVATE_HASH).
 */
struct futex_hash_bucket___private {
	int any;
};

struct futex_private_hash___private {
	unsigned int hash_mask;
	struct futex_hash_bucket___private queues[0];
};

struct mm_struct___futex {
	struct futex_private_hash___private *futex_phash;
};

#pragma clang attribute pop

/*
 * The task's state where sched_switch does not pass it (before fa2c3254d7cf "sched/tracing: Don't
 * re-read p->state when emitting sched_switch event", 5.18). A concurrent waker may have turned it
 * into TASK_WAKING: it is then still not 0, so blocked stays blocked.
 */
static __always_inline u64 compat_task_state(struct task_struct *p)
{
	if (bpf_core_field_exists(p->__state))
		return TRACED_READ(p, __state);
	return TRACED_READ((struct task_struct___state *)p, state);
}

/* Does sched_switch pass prev_state (as above)? User space counts the prototype's arguments. */
const volatile bool switch_has_state = true;

/* The state in which a task leaves its CPU, at sched_switch; 0: it stays runnable. */
static __always_inline u32 compat_switch_state(u64 *ctx, struct task_struct *prev)
{
	return OPTION(switch_has_state, true) ? (u32)((volatile u64 *)ctx)[3]
					      : (u32)compat_task_state(prev);
}

#define TASK_DEAD 0x80 /* of it: the last switch-out (include/linux/sched.h) */

/*
 * Is the task on a CPU? UP kernels had no on_cpu before 6.17 (cac5cefbade9 "sched/smp: Make SMP
 * unconditional"): there only `current` is.
 */
static __always_inline bool on_cpu_as(bool typed, struct task_struct *p)
{
	if (bpf_core_field_exists(p->on_cpu))
		return READ_AS(typed, p, on_cpu);
	return (u32)bpf_get_current_pid_tgid() == (u32)READ_AS(typed, p, pid);
}

static __always_inline bool compat_on_cpu(struct task_struct *p)
{
	return on_cpu_as(TRACED_TYPED, p);
}

/*
 * Out of CPU quota at switch-out? Since e1fad12dcb66 ("sched/fair: Switch to task based throttle
 * model", 6.18) a throttled task leaves the queue by itself and says so; before, the whole cfs_rq
 * was taken off with the tasks in it, and its throttle_count told.
 */
static __always_inline bool throttled_as(bool typed, struct task_struct *p)
{
	struct cfs_rq *cfs_rq;

	if (bpf_core_field_exists(p->throttled))
		return READ_AS(typed, p, throttled);
	if (!bpf_core_field_exists(p->se.cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return false;
	cfs_rq = READ_AS(typed, p, se.cfs_rq);
	return cfs_rq && READ_AS(typed, cfs_rq, throttle_count) > 0;
}

static __always_inline bool compat_throttled(struct task_struct *p)
{
	return throttled_as(TRACED_TYPED, p);
}

/* The same of any task, not only those that tracepoints hand over. */
static __always_inline bool compat_task_runs(struct task_struct *p)
{
	return on_cpu_as(false, p);
}

static __always_inline bool compat_task_throttled(struct task_struct *p)
{
	return throttled_as(false, p);
}

/*
 * Is any task in a queue, to run? Since 152e11f6df29 ("sched/fair: Implement delayed dequeue",
 * 6.12) it may still be in one while it sleeps.
 */
static __always_inline bool compat_task_queued(struct task_struct *p)
{
	if (!BPF_CORE_READ(p, on_rq))
		return false;
	return !bpf_core_field_exists(p->se.sched_delayed) || !BPF_CORE_READ(p, se.sched_delayed);
}

/*
 * The kernel's own record of when a task was queued, when it came to its CPU, and how long it has
 * waited all in all (CONFIG_SCHED_INFO), by the run queue's clock. It holds at sched_switch, which
 * is called before the record of `next` is turned over.
 */
static __always_inline bool compat_has_record(void)
{
	struct task_struct *p = NULL;

	return bpf_core_field_exists(p->sched_info) && bpf_core_field_exists(p->se.cfs_rq);
}

/* By the same clock: how long ago; 0: not to be had. */
static __always_inline u64 compat_since(struct task_struct *p, u64 then)
{
	struct cfs_rq *cfs_rq = TRACED_READ(p, se.cfs_rq);
	struct rq *rq;
	u64 clock;

	if (!then || !cfs_rq)
		return 0;
	rq = TRACED_READ(cfs_rq, rq);
	if (!rq)
		return 0;
	clock = TRACED_READ(rq, clock);
	return clock > then ? clock - then : 0;
}

/* When it last came to a CPU. */
static __always_inline u64 compat_arrived(struct task_struct *p)
{
	return compat_has_record() ? TRACED_READ(p, sched_info.last_arrival) : 0;
}

static __always_inline u64 compat_ran_for(struct task_struct *p)
{
	return compat_has_record() ? compat_since(p, compat_arrived(p)) : 0;
}

/* 0: it is not queued. */
static __always_inline u64 compat_last_queued(struct task_struct *p)
{
	return compat_has_record() ? TRACED_READ(p, sched_info.last_queued) : 0;
}

static __always_inline u64 compat_queued_for(struct task_struct *p)
{
	return compat_has_record() ? compat_since(p, TRACED_READ(p, sched_info.last_queued)) : 0;
}

static __always_inline u64 compat_run_delay(struct task_struct *p)
{
	return compat_has_record() ? TRACED_READ(p, sched_info.run_delay) : 0;
}

/* The same of any task, not only those that tracepoints hand over. */
static __always_inline u64 compat_task_arrived(struct task_struct *p)
{
	return compat_has_record() ? BPF_CORE_READ(p, sched_info.last_arrival) : 0;
}

static __always_inline u64 compat_task_delay(struct task_struct *p)
{
	return compat_has_record() ? BPF_CORE_READ(p, sched_info.run_delay) : 0;
}

/* A queue's clock stands still between its CPU's events, a tick at most: so the later of two, of
 * its own and of the current task's, which are of one source. */
static __always_inline u64 compat_task_clock(struct task_struct *p)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	u64 clock, here;

	if (!compat_has_record())
		return 0;
	clock = BPF_CORE_READ(p, se.cfs_rq, rq, clock);
	here = BPF_CORE_READ(current, se.cfs_rq, rq, clock);
	return clock > here ? clock : here;
}

/* And what it has waited by then, which is not in that sum yet. */
static __always_inline u64 compat_task_waits(struct task_struct *p, u64 clock)
{
	u64 queued = compat_has_record() ? BPF_CORE_READ(p, sched_info.last_queued) : 0;

	return queued && clock > queued ? clock - queued : 0;
}

/*
 * An address is a number; as a pointer the verifier lets it be read, where faults give 0, since
 * a35b9af4ec2c ("bpf: Add a kfunc for generic type cast", 6.2): a move of a register, where a
 * helper is a call or several. A program that has it is loaded only where the kernel does.
 */
extern void *bpf_rdonly_cast(const void *obj, u32 btf_id) __ksym __weak;

#ifdef WS_WHY
#define TASK_ON_RQ_MIGRATING 2 /* kernel/sched/sched.h: on its way from one queue to another */

/* Until bcf9033e5449 ("sched: move CPU field back into thread_info if THREAD_INFO_IN_TASK=y", 5.16)
 * it was in the task itself. */
static __always_inline u32 compat_task_cpu(struct task_struct *p)
{
	if (bpf_core_field_exists(p->thread_info.cpu))
		return p->thread_info.cpu;
	if (bpf_core_field_exists(((struct task_struct___cpu *)p)->cpu))
		return ((struct task_struct___cpu *)p)->cpu;
	return ~0U;
}

/*
 * The clock of the task's run queue: a load in place of a reading. Who asks for a reschedule or
 * makes one has just set it, but for RCU, which may ask up to a tick later. Without groups of tasks
 * it is not to be had.
 */
static __always_inline u64 compat_rq_clock(struct task_struct *p)
{
	struct cfs_rq *cfs_rq;
	struct rq *rq;

	if (!bpf_core_field_exists(p->se.cfs_rq))
		return bpf_ktime_get_ns();
	cfs_rq = p->se.cfs_rq;
	rq = cfs_rq ? cfs_rq->rq : NULL;
	return rq ? rq->clock : 0;
}

#define SCHED_FIFO 1 /* include/uapi/linux/sched.h */
#define SCHED_RR 2
#define SCHED_DEADLINE 6
#define MAX_RT_PRIO 100 /* include/linux/sched/prio.h: below it real-time; below 0 SCHED_DEADLINE */
#define RT_GROUPS 3	/* of a task, as far as they are looked at */

/*
 * The queue of real-time tasks that the task is in, if it has used up its runtime in this period,
 * and then nobody in it runs until the period ends; else 0. Groups have queues of their own with
 * CONFIG_RT_GROUP_SCHED. Since 5f6bd380c7bd ("sched/rt: Remove default bandwidth control", 6.12)
 * there is no such limit without it: what takes the CPU from real-time tasks is then a task like
 * others, by a server that is no task (`dl_server`).
 */
static __always_inline u64 compat_rt_out(struct task_struct *p)
{
	struct sched_rt_entity *se = &p->rt;
	struct rt_rq *rt = NULL;
	struct rq *rq;
	u32 i;

	if (!bpf_core_field_exists(rt->rt_throttled))
		return 0;
	if (!bpf_core_field_exists(se->rt_rq)) {
		if (!bpf_core_field_exists(p->se.cfs_rq) ||
		    !bpf_core_field_exists(((struct rq *)0)->rt.rt_throttled))
			return 0;
		rq = BPF_CORE_READ(p, se.cfs_rq, rq);
		return rq && BPF_CORE_READ(rq, rt.rt_throttled) ? (u64)&rq->rt : 0;
	}
	for (i = 0; i < RT_GROUPS && se; i++) {
		rt = BPF_CORE_READ(se, rt_rq);
		if (rt && BPF_CORE_READ(rt, rt_throttled))
			return (u64)rt;
		if (!bpf_core_field_exists(se->parent))
			break;
		se = BPF_CORE_READ(se, parent);
	}
	return 0;
}

/* Is that queue still out of its runtime? */
static __always_inline bool compat_rt_still_out(u64 queue)
{
	struct rt_rq *rt = (void *)queue;

	return bpf_core_field_exists(rt->rt_throttled) && BPF_CORE_READ(rt, rt_throttled);
}

/* The group whose queue it is: on each CPU it has one. 0: there are no groups. */
static __always_inline u64 compat_rt_group(u64 queue)
{
	struct rt_rq *rt = (void *)queue;

	return bpf_core_field_exists(rt->tg) ? (u64)BPF_CORE_READ(rt, tg) : 0;
}

/*
 * The queue of real-time tasks that the task is in, where groups have queues of their own; else 0.
 */
static __always_inline u64 compat_rt_queue(struct task_struct *p)
{
	struct sched_rt_entity *se = &p->rt;

	return bpf_core_field_exists(se->rt_rq) ? (u64)BPF_CORE_READ(se, rt_rq) : 0;
}

/* Is the task in that group, or in one below it? */
static __always_inline bool compat_rt_in_group(struct task_struct *p, u64 group)
{
	struct sched_rt_entity *se = &p->rt;
	u32 i;

	if (!bpf_core_field_exists(se->rt_rq))
		return true;
	for (i = 0; i < RT_GROUPS && se; i++) {
		if (compat_rt_group((u64)BPF_CORE_READ(se, rt_rq)) == group)
			return true;
		if (!bpf_core_field_exists(se->parent))
			break;
		se = BPF_CORE_READ(se, parent);
	}
	return false;
}

/*
 * A SCHED_DEADLINE task whose budget is used up runs again when its next period begins
 * (dl_next_period(), kernel/sched/deadline.c): then, by the clock of its run queue; 0: it has
 * budget, or nothing tells.
 */
static __always_inline u64 compat_dl_out_until(struct task_struct *p)
{
	struct sched_dl_entity *dl = &p->dl;

	if (!bpf_core_field_exists(dl->dl_throttled) ||
	    !BPF_CORE_READ_BITFIELD_PROBED(dl, dl_throttled))
		return 0;
	return BPF_CORE_READ(dl, deadline) - BPF_CORE_READ(dl, dl_deadline) +
	       BPF_CORE_READ(dl, dl_period);
}

/*
 * Where the hypervisor tells a guest of KVM on x86 by itself how long this CPU has not been run
 * although it could have: a per-CPU variable, so that it lies as far from the run queue as BTF says
 * (user space has looked); kallsyms need not have it.
 */
static __always_inline u64 compat_steal_at(s64 from_rq)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	u64 rq = (u64)BPF_CORE_READ(cur, se.cfs_rq, rq);

	return rq ? rq + from_rq : 0;
}

struct kvm_steal_time___own {
	u64 steal;
} __attribute__((preserve_access_index));

/* What lies there, by a cast. Of another hypervisor, or on arm64, there is no such type, nor an
 * address. */
static __always_inline u64 compat_steal(u64 at)
{
	const struct kvm_steal_time___own *t;

	if (!bpf_core_type_exists(struct kvm_steal_time___own))
		return 0;
	t = bpf_rdonly_cast((void *)at, bpf_core_type_id_kernel(struct kvm_steal_time___own));
	return t->steal;
}
#endif

/* How often the task has come to a CPU, but for a switch-in that is being reported: as often as it
 * has left one. Of a switch-out that is being reported it is after it. */
static __always_inline u32 compat_runs(struct task_struct *p)
{
	return (u32)(TRACED_READ(p, nvcsw) + TRACED_READ(p, nivcsw));
}

/* How often it left one to sleep. */
static __always_inline u32 compat_sleeps(struct task_struct *p)
{
	return (u32)TRACED_READ(p, nvcsw);
}

/* The id of the ancestor at `level` <= cgrp->level. */
static __always_inline u64 compat_cgroup_ancestor_id(struct cgroup *cgrp, u32 level)
{
	struct cgroup *anc = NULL;
	u64 id = 0;

	if (bpf_core_field_exists(cgrp->ancestors)) {
		if (bpf_probe_read_kernel(&anc, sizeof(anc), &cgrp->ancestors[level]) || !anc)
			return 0;
		return BPF_CORE_READ(anc, kn, id);
	}
	if (bpf_probe_read_kernel(&id, sizeof(id),
				  &((struct cgroup___ancestor_ids *)cgrp)->ancestor_ids[level]))
		return 0;
	return id;
}

/* The first bucket of the process's own futex table, their size and how many there are; 0: it has
 * none. */
static __always_inline u64 compat_futex_buckets(struct mm_struct *mm, u64 *size, u64 *count)
{
	struct mm_struct___futex *own = (void *)mm;
	struct futex_private_hash___private *table = NULL;

	if (!bpf_core_field_exists(own->futex_phash) || !bpf_core_field_exists(table->hash_mask) ||
	    !bpf_core_field_exists(table->queues) ||
	    !bpf_core_type_exists(struct futex_hash_bucket___private))
		return 0;
	table = BPF_CORE_READ(own, futex_phash);
	if (!table)
		return 0;
	*size = bpf_core_type_size(struct futex_hash_bucket___private);
	*count = (u64)BPF_CORE_READ(table, hash_mask) + 1;
	return (u64)table + bpf_core_field_offset(table->queues);
}

/*
 * Interrupt or task? preempt_count is in thread_info, but per CPU on x86: __preempt_count, from
 * 64701838bf05 ("x86/percpu: Move preempt_count next to current_task", 6.2) in pcpu_hot, from
 * 46e8fff6d45f ("x86/preempt: Move preempt count to percpu hot section", 6.15) on its own again.
 * Its symbol has an address only with CONFIG_KALLSYMS_ALL; the run queue of the running task lies
 * in the same per-CPU area, and BTF tells how far apart they are. RT runs softirqs in tasks and
 * counts them there (8b1c04acad08, 5.14).
 */
const volatile bool preempt_count_known;
const volatile __s64
	preempt_count_from_rq; /* bytes from the CPU's struct rq to its preempt_count */

#define PREEMPT_SOFTIRQ_OFFSET 0x100U
#define PREEMPT_HARDIRQ_NMI_MASK 0xff0000U

#define CONTEXT_TASK 0
#define CONTEXT_IRQ 1
#define CONTEXT_UNKNOWN 2

static __always_inline u32 compat_context(void)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	u32 count = 0;
	char *rq;

	if (bpf_core_field_exists(cur->thread_info.preempt_count)) {
		count = BPF_CORE_READ(cur, thread_info.preempt_count);
	} else {
		if (!preempt_count_known)
			return CONTEXT_UNKNOWN;
		rq = (char *)BPF_CORE_READ(cur, se.cfs_rq, rq);
		if (!rq || bpf_probe_read_kernel(&count, sizeof(count), rq + preempt_count_from_rq))
			return CONTEXT_UNKNOWN;
	}
	if (bpf_core_field_exists(cur->softirq_disable_cnt))
		count |= BPF_CORE_READ(cur, softirq_disable_cnt) & PREEMPT_SOFTIRQ_OFFSET;
	return count & (PREEMPT_SOFTIRQ_OFFSET | PREEMPT_HARDIRQ_NMI_MASK) ? CONTEXT_IRQ
									   : CONTEXT_TASK;
}

#endif
