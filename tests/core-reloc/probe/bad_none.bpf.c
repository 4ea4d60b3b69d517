// SPDX-License-Identifier: GPL-2.0-or-later
/* Forgot preserve_access_index: nothing is relocated, the offsets are this file's own. */
#define PROBE_NO_CORE
#include "probe.h"

SEC("tp_btf/sched_wakeup")
int BPF_PROG(frozen, struct task_struct *p)
{
	seen = p->pid;
	return 0;
}
