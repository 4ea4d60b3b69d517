// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes an argument that sched_switch has since 5.18 only, with no other program for the rest. */
#include "probe.h"

SEC("tp_btf/sched_switch")
int BPF_PROG(four, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	seen = prev_state + prev->pid;
	return 0;
}
