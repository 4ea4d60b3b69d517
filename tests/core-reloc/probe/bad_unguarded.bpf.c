// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a member that kernels before 5.14 do not have, without asking first: corecheck must fail.
 */
#include "probe.h"

SEC("tp_btf/sched_wakeup")
int BPF_PROG(naive, struct task_struct *p)
{
	if (p->pid)
		seen = p->__state;
	return 0;
}
