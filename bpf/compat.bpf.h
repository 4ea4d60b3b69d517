/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between kernels, each with the commit that made it. Asked for by CO-RE, not by version. */
#ifndef WS_COMPAT_BPF_H
#define WS_COMPAT_BPF_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* 2f064a59a11f ("sched: Change task_struct::state", 5.14) renamed state and made it unsigned int. */
struct task_struct___state {
	long state;
};

/*
 * 7f203bc89eb6 ("cgroup: Replace cgroup->ancestor_ids[] with ->ancestors[]", 6.1): before it the ids
 * of the ancestors themselves.
 */
struct cgroup___ancestor_ids {
	u64 ancestor_ids[0];
};

#pragma clang attribute pop

/*
 * The task's state where sched_switch does not pass it (before fa2c3254d7cf "sched/tracing: Don't
 * re-read p->state when emitting sched_switch event", 5.18). A concurrent waker may have turned it
 * into TASK_WAKING: it is then still not 0, so blocked stays blocked.
 */
static __always_inline u64 compat_task_state(const struct task_struct *p)
{
	if (bpf_core_field_exists(p->__state))
		return p->__state;
	return ((const struct task_struct___state *)p)->state;
}

/*
 * Is the task on a CPU? UP kernels had no on_cpu before 6.17 (cac5cefbade9 "sched/smp: Make SMP
 * unconditional"): there only `current` is.
 */
static __always_inline bool compat_on_cpu(const struct task_struct *p)
{
	if (bpf_core_field_exists(p->on_cpu))
		return p->on_cpu;
	return (u32)bpf_get_current_pid_tgid() == (u32)p->pid;
}

/*
 * Out of CPU quota at switch-out? Since e1fad12dcb66 ("sched/fair: Switch to task based throttle model",
 * 6.18) a throttled task leaves the queue by itself and says so; before, the whole cfs_rq was taken
 * off with the tasks in it, and its throttle_count told.
 */
static __always_inline bool compat_throttled(const struct task_struct *p)
{
	const struct cfs_rq *cfs_rq;

	if (bpf_core_field_exists(p->throttled))
		return p->throttled;
	if (!bpf_core_field_exists(p->se.cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return false;
	cfs_rq = p->se.cfs_rq;
	return cfs_rq && cfs_rq->throttle_count > 0;
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

/*
 * Interrupt or task? preempt_count lies in a per-CPU variable on x86: __preempt_count, from
 * 64701838bf05 ("x86/percpu: Move preempt_count next to current_task", 6.2) in pcpu_hot, from
 * 46e8fff6d45f ("x86/preempt: Move preempt count to percpu hot section", 6.15) on its own again;
 * elsewhere in thread_info. RT runs softirqs in tasks (8b1c04acad08, 5.14) and counts them there.
 */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

#define PREEMPT_SOFTIRQ_OFFSET 0x100U
#define PREEMPT_HARDIRQ_NMI_MASK 0xff0000U

#define CONTEXT_TASK 0
#define CONTEXT_IRQ 1
#define CONTEXT_UNKNOWN 2

static __always_inline u32 compat_context(void)
{
	struct task_struct *cur = (void *)bpf_get_current_task();
	u32 count;

	if (bpf_core_field_exists(cur->thread_info.preempt_count))
		count = BPF_CORE_READ(cur, thread_info.preempt_count);
	else if (bpf_core_type_exists(struct pcpu_hot) && &pcpu_hot)
		count = ((struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	else if (&__preempt_count)
		count = *(int *)bpf_this_cpu_ptr(&__preempt_count);
	else
		return CONTEXT_UNKNOWN;
	if (bpf_core_field_exists(cur->softirq_disable_cnt))
		count |= BPF_CORE_READ(cur, softirq_disable_cnt) & PREEMPT_SOFTIRQ_OFFSET;
	return count & (PREEMPT_SOFTIRQ_OFFSET | PREEMPT_HARDIRQ_NMI_MASK) ? CONTEXT_IRQ : CONTEXT_TASK;
}

#endif
