// SPDX-License-Identifier: GPL-2.0-or-later
/* Needs a kernel variable that does not exist. */
#include "probe.h"

extern const int waitscope_no_such_variable __ksym;

SEC("tp_btf/sched_wakeup")
int BPF_PROG(symbol, struct task_struct *p)
{
	const int *v = bpf_this_cpu_ptr(&waitscope_no_such_variable);

	seen = p->pid + *v;
	return 0;
}
