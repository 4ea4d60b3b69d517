// SPDX-License-Identifier: GPL-2.0-or-later
/* What our programs do about kernels that differ: corecheck must pass, with guarded misses. */
#include "probe.h"

struct task_struct___old {
	long state;
} __attribute__((preserve_access_index));

SEC("tp_btf/sched_wakeup")
int BPF_PROG(guarded, struct task_struct *p)
{
	struct task_struct___old *old = (void *)p;

	if (bpf_core_field_exists(p->__state))
		seen = p->__state;
	else
		seen = old->state;
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(switch_four, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	seen = prev_state + prev->pid;
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(switch_three, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	seen = next->pid;
	return 0;
}
